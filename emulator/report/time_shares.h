// Where the time of queue pairs went.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/time_by_cause.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// What people call it: "window full".
const char* phrase_of(Cause cause);
/// "window full 62.5 %, transmitting 37.5 %": shares of the total from 0.05 % on, the largest first; "-" without any.
std::string shares_text(const TimeByCause& causes);
/// {"transmitting_ps": 1, ...}
nlohmann::ordered_json causes_json(const TimeByCause& causes);

/// Of the emulated side: the sums over its queue pairs, and over those of the groups whose names differ in numbers
/// only. Null where causes were not recorded.
nlohmann::ordered_json time_by_cause_json(const RunReader& record);
/// The same in lines, shares of the sums; empty where causes were not recorded.
std::string time_by_cause_text(const RunReader& record);

}  // namespace rankwire
