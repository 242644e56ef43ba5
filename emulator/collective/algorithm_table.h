// Which function carries out an operation by an algorithm.
#pragma once

#include "emulator/collective/algorithm.h"
#include "emulator/collective/schedule_builder.h"

namespace rankwire {

using AddChannel = void (*)(ScheduleBuilder&);

/// What kAuto is without a profile: ring, or direct where there is no ring; kAuto of a barrier and of point-to-point.
Algorithm default_algorithm(Operation operation);

/// nullptr when the algorithm does not suit the operation. Not for kCustom.
AddChannel function_of(Operation operation, Algorithm algorithm);

}  // namespace rankwire
