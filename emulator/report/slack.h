// What else is nearly critical: how much later ranks and operations could have ended.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// `slack` of summary.json; null where it is not known.
nlohmann::ordered_json slack_json(const Diagnosis& diagnosis);
/// A row for each rank, then one for each operation.
std::string slack_csv(const Diagnosis& diagnosis);
/// Tables of the operations and of the ranks that have least; empty where it is not known.
std::string html_slack(const RunReader& record, const Diagnosis& diagnosis);

}  // namespace rankwire
