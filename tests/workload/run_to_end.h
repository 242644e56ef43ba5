// A run without time: the oracle for orders that must not deadlock.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "emulator/workload/node_source.h"
#include "emulator/workload/workload.h"

namespace rankwire::testing {

/// Executes every rank from its dependencies alone. A collective completes when all members have come to it, and a
/// member comes to it only after its earlier ones of that group by `run_order`; a RECV completes after its SEND.
class TimelessRun {
 public:
  explicit TimelessRun(const Workload& workload) : workload_(workload), waiting_(workload.ranks.size()) {
    for (const RankTrace& trace : workload.ranks) sources_.push_back(make_flat_source(trace));
    next_.resize(workload.groups.size());
    arrived_.resize(workload.groups.size());
  }

  /// Whether all nodes of all ranks complete.
  bool completes() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (uint32_t rank = 0; rank < sources_.size(); ++rank) progress |= advance(rank);
    }
    for (const auto& source : sources_) {
      if (!source->finished()) return false;
    }
    return true;
  }

 private:
  bool advance(uint32_t rank) {
    NodeSource& source = *sources_[rank];
    for (uint32_t node = source.next(); node != NodeSource::kNone; node = source.next()) waiting_[rank].insert(node);
    std::vector<uint32_t> done;
    for (const uint32_t node : waiting_[rank]) {
      if (can_complete(rank, source.lookup(node))) done.push_back(node);
    }
    for (const uint32_t node : done) {
      waiting_[rank].erase(node);
      source.complete(node);
    }
    return !done.empty();
  }

  bool can_complete(uint32_t rank, const Node& node) {
    if (node.kind == NodeKind::kSend) {
      sent_.insert({rank, node.peer.value, node.tag, node.sequence});
    } else if (node.kind == NodeKind::kReceive) {
      return sent_.contains({node.peer.value, rank, node.tag, node.sequence});
    } else if (node.kind == NodeKind::kCollective) {
      return collective_completes(rank, node);
    }
    return true;
  }

  bool collective_completes(uint32_t rank, const Node& node) {
    const uint32_t group = node.group.value;
    if (node.run_order != next_[group][rank]) return false;
    std::set<uint32_t>& arrived = arrived_[group][node.run_order];
    arrived.insert(rank);
    if (arrived.size() < workload_.groups[group].members.size()) return false;
    ++next_[group][rank];
    return true;
  }

  const Workload& workload_;
  std::vector<std::unique_ptr<NodeSource>> sources_;
  std::vector<std::set<uint32_t>> waiting_;
  std::set<std::tuple<uint32_t, uint32_t, int64_t, uint32_t>> sent_;
  std::vector<std::map<uint32_t, uint32_t>> next_;               ///< by group and rank: collectives completed
  std::vector<std::map<uint32_t, std::set<uint32_t>>> arrived_;  ///< by group and run order
};

}  // namespace rankwire::testing
