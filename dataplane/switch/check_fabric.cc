#include "dataplane/switch/check_fabric.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "dataplane/switch/packets.h"

namespace rankwire {
namespace {

constexpr uint32_t kFewestFrames = 64;

void check_switch(const FabricSwitchOptions& device) {
  if (device.loss_ppm > 1'000'000) fail_input("a loss of {} parts per million is above 1000000", device.loss_ppm);
  if (device.latency < Duration()) fail_input("a switch's latency is negative");
  if (device.buffer.shared <= Bytes() || (device.buffer.queue_limit && *device.buffer.queue_limit <= Bytes())) {
    fail_input("a switch's buffer holds no frame");
  }
  for (const int8_t exponent : {device.buffer.egress.exponent, device.buffer.ingress.exponent}) {
    if (exponent < -8 || exponent > 8) fail_input("alpha is 2^-8 .. 2^8, not 2^{}", exponent);
  }
  if (std::ranges::any_of(device.scheduler.weights, [](uint8_t weight) { return weight < 1 || weight > 100; })) {
    fail_input("weights of priorities are 1 .. 100");
  }
  if (device.red && (device.red->minimum > device.red->maximum || device.red->most_ppm > 1'000'000)) {
    fail_input("RED's thresholds or its probability are out of range");
  }
  if (device.pause_quanta == 0) fail_input("a pause of 0 quanta pauses nothing");
  if (device.watchdog && (device.watchdog->detection <= Duration() || device.watchdog->restoration <= Duration())) {
    fail_input("the times of a PFC watchdog must be positive");
  }
}

}  // namespace

void check_fabric(const Topology& topology, size_t hosts, std::span<const FabricSwitchOptions> devices,
                  const FabricOptions& options) {
  check(topology);
  if (topology.hosts.size() > FabricPacket::kUnread) {
    fail_input("a fabric of {} hosts is too large, the most are {}", topology.hosts.size(), FabricPacket::kUnread);
  }
  if (hosts != topology.hosts.size()) {
    fail_input("{} hosts' ports for {} hosts of the fabric", hosts, topology.hosts.size());
  }
  if (!options.served.empty() && options.served.size() != hosts) {
    fail_input("{} hosts are served or not, of {}", options.served.size(), hosts);
  }
  if (devices.size() != 1 && devices.size() != topology.switches.size()) {
    fail_input("options of {} switches for a fabric of {}", devices.size(), topology.switches.size());
  }
  for (const FabricSwitchOptions& device : devices) check_switch(device);
  if (options.addresses == 0) fail_input("a fabric must be able to know at least one address");
  if (options.frames < kFewestFrames) fail_input("a fabric of {} frames is too small", options.frames);
  if (options.series && (options.series->interval <= Duration() || options.series->rows < 2)) {
    fail_input("samples need a positive interval and two rows");
  }
  Time last;
  for (const CableEvent& event : options.schedule) {
    if (event.cable >= topology.cables.size() + topology.hosts.size())
      fail_input("there is no cable {} to change", event.cable);
    const CableCondition& condition = event.condition;
    if (condition.rate && condition.rate->bits_per_second <= 0)
      fail_input("cable {} cannot have a rate of {} bit/s", event.cable, condition.rate->bits_per_second);
    if (condition.latency < Duration()) fail_input("cable {} cannot become shorter than it is", event.cable);
    if (event.at < last) fail_input("changes of cables are not in the order of time");
    last = event.at;
  }
}

}  // namespace rankwire
