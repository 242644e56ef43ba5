#include "emulator/symmetry/classes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/message.h"

namespace rankwire {
namespace {

/// A difference spreads by one connection a round; what needs more is as good as without symmetry.
constexpr uint32_t kMostRounds = 64;

using Words = std::vector<uint64_t>;

struct WordsHash {
  size_t operator()(const Words& words) const noexcept {
    return std::accumulate(words.begin(), words.end(), uint64_t{words.size()},
                           [](uint64_t hash, uint64_t word) { return mix64(hash + 0x9E3779B97F4A7C15u * (word + 1)); });
  }
};

/// Numbers what is different in the order in which it comes.
class Numbers {
 public:
  uint32_t of(uint64_t value) { return known_.try_emplace(value, static_cast<uint32_t>(known_.size())).first->second; }

 private:
  std::unordered_map<uint64_t, uint32_t> known_;
};

/// Puts things with equal descriptions into one class.
template <class Describe>
Partition classified(size_t count, Describe describe) {
  Partition result;
  std::unordered_map<Words, uint32_t, WordsHash> known;
  result.class_of.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto [entry, added] = known.try_emplace(describe(i), result.classes());
    if (added) result.first.push_back(i);
    result.class_of.push_back(entry->second);
  }
  return result;
}

/// The connections of each rank, in the order in which its nodes use them.
struct Ends {
  std::vector<std::vector<ConnectionId>> out, in;  // by rank
  std::vector<uint32_t> out_place, in_place;       // by connection: in its rank's list
};

template <class With>
void for_each_edge(const Plan& plan, const NodePlan& node, With with) {
  if (node.schedule == NodePlan::kNone) return;
  const std::vector<Edges::Edge>& edges = plan.schedules[node.schedule].edges;
  for (uint32_t e = 0; e < edges.size(); ++e) with(edges[e], plan.edges[node.first_edge + e]);
}

Ends ends_of(const Plan& plan) {
  constexpr uint32_t kNone = UINT32_MAX;
  const size_t connections = plan.transport.connections.size();
  Ends ends{.out = std::vector<std::vector<ConnectionId>>(plan.nodes.size()),
            .in = std::vector<std::vector<ConnectionId>>(plan.nodes.size()),
            .out_place = std::vector<uint32_t>(connections, kNone),
            .in_place = std::vector<uint32_t>(connections, kNone)};
  for (size_t r = 0; r < plan.nodes.size(); ++r) {
    for (const NodePlan& node : plan.nodes[r]) {
      for_each_edge(plan, node, [&](const Edges::Edge& edge, const EdgePlan& placed) {
        const bool sends = edge.kind == StepKind::kSend;
        std::vector<ConnectionId>& list = (sends ? ends.out : ends.in)[r];
        uint32_t& place = (sends ? ends.out_place : ends.in_place)[placed.connection.value];
        if (place != kNone) return;
        place = static_cast<uint32_t>(list.size());
        list.push_back(placed.connection);
      });
    }
  }
  return ends;
}

/// All that a rank does by itself, in words; what is numbered is numbered from the rank's own point of view.
class Contents {
 public:
  Contents(const Workload& workload, const Plan& plan, const Ends& ends)
      : workload_(workload), plan_(plan), ends_(ends) {}

  Words of(uint32_t rank) const {
    const RankTrace& trace = workload_.ranks[rank];
    Words words;
    words.reserve(2 + 12 * trace.nodes.size());
    // Jobs begin and iterate each by itself.
    words.push_back(trace.job.value);
    words.push_back(trace.nodes.size());
    Numbers groups, slots;
    for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
      const Node& node = trace.nodes[n];
      const NodePlan& planned = plan_.nodes[rank][n];
      const auto successors = trace.successors_of(n);
      words.push_back(two(static_cast<uint32_t>(node.kind), static_cast<uint32_t>(node.timed_by)));
      words.push_back(static_cast<uint64_t>(node.duration.ps));
      words.push_back(two(trace.dependencies[n], static_cast<uint32_t>(successors.size())));
      for (const uint32_t successor : successors) words.push_back(successor);
      if (planned.schedule == NodePlan::kNone) continue;
      words.push_back(two(planned.schedule, slots.of(planned.slot)));
      words.push_back(node.run_order);
      if (node.kind == NodeKind::kCollective) words.push_back(groups.of(node.group.value));
      for_each_edge(plan_, planned, [&](const Edges::Edge& edge, const EdgePlan& placed) {
        const bool sends = edge.kind == StepKind::kSend;
        words.push_back(two((sends ? ends_.out_place : ends_.in_place)[placed.connection.value], placed.first_index));
      });
    }
    append_order(trace, words);
    return words;
  }

 private:
  static uint64_t two(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

  /// Ready nodes are taken lowest id first: the order of the ids matters, but not what they are.
  static void append_order(const RankTrace& trace, Words& words) {
    if (std::ranges::is_sorted(trace.nodes, {}, &Node::id)) return;
    std::vector<uint32_t> order(trace.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](uint32_t n) { return trace.nodes[n].id; });
    words.insert(words.end(), order.begin(), order.end());
  }

  const Workload& workload_;
  const Plan& plan_;
  const Ends& ends_;
};

/// Ranks may have very many nodes: their descriptions are compared one with the first of each class, not kept.
Partition alike_by_contents(const Contents& contents, size_t ranks) {
  Partition result;
  std::unordered_multimap<uint64_t, uint32_t> classes;  // by hash
  for (uint32_t r = 0; r < ranks; ++r) {
    const Words words = contents.of(r);
    const uint64_t hash = WordsHash()(words);
    const auto [begin, end] = classes.equal_range(hash);
    auto known = std::find_if(begin, end, [&](const auto& c) { return contents.of(result.first[c.second]) == words; });
    if (known == end) {
      known = classes.emplace(hash, result.classes());
      result.first.push_back(r);
    }
    result.class_of.push_back(known->second);
  }
  return result;
}

class Refinement {
 public:
  Refinement(const Workload& workload, const Plan& plan, const Network& network)
      : workload_(workload), plan_(plan), network_(network), ends_(ends_of(plan)), uses_(network.links.size()) {
    for (uint32_t c = 0; c < network.routes.size(); ++c)
      for (const LinkUse& use : network.routes[c].links) uses_[use.link.value].push_back({c, use.hop, use.share});
  }

  std::optional<SymmetryClasses> run() {
    const size_t most = workload_.ranks.size() / 2;
    begin();
    for (uint32_t round = 0; round < kMostRounds && now_.ranks.classes() <= most; ++round) {
      const size_t before = classes();
      refine();
      if (classes() == before) return std::move(now_);
    }
    return std::nullopt;
  }

 private:
  /// Of a link by a connection.
  struct Use {
    uint32_t connection, hop, share;
  };

  size_t classes() const { return size_t{now_.ranks.classes()} + now_.connections.classes() + now_.links.classes(); }

  void begin() {
    now_.ranks = alike_by_contents(Contents(workload_, plan_, ends_), workload_.ranks.size());
    now_.connections = classified(network_.routes.size(), [&](uint32_t c) {
      const Route& route = network_.routes[c];
      const Framing& framing = route.framing;
      Words words{ends_.out_place[c],
                  ends_.in_place[c],
                  uint64_t{route.cut_through},
                  static_cast<uint64_t>(framing.payload.count),
                  static_cast<uint64_t>(framing.overhead_per_frame.count),
                  static_cast<uint64_t>(framing.overhead_per_message.count),
                  static_cast<uint64_t>(framing.overhead_of_last.count),
                  framing.parts};
      for (const LinkUse& use : route.links) words.insert(words.end(), {use.hop, use.share});
      return words;
    });
    now_.links = classified(network_.links.size(), [&](uint32_t l) {
      const Link& link = network_.links[l];
      return Words{static_cast<uint64_t>(link.bandwidth.bits_per_second), static_cast<uint64_t>(link.latency.ps),
                   static_cast<uint64_t>(link.forwarding.ps)};
    });
  }

  void refine() {
    now_.connections = classified(network_.routes.size(), [&](uint32_t c) {
      const Connection& connection = plan_.transport.connections[c];
      Words words{now_.connections.class_of[c], now_.ranks.class_of[connection.source.value],
                  now_.ranks.class_of[connection.destination.value]};
      for (const LinkUse& use : network_.routes[c].links) words.push_back(now_.links.class_of[use.link.value]);
      return words;
    });
    now_.links = classified(network_.links.size(), [&](uint32_t l) {
      std::vector<std::array<uint32_t, 3>> uses;
      for (const Use& use : uses_[l]) uses.push_back({now_.connections.class_of[use.connection], use.hop, use.share});
      std::ranges::sort(uses);
      Words words{now_.links.class_of[l]};
      for (const auto& use : uses) words.insert(words.end(), use.begin(), use.end());
      return words;
    });
    now_.ranks = classified(workload_.ranks.size(), [&](uint32_t r) {
      Words words{now_.ranks.class_of[r]};
      for (const auto* list : {&ends_.out[r], &ends_.in[r]})
        for (const ConnectionId c : *list) words.push_back(now_.connections.class_of[c.value]);
      return words;
    });
  }

  const Workload& workload_;
  const Plan& plan_;
  const Network& network_;
  const Ends ends_;
  std::vector<std::vector<Use>> uses_;  // by link
  SymmetryClasses now_;
};

}  // namespace

std::optional<SymmetryClasses> symmetry_classes(const Workload& workload, const Plan& plan, const Network& network) {
  if (!workload.streaming.empty() || plan.transport.ranks > workload.ranks.size()) return std::nullopt;
  return Refinement(workload, plan, network).run();
}

}  // namespace rankwire
