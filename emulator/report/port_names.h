// The names of a run's ports.
#pragma once

#include <map>
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

}  // namespace rankwire
