#include "emulator/diagnosis/operation_traffic.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/port_shares.h"

namespace rankwire {
namespace {

/// Whose executions share a sum of bytes: a group's at a rank, or those of SENDs or RECVs with one other rank.
struct TrafficSumKey {
  JobId job;
  std::string group;  // empty: point-to-point
  RankId rank;
  RankId peer;  // invalid: the group's
  bool outbound = true;
  auto operator<=>(const TrafficSumKey&) const = default;
};

struct TrafficSum {
  PortId port;
  JobId job;
  bool outbound = true;
  double bytes = 0, weights = 0;  // of all executions
};

using TrafficSums = std::map<TrafficSumKey, TrafficSum>;

/// What the executions of a node take part in; null: nothing.
struct NodeUse {
  std::array<TrafficSum*, 2> sums{};  // outbound, inbound
  double weight = 0;
};
using NodeUses = std::map<std::pair<RankId, uint32_t>, NodeUse>;

TrafficSums sums_of_traffic(const RunReader& record, const RecordedRun& run, std::span<const RankNic> nics) {
  TrafficSums sums;
  record.for_each_pair(run, [&](const PairTraffic& pair) {
    if (pair.bytes == Bytes() || !meet_in_the_network(nics, pair.source, pair.destination)) return;
    const bool is_pair = pair.group.empty();
    for (const bool outbound : {true, false}) {
      const RankId rank = outbound ? pair.source : pair.destination;
      const RankId peer = outbound ? pair.destination : pair.source;
      TrafficSum& sum =
          sums.try_emplace({pair.job, pair.group, rank, is_pair ? peer : RankId(), outbound}).first->second;
      sum.port = nics[rank.value].port, sum.job = pair.job, sum.outbound = outbound;
      sum.bytes += static_cast<double>(pair.bytes.count);
    }
  });
  return sums;
}

NodeUses uses_of(const RunReader& record, TrafficSums& sums) {
  NodeUses uses;
  record.for_each_node([&](const NodeInfo& node) {
    if (node.group_size == 0) return;
    NodeUse use{.weight = static_cast<double>(std::max<int64_t>(node.bytes.count, 1))};
    for (const bool outbound : {true, false}) {
      if (node.group.empty() && node.kind != (outbound ? "send" : "receive")) continue;
      const RankId peer = node.group.empty() ? node.peer : RankId();
      const auto sum = sums.find({node.job, node.group, node.rank, peer, outbound});
      if (sum != sums.end()) use.sums[outbound ? 0 : 1] = &sum->second;
    }
    if (use.sums != NodeUse().sums) uses.emplace(std::pair(node.rank, node.node), use);
  });
  return uses;
}

}  // namespace

bool for_each_operation_traffic(const RunReader& record, const RecordedRun& run, std::span<const RankNic> nics,
                                const std::function<void(const OperationTraffic&)>& visit) {
  const uint64_t count = record.execution_count(run);
  if (count == 0 || count > Executions::kMost || run.loss.operations > 0) return false;
  TrafficSums sums = sums_of_traffic(record, run, nics);
  const NodeUses uses = uses_of(record, sums);
  struct Moved {
    Time from, to;
    const NodeUse* use;
  };
  std::vector<Moved> executions;
  record.for_each_execution(run, [&](const OperationRecord& row) {
    const auto use = uses.find({row.rank, row.node});
    if (use == uses.end()) return;
    for (TrafficSum* sum : use->second.sums)
      if (sum != nullptr) sum->weights += use->second.weight;
    executions.push_back({row.start, row.end, &use->second});
  });
  std::ranges::stable_sort(executions, {}, &Moved::from);
  for (const Moved& moved : executions) {
    for (const TrafficSum* sum : moved.use->sums) {
      if (sum == nullptr) continue;
      visit({.port = sum->port,
             .outbound = sum->outbound,
             .job = sum->job,
             .from = moved.from,
             .to = moved.to,
             .bytes = sum->bytes * moved.use->weight / sum->weights});
    }
  }
  return !executions.empty();
}

}  // namespace rankwire
