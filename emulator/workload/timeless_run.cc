#include "emulator/workload/timeless_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/workload/node_source.h"
#include "emulator/workload/tolerated.h"

namespace rankwire {
namespace {

using Sources = std::vector<std::unique_ptr<NodeSource>>;

/// The nodes that communicate, each when the one before it is complete.
class OneByOne final : public NodeSource {
 public:
  explicit OneByOne(const RankTrace& trace) : trace_(trace) { pass_others(); }

  uint32_t next() noexcept override {
    return finished() || std::exchange(handed_out_, true) ? kNone : trace_.communicating[at_];
  }
  void complete(uint32_t) noexcept override {
    handed_out_ = false;
    ++at_;
    pass_others();
  }
  void push_back(uint32_t) noexcept override { handed_out_ = false; }
  const Node& lookup(uint32_t node) const noexcept override { return trace_.nodes[node]; }
  uint32_t place(uint32_t node) const noexcept override { return node; }
  size_t expected_at_once() const noexcept override { return 1; }
  bool finished() const noexcept override { return at_ == trace_.communicating.size(); }
  void reset() noexcept override {
    at_ = 0;
    handed_out_ = false;
    pass_others();
  }

 private:
  /// What the selection has left out.
  void pass_others() noexcept {
    while (!finished() && !is_communication(trace_.nodes[trace_.communicating[at_]].kind)) ++at_;
  }

  const RankTrace& trace_;
  uint32_t at_ = 0;  ///< among those that communicate
  bool handed_out_ = false;
};

/// Completes what can be: a SEND at once, a RECV behind its SEND, a collective when all members have come to it and the
/// one before it in the group is complete; everything else at once.
class TimelessRun {
 public:
  TimelessRun(const Workload& workload, std::span<const Exchange> exchanges, Sources sources)
      : workload_(workload),
        sources_(std::move(sources)),
        exchange_of_(sources_.size()),
        next_(workload.groups.size()) {
    for (size_t rank = 0; rank < sources_.size() && !exchanges.empty(); ++rank) {
      exchange_of_[rank].resize(workload.ranks[rank].nodes.size());
    }
    for (uint32_t i = 0; i < exchanges.size(); ++i) {
      exchange_of_[exchanges[i].send.rank][exchanges[i].send.node] = i;
      exchange_of_[exchanges[i].receive.rank][exchanges[i].receive.node] = i;
    }
    messages_.resize(exchanges.size());
    for (uint32_t rank = 0; rank < sources_.size(); ++rank) to_visit_.push_back(rank);
  }

  /// Whether all nodes of all ranks complete. Throws Error(kInput) when a file cannot be read on.
  bool completes() {
    while (!to_visit_.empty()) {
      const uint32_t rank = to_visit_.back();
      to_visit_.pop_back();
      visit(rank);
    }
    return std::ranges::all_of(sources_, [](const auto& source) { return source->finished(); });
  }

  /// A node that waits in vain, in words.
  std::string waiting() const {
    for (uint32_t rank = 0; rank < sources_.size(); ++rank) {
      if (sources_[rank]->finished()) continue;
      for (uint32_t n = 0; n < messages_.size(); ++n) {
        if (messages_[n].receiver == rank) return place_of(rank, messages_[n].node);
      }
      for (const auto& [collective, members] : arrived_) {
        for (const auto& [member, node] : members) {
          if (member == rank) return place_of(rank, node);
        }
      }
    }
    return workload_.ranks.front().file;
  }

 private:
  struct Message {
    bool sent = false;
    uint32_t receiver = NodeSource::kNone;  ///< the rank that waits for it
    uint32_t node = 0;
  };
  /// A collective: its group and its place among the group's.
  using Collective = std::pair<uint32_t, uint32_t>;

  std::string place_of(uint32_t rank, uint32_t node) const {
    return place(workload_.ranks[rank].file, sources_[rank]->lookup(node));
  }

  void visit(uint32_t rank) {
    NodeSource& source = *sources_[rank];
    for (uint32_t node = source.next(); node != NodeSource::kNone; node = source.next()) begin(rank, node);
    if (!source.can_go_on()) fail_input("{}", source.problem());
  }

  void begin(uint32_t rank, uint32_t node) {
    const Node& begun = sources_[rank]->lookup(node);
    switch (begun.kind) {
      case NodeKind::kCollective:
        return arrive(rank, node, {begun.group.value, begun.sequence});
      case NodeKind::kReceive:
        return receive(rank, node);
      case NodeKind::kSend:
        send(messages_[exchange_of_[rank][node]]);
        break;
      case NodeKind::kNone:
      case NodeKind::kCompute:
      case NodeKind::kHost:
      case NodeKind::kMemory:
        break;
    }
    sources_[rank]->complete(node);
  }

  void send(Message& message) {
    message.sent = true;
    if (message.receiver != NodeSource::kNone)
      complete(std::exchange(message.receiver, NodeSource::kNone), message.node);
  }

  void receive(uint32_t rank, uint32_t node) {
    Message& message = messages_[exchange_of_[rank][node]];
    if (message.sent) {
      sources_[rank]->complete(node);
    } else {
      message.receiver = rank, message.node = node;
    }
  }

  void arrive(uint32_t rank, uint32_t node, Collective collective) {
    arrived_[collective].emplace_back(rank, node);
    for (auto at = arrived_.find(collective); at != arrived_.end(); at = arrived_.find(collective)) {
      const auto& [group, sequence] = collective;
      if (sequence != next_[group] || at->second.size() < workload_.groups[group].members.size()) return;
      for (const auto& [member, its] : at->second) complete(member, its);
      arrived_.erase(at);
      collective.second = ++next_[group];
    }
  }

  void complete(uint32_t rank, uint32_t node) {
    sources_[rank]->complete(node);
    to_visit_.push_back(rank);
  }

  const Workload& workload_;
  Sources sources_;
  std::vector<std::vector<uint32_t>> exchange_of_;                            ///< by rank and node: of SEND and RECV
  std::vector<Message> messages_;                                             ///< by exchange
  std::vector<uint32_t> next_;                                                ///< by group: collectives complete
  std::map<Collective, std::vector<std::pair<uint32_t, uint32_t>>> arrived_;  ///< members that wait, with their nodes
  std::vector<uint32_t> to_visit_;
};

template <class Make>
Sources make_sources(const Workload& workload, Make make) {
  Sources sources;
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) sources.push_back(make(rank));
  return sources;
}

}  // namespace

bool runs_one_by_one(const Workload& workload, std::span<const Exchange> exchanges) {
  if (!std::ranges::all_of(workload.ranks, &RankTrace::in_order)) return false;
  return TimelessRun(
             workload, exchanges,
             make_sources(workload, [&](uint32_t rank) { return std::make_unique<OneByOne>(workload.ranks[rank]); }))
      .completes();
}

std::string order_streamed_collectives(Workload& workload, std::span<const Exchange> exchanges) {
  for (RankTrace& trace : workload.ranks) {
    for (const uint32_t i : trace.communicating) {
      if (trace.nodes[i].kind == NodeKind::kCollective) trace.nodes[i].run_order = trace.nodes[i].sequence;
    }
  }
  if (runs_one_by_one(workload, exchanges)) return "";
  TimelessRun run(workload, exchanges,
                  make_sources(workload, [&](uint32_t rank) { return make_streamed_source(workload, RankId(rank)); }));
  return run.completes() ? "" : run.waiting();
}

}  // namespace rankwire
