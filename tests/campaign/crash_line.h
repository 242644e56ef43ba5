// Which seed it was, where the transport does not come back to say so.
#pragma once

#include <cstdint>

namespace rankwire::testing {

/// From now on an assertion, a bad access, or so much time of the processor spent on one seed ends the process with
/// status 1 and the lines that a fault prints. `program` must outlive it.
void watch_for_crashes(const char* program);

/// What happens from now on is this seed's.
void watch_seed(uint64_t seed);

}  // namespace rankwire::testing
