// Where a queue pair's time went, in words.
#pragma once

#include <string>

#include "base/time_by_cause.h"

namespace rankwire {

/// "window full 62.5 %, transmitting 37.5 %": shares of the total from 0.05 % on, the largest first; "-" without any.
std::string shares_text(const TimeByCause& causes);

}  // namespace rankwire
