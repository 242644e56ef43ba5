#include "emulator/input/validate.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "converters/storage.h"
#include "emulator/input/aggregators.h"
#include "emulator/input/validate_background.h"
#include "emulator/input/validate_compute.h"
#include "emulator/input/validate_congestion.h"
#include "emulator/input/validate_devices.h"
#include "emulator/input/validate_dilation.h"
#include "emulator/input/validate_generate.h"
#include "emulator/input/validate_hybrid.h"
#include "emulator/input/validate_impairments.h"
#include "emulator/input/validate_jobs.h"
#include "emulator/input/validate_limits.h"
#include "emulator/input/validate_ports.h"
#include "emulator/input/validate_workers.h"
#include "emulator/input/validation_source.h"

namespace rankwire {
namespace {

/// Of the storage ranks of traces.
void check_storage_ranks(const Source& source, const WorkloadConfig& workload, const std::string& key) {
  const StorageModel& storage = workload.storage;
  if (storage == StorageModel()) return;
  if (workload.generate)
    source.fail(key + ".storage", "is for traces; what is generated has 'generate.storage' for kinds that train");
  if (workload.element_size != Bytes(1))
    source.fail(key + ".element_size",
                "is {} B, but 'storage' counts bytes; `rankwire trace check --repair` with "
                "--element-size makes traces that do, too",
                workload.element_size.count);
  StorageModel used = storage;
  used.restore = true;  // there is something to do
  if (const auto wrong = wrong_storage(used, 1)) source.fail(fmt::format("{}.{}", key, wrong->key), "{}", wrong->text);
}

/// `key` is that of the section.
void check_one_workload(const Source& source, const WorkloadConfig& workload, const std::string& key) {
  check_storage_ranks(source, workload, key);
  if (!workload.generate) {
    if (workload.traces.empty()) source.fail(key, "needs 'traces' or 'generate'");
    return;
  }
  const std::string generate = key + ".generate";
  if (!workload.traces.empty()) source.fail(key + ".traces", "contradicts {}; give one of them", generate);
  if (!workload.groups_file.value_or("").empty()) {
    source.fail(key + ".groups", "contradicts {}, which makes its own process groups", generate);
  }
  if (workload.element_size != Bytes(1)) {
    source.fail(key + ".element_size", "contradicts {}, whose sizes are in bytes", generate);
  }
  validate_generate(*workload.generate, source.root, generate + ".");
}

void check_workload(const Source& source) {
  const RunConfig& config = source.config;
  if (source.root.find("jobs") == nullptr) {
    if (source.root.find("workload") == nullptr) source.fail("workload", "is required, or 'jobs'");
    return check_one_workload(source, config.workload, "workload");
  }
  validate_jobs(config, source.root);
  for (size_t i = 0; i < config.jobs.size(); ++i) {
    const Tree& job = source.root.find("jobs")->items[i];
    const std::string key = fmt::format("jobs[{}]", i);
    if (job.find("workload") == nullptr) source.fail(key, "'workload' is required");
    check_one_workload(source, config.jobs[i].workload, key + ".workload");
  }
}

/// Whether the hosts' NICs are chosen by a policy for any rank.
bool has_policy(const RunConfig& config) {
  if (config.jobs.empty()) return config.mapping.policy != MappingPolicy::kExplicit;
  return std::ranges::any_of(config.jobs, [&](const JobConfig& job) {
    return job.mapping.value_or(config.mapping).policy != MappingPolicy::kExplicit;
  });
}

void check_hosts(const Source& source) {
  const RunConfig& config = source.config;
  const size_t ports = rank_ports(config).size();
  const uint64_t hosts = config.hosts.count.value_or(static_cast<uint32_t>(ports));
  const uint64_t nics = hosts * config.hosts.nics.value_or(1);
  if (has_policy(config) && nics < ports) {
    source.fail("hosts", "{} hosts with {} NICs in all leave some of {} ports idle", hosts, nics, ports);
  }
  if (!config.workload.generate || !config.hosts.npus) return;
  const uint64_t ranks = generated_ranks(*config.workload.generate);
  if (ranks > hosts * *config.hosts.npus) {
    source.fail("hosts.npus", "{} hosts of {} NPUs do not hold the {} ranks of workload.generate", hosts,
                *config.hosts.npus, ranks);
  }
}

void check_place(const Source& source, const PlacementEntry& place, const std::string& key) {
  const HostsConfig& hosts = source.config.hosts;
  for (const char* required : {"rank", "host", "npu", "nic", "port"}) {
    const Tree& entry = nearest(source.root, key);
    if (entry.find(required) == nullptr) fail_at(entry.origin, "{}: '{}' is required", key, required);
  }
  if (hosts.count && place.host >= *hosts.count) source.fail(key + ".host", "{} is not below hosts.count", place.host);
  if (hosts.npus && place.npu >= *hosts.npus) source.fail(key + ".npu", "{} is not below hosts.npus", place.npu);
  if (hosts.nics && place.nic >= *hosts.nics) source.fail(key + ".nic", "{} is not below hosts.nics", place.nic);
  const auto named = [&](const PortConfig& port) { return port.name == place.port; };
  if (std::none_of(source.config.ports.begin(), source.config.ports.end(), named)) {
    source.fail(key + ".port", "'{}' is not the name of a port", place.port);
  }
}

/// Who stands where by explicit mappings of all jobs, or of the one workload.
class ExplicitPlaces {
 public:
  explicit ExplicitPlaces(const Source& source) : source_(source) {}

  /// `key` is that of the section; `job` null where there is one workload without a name.
  void check(const MappingConfig& mapping, const WorkloadConfig& workload, const JobConfig* job,
             const std::string& key) {
    if (mapping.policy != MappingPolicy::kExplicit) {
      if (!mapping.ranks.empty()) source_.fail(key + ".ranks", "needs 'policy: explicit'");
      return;
    }
    if (mapping.ranks.empty()) source_.fail(key, "'policy: explicit' needs 'ranks'");
    std::set<uint32_t> ranks;
    for (size_t i = 0; i < mapping.ranks.size(); ++i) {
      const PlacementEntry& place = mapping.ranks[i];
      const std::string entry = fmt::format("{}.ranks[{}]", key, i);
      check_place(source_, place, entry);
      if (!ranks.insert(place.rank).second) source_.fail(entry + ".rank", "rank {} is placed twice", place.rank);
      take_npu(place, job, entry);
      const std::string& port = nic_port_.try_emplace({place.host, place.nic}, place.port).first->second;
      if (port != place.port) {
        source_.fail(entry + ".port", "NIC {} of host {} already stands behind port '{}'", place.nic, place.host, port);
      }
    }
    check_every_rank(ranks, workload, key);
  }

 private:
  struct Owner {
    uint32_t rank;
    const JobConfig* job;
  };

  void take_npu(const PlacementEntry& place, const JobConfig* job, const std::string& entry) {
    const auto [owner, vacant] = npu_owner_.try_emplace({place.host, place.npu}, Owner{place.rank, job});
    if (vacant) return;
    const Owner& first = owner->second;
    if (first.job == job)
      source_.fail(entry + ".npu", "NPU {} of host {} already holds rank {}", place.npu, place.host, first.rank);
    if (!job->share || !first.job->share)
      source_.fail(entry + ".npu",
                   "NPU {} of host {} already holds rank {} of job '{}'; with 'share: on' in both jobs it may hold "
                   "both",
                   place.npu, place.host, first.rank, first.job->name);
  }

  void check_every_rank(const std::set<uint32_t>& ranks, const WorkloadConfig& workload, const std::string& key) const {
    const auto& model = workload.generate;
    const std::string list = key + ".ranks";
    const uint64_t expected = model ? generated_ranks(*model) : ranks.size();
    for (uint32_t rank = 0; rank < expected; ++rank) {
      if (!ranks.contains(rank)) source_.fail(list, "rank {} is missing", rank);
    }
    if (ranks.size() > expected) source_.fail(list, "workload.generate makes only {} ranks", expected);
  }

  const Source& source_;
  std::map<std::pair<uint32_t, uint32_t>, Owner> npu_owner_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> nic_port_;
};

void check_mapping(const Source& source) {
  const RunConfig& config = source.config;
  ExplicitPlaces places(source);
  if (config.jobs.empty()) return places.check(config.mapping, config.workload, nullptr, "mapping");
  for (size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    if (job.mapping) places.check(*job.mapping, job.workload, &job, fmt::format("jobs[{}].mapping", i));
  }
}

void check_collectives(const Source& source) {
  const CollectivesConfig& collectives = source.config.collectives;
  const bool nccl = collectives.profile == CollectivesProfile::kNccl;
  const CollectivesConfig defaults;
  constexpr const char* kContradicts = "contradicts 'profile: nccl'; see collectives.nccl";
  if (nccl && collectives.channels != defaults.channels) source.fail("collectives.channels", "{}", kContradicts);
  if (nccl && collectives.chunk != defaults.chunk) source.fail("collectives.chunk", "{}", kContradicts);
  if (!nccl && collectives.nccl != defaults.nccl) source.fail("collectives.nccl", "needs 'profile: nccl'");
  const std::optional<uint32_t> p2p = collectives.nccl.p2p_channels;
  if (p2p && !std::has_single_bit(*p2p)) source.fail("collectives.nccl.p2p_channels", "{} is no power of 2", *p2p);
}

void check_ring(const Source& source) {
  const RingConfig& ring = source.config.collectives.ring;
  const bool listed = ring.order == RingOrder::kListed;
  if (listed && ring.ranks.empty()) source.fail("collectives.ring", "'order: listed' needs 'ranks'");
  if (!listed && !ring.ranks.empty()) source.fail("collectives.ring.ranks", "needs 'order: listed'");
  std::set<uint32_t> seen;
  for (const uint32_t rank : ring.ranks)
    if (!seen.insert(rank).second) source.fail("collectives.ring.ranks", "names rank {} twice", rank);
}

/// What NCCL does not have is not imitated in its name.
void check_nccl_algorithms(const Source& source) {
  const CollectivesConfig& collectives = source.config.collectives;
  if (collectives.profile != CollectivesProfile::kNccl) return;
  if (collectives.ring.direction != RingDirection::kForward)
    source.fail("collectives.ring.direction", "'profile: nccl' has rings of one direction");
  for (uint32_t i = 0; i < kCollectiveOperations; ++i) {
    const Operation operation = static_cast<Operation>(i);
    const Algorithm algorithm = collectives.algorithms[i].algorithm;
    const std::vector<Algorithm> known = nccl_algorithms_for(operation);
    if (std::ranges::find(known, algorithm) != known.end()) continue;
    source.fail(fmt::format("collectives.algorithms.{}", to_string(operation)), "'profile: nccl' has {}, not {}",
                names_of(known), to_string(algorithm));
  }
}

void check_switch(const Source& source) {
  const SwitchConfig& device = source.config.embedded_switch;
  constexpr int64_t kFrameOverhead = 82;  // RoCEv2 over untagged IPv4 with FCS, preamble and gap
  const Bytes frame(source.config.transport.mtu.value_or(kLargestPathMtu) + kFrameOverhead);
  if (device.buffer < frame) {
    source.fail("switch.buffer", "{} bytes do not hold one frame of {}", device.buffer.count, frame.count);
  }
  if (device.ecn_threshold && *device.ecn_threshold >= device.buffer) {
    source.fail("switch.ecn_threshold", "is not below switch.buffer, so nothing would be marked");
  }
}

void check_transport(const Source& source) {
  const TransportConfig& transport = source.config.transport;
  if (transport.ack_every && transport.window && *transport.ack_every > *transport.window) {
    source.fail("transport.ack_every",
                "{} is above transport.window {}: the window would close before an "
                "acknowledgement is asked for",
                *transport.ack_every, *transport.window);
  }
  if (transport.receive_check == ReceiveCheckName::kHeaderAndTrailer && transport.checking) {
    source.fail("transport.receive_check", "'header_and_trailer' does not look at payloads, which 'checking' compares");
  }
  const SourcePortConfig::Rule rule = transport.source_port.rule;
  const bool hashed = rule == SourcePortConfig::Rule::kPerMessage || rule == SourcePortConfig::Rule::kPerPacket;
  for (size_t i = 0; i < source.config.ports.size(); ++i) {
    if (hashed && source.config.ports[i].queues > 1)
      source.fail(fmt::format("ports[{}].queues", i),
                  "needs one source port a queue pair: the device would spread the packets of one over its queues");
  }
  if (transport.resolve_interval > transport.resolve_deadline)
    source.fail("transport.resolve_interval", "is above transport.resolve_deadline");
  if (transport.ecn == false && source.config.embedded_switch.ecn_threshold) {
    source.fail("switch.ecn_threshold", "needs 'transport.ecn: on': packets that are not ECN-capable are not marked");
  }
}

void check_simulation(const Source& source) {
  const SimulationConfig& simulation = source.config.simulation;
  if (simulation.fidelity.empty()) source.fail("simulation.fidelity", "names no model");
  if (std::set(simulation.fidelity.begin(), simulation.fidelity.end()).size() != simulation.fidelity.size())
    source.fail("simulation.fidelity", "names a model twice");
  if (simulation.ensemble.value_or(0) > 0 && !simulation.has(SimulationFidelity::kFlow))
    source.fail("simulation.ensemble", "is of the model flow, which 'simulation.fidelity' does not have");
  if (simulation.what_if && !simulation.has(SimulationFidelity::kFlow))
    source.fail("simulation.what_if", "is of the model flow, which 'simulation.fidelity' does not have");
  if (!simulation.is_astra()) return;
  if (simulation.astra.network.empty()) source.fail("simulation.astra.network", "is required with 'fidelity: astra'");
  if (simulation.astra.system.empty()) source.fail("simulation.astra.system", "is required with 'fidelity: astra'");
}

/// What stands on ports, of which there are none.
void check_without_ports(const Source& source) {
  if (source.config.mapping.policy == MappingPolicy::kExplicit) source.fail("mapping.policy", "needs 'ports'");
  for (size_t i = 0; i < source.config.jobs.size(); ++i) {
    const std::optional<MappingConfig>& mapping = source.config.jobs[i].mapping;
    if (mapping && mapping->policy == MappingPolicy::kExplicit)
      source.fail(fmt::format("jobs[{}].mapping.policy", i), "needs 'ports'");
  }
  if (source.config.fabric) source.fail("fabric", "needs 'ports'");
  validate_hybrid(source.config, source.root);
  if (!source.config.impairments.empty()) source.fail("impairments", "needs 'ports'");
  if (!source.config.background.empty()) source.fail("background", "needs 'ports'");
  if (!source.config.device_counters.empty()) source.fail("device_counters", "needs 'ports'");
}

}  // namespace

void validate(const RunConfig& config, const Tree& root) {
  const Source source{config, root};
  check_workload(source);
  check_simulation(source);
  validate_compute(config, root);
  validate_limits(config, root);
  if (!config.simulation.needs_ports() && config.ports.empty()) return check_without_ports(source);
  validate_ports(config, root);
  validate_aggregators(config, root);
  check_hosts(source);
  check_mapping(source);
  validate_hybrid(config, root);
  check_collectives(source);
  check_ring(source);
  check_nccl_algorithms(source);
  check_switch(source);
  validate_fabric(config, root);
  check_transport(source);
  validate_rdma_devices(config, root);
  validate_congestion(config, root);
  validate_background(config, root);
  validate_impairments(config, root);
  validate_workers(config, root);
  validate_dilation(config, root);
  validate_device_counters(config, root);
  if (config.dpdk.memory.count % (1 << 20) != 0) source.fail("dpdk.memory", "must be a whole number of MiB");
}

}  // namespace rankwire
