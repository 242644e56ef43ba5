// Work of several independent parts on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

namespace rankwire {

/// Calls `work` once with each number below `parts`, on at most `threads` (> 0) threads, of which the caller's is one,
/// and returns when all calls have. They begin in the order of the numbers. One that throws holds up none of the
/// others; of those that threw, what the one of the lowest number threw is returned, null where none did: always the
/// same, however many threads there are.
[[nodiscard]] std::exception_ptr on_threads(uint32_t threads, size_t parts,
                                            const std::function<void(size_t part)>& work);
/// The same on as many threads as there are processors; throws what `on_threads` would return.
void on_all_processors(size_t parts, const std::function<void(size_t part)>& work);

}  // namespace rankwire
