// What `check` says of the devices under test whose counters a run would read.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/input/config.h"

namespace rankwire {

struct AskedDevices {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();  ///< an object a device
  std::vector<std::string> lines, warnings;
};

/// Asks each once, or listens to its stream for two intervals; waits for its patience at most. Throws Error(kInput)
/// where one cannot be asked at all.
AskedDevices ask_devices(const RunConfig& config, const std::atomic<bool>& interrupted);

}  // namespace rankwire
