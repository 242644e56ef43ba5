// What the devices behind the ports say of themselves: settings, and what they counted during the emulated run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// `hardware.csv` whole: every run of the record, told apart by the first column.
std::string hardware_csv(const RunReader& record);
/// The emulated side's ports that have settings or counters of their own, each with the changes of its counters.
nlohmann::ordered_json hardware_json(const RunReader& record);
/// Settings, and the counters that changed; empty when there are neither.
std::string html_hardware(const RunReader& record);

}  // namespace rankwire
