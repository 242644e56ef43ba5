// What passed ports over time, and what congestion control allowed queue pairs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// `port_rates.csv` and `allowances.csv` whole: every run of the record, told apart by the first column.
std::string port_rates_csv(const RunReader& record);
std::string allowances_csv(const RunReader& record);
/// Of the emulated side: intervals and number of samples; null where none were taken.
nlohmann::ordered_json rates_json(const RunReader& record);
/// Pictures and tables of the emulated side: ports, and the queue pairs that were held back most; empty where nothing
/// was sampled.
std::string html_rates(const RunReader& record);

}  // namespace rankwire
