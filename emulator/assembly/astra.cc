#include "emulator/assembly/astra.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/input/astra_files.h"
#include "emulator/simulator/astra_planner.h"
#include "proto/attributes.h"

namespace rankwire {
namespace {

using Work = AstraNode::Work;

template <class... Args>
[[noreturn]] void fail_node(const RankTrace& trace, const Node& node, fmt::format_string<Args...> format,
                            Args&&... args) {
  fail_input("{}: node {} \"{}\": {}", trace.file, node.id, node.name,
             fmt::format(format, std::forward<Args>(args)...));
}

/// Recorded times are whole microseconds there; less than a nanosecond counts as one.
Duration timed(Duration duration) {
  return std::max(nanoseconds(duration.ps / nanoseconds(1).ps), nanoseconds(1));
}

/// Only of those with an implementation of their own.
std::optional<AstraCollective> collective_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return AstraCollective::kAllReduce;
    case CollectiveKind::kAllGather:
      return AstraCollective::kAllGather;
    case CollectiveKind::kReduceScatter:
      return AstraCollective::kReduceScatter;
    case CollectiveKind::kAllToAll:
      return AstraCollective::kAllToAll;
    default:
      return std::nullopt;
  }
}

AstraResource resource_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kHost:
      return AstraResource::kHost;
    case NodeKind::kCompute:
      return AstraResource::kCompute;
    case NodeKind::kMemory:
    case NodeKind::kCollective:
    case NodeKind::kSend:
      return AstraResource::kCommunication;
    case NodeKind::kReceive:
    case NodeKind::kNone:
      break;
  }
  return AstraResource::kNone;
}

/// The nodes of one rank. What cannot run is an error here, while there are names.
class NodeMaker {
 public:
  NodeMaker(const AstraModel& model, const AstraPlanner& planner, const Workload& workload, const AstraTraits& traits,
            const Scale& scale)
      : model_(model), planner_(planner), workload_(workload), traits_(traits), scale_(scale) {}

  AstraNode make(RankId rank, uint32_t place) const {
    const RankTrace& trace = workload_.ranks[rank.value];
    const Node& node = trace.nodes[place];
    AstraNode out;
    out.resource = resource_of(node.kind), out.id = node.id, out.bytes = node.bytes;
    if (node.kind == NodeKind::kNone) return out;
    if (model_.system.replay) {
      out.work = Work::kTimed, out.duration = timed(recorded(node));
      return out;
    }
    switch (node.kind) {
      case NodeKind::kNone:
        break;
      case NodeKind::kHost:
      case NodeKind::kCompute:
        out.work = Work::kTimed, out.duration = compute_time(trace, node, rank, place);
        break;
      case NodeKind::kMemory:
        check_memory(trace, node, rank);
        out.work = Work::kMemory;
        break;
      case NodeKind::kCollective:
        make_collective(trace, node, rank, place, out);
        break;
      case NodeKind::kSend:
      case NodeKind::kReceive:
        if (node.bytes == Bytes(0)) fail_node(trace, node, "a message of 0 bytes, which ASTRA-sim does not send");
        out.work = node.kind == NodeKind::kSend ? Work::kSend : Work::kReceive;
        out.peer = node.peer.value, out.tag = node.tag;
        break;
    }
    return out;
  }

 private:
  Duration recorded(const Node& node) const {
    return node.recorded ? scaled_duration(*node.recorded, scale_) : Duration();
  }

  Duration compute_time(const RankTrace& trace, const Node& node, RankId rank, uint32_t place) const {
    if (!model_.system.roofline || node.kind == NodeKind::kHost) return timed(recorded(node));
    if (!traits_.gives_work(rank, place))
      fail_node(trace, node, "'roofline-enabled' takes num_ops and tensor_size, and the node lacks one of them");
    // Without a tensor ASTRA-sim skips the node; without operations it would divide 0 by 0.
    if (node.operations == 0 || node.tensor == Bytes(0)) return Duration();
    const auto operations = static_cast<double>(node.operations);
    const double intensity = operations / static_cast<double>(node.tensor.count);
    const double rate = std::min(model_.system.memory_bandwidth * 1e9 * intensity, model_.system.peak * 1e12);
    return timed(scaled_duration(whole_nanoseconds(operations / rate * 1e9), scale_));
  }

  void check_memory(const RankTrace& trace, const Node& node, RankId rank) const {
    const AstraMemory& memory = model_.memory;
    if (memory.kind == AstraMemory::Kind::kNone) {
      fail_node(trace, node,
                "accesses remote memory, but memory-type is NO_MEMORY_EXPANSION; see simulation.astra.memory");
    }
    if (memory.kind == AstraMemory::Kind::kPerNode && rank.value / memory.npus_per_node >= memory.nodes) {
      fail_node(trace, node, "rank {} is beyond num-nodes {} with num-npus-per-node {}", rank.value, memory.nodes,
                memory.npus_per_node);
    }
  }

  void make_collective(const RankTrace& trace, const Node& node, RankId rank, uint32_t place, AstraNode& out) const {
    if (node.collective == CollectiveKind::kBroadcast) {
      out.work = Work::kTimed, out.duration = timed(recorded(node));
      return;
    }
    const std::optional<AstraCollective> collective = collective_of(node.collective);
    if (!collective) fail_node(trace, node, "ASTRA-sim has no {}", to_string(node.collective));
    if (!workload_.blocks_of(node).empty())
      fail_node(trace, node,
                "ASTRA-sim has no {} of unequal parts (comm_splits); take simulation.fidelity flow, alpha_beta or twin",
                to_string(node.collective));
    out.work = Work::kCollective;
    out.collective = *collective;
    out.group = node.group.value;
    out.dimensions = traits_.dimensions(rank, place);
    if (planner_.chunks(*collective, node.bytes).count == 0)
      fail_node(trace, node, "{} bytes make no chunk: lower preferred-dataset-splits", node.bytes.count);
    const bool reduces = *collective == AstraCollective::kAllReduce || *collective == AstraCollective::kReduceScatter;
    if (reduces && model_.system.memory_bandwidth == 0)
      fail_node(trace, node, "reductions take 'local-mem-bw', which the system file lacks");
    if (workload_.groups[node.group.value].members.size() != workload_.ranks.size()) return;
    if (const std::string why = planner_.obstacle(*collective); !why.empty()) fail_node(trace, node, "{}", why);
  }

  const AstraModel& model_;
  const AstraPlanner& planner_;
  const Workload& workload_;
  const AstraTraits& traits_;
  const Scale scale_;
};

AstraRank make_rank(const Workload& workload, uint32_t rank, const NodeMaker& maker) {
  const RankTrace& trace = workload.ranks[rank];
  AstraRank out{.nodes = {},
                .dependencies = trace.dependencies,
                .successor_begin = trace.successor_begin,
                .successors = trace.successors};
  out.nodes.reserve(trace.nodes.size());
  for (uint32_t n = 0; n < trace.nodes.size(); ++n) out.nodes.push_back(maker.make(RankId(rank), n));
  return out;
}

/// Groups that are all NPUs are not told apart there by their order, and those of one member wait for ever.
void warn_of_groups(const Workload& workload, Warnings& warnings) {
  for (const Group& group : workload.groups) {
    if (group.members.size() == 1)
      warnings.push_back(fmt::format(
          "group \"{}\" has one member: its collectives take no time here, and hang in ASTRA-sim", group.name));
    if (group.members.size() == workload.ranks.size() && !std::ranges::is_sorted(group.members))
      warnings.push_back(
          fmt::format("group \"{}\" is all ranks, whose order in it ASTRA-sim does not heed", group.name));
  }
}

/// The traces of an implementation that the system file names, one a member.
Workload load_custom(const std::string& prefix, uint32_t npus) {
  Warnings ignored;
  WorkloadOptions options;
  options.traces = {prefix}, options.dependencies = DependencyPolicy::kBoth;
  Workload workload = load_workload(options, ignored);
  if (workload.ranks.size() != npus)
    fail_input("{}: traces of {} members, but the network has {} NPUs", prefix, workload.ranks.size(), npus);
  for (const RankTrace& trace : workload.ranks) {
    for (const Node& node : trace.nodes) {
      if (node.kind != NodeKind::kCompute && node.kind != NodeKind::kHost && node.kind != NodeKind::kSend &&
          node.kind != NodeKind::kReceive)
        fail_node(trace, node, "a collective's algorithm is made of COMP, SEND and RECV nodes alone");
    }
  }
  return workload;
}

}  // namespace

void AstraTraits::observe(WorkloadOptions& options) {
  if (options.dependencies == DependencyPolicy::kAuto) options.dependencies = DependencyPolicy::kBoth;
  options.stream_above = UINT64_MAX;
  options.observe = [this](RankId rank, uint32_t place, const TraceNode& node) {
    Trait trait{rank, place, node.type, UINT32_MAX};
    if (node.type == chakra::COMM_COLL_NODE) {
      const std::optional<std::vector<bool>> involved = truth_list_attribute(node, "involved_dim");
      if (!involved) return;
      trait.dimensions = 0;
      for (size_t d = 0; d < involved->size() && d < 32; ++d) trait.dimensions |= uint32_t{(*involved)[d]} << d;
    } else if (node.type == chakra::COMP_NODE) {
      if (integer_attribute(node, "num_ops") && integer_attribute(node, "tensor_size")) return;
    } else if (node.type != chakra::METADATA_NODE && node.type != chakra::INVALID_NODE) {
      return;
    }
    traits_.push_back(trait);
  };
}

uint32_t AstraTraits::dimensions(RankId rank, uint32_t place) const {
  const std::pair wanted{rank.value, place};
  const auto at = std::ranges::lower_bound(traits_, wanted, {}, &Trait::key);
  return at != traits_.end() && at->key() == wanted ? at->dimensions : UINT32_MAX;
}

bool AstraTraits::gives_work(RankId rank, uint32_t place) const {
  return !std::ranges::binary_search(traits_, std::pair{rank.value, place}, {}, &Trait::key);
}

void AstraTraits::check(const Workload& workload) const {
  for (const Trait& trait : traits_) {
    const RankTrace& trace = workload.ranks[trait.rank.value];
    const Node& node = trace.nodes[trait.place];
    if (trait.type == chakra::METADATA_NODE) {
      fail_node(trace, node,
                "a METADATA node, on which ASTRA-sim aborts; leave such nodes out and name process groups in a file "
                "(workload.groups)");
    }
    if (trait.type == chakra::INVALID_NODE && !trace.successors_of(trait.place).empty())
      fail_node(trace, node, "an INVALID node that others depend on, which ASTRA-sim never begins");
  }
}

AstraModel load_astra_model(const AstraConfig& config, Warnings& warnings) {
  AstraModel model;
  model.network = read_astra_network(config.network, warnings);
  model.system = read_astra_system(config.system, model.network, warnings);
  if (!config.memory.empty()) model.memory = read_astra_memory(config.memory, warnings);
  model.congestion_aware = config.congestion_aware;
  model.queues = config.queues;
  model.rendezvous = config.rendezvous;
  if (model.congestion_aware && model.network.dimensions.size() > 1) {
    fail_input("{}: 'congestion: aware' is for networks of one dimension, this one has {}", config.network,
               model.network.dimensions.size());
  }
  return model;
}

AstraWorkload make_astra_workload(const AstraModel& model, const Workload& workload, const AstraTraits& traits,
                                  const RunConfig& config, Warnings& warnings) {
  const uint32_t npus = model.network.npus();
  if (workload.ranks.size() != npus) {
    fail_input("{}: {} NPUs, but the workload has {} ranks; ASTRA-sim runs one trace on each NPU",
               config.simulation.astra.network, npus, workload.ranks.size());
  }
  traits.check(workload);
  warn_of_groups(workload, warnings);
  const AstraPlanner planner(model);
  AstraWorkload made;
  made.program.iterations = config.workload.iterations;
  for (const Group& group : workload.groups) {
    std::vector<uint32_t>& members = made.program.groups.emplace_back();
    for (const RankId member : group.members) members.push_back(member.value);
  }
  const NodeMaker maker(model, planner, workload, traits, config.workload.compute_scale);
  for (uint32_t rank = 0; rank < npus; ++rank) made.program.ranks.push_back(make_rank(workload, rank, maker));
  made.custom.reserve(kAstraCollectives);
  AstraModel recorded = model;  // what the traces of algorithms compute takes what they say
  recorded.system.roofline = recorded.system.replay = false;
  for (size_t c = 0; c < kAstraCollectives; ++c) {
    if (model.system.custom[c].empty()) continue;
    const Workload& algorithm = made.custom.emplace_back(load_custom(model.system.custom[c], npus));
    const AstraTraits none;
    const NodeMaker members(recorded, planner, algorithm, none, Scale());
    for (uint32_t m = 0; m < npus; ++m) made.program.custom[c].push_back(make_rank(algorithm, m, members));
  }
  return made;
}

}  // namespace rankwire
