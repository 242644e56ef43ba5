#include "dataplane/switch/presets.h"

#include <algorithm>

namespace rankwire {
namespace {

FabricSwitchOptions tomahawk5() {
  FabricSwitchOptions device;
  device.buffer = {.shared = Bytes(165'660'324),
                   .reserve = Bytes(18'796),
                   .queue_limit = std::nullopt,
                   .egress = {},
                   .ingress = {},
                   .headroom = Bytes(612'140),
                   .resume_offset = Bytes(3'556)};
  device.classes.lossless = priority_bit(3) | priority_bit(4);
  device.red = RedOptions{.minimum = Bytes(1 << 20), .maximum = Bytes(2 << 20), .most_ppm = 50'000};
  device.watchdog = WatchdogOptions{};
  return device;
}

FabricSwitchOptions hpcc_ns3(const PresetPort& port) {
  const int64_t rate = port.line.rate.bits_per_second;
  // rate x latency in bytes: bit/s x ps / 8e12.
  const auto in_flight = static_cast<int64_t>(static_cast<__int128>(rate) * port.line.latency.ps / 8'000'000'000'000);
  const Bytes reserve(4 << 10), headroom(3 * in_flight);
  // Its thresholds leave out the reserve and headroom of one priority group a port.
  const int64_t shared = (12 << 20) - int64_t{port.ports} * (reserve.count + headroom.count);
  FabricSwitchOptions device;
  device.buffer = {.shared = Bytes(std::max<int64_t>(shared, 1 << 20)),
                   .reserve = reserve,
                   .queue_limit = std::nullopt,
                   .egress = {},
                   .ingress = {.exponent = -3, .fixed = std::nullopt},
                   .headroom = headroom,
                   .resume_offset = Bytes(3 << 10)};
  const PrioritySet data = static_cast<PrioritySet>(~priority_bit(0));
  device.classes.lossless = data;
  const Bytes least(std::max<int64_t>(1, rate / 250'000));  // 100,000 B a 25e9 bit/s
  device.red = RedOptions{.minimum = least,
                          .maximum = Bytes(4 * least.count),
                          .most_ppm = 200'000,
                          .priorities = data,
                          .at = MarkAt::kDequeue};
  return device;
}

}  // namespace

std::optional<FabricSwitchOptions> find_fabric_preset(std::string_view name, const PresetPort& port) {
  if (name == "tomahawk5") return tomahawk5();
  if (name == "hpcc_ns3") return hpcc_ns3(port);
  return std::nullopt;
}

}  // namespace rankwire
