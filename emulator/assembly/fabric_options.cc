#include "emulator/assembly/fabric_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "dataplane/switch/presets.h"
#include "emulator/assembly/live_fabric.h"
#include "emulator/input/fabric_topology.h"

namespace rankwire {
namespace {

template <class T>
void replace(T& value, const std::optional<T>& given) {
  if (given) value = *given;
}

PrioritySet set_of(const std::vector<uint32_t>& priorities) {
  PrioritySet set = 0;
  for (const uint32_t priority : priorities) set |= priority_bit(priority);
  return set;
}

void apply(const FabricBufferConfig& config, BufferOptions& buffer) {
  replace(buffer.shared, config.shared);
  replace(buffer.reserve, config.reserve);
  replace(buffer.headroom, config.headroom);
  replace(buffer.resume_offset, config.resume_offset);
  replace(buffer.egress.exponent, config.egress_alpha);
  replace(buffer.ingress.exponent, config.ingress_alpha);
  if (config.queue) buffer.queue_limit = config.queue;
  if (config.xoff) buffer.ingress.fixed = config.xoff;
}

void apply(const FabricConfig& fabric, ClassOptions& classes) {
  classes.trust = fabric.trust == TrustName::kDscp ? PriorityTrust::kDscp : PriorityTrust::kPcp;
  for (const DscpConfig& entry : fabric.dscp) classes.of_dscp[entry.dscp] = static_cast<uint8_t>(entry.priority);
  if (!fabric.lossless.empty()) classes.lossless = set_of(fabric.lossless);
}

RedOptions red_options(const FabricRedConfig& config) {
  return {.minimum = config.minimum,
          .maximum = config.maximum,
          .most_ppm = config.probability_ppm,
          .priorities = kAllPriorities,
          .at = config.at == MarkAtName::kEnqueue ? MarkAt::kEnqueue : MarkAt::kDequeue,
          .not_capable = config.not_capable == NotCapableName::kPass ? NotCapable::kPass : NotCapable::kDrop};
}

FabricSwitchOptions preset_options(SwitchPresetName preset, const PresetPort& port) {
  switch (preset) {
    case SwitchPresetName::kTomahawk5:
      return *find_fabric_preset("tomahawk5", port);
    case SwitchPresetName::kHpccNs3:
      return *find_fabric_preset("hpcc_ns3", port);
    case SwitchPresetName::kNone:
      break;
  }
  return {};
}

/// The fastest of the switch's ports decides what a preset makes of it.
PresetPort preset_port(const Topology& topology, SwitchId at) {
  PresetPort result{.line = {}, .ports = 0};
  for (uint32_t p = 0; p < topology.ports(); ++p) {
    if (topology.switch_of(p) != at) continue;
    ++result.ports;
    if (topology.line_of(p).rate > result.line.rate) result.line = topology.line_of(p);
  }
  return result;
}

FabricSwitchOptions switch_options(const RunConfig& config, const PresetPort& port) {
  const FabricConfig& fabric = *config.fabric;
  FabricSwitchOptions device = preset_options(fabric.preset, port);
  device.latency = config.embedded_switch.latency;
  device.loss_ppm = config.embedded_switch.loss_ppm;
  device.forwarding =
      fabric.forwarding == ForwardingName::kStoreAndForward ? Forwarding::kStoreAndForward : Forwarding::kCutThrough;
  apply(fabric, device.classes);
  device.scheduler.strict = set_of(fabric.strict);
  std::ranges::copy(fabric.weights, device.scheduler.weights.begin());
  apply(fabric.buffer, device.buffer);
  if (fabric.ecn) device.red = red_options(*fabric.ecn);
  if (fabric.watchdog) {
    device.watchdog = WatchdogOptions{
        .detection = fabric.watchdog->detection,
        .restoration = fabric.watchdog->restoration,
        .action = fabric.watchdog->action == StormActionName::kDrop ? StormAction::kDrop : StormAction::kForward};
  }
  device.pause_quanta = static_cast<uint16_t>(fabric.pause_quanta);
  return device;
}

LoadBalancingOptions balancing_options(const FabricBalancingConfig& config) {
  LoadBalancingOptions options{.spreading = Spreading::kFlow,
                               .hash_queue_pair = config.hash_queue_pair,
                               .seed_per_switch = config.seed_per_switch,
                               .flowlet_gap = config.flowlet_gap};
  if (config.spreading == SpreadingName::kFlowlet) options.spreading = Spreading::kFlowlet;
  if (config.spreading == SpreadingName::kPacket) options.spreading = Spreading::kPacket;
  return options;
}

/// A failure of a cable begins, or ends.
struct FailureEdge {
  Time at;
  uint32_t failure;  ///< number
  bool begins;
};

/// Of a cable that all these failures are at work on.
CableCondition condition_under(const std::vector<FabricFailureConfig>& failures,
                               const std::map<uint32_t, uint32_t>& lasting) {
  CableCondition condition;
  for (const auto& [number, times] : lasting) {
    const FabricFailureConfig& failure = failures[number];
    if (!failure.degrades()) condition.up = false;
    if (failure.rate) condition.rate = std::min(*failure.rate, condition.rate.value_or(*failure.rate));
    condition.latency = std::max(condition.latency, failure.latency);
    condition.loss_ppm = std::max(condition.loss_ppm, failure.loss_ppm);
  }
  // What carries nothing has no other properties.
  return condition.up ? condition : kDownCable;
}

std::vector<std::string> port_names(const RunConfig& config) {
  std::vector<std::string> names;
  for (const PortConfig& port : config.ports) names.push_back(port.name);
  return names;
}

}  // namespace

std::vector<CableEvent> cable_schedule(const RunConfig& config, const Topology& topology) {
  const std::vector<FabricFailureConfig>& failures = config.fabric->failures;
  std::map<uint32_t, std::vector<FailureEdge>> by_cable;
  for (uint32_t number = 0; number < failures.size(); ++number) {
    const FabricFailureConfig& failure = failures[number];
    for (const uint32_t cable : failing_cables(config, topology, failure)) {
      for (uint32_t i = 0; i < failure.times; ++i) {
        const Duration later = failure.period.value_or(Duration()) * i;
        by_cable[cable].push_back({Time() + failure.down + later, number, true});
        if (failure.up) by_cable[cable].push_back({Time() + *failure.up + later, number, false});
      }
    }
  }
  std::vector<CableEvent> events;
  for (auto& [cable, edges] : by_cable) {
    std::ranges::stable_sort(edges, {}, &FailureEdge::at);
    std::map<uint32_t, uint32_t> lasting;  // failures, with how often each is at work
    CableCondition before;
    for (size_t i = 0; i < edges.size(); ++i) {
      uint32_t& times = lasting[edges[i].failure];
      times += edges[i].begins ? 1 : -1u;
      if (times == 0) lasting.erase(edges[i].failure);
      if (i + 1 < edges.size() && edges[i + 1].at == edges[i].at) continue;
      const CableCondition condition = condition_under(failures, lasting);
      if (condition != before) events.push_back({edges[i].at, cable, condition});
      before = condition;
    }
  }
  std::ranges::stable_sort(events, {}, &CableEvent::at);
  return events;
}

std::optional<ClassOptions> fabric_classes(const RunConfig& config) {
  if (!config.fabric) return std::nullopt;
  ClassOptions classes;
  apply(*config.fabric, classes);
  return classes;
}

FabricPlan fabric_plan(const Setup& setup) {
  const RunConfig& config = setup.config;
  FabricPlan plan;
  plan.topology = fabric_topology(config);
  for (uint32_t s = 0; s < plan.topology.switches.size(); ++s) {
    plan.devices.push_back(switch_options(config, preset_port(plan.topology, SwitchId(s))));
  }
  plan.options.balancing = balancing_options(config.fabric->balancing);
  plan.options.schedule = cable_schedule(config, plan.topology);
  plan.options.convergence = config.fabric->convergence;
  plan.options.seed = config.seed;
  plan.options.series = series_options(config);
  for (const Nic& nic : setup.plan.transport.nics) plan.stations.push_back({nic.mac, nic.port.value});
  return plan;
}

std::vector<PortCounters> fabric_ports(const VirtualFabric& fabric, const RunConfig& config) {
  const std::vector<std::string> names = port_names(config);
  const Topology& topology = fabric.topology();
  std::vector<PortCounters> result;
  for (const FabricPortCounters& c : fabric.counters()) {
    const auto p = static_cast<uint32_t>(result.size());
    const bool host = topology.is_host_port(p);
    PortCounters& counters = result.emplace_back();
    counters.port = PortId(host ? p - topology.host_port(0) : p + static_cast<uint32_t>(names.size()));
    counters.name = topology.port_name(p, names);
    counters.tx_frames = c.tx_frames, counters.tx_bytes = c.tx_bytes;
    counters.rx_frames = c.rx_frames, counters.rx_bytes = c.rx_bytes;
    counters.dropped = c.dropped() - c.dropped(FabricDrop::kFiltered);
    counters.marked = c.marks;
    counters.pause_tx = c.pauses_tx, counters.pause_rx = c.pauses_rx;
    counters.paused = c.paused;
  }
  return result;
}

std::vector<std::string> fabric_port_names(const VirtualFabric& fabric, const RunConfig& config) {
  const std::vector<std::string> hosts = port_names(config);
  std::vector<std::string> names;
  for (uint32_t p = 0; p < fabric.topology().ports(); ++p) names.push_back(fabric.topology().port_name(p, hosts));
  return names;
}

std::optional<SeriesOptions> series_options(const RunConfig& config) {
  if (!config.fabric_interval) return std::nullopt;
  return SeriesOptions{.interval = *config.fabric_interval, .rows = config.fabric_rows};
}

std::optional<QueueSampling> queue_sampling(const VirtualFabric& fabric, const RunConfig& config) {
  const FabricSeries* const series = fabric.series();
  if (series == nullptr) return std::nullopt;
  QueueSampling sampling{.interval = series->interval(), .lost = series->lost()};
  sampling.ports = fabric_port_names(fabric, config);
  sampling.rows.reserve(series->rows().size());
  for (const FabricSample& sample : series->rows()) sampling.rows.push_back(queue_sample_row(sample));
  return sampling;
}

std::vector<StormRow> storm_rows(const VirtualFabric& fabric, const RunConfig& config) {
  const std::vector<std::string> names = fabric_port_names(fabric, config);
  std::vector<StormRow> rows;
  for (const FabricStorm& storm : fabric.storms().rows()) rows.push_back(storm_row(storm, names));
  return rows;
}

std::string deadlock_text(const VirtualFabric& fabric, const RunConfig& config) {
  const std::vector<std::string> names = port_names(config);
  std::string text;
  for (const FabricQueueId& queue : fabric.deadlocked()) {
    text += fmt::format("{}{} priority {}", text.empty() ? "" : ", ", fabric.topology().port_name(queue.port, names),
                        queue.priority);
  }
  return text;
}

}  // namespace rankwire
