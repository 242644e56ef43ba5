#include "converters/pytorch.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "converters/device_queue.h"
#include "converters/file_order.h"
#include "converters/host_timeline.h"
#include "converters/kineto.h"
#include "converters/operator_tree.h"
#include "converters/pytorch_host.h"
#include "converters/pytorch_writer.h"
#include "proto/byte_stream.h"

namespace rankwire {
namespace {

bool is_kineto(const std::string& path) {
  // Either kind names itself within its head; Kineto's lists devices and process groups before its events.
  ByteStream bytes(path);
  const std::string_view head = bytes.peek(16u << 20);
  const size_t events = head.find("\"traceEvents\"");
  const size_t nodes = head.find("\"nodes\"");
  if (events == head.npos && nodes == head.npos) {
    if (!bytes.problem().empty()) fail_input("{}: {}", path, bytes.problem());
    fail_input("{}: neither a host trace of PyTorch (\"nodes\") nor one of Kineto's (\"traceEvents\")", path);
  }
  return events < nodes;
}

/// Which operator recorded which call. Without ids of the record functions the n-th is the n-th.
RecordedCalls link_calls(const PytorchPair& pair, const PytorchHostTrace& host, const KinetoTrace& kineto,
                         Warnings& warnings) {
  RecordedCalls linked;
  std::vector<uint32_t> recorders;
  bool has_ids = false;
  for (uint32_t i = 0; i < kineto.operators.size(); ++i) {
    if (kineto.names[kineto.operators[i].name] != "record_param_comms") continue;
    recorders.push_back(i);
    has_ids = has_ids || kineto.operators[i].record_function > 0;
  }
  std::ranges::stable_sort(recorders, {}, [&](uint32_t i) { return kineto.operators[i].begin; });
  if (has_ids) {
    for (const uint32_t i : recorders) {
      const auto call =
          std::ranges::lower_bound(host.calls, kineto.operators[i].record_function, {}, &RecordedCall::record_function);
      const bool found = call != host.calls.end() && call->record_function == kineto.operators[i].record_function;
      if (found) linked.emplace(i, call->call);
    }
    if (linked.size() < recorders.size()) {
      warnings.push_back(fmt::format("{}: {} of {} calls of torch.distributed are not in {}", pair.kineto,
                                     recorders.size() - linked.size(), recorders.size(), pair.host));
    }
    return linked;
  }
  if (recorders.size() != host.calls.size()) {
    fail_input(
        "{} has {} calls of torch.distributed, {} has {}: they must cover the same steps, or be recorded by a "
        "PyTorch that writes \"Record function id\"",
        pair.kineto, recorders.size(), pair.host, host.calls.size());
  }
  for (size_t n = 0; n < recorders.size(); ++n) linked.emplace(recorders[n], host.calls[n].call);
  return linked;
}

/// What the pairs have told of the job so far.
struct RecordedJob {
  std::vector<RecordedRank> recorded;
  int64_t ranks = 0;  ///< that there are at least
};

/// More is no job, but an error of who wrote the file.
constexpr int64_t kMostRanks = int64_t{1} << 20;

void add_rank(uint32_t rank, int64_t world_size, std::vector<ProcessGroup> groups, uint64_t unknown, RecordedJob& job) {
  job.ranks = std::max({job.ranks, int64_t{rank} + 1, std::min(world_size, kMostRanks)});
  for (const ProcessGroup& group : groups) {
    for (const int64_t member : group.ranks) job.ranks = std::max(job.ranks, std::min(member + 1, kMostRanks));
  }
  job.recorded.push_back({.rank = rank, .groups = std::move(groups), .unknown = unknown});
}

/// Of torch.distributed's backends but NCCL: what their annotations begin with.
constexpr std::array<std::string_view, 7> kOtherBackends = {
    "gloo:", "hccl:", "mpi:", "ucc:", "xccl:", "ccl:", "oneccl:"};

/// Their annotations have no process group, and PyTorch records no call beside them.
void warn_of_other_backends(const std::string& path, const KinetoTrace& kineto, Warnings& warnings) {
  std::map<std::string_view, uint64_t> calls;
  for (const KinetoOperator& recorded : kineto.operators) {
    const std::string_view name = kineto.names[recorded.name];
    if (std::ranges::any_of(kOtherBackends, [&](std::string_view backend) { return name.starts_with(backend); }))
      ++calls[name];
  }
  if (calls.empty()) return;
  std::string list;
  for (const auto& [name, count] : calls) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, name);
  warnings.push_back(
      fmt::format("{}: {}: stays time of the host, because nothing recorded says among whom", path, list));
}

void convert_pair(const PytorchPair& pair, uint32_t place, bool start_times, Conversion& conversion, RecordedJob& job) {
  KinetoTrace kineto = read_kineto(pair.kineto, conversion.warnings);
  PytorchHostTrace host;
  if (!pair.host.empty()) host = read_pytorch_host(pair.host, conversion.warnings);
  if (host.process >= 0 && kineto.process >= 0 && host.process != kineto.process) {
    conversion.warnings.push_back(fmt::format("{} is of process {}, but {} of process {}: are they of one run?",
                                              pair.host, host.process, pair.kineto, kineto.process));
  }
  const uint32_t rank = static_cast<uint32_t>(kineto.rank.value_or(place));
  if (std::ranges::find(job.recorded, rank, &RecordedRank::rank) != job.recorded.end()) {
    fail_input("{}: rank {} has another trace already", pair.kineto, rank);
  }
  if (kineto.world_size && rank >= *kineto.world_size)
    fail_input("{}: distributedInfo has rank {} of a world_size of {}", pair.kineto, rank, *kineto.world_size);
  if (!kineto.rank && place > 0) {
    conversion.assumptions.push_back(
        fmt::format("{} is of rank {}, by the order of names: it has no rank in distributedInfo", pair.kineto, rank));
  }
  std::optional<OperatorTree> tree(kineto.operators);
  const RecordedCalls calls = pair.host.empty() ? RecordedCalls{} : link_calls(pair, host, kineto, conversion.warnings);
  const DeviceQueue queue(kineto, *tree, calls);
  kineto.calls = {};
  const HostTimeline timeline(kineto, *tree, queue, start_times);
  warn_of_other_backends(pair.kineto, kineto, conversion.warnings);
  tree.reset();
  kineto.operators = {};
  if (queue.unknown_kernels() > 0) {
    conversion.warnings.push_back(
        fmt::format("{}: {} communication kernels became computations, because nothing recorded says what they move",
                    pair.kineto, queue.unknown_kernels()));
  }
  if (queue.bypassing_kernels() > 0) {
    conversion.warnings.push_back(fmt::format(
        "{}: {} kernels that communicate without NCCL (symmetric memory, custom all-reduces, DeepEP) became "
        "computations, because nothing recorded says what they move and among whom",
        pair.kineto, queue.bypassing_kernels()));
  }
  std::vector<ProcessGroup> groups = kineto.groups;
  groups.insert(groups.end(), host.groups.begin(), host.groups.end());
  NodeWriter writer(trace_file(conversion.prefix, rank));
  const int64_t world_size = kineto.world_size.value_or(0);
  PytorchWriter nodes({.path = pair.kineto, .rank = rank, .world_size = world_size, .groups = std::move(groups)},
                      writer, start_times);
  nodes.write(kineto, timeline, queue);
  if (writer.counts().nodes == 0) fail_input("{}: no operator, kernel or copy among its events", pair.kineto);
  conversion.add(writer);
  add_rank(rank, world_size, nodes.groups(), queue.unknown_kernels() + queue.bypassing_kernels(), job);
}

}  // namespace

std::vector<PytorchPair> pair_pytorch_files(const std::vector<std::string>& files) {
  std::vector<std::string> hosts, kinetos;
  for (const std::string& file : files) (is_kineto(file) ? kinetos : hosts).push_back(file);
  std::ranges::sort(hosts, natural_less);
  std::ranges::sort(kinetos, natural_less);
  if (!hosts.empty() && hosts.size() != kinetos.size()) {
    fail_input("{} host traces, but {} of Kineto's: each rank needs one of both, or Kineto's alone", hosts.size(),
               kinetos.size());
  }
  std::vector<PytorchPair> pairs;
  for (size_t i = 0; i < kinetos.size(); ++i) pairs.push_back({hosts.empty() ? "" : hosts[i], kinetos[i]});
  return pairs;
}

Conversion convert_pytorch(const std::vector<PytorchPair>& pairs, const std::filesystem::path& folder,
                           ConversionProgress& progress, const PytorchOptions& options) {
  TraceFolder traces(folder);
  Conversion conversion{.prefix = traces.prefix()};
  progress.total = pairs.size();
  RecordedJob job;
  for (uint32_t place = 0; place < pairs.size(); ++place) {
    convert_pair(pairs[place], place, options.start_times, conversion, job);
    ++progress.done;
  }
  complete_ranks(job.recorded, static_cast<uint32_t>(job.ranks), options.fill, conversion);
  traces.keep();
  return conversion;
}

}  // namespace rankwire
