// Programs node by node, and what becomes of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "emulator/simulator/astra_simulation.h"

namespace rankwire::testing {

/// Ranks' graphs; group 0 is all ranks.
class AstraProgramBuilder {
 public:
  explicit AstraProgramBuilder(uint32_t ranks) : graphs_(ranks) {
    std::vector<uint32_t>& all = program_.groups.emplace_back();
    for (uint32_t r = 0; r < ranks; ++r) all.push_back(r);
  }

  uint32_t group(std::vector<uint32_t> members) {
    program_.groups.push_back(std::move(members));
    return static_cast<uint32_t>(program_.groups.size() - 1);
  }

  /// Returns the node's place, which is its id.
  uint32_t add(uint32_t rank, AstraNode node, std::vector<uint32_t> after = {}) {
    Graph& graph = graphs_[rank];
    node.id = graph.nodes.size();
    graph.nodes.push_back(node);
    graph.after.push_back(std::move(after));
    return static_cast<uint32_t>(node.id);
  }

  uint32_t compute(uint32_t rank, Duration duration, std::vector<uint32_t> after = {}) {
    AstraNode node;
    node.work = AstraNode::Work::kTimed, node.resource = AstraResource::kCompute, node.duration = duration;
    return add(rank, node, std::move(after));
  }

  uint32_t collective(uint32_t rank, AstraCollective collective, Bytes bytes, std::vector<uint32_t> after = {},
                      uint32_t group = 0) {
    AstraNode node;
    node.work = AstraNode::Work::kCollective, node.resource = AstraResource::kCommunication;
    node.collective = collective, node.bytes = bytes, node.group = group;
    return add(rank, node, std::move(after));
  }

  uint32_t send(uint32_t rank, uint32_t to, Bytes bytes, std::vector<uint32_t> after = {}) {
    return add(rank, message(AstraNode::Work::kSend, AstraResource::kCommunication, to, bytes), std::move(after));
  }
  uint32_t receive(uint32_t rank, uint32_t from, Bytes bytes, std::vector<uint32_t> after = {}) {
    return add(rank, message(AstraNode::Work::kReceive, AstraResource::kNone, from, bytes), std::move(after));
  }
  uint32_t access_memory(uint32_t rank, Bytes bytes) {
    AstraNode node;
    node.work = AstraNode::Work::kMemory, node.resource = AstraResource::kCommunication, node.bytes = bytes;
    return add(rank, node);
  }

  /// Refers to the builder.
  const AstraProgram& build() {
    program_.ranks.clear();
    for (Graph& graph : graphs_) program_.ranks.push_back(graph.link());
    return program_;
  }
  AstraProgram& program() { return program_; }

 private:
  struct Graph {
    std::vector<AstraNode> nodes;
    std::vector<std::vector<uint32_t>> after;
    std::vector<uint32_t> dependencies, begin, successors;

    AstraRank link() {
      dependencies.clear(), successors.clear(), begin.assign(1, 0);
      for (const auto& list : after) dependencies.push_back(static_cast<uint32_t>(list.size()));
      for (uint32_t n = 0; n < nodes.size(); ++n) {
        for (uint32_t later = n + 1; later < nodes.size(); ++later) {
          if (later - n > kReach) break;
          if (std::ranges::find(after[later], n) != after[later].end()) successors.push_back(later);
        }
        begin.push_back(static_cast<uint32_t>(successors.size()));
      }
      return {nodes, dependencies, begin, successors};
    }
    static constexpr uint32_t kReach = 64;  ///< how far behind what it depends on a node may stand
  };

  static AstraNode message(AstraNode::Work work, AstraResource resource, uint32_t peer, Bytes bytes) {
    AstraNode node;
    node.work = work, node.resource = resource, node.peer = peer, node.bytes = bytes;
    return node;
  }

  std::vector<Graph> graphs_;
  AstraProgram program_;
};

class NoAstraRecord final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
};

inline AstraResult run_program(const AstraModel& model, const AstraProgram& program, bool event_by_event = false) {
  NoAstraRecord sink;
  const std::atomic<bool> go_on{false};
  return AstraSimulation(model, program, sink, {.event_by_event = event_by_event}).run(go_on);
}

/// By rank, in nanoseconds.
inline std::vector<int64_t> finish_times(const AstraResult& result) {
  std::vector<int64_t> times;
  for (const Duration time : result.per_rank) times.push_back(time.ps / 1000);
  return times;
}

/// One dimension, each collective with the same implementation, chunks one after the other, 1600 GB/s of local memory.
inline AstraModel one_dimension(AstraBlock block, uint32_t npus, double bandwidth, double latency,
                                AstraImplementation implementation = {}, uint32_t splits = 1) {
  AstraModel model;
  model.network.dimensions = {{block, npus, bandwidth, latency}};
  model.system.implementations.fill({implementation});
  model.system.splits = splits;
  model.system.memory_bandwidth = 1600;
  return model;
}

/// All ranks run one collective.
inline AstraProgramBuilder one_collective(uint32_t ranks, AstraCollective collective, Bytes bytes) {
  AstraProgramBuilder builder(ranks);
  for (uint32_t r = 0; r < ranks; ++r) builder.collective(r, collective, bytes);
  return builder;
}

}  // namespace rankwire::testing
