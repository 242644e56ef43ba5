#include "dataplane/switch/parts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rankwire {
namespace {

/// Every frame has one event at most, a port one of each other kind and its share of pauses.
uint32_t event_capacity(const Topology& topology, const FabricOptions& options) {
  constexpr uint32_t kEventsOfPort = 4;
  return options.frames + (kEventsOfPort + FabricOutputs::kPausesOfPort) * topology.ports();
}

std::vector<uint32_t> switches_of_ports(const Topology& topology) {
  std::vector<uint32_t> switches(topology.ports());
  for (uint32_t p = 0; p < topology.ports(); ++p) switches[p] = topology.switch_of(p).value;
  return switches;
}

bool is_watched(std::span<const FabricSwitchOptions> devices) {
  return std::ranges::any_of(devices, [](const FabricSwitchOptions& device) { return device.watchdog.has_value(); });
}

}  // namespace

FabricParts::FabricParts(const Topology& topology, std::span<FramePort* const> host_ports,
                         std::span<const FabricSwitchOptions> devices, const FabricOptions& options)
    : tables(topology, host_ports, devices, options),
      storms(is_watched(devices)),
      series(options.series ? std::make_unique<FabricSeries>(*options.series, topology.ports() * kPriorities)
                            : nullptr),
      agenda(switches_of_ports(topology), tables.reach, event_capacity(topology, options)),
      cables(options, topology.cables.size(), topology.hosts.size()),
      reader(tables, options),
      pauses(tables, agenda, storms, series.get()),
      admission(tables, pauses, series.get()),
      hosts(tables, reader, agenda, options),
      outputs(tables, agenda, storms, series.get(), pauses, admission, hosts, options.observer),
      forwarder(tables, reader, outputs, options) {}

}  // namespace rankwire
