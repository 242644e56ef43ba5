#include "emulator/cli/setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/simulator/roofline.h"

namespace rankwire {
namespace {

DependencyPolicy dependency_policy(DependencyChoice choice) {
  switch (choice) {
    case DependencyChoice::kAuto:
      return DependencyPolicy::kAuto;
    case DependencyChoice::kData:
      return DependencyPolicy::kData;
    case DependencyChoice::kControl:
      return DependencyPolicy::kControl;
    case DependencyChoice::kBoth:
      return DependencyPolicy::kBoth;
  }
  return DependencyPolicy::kAuto;
}

WorkloadOptions workload_options(const RunConfig& config, const std::filesystem::path& folder) {
  const WorkloadConfig& w = config.workload;
  WorkloadOptions options{.traces = w.traces,
                          .groups_file = w.groups_file,
                          .element_size = w.element_size,
                          .dependencies = dependency_policy(w.dependencies),
                          .bytes = w.bytes_scale,
                          .compute = w.compute_scale,
                          .select = {w.select_names, w.select_groups, w.select_kinds}};
  if (!w.generate) return options;
  const std::filesystem::path traces = folder / "traces";
  std::filesystem::create_directories(traces);
  const std::string prefix = (traces / "generated").string();
  const GeneratedTraces made = generate_transformer(transformer_model(*w.generate), prefix);
  // One by one: the prefix may have files of further ranks, from an earlier run with more of them.
  for (uint32_t rank = 0; rank < made.ranks; ++rank) options.traces.push_back(fmt::format("{}.{}.et", prefix, rank));
  options.groups_file = prefix + ".json";
  options.round_to = w.generate->element;
  return options;
}

/// Gives a duration to the nodes that take it from the model.
void apply_compute_model(Workload& workload, const RunConfig& config) {
  const ComputeDevice device{config.compute.peak_flops, config.compute.memory_bandwidth};
  for (RankTrace& trace : workload.ranks) {
    for (Node& node : trace.nodes) {
      const bool timed = node.kind == NodeKind::kCompute || node.kind == NodeKind::kMemory;
      if (!timed || config.compute.source == ComputeSource::kRecorded) continue;
      if (config.compute.source == ComputeSource::kAuto && node.recorded) continue;
      node.duration = scaled_duration(roofline(node.operations, node.tensor, device), config.workload.compute_scale);
    }
  }
}

PlacementPolicy placement_policy(MappingPolicy policy) {
  switch (policy) {
    case MappingPolicy::kRoundRobin:
      return PlacementPolicy::kRoundRobin;
    case MappingPolicy::kBlock:
      return PlacementPolicy::kBlock;
    case MappingPolicy::kExplicit:
      return PlacementPolicy::kExplicit;
  }
  return PlacementPolicy::kRoundRobin;
}

std::vector<Place> explicit_places(const RunConfig& config) {
  std::vector<Place> places(config.mapping.ranks.size());
  for (const PlacementEntry& entry : config.mapping.ranks) {
    const auto port = std::find_if(config.ports.begin(), config.ports.end(),
                                   [&](const PortConfig& p) { return p.name == entry.port; });
    places[entry.rank] = {entry.host, entry.npu, entry.nic, PortId(static_cast<uint32_t>(port - config.ports.begin()))};
  }
  return places;
}

void warn_of_local_traffic(Setup& setup) {
  const double wire = static_cast<double>(setup.plan.bytes_wire.count);
  const double all = wire + static_cast<double>(setup.plan.bytes_local.count);
  if (all > 0 && wire < 0.1 * all) {
    setup.warnings.push_back(fmt::format(
        "only {:.1f} % of the bytes go over the wire, the rest stays within hosts or behind one port: change "
        "mapping.policy, hosts.count or ports",
        100 * wire / all));
  }
}

}  // namespace

TransformerModel transformer_model(const TransformerConfig& c) {
  return {.layers = c.layers,
          .hidden = c.hidden,
          .sequence = c.sequence,
          .vocabulary = c.vocabulary,
          .micro_batches = c.micro_batches,
          .micro_batch_size = c.micro_batch_size,
          .element = c.element,
          .tensor_parallel = c.tensor_parallel,
          .pipeline_parallel = c.pipeline_parallel,
          .data_parallel = c.data_parallel,
          .peak_flops = c.peak_flops};
}

void prepare(Setup& setup, const RunConfig& config, const std::filesystem::path& folder) {
  setup.config = config;
  setup.workload = load_workload(workload_options(config, folder), setup.warnings);
  apply_compute_model(setup.workload, config);
  const uint32_t ranks = static_cast<uint32_t>(setup.workload.ranks.size());
  setup.placement = place_ranks(ranks, placement_options(config, ranks));
  setup.plan = make_plan(setup.workload, setup.placement,
                         {.channels = config.collectives.channels, .chunk = config.collectives.chunk},
                         config.workload.iterations);
  warn_of_local_traffic(setup);
}

PlacementOptions placement_options(const RunConfig& config, uint32_t ranks) {
  const uint32_t ports = static_cast<uint32_t>(config.ports.size());
  const uint32_t hosts = config.hosts.count.value_or(ports);
  const uint32_t nics = config.hosts.nics.value_or(std::max(1u, ports / hosts));
  return {.policy = placement_policy(config.mapping.policy),
          .hosts = hosts,
          .npus = config.hosts.npus.value_or((ranks + hosts - 1) / hosts),
          .nics = nics,
          .ports = ports,
          .places = explicit_places(config),
          .first_ip = config.mapping.first_ip,
          .prefix_length = config.mapping.prefix_length,
          .first_mac = config.mapping.first_mac};
}

EngineOptions engine_options(const RunConfig& config) {
  return {.iterations = config.workload.iterations,
          .compute = config.concurrency.compute,
          .host = config.concurrency.host,
          .communication = config.concurrency.communication,
          .messages = {.reduce_bandwidth = config.collectives.reduce_bandwidth,
                       .reduce_latency = config.collectives.reduce_latency,
                       .on_failure = config.run.continue_on_failure ? OnFailure::kContinue : OnFailure::kStop,
                       .payload_keys = config.transport.checking ? PayloadKeys::kCompared : PayloadKeys::kIgnored}};
}

RunOptions run_options(const RunConfig& config) {
  return {.deadline = config.run.deadline, .stall_timeout = config.run.stall_timeout};
}

uint32_t default_timeout(const Setup& setup) {
  // A switch in the loop stands still only when the loop does, which it notices. One in a thread of its own may wait
  // for a core without anybody noticing.
  constexpr uint32_t kSwitchInLoop = 8, kSwitchInThread = 12, kForeignDevice = 14;
  const RunConfig& config = setup.config;
  std::vector<Bytes> queued(config.ports.size());
  const Framing framing = rocev2_framing(Bytes(config.transport.mtu));
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kWire) continue;
    const Bytes window(int64_t{config.transport.window} * config.transport.mtu);
    queued[setup.placement.nics[c.destination_nic.value].port.value] +=
        line_size(std::min(window, c.bytes_per_iteration), framing);
  }
  Duration longest;
  for (size_t p = 0; p < queued.size(); ++p) {
    const Bytes most = std::min(queued[p], config.embedded_switch.buffer);
    longest = std::max(longest, serialization_time(most, config.ports[p].rate));
  }
  uint32_t exponent = !config.ports.front().embedded()  ? kForeignDevice
                      : config.embedded_switch.own_core ? kSwitchInThread
                                                        : kSwitchInLoop;
  while (exponent < 31 && ack_timeout(exponent) < longest * 2) ++exponent;
  return exponent;
}

RoceOptions roce_options(const Setup& setup) {
  const RunConfig& config = setup.config;
  const TransportConfig& t = config.transport;
  return {.mtu = t.mtu,
          .window = t.window,
          .ack_every = t.ack_every,
          .timeout_exponent = t.timeout ? *t.timeout : default_timeout(setup),
          .retry_count = t.retry_count,
          .dscp = static_cast<uint8_t>(t.dscp),
          .ecn = t.ecn ? Ecn::kCapable0 : Ecn::kNotCapable,
          .time_to_live = static_cast<uint8_t>(t.ttl),
          .payload = t.checking ? PayloadMode::kChecking : PayloadMode::kPattern,
          .catch_up = t.catch_up,
          .seed = config.seed};
}

Network reference_network(const Setup& setup) {
  const RunConfig& config = setup.config;
  StarOptions options{.port_bandwidth = {},
                      .port_latency = config.embedded_switch.link_latency,
                      .switch_latency = config.embedded_switch.latency,
                      .framing = rocev2_framing(Bytes(config.transport.mtu)),
                      .local_bandwidth = config.hosts.local_bandwidth,
                      .local_latency = config.hosts.local_latency};
  for (const PortConfig& port : config.ports) options.port_bandwidth.push_back(port.rate);
  return star_network(options, setup.plan.transport);
}

std::vector<NodeInfo> node_table(const Workload& workload) {
  std::vector<NodeInfo> table;
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const std::vector<Node>& nodes = workload.ranks[r].nodes;
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      const bool collective = node.kind == NodeKind::kCollective;
      const bool point_to_point = node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive;
      NodeInfo info{.rank = RankId(r),
                    .node = n,
                    .id = node.id,
                    .name = node.name,
                    .kind = collective ? to_string(node.collective) : to_string(node.kind),
                    .group_size = point_to_point ? 2u : 0u,
                    .bytes = node.bytes,
                    .recorded = node.recorded,
                    .job = JobId(0)};
      if (collective) {
        const Group& group = workload.groups[node.group.value];
        info.group = group.name, info.group_size = static_cast<uint32_t>(group.members.size()), info.job = group.job;
      }
      table.push_back(std::move(info));
    }
  }
  return table;
}

}  // namespace rankwire
