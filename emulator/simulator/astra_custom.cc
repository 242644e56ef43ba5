#include "emulator/simulator/astra_custom.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rankwire {
namespace {

class Custom : public AstraAlgorithm {
 public:
  Custom(std::span<const AstraRank> members, AstraPhaseHost& host) : graphs_(members), host_(host) {
    for (uint32_t member = 0; member < members.size(); ++member) {
      const AstraRank& graph = members[member];
      open_.emplace_back(graph.dependencies.begin(), graph.dependencies.end());
      left_.push_back(static_cast<uint32_t>(graph.nodes.size()));
      most_ = std::max(most_, left_.back());
      for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
        const AstraNode& node = graph.nodes[n];
        if (node.work == AstraNode::Work::kReceive) channel(node.peer, member, node).numbers.push_back(n);
      }
    }
    sending_.resize(members.size());
    for (auto& numbers : sending_) numbers.resize(most_, UINT32_MAX);
  }

  void begin(uint32_t member) override {
    for (uint32_t n = 0; n < graphs_[member].nodes.size(); ++n) {
      if (graphs_[member].dependencies[n] == 0) issue(member, n);
    }
  }

  /// A message is numbered by the node that receives it.
  void received(uint32_t member, uint32_t number) override { complete(member, number); }

  void arrived(uint32_t member, uint32_t number) override {
    complete(graphs_[member].nodes[number].peer, sending_[member][number]);
  }

  void due(uint32_t member, uint32_t step) override { complete(member, step); }

  uint32_t numbers() const override { return most_; }

 private:
  struct Channel {
    std::vector<uint32_t> numbers;
    size_t sent = 0, received = 0;
  };

  Channel& channel(uint32_t from, uint32_t to, const AstraNode& node) {
    return channels_[{from, to, node.tag, node.bytes.count}];
  }

  void issue(uint32_t member, uint32_t n) {
    const AstraNode& node = graphs_[member].nodes[n];
    switch (node.work) {
      case AstraNode::Work::kSend: {
        Channel& c = channel(member, node.peer, node);
        const uint32_t number = c.numbers.at(c.sent++);
        sending_[node.peer][number] = n;
        host_.send(member, node.peer, number, node.bytes);
        break;
      }
      case AstraNode::Work::kReceive: {
        Channel& c = channel(node.peer, member, node);
        host_.receive(member, node.peer, c.numbers.at(c.received++), node.bytes);
        break;
      }
      default:
        host_.wait(member, n, node.duration);
    }
  }

  void complete(uint32_t member, uint32_t n) {
    for (const uint32_t next : graphs_[member].successors_of(n)) {
      if (--open_[member][next] == 0) issue(member, next);
    }
    if (--left_[member] == 0) host_.end(member);
  }

  const std::span<const AstraRank> graphs_;
  AstraPhaseHost& host_;
  std::vector<std::vector<uint32_t>> open_;     // by member and node: dependencies that are not complete
  std::vector<uint32_t> left_;                  // by member: nodes that are not complete
  std::vector<std::vector<uint32_t>> sending_;  // by receiving member and number: the sender's node
  std::map<std::tuple<uint32_t, uint32_t, int64_t, int64_t>, Channel> channels_;
  uint32_t most_ = 1;
};

}  // namespace

std::unique_ptr<AstraAlgorithm> make_astra_custom(std::span<const AstraRank> members, AstraPhaseHost& host) {
  return std::make_unique<Custom>(members, host);
}

}  // namespace rankwire
