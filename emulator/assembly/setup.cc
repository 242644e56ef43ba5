#include "emulator/assembly/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "emulator/assembly/aggregators.h"
#include "emulator/assembly/background.h"
#include "emulator/assembly/compute_model.h"
#include "emulator/assembly/congestion_control.h"
#include "emulator/assembly/full_buffer.h"
#include "emulator/assembly/generate.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/limits.h"
#include "emulator/assembly/port_flow_control.h"
#include "emulator/assembly/schedules.h"
#include "emulator/assembly/stored_traces.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/assembly/verbs_options.h"
#include "emulator/input/aggregators.h"
#include "emulator/input/validate_generate.h"
#include "emulator/workload/job_placement.h"
#include "emulator/workload/jobs.h"
#include "emulator/workload/process_groups.h"

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

/// Calls what knows keys and no file.
template <class Call>
auto with_places(const RunConfig& config, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(error.kind(), config.places.located(error.what()));
  }
}

/// `prefix` is that of the traces where they are generated, which is left to the caller.
WorkloadOptions workload_options(const WorkloadConfig& w, const std::filesystem::path& prefix) {
  WorkloadOptions options{.traces = w.traces,
                          .groups_file = w.groups_file.value_or(""),
                          .element_size = w.element_size,
                          .dependencies = dependency_policy(w.dependencies),
                          .bytes = w.bytes_scale,
                          .compute = w.compute_scale,
                          .select = {w.select_names, w.select_groups, w.select_kinds},
                          .stream_above = w.stream_above};
  if (!w.generate) {
    if (!w.groups_file) options.groups_file = groups_beside(w.traces);
    return options;
  }
  // One by one: the prefix may have files of further ranks, from an earlier run with more of them.
  for (uint64_t rank = 0; rank < generated_ranks(*w.generate); ++rank)
    options.traces.push_back(fmt::format("{}.{}.et", prefix.string(), rank));
  options.groups_file = prefix.string() + ".json";
  options.round_to = w.generate->granule();
  return options;
}

/// Loads the workload that `key`, a section of the configuration, describes; what it says of its selection names the
/// key.
Workload load_from(const RunConfig& config, const std::string& key, const WorkloadOptions& options,
                   Warnings& warnings) {
  const auto located = [&](const std::string& text) {
    return text.starts_with("select.") ? config.places.located(fmt::format("{}.{}", key, text)) : text;
  };
  Warnings own;
  try {
    Workload workload = load_workload(options, own);
    for (const std::string& warning : own) warnings.push_back(located(warning));
    return workload;
  } catch (const Error& error) {
    throw Error(error.kind(), located(error.what()));
  }
}

/// `key` is that of `w`.
void generate_traces(const RunConfig& config, const std::string& key, const WorkloadConfig& w,
                     const std::filesystem::path& prefix) {
  if (!w.generate) return;
  std::filesystem::create_directories(prefix.parent_path());
  NodeLimit limit(kMostGeneratedNodes, "`rankwire trace generate --force` writes them, for workload.traces to name");
  generate(*w.generate, {.places = config.places, .section = key + ".generate."}, prefix.string(), limit);
}

/// Jobs that are generated from the same description read the same traces.
Workload load_jobs(Setup& setup, const std::filesystem::path& folder) {
  std::vector<JobConfig>& jobs = setup.config.jobs;
  const auto number_of = [&](const std::string& name) {
    return static_cast<uint32_t>(std::ranges::find(jobs, name, &JobConfig::name) - jobs.begin());
  };
  std::vector<JobPart> parts;
  for (size_t j = 0; j < jobs.size(); ++j) {
    JobConfig& job = jobs[j];
    const auto first =
        std::ranges::find(jobs, job.workload.generate, [](const JobConfig& other) { return other.workload.generate; }) -
        jobs.begin();
    const std::filesystem::path prefix = folder / "traces" / fmt::format("job{}", first);
    if (static_cast<size_t>(first) == j)
      generate_traces(setup.config, fmt::format("jobs[{}].workload", j), job.workload, prefix);
    WorkloadOptions options = workload_options(job.workload, prefix);
    if (!job.workload.generate) job.workload.groups_file = options.groups_file;
    store_on_wire(job.workload.storage, folder / "traces" / fmt::format("stored{}", j), options);
    Warnings warnings;
    JobPart& part = parts.emplace_back();
    part.workload = load_from(setup.config, fmt::format("jobs[{}].workload", j), options, warnings);
    part.job.name = job.name;
    part.job.iterations = job.workload.iterations;
    part.job.start = job.start;
    part.job.idle = job.idle;
    if (!job.after.empty()) part.job.after = JobId(number_of(job.after));
    for (const std::string& warning : warnings) setup.warnings.push_back(fmt::format("job {}: {}", job.name, warning));
  }
  return with_places(setup.config, [&] { return join_jobs(std::move(parts)); });
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

PortId port_named(const RunConfig& config, const std::string& name) {
  const auto port = std::ranges::find(config.ports, name, &PortConfig::name);
  return PortId(static_cast<uint32_t>(port - config.ports.begin()));
}

std::vector<Place> explicit_places(const RunConfig& config, const MappingConfig& mapping) {
  std::vector<Place> places(mapping.ranks.size());
  for (const PlacementEntry& entry : mapping.ranks) {
    places[entry.rank] = {entry.host, entry.npu, entry.nic, port_named(config, entry.port)};
  }
  return places;
}

/// The ranks, and behind them the ends of the background.
Placement place_all(Setup& setup, uint32_t ranks, PlacementOptions options) {
  Placement placement = place_ranks(ranks, options);
  if (setup.config.background.empty()) return placement;
  setup.background_ends = background_ends(setup.config, placement, options);
  options.guests = setup.background_ends.places;
  return place_ranks(ranks, options);
}

Placement place_workload(Setup& setup) {
  const RunConfig& config = setup.config;
  const Workload& workload = setup.workload;
  const auto ranks = static_cast<uint32_t>(workload.ranks.size());
  PlacementOptions options = placement_options(config, ranks);
  if (config.jobs.empty()) return with_places(config, [&] { return place_all(setup, ranks, std::move(options)); });
  std::vector<JobPlacement> jobs;
  for (size_t j = 0; j < config.jobs.size(); ++j) {
    const JobConfig& job = config.jobs[j];
    const MappingConfig& mapping = job.mapping ? *job.mapping : config.mapping;
    jobs.push_back({.label = fmt::format("{}: jobs[{}]", job.place, j),
                    .ranks = workload.jobs[j].ranks,
                    .policy = placement_policy(mapping.policy),
                    .hosts = job.hosts,
                    .share = job.share,
                    .places = explicit_places(config, mapping)});
  }
  options.places = place_jobs(jobs, options, config.hosts.npus);
  options.policy = PlacementPolicy::kExplicit;
  try {
    return place_all(setup, ranks, std::move(options));
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(error.kind(), config.places.located(text.starts_with("mapping.") ? "jobs: " + text : text));
  }
}

/// What is on wires should be what somebody wants to see there.
void warn_of_hybrid(Setup& setup) {
  if (!setup.is_hybrid() || setup.config.hybrid->wired.empty() || setup.plan.bytes_wire > Bytes(0)) return;
  setup.warnings.push_back(
      "hybrid: nothing goes over wires: the ranks of hybrid.wired have nothing to send to each other from host to "
      "host; "
      "choose hosts that do, or another mapping.policy");
}

void warn_of_local_traffic(Setup& setup) {
  if (setup.is_hybrid()) return warn_of_hybrid(setup);
  const double wire = static_cast<double>(setup.plan.bytes_wire.count);
  const double all = wire + static_cast<double>(setup.plan.bytes_local.count);
  if (all > 0 && wire < 0.1 * all) {
    setup.warnings.push_back(fmt::format(
        "only {:.1f} % of the bytes go over the wire, the rest stays within hosts or behind one port: change "
        "mapping.policy, hosts.count or ports",
        100 * wire / all));
  }
}

/// Objectives may be of a configuration for several workloads, so that they are no error where no request is.
void note_unused_objectives(Setup& setup) {
  const auto& slo = setup.config.slo;
  if (!slo || !(slo->ttft || slo->tpot || slo->latency) || !setup.workload.marks.empty()) return;
  setup.warnings.push_back(
      setup.config.places.of("slo") +
      " has no effect: the traces say nothing of requests (attributes request_arrival, request_token)");
}

/// A request arrives once in each iteration of its job.
void require_single_arrivals(const Setup& setup) {
  std::map<std::pair<JobId, int64_t>, RankId> arrived;
  for (const RequestMark& mark : setup.workload.marks) {
    if (!mark.arrives) continue;
    const JobId job = setup.workload.ranks[mark.rank.value].job;
    const auto [first, is_new] = arrived.try_emplace({job, mark.request}, mark.rank);
    if (!is_new)
      fail_input("{}: request {} arrives by a node of rank {} and by another of rank {}: one node says it",
                 setup.config.file, mark.request, first->second.value, mark.rank.value);
  }
}

/// Whether a run would be taken for stalled before the transport repeats what was lost.
void warn_of_late_repetition(Setup& setup) {
  const Duration wait = regular_timeout(setup);
  if (wait < setup.config.run.stall_timeout) return;
  setup.warnings.push_back(fmt::format(
      "a lost packet may be repeated after {:g} s only, but after {:g} s without progress the run counts as "
      "stalled: raise run.stall_timeout or lower transport.timeout",
      static_cast<double>(wait.ps) / 1e12, static_cast<double>(setup.config.run.stall_timeout.ps) / 1e12));
}

AddressPool address_pool(const SubnetConfig& ip, std::optional<uint16_t> vlan, std::optional<IpAddress> gateway) {
  return {.first = ip.first, .prefix_length = ip.prefix_length, .vlan = vlan, .gateway = gateway.value_or(IpAddress())};
}

std::vector<std::optional<AddressPool>> port_addresses(const RunConfig& config) {
  std::vector<std::optional<AddressPool>> pools;
  for (const PortConfig& port : config.ports) {
    std::optional<AddressPool>& pool = pools.emplace_back();
    if (port.ip) pool = address_pool(*port.ip, port.vlan, port.gateway);
  }
  return pools;
}

}  // namespace

void prepare(Setup& setup, const RunConfig& config, const std::filesystem::path& folder) {
  setup.config = config;
  apply_profile(setup.config.transport);
  apply_congestion_preset(setup.config);
  AstraTraits traits;
  if (config.simulation.is_astra())
    setup.astra.emplace().model = load_astra_model(config.simulation.astra, setup.warnings);
  if (config.jobs.empty()) {
    const std::filesystem::path prefix = folder / "traces" / "generated";
    generate_traces(config, "workload", config.workload, prefix);
    WorkloadOptions options = workload_options(config.workload, prefix);
    if (!config.workload.generate) setup.config.workload.groups_file = options.groups_file;
    store_on_wire(config.workload.storage, folder / "traces" / "stored", options);
    if (setup.astra) traits.observe(options);
    options.fold = setup.folds && !setup.astra && config.impairments.empty() && config.collectives.aggregators.empty();
    setup.workload = load_from(config, "workload", options, setup.warnings);
  } else {
    setup.workload = load_jobs(setup, folder);
  }
  require_limited_operations(config, setup.workload);
  note_unused_objectives(setup);
  require_single_arrivals(setup);
  if (!config.ports.empty()) setup.placement = place_workload(setup);
  apply_compute_model(setup);
  if (setup.astra)
    setup.astra->workload =
        make_astra_workload(setup.astra->model, setup.workload, traits, setup.config, setup.warnings);
  if (config.ports.empty()) return;
  add_aggregators(setup);
  setup.variation = make_variation(setup);
  choose_schedules(setup);
  setup.plan =
      make_plan_by_job(setup.workload, setup.placement, setup.schedules_of_job, setup.config.workload.iterations);
  plan_background(setup);
  setup.impairments = impairment_rules(setup);
  setup.congestion_exceptions = congestion_exceptions(setup);
  setup.job_markings = job_markings(setup);
  warn_of_other_groups(setup);
  warn_of_local_traffic(setup);
  warn_of_late_repetition(setup);
  if (auto finding = full_buffer_finding(setup)) setup.warnings.push_back(std::move(*finding));
  warn_of_unheeded_keys(setup);
  warn_of_unheeded_pauses(setup);
}

PlacementOptions placement_options(const RunConfig& config, uint32_t ranks) {
  std::vector<PortId> for_ranks, further;
  for (const uint32_t port : rank_ports(config)) for_ranks.push_back(PortId(port));
  for (const AggregatorConfig& aggregator : config.collectives.aggregators)
    further.push_back(port_named(config, aggregator.port));
  const uint32_t ports = static_cast<uint32_t>(for_ranks.size());
  const uint32_t hosts = config.hosts.count.value_or(ports);
  const uint32_t nics = config.hosts.nics.value_or(std::max(1u, ports / hosts));
  return {.policy = placement_policy(config.mapping.policy),
          .hosts = hosts,
          .npus = config.hosts.npus.value_or((ranks + hosts - 1) / hosts),
          .nics = nics,
          .ports = ports,
          .places = explicit_places(config, config.mapping),
          .rank_ports = std::move(for_ranks),
          .further = std::move(further),
          .guests = {},
          .wired_hosts = config.hybrid ? std::optional(config.hybrid->wired) : std::nullopt,
          .addresses = address_pool(config.addresses.ip, config.addresses.vlan, config.addresses.gateway),
          .port_addresses = port_addresses(config),
          .first_mac = config.addresses.first_mac};
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

uint64_t planned_operations(const RunConfig& config, const Workload& workload, RankId rank) {
  const RankTrace& trace = workload.ranks[rank.value];
  if (workload.is_idle(trace.job)) return 0;
  uint64_t count = trace.streamed ? trace.streamed->operations : 0;
  for (size_t n = 0; n < trace.nodes.size(); ++n)
    count += trace.nodes[n].kind != NodeKind::kNone ? trace.times_of(n) : 0;
  return count * workload.iterations_of(trace.job, config.workload.iterations);
}

uint64_t planned_operations(const RunConfig& config, const Workload& workload) {
  uint64_t count = 0;
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank)
    count += planned_operations(config, workload, RankId(rank));
  return count;
}

uint64_t planned_rows(const Setup& setup) {
  if (!setup.background.empty()) return UINT64_MAX;  // sends as long as the jobs take
  uint64_t most = setup.config.workload.iterations;
  for (const Job& job : setup.workload.jobs) most = std::max<uint64_t>(most, job.iterations);
  // Of a message one row of its source and one of its destination.
  return std::max(planned_operations(setup.config, setup.workload), 2 * most * setup.plan.messages_per_iteration);
}

RunOptions run_options(const RunConfig& config) {
  return {.deadline = config.run.deadline, .stall_timeout = config.run.stall_timeout};
}

NodeInfo node_info(const Workload& workload, RankId rank, uint32_t place, const Node& node) {
  const bool collective = node.kind == NodeKind::kCollective;
  const bool point_to_point = node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive;
  NodeInfo info{.rank = rank,
                .node = place,
                .id = node.id,
                .name = std::string(node.name),
                .kind = collective ? to_string(node.collective) : to_string(node.kind),
                .group_size = point_to_point ? 2u : 0u,
                .bytes = node.bytes,
                .recorded = node.recorded,
                .job = workload.ranks[rank.value].job,
                .sequence = node.sequence,
                .peer = node.peer,
                .tag = node.tag_ordinal,
                .timed_by = to_string(node.timed_by)};
  if (collective) {
    const Group& group = workload.groups[node.group.value];
    info.group = group.name, info.group_size = static_cast<uint32_t>(group.members.size()), info.job = group.job;
  }
  return info;
}

}  // namespace rankwire
