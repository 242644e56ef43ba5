#include "emulator/workload/workload.h"

#include <algorithm>
#include <utility>

#include "base/message.h"
#include "emulator/workload/dependencies.h"
#include "emulator/workload/folding.h"
#include "emulator/workload/group_table.h"
#include "emulator/workload/matching.h"
#include "emulator/workload/rank_file.h"
#include "emulator/workload/rank_scan.h"
#include "emulator/workload/run_order.h"
#include "emulator/workload/selection.h"
#include "emulator/workload/timeless_run.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/trace_files.h"

namespace rankwire {
namespace {

void check_scale(Scale scale, const char* what) {
  if (scale.numerator <= 0 || scale.denominator <= 0) {
    fail_input("the scale of {} is {}/{}, both parts must be positive", what, scale.numerator, scale.denominator);
  }
}

void check_options(const WorkloadOptions& options) {
  if (options.element_size.count <= 0) fail_input("the element size is {} bytes", options.element_size.count);
  if (options.round_to.count < 0) fail_input("sizes are to be rounded to {} bytes", options.round_to.count);
  check_scale(options.bytes, "bytes");
  check_scale(options.compute, "compute");
}

std::vector<std::string> find_files(const WorkloadOptions& options) {
  std::vector<std::string> paths = find_trace_files(options.traces);
  if (paths.size() > MessageId::kMaxRanks) {
    fail_input("{} ranks, the most is {}", paths.size(), MessageId::kMaxRanks);
  }
  return paths;
}

/// Nothing when there are more nodes than may be loaded whole.
std::optional<std::vector<RankFile>> read_files(const std::vector<std::string>& paths, const WorkloadOptions& options,
                                                Names& names, Tolerated& tolerated) {
  const auto ranks = static_cast<uint32_t>(paths.size());
  std::vector<RankFile> files;
  files.reserve(ranks);
  NameKeeper keeper(names);  // most names are those of other ranks as well
  uint64_t left = options.stream_above;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const size_t before = files.empty() ? 0 : files.back().nodes.size();
    files.push_back(read_rank_file(paths[rank], RankId(rank), ranks, options, {left, before}, keeper, tolerated));
    if (files.back().nodes.size() > left) return std::nullopt;
    left -= files.back().nodes.size();
  }
  return files;
}

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter ||
         kind == CollectiveKind::kBroadcast;
}

/// The root that the node names, else the group's first member: Chakra has no attribute for it, only some producers do.
RankId root_of(const Node& node, int64_t named, const Group& group) {
  if (!is_rooted(node.collective)) return RankId::invalid();
  if (named < 0) return group.members.front();
  const auto root = std::ranges::find(group.members, named, [](RankId member) { return int64_t{member.value}; });
  if (root == group.members.end()) fail_input("root {} is not in group \"{}\"", named, group.name);
  return *root;
}

/// Takes the sizes of splits out of the files besides.
std::vector<Group> resolve_groups(std::vector<RankFile>& files, const std::string& groups_file, SplitSizes& splits) {
  splits.clear();
  for (RankFile& file : files) splits.push_back(std::move(file.splits));
  GroupTable table(static_cast<uint32_t>(files.size()));
  if (!groups_file.empty()) {
    for (const GroupDefinition& group : read_groups_file(groups_file)) table.define(group, groups_file);
  }
  for (uint32_t rank = 0; rank < files.size(); ++rank) {
    for (const GroupDefinition& group : files[rank].groups) table.define_on(RankId(rank), group, files[rank].path);
  }
  for (uint32_t rank = 0; rank < files.size(); ++rank) {
    RankFile& file = files[rank];
    std::vector<GroupId> known(file.group_names.size());
    for (const RankFile::Call& call : file.calls) {
      Node& node = file.nodes[call.node];
      try {
        GroupId& group = known[call.group];
        if (!group.valid()) group = table.resolve(file.group_names[call.group], RankId(rank));
        node.group = group;
        node.peer = root_of(node, call.root, table.group(group));
      } catch (const Error& error) {
        fail_input("{}: {}", place(file.path, node), error.what());
      }
    }
  }
  return table.take_groups();
}

void take_marks(Workload& workload, const RankFile& file) {
  workload.marks.insert(workload.marks.end(), file.marks.begin(), file.marks.end());
}

void link_files(Workload& workload, std::vector<RankFile> files, const WorkloadOptions& options, SplitSizes& splits,
                Tolerated& tolerated) {
  workload.groups = resolve_groups(files, options.groups_file, splits);
  const bool has_data = std::ranges::any_of(files, [](const RankFile& file) { return !file.data.empty(); });
  const DependencyUse use = choose_dependencies(has_data, options.dependencies);
  for (RankFile& file : files) {
    take_marks(workload, file);
    workload.ranks.push_back(link_dependencies(std::move(file), use, tolerated));
  }
}

/// How often each kept node stands in the order.
void count_times(RankTrace& trace, const LikeOrder& order) {
  trace.times.resize(trace.nodes.size());
  for (const uint16_t node : order) ++trace.times[node];
}

/// With options.fold: false where the traces cannot be folded, and the workload is unfinished then.
bool scan_files(Workload& workload, const std::vector<std::string>& paths, const WorkloadOptions& options,
                Selector& selector, SplitSizes& splits, Tolerated& tolerated) {
  const bool has_data = options.dependencies == DependencyPolicy::kData ||
                        options.dependencies == DependencyPolicy::kControl || have_data_dependencies(paths);
  const auto ranks = static_cast<uint32_t>(paths.size());
  const DependencyUse use = choose_dependencies(has_data, options.dependencies);
  workload.streaming.push_back({.options = options, .use = use, .first_rank = 0, .ranks = ranks});
  std::vector<RankFile> files;
  std::vector<LikeOrder> orders;
  NameKeeper keeper(workload.names);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    RankScan scan = scan_rank_file(paths[rank], RankId(rank), ranks, options, use, selector, keeper, tolerated);
    if (!scan.can_fold) return false;
    orders.push_back(std::move(scan.order));
    workload.folded_names += Bytes(static_cast<int64_t>(scan.name_bytes));
    workload.ranks.push_back({.file = paths[rank], .streamed = std::move(scan.trace), .in_order = scan.in_order});
    files.push_back(std::move(scan.kept));
    take_marks(workload, files.back());
  }
  workload.groups = resolve_groups(files, options.groups_file, splits);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    workload.ranks[rank].nodes = std::move(files[rank].nodes);
    workload.ranks[rank].communicating = std::move(files[rank].communicating);
    if (options.fold) count_times(workload.ranks[rank], orders[rank]);
  }
  workload.folded = options.fold;
  return !options.fold || folded_ranks_go_together(workload, orders);
}

/// Nothing where all nodes that communicate must be there to tell.
std::optional<Workload> load_folded(const std::vector<std::string>& paths, const WorkloadOptions& options,
                                    Selector& selector, Warnings& warnings) {
  if (!options.fold || !selector.selects_all()) return std::nullopt;
  Workload workload;
  workload.element = options.round_to.count > 0 ? options.round_to : options.element_size;
  SplitSizes splits;
  Tolerated tolerated;
  if (!scan_files(workload, paths, options, selector, splits, tolerated)) return std::nullopt;
  tolerated.report(warnings);
  return workload;
}

}  // namespace

const char* to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNone:
      return "none";
    case NodeKind::kCompute:
      return "compute";
    case NodeKind::kHost:
      return "host";
    case NodeKind::kMemory:
      return "memory";
    case NodeKind::kCollective:
      return "collective";
    case NodeKind::kSend:
      return "send";
    case NodeKind::kReceive:
      return "receive";
  }
  return "unknown";
}

const char* to_string(TimedBy model) {
  switch (model) {
    case TimedBy::kNothing:
      return "";
    case TimedBy::kRecorded:
      return "recorded";
    case TimedBy::kRooflineArithmetic:
      return "roofline_arithmetic";
    case TimedBy::kRooflineMemory:
      return "roofline_memory";
    case TimedBy::kTable:
      return "table";
    case TimedBy::kMemory:
      return "memory";
    case TimedBy::kStorage:
      return "storage";
    case TimedBy::kDefault:
      return "default";
  }
  return "unknown";
}

const char* to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kReduceScatterBlock:
      return "reduce_scatter_block";
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  return "unknown";
}

Workload load_workload(const WorkloadOptions& options, Warnings& warnings) {
  check_options(options);
  const std::vector<std::string> paths = find_files(options);
  Selector selector(options.select);
  Tolerated tolerated;
  Workload workload;
  SplitSizes splits;
  workload.element = options.round_to.count > 0 ? options.round_to : options.element_size;
  if (std::optional<std::vector<RankFile>> files = read_files(paths, options, workload.names, tolerated)) {
    link_files(workload, std::move(*files), options, splits, tolerated);
  } else {
    if (std::optional<Workload> folded = load_folded(paths, options, selector, warnings)) return std::move(*folded);
    tolerated = Tolerated();
    workload.names = Names();
    WorkloadOptions all = options;
    all.fold = false;
    scan_files(workload, paths, all, selector, splits, tolerated);
  }
  Warnings found;
  select_nodes(selector, workload.groups, workload.ranks, found);
  match_collectives(workload, splits);
  const std::vector<Exchange> exchanges = match_point_to_point(workload);
  tolerated.report(found);
  if (workload.streaming.empty()) {
    order_collectives(workload, exchanges, found);
  } else if (const std::string waiting = order_streamed_collectives(workload, exchanges); !waiting.empty()) {
    workload = Workload();
    warnings.push_back(fmt::format(
        "the traces are loaded whole in spite of workload.stream_above: {} could not run with collectives in the order "
        "of the files, and another order takes the graph of all nodes",
        waiting));
    WorkloadOptions whole = options;
    whole.stream_above = UINT64_MAX;
    return load_workload(whole, warnings);
  }
  warnings.insert(warnings.end(), found.begin(), found.end());
  return workload;
}

}  // namespace rankwire
