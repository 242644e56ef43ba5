// Small workloads for tests, built node by node as a trace would be.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "emulator/workload/workload.h"

namespace rankwire::testing {

/// Nodes are added rank by rank in file order; ids are 1, 2, ... within a rank.
class WorkloadBuilder {
 public:
  explicit WorkloadBuilder(uint32_t ranks) {
    workload_.ranks.resize(ranks);
    edges_.resize(ranks);
  }

  GroupId group(std::string name, std::vector<uint32_t> members) {
    Group group{.name = std::move(name), .job = JobId(0)};
    for (uint32_t m : members) group.members.push_back(RankId(m));
    workload_.groups.push_back(std::move(group));
    return GroupId(static_cast<uint32_t>(workload_.groups.size() - 1));
  }

  uint32_t compute(uint32_t rank, Duration duration, std::vector<uint32_t> after = {}) {
    return add(rank, {.kind = NodeKind::kCompute, .duration = duration, .name = "compute"}, after);
  }

  uint32_t collective(uint32_t rank, CollectiveKind kind, GroupId group, int64_t bytes,
                      std::vector<uint32_t> after = {}) {
    const uint32_t n = sequence_[{rank, group.value}]++;
    return add(rank,
               {.kind = NodeKind::kCollective,
                .collective = kind,
                .group = group,
                .sequence = n,
                .run_order = n,
                .bytes = Bytes(bytes),
                .name = "collective"},
               after);
  }

  uint32_t send(uint32_t rank, uint32_t to, uint32_t tag, int64_t bytes, std::vector<uint32_t> after = {}) {
    return add(rank,
               {.kind = NodeKind::kSend,
                .peer = RankId(to),
                .sequence = point_to_point_[{true, rank, to, tag}]++,
                .tag_ordinal = tag,
                .tag = tag,
                .bytes = Bytes(bytes),
                .name = "send"},
               after);
  }

  uint32_t receive(uint32_t rank, uint32_t from, uint32_t tag, int64_t bytes, std::vector<uint32_t> after = {}) {
    return add(rank,
               {.kind = NodeKind::kReceive,
                .peer = RankId(from),
                .sequence = point_to_point_[{false, from, rank, tag}]++,
                .tag_ordinal = tag,
                .tag = tag,
                .bytes = Bytes(bytes),
                .name = "receive"},
               after);
  }

  Workload build() {
    for (size_t r = 0; r < workload_.ranks.size(); ++r) {
      RankTrace& trace = workload_.ranks[r];
      std::sort(edges_[r].begin(), edges_[r].end());
      trace.dependencies.assign(trace.nodes.size(), 0);
      trace.successor_begin.assign(trace.nodes.size() + 1, 0);
      for (const auto& [parent, child] : edges_[r]) {
        ++trace.dependencies[child];
        ++trace.successor_begin[parent + 1];
        trace.successors.push_back(child);
      }
      for (size_t i = 0; i < trace.nodes.size(); ++i) trace.successor_begin[i + 1] += trace.successor_begin[i];
    }
    return std::move(workload_);
  }

 private:
  uint32_t add(uint32_t rank, Node node, const std::vector<uint32_t>& after) {
    std::vector<Node>& nodes = workload_.ranks[rank].nodes;
    const uint32_t index = static_cast<uint32_t>(nodes.size());
    node.id = index + 1;
    nodes.push_back(std::move(node));
    for (uint32_t parent : after) edges_[rank].push_back({parent, index});
    return index;
  }

  Workload workload_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> edges_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> sequence_;
  std::map<std::tuple<bool, uint32_t, uint32_t, uint32_t>, uint32_t> point_to_point_;
};

}  // namespace rankwire::testing
