// Devices under test whose counters are read beside a run: the keys of `device_counters`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

enum class GnmiMode : uint8_t { kSample, kOnChange, kTargetDefined };

/// By the names of gNMI.
enum class GnmiEncoding : uint8_t { kJson, kJsonIetf, kProto };

struct GnmiConfig {
  std::string target;              ///< HOST:PORT
  std::vector<std::string> paths;  ///< as parse_gnmi_path reads them
  std::string path_target;         ///< Path.target of what is asked, as SONiC's COUNTERS_DB; empty: none
  GnmiMode mode = GnmiMode::kSample;
  GnmiEncoding encoding = GnmiEncoding::kJsonIetf;
  bool tls = true;
  std::string ca, certificate, key;     ///< files; empty: the system's authorities, and no certificate of one's own
  std::string server_name;              ///< in the device's certificate; empty: the host of `target`
  std::string username, password_file;  ///< empty: none

  bool operator==(const GnmiConfig&) const = default;
};

/// Has either a `command` or `gnmi`.
struct DeviceCountersConfig {
  std::string name;
  std::string command;  ///< empty: none
  bool stream = false;  ///< it runs all along and prints a line a sample
  std::optional<GnmiConfig> gnmi;
  Duration interval = milliseconds(100);
  Duration patience = seconds(10);
  Duration settle;
  std::map<std::string, std::string> ports;    ///< of the device: name of ours
  std::map<std::string, std::string> metrics;  ///< of the device's counters: name of a DeviceMetric
  uint32_t rows = 65'536;
};

}  // namespace rankwire
