// Counters of devices under test: table, figures, pictures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// `device_counters.csv` whole: every run of the record, told apart by the first column.
std::string device_counters_csv(const RunReader& record);
/// Of the emulated side: devices with their clocks, their ports beside ours, and where both disagree; null where no
/// device was asked.
nlohmann::ordered_json device_counters_json(const RunReader& record);
/// Pictures and tables of the emulated side; empty where no device was asked.
std::string html_device_counters(const RunReader& record);
/// A line a device of the emulated side, for a terminal.
std::vector<std::string> device_lines(const RunReader& record);

}  // namespace rankwire
