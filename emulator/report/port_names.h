// The names of a run's ports, and who stands behind them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// Of the generator's ports; the switch's have the same numbers and come later.
inline std::map<PortId, std::string> port_names(const RunReader& record, const RecordedRun& run) {
  std::map<PortId, std::string> names;
  for (const PortCounters& port : record.ports(run)) names.try_emplace(port.port, port.name);
  return names;
}

/// Its number where it has no name.
inline std::string name_of(const std::map<PortId, std::string>& names, PortId port) {
  const auto name = names.find(port);
  return name == names.end() ? std::to_string(port.value) : name->second;
}

/// " (host 2)" where one host alone stands behind the port, else nothing. `nics`: of all ranks.
inline std::string host_behind(std::span<const RankNic> nics, PortId port) {
  std::optional<uint32_t> host;
  for (const RankNic& nic : nics) {
    if (nic.port != port) continue;
    if (!nic.host || (host && host != nic.host)) return {};
    host = nic.host;
  }
  return host ? " (host " + std::to_string(*host) + ")" : std::string();
}

}  // namespace rankwire
