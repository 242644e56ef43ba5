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

}  // namespace rankwire
