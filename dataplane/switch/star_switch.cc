#include "dataplane/switch/star_switch.h"

#include <vector>

namespace rankwire {

std::unique_ptr<VirtualFabric> make_star_switch(std::span<const SwitchPort> ports, const SwitchOptions& options) {
  std::vector<Line> lines;
  std::vector<FramePort*> hosts;
  for (const SwitchPort& port : ports) {
    lines.push_back({port.rate, options.link_latency});
    hosts.push_back(port.port);
  }
  FabricSwitchOptions device;
  device.latency = options.latency;
  device.buffer.queue_limit = options.buffer;
  device.classes.of_dscp.fill(0);
  device.loss_ppm = options.loss_ppm;
  if (options.ecn_threshold)
    device.red = RedOptions{.minimum = *options.ecn_threshold, .maximum = *options.ecn_threshold};
  FabricOptions fabric;
  fabric.addresses = options.addresses;
  fabric.seed = options.seed;
  fabric.series = options.series;
  fabric.observer = options.observer;
  fabric.bells = options.bells;
  fabric.served = options.served;
  return std::make_unique<VirtualFabric>(star(lines), hosts, std::span(&device, 1), fabric);
}

}  // namespace rankwire
