// What was done to packets on purpose during the emulated run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// `impairments.csv` whole: every run of the record, told apart by the first column.
std::string impairments_csv(const RunReader& record);
/// Of the emulated side: how often each rule acted, and how many events were counted and not kept; null without rules.
nlohmann::ordered_json impairments_json(const RunReader& record);
/// A table of the rules, and one of the first events; empty without rules.
std::string html_impairments(const RunReader& record);

}  // namespace rankwire
