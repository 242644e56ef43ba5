// What is said where there is not enough memory.
#pragma once

namespace rankwire {

constexpr const char* kOutOfMemory =
    "there is not enough memory. That of a run grows with its ranks, flows and queue pairs, with transport.window, and "
    "with the messages of an iteration; `rankwire check` says what it needs";

/// From now on this process says so and ends with status 1 also where a lack of memory may not be thrown on: in a
/// destructor, another `noexcept` function or a thread. Its children end as they would. Call it once.
void explain_lack_of_memory_at_the_end();

}  // namespace rankwire
