#include "converters/micro_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/stop.h"

namespace rankwire {
namespace {

using ListedNodes = std::vector<ListedNode>;
using NodeNames = std::vector<std::string>;
using RankList = std::vector<uint32_t>;

constexpr uint32_t kMicroTimes = 4;  ///< whatever is repeated

RankList ranks_from(uint32_t first, uint32_t end) {
  RankList ranks(end - first);
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

ListedNode compute_on(const RankList& ranks, const std::string& name, Duration duration, const NodeNames& after = {}) {
  return {.name = name, .ranks = ranks, .kind = ActionKind::kCompute, .duration = duration, .after = after};
}

ListedNode call_on(const RankList& ranks, const std::string& name, ActionKind kind, Bytes size,
                   const NodeNames& after = {}) {
  return {.name = name, .ranks = ranks, .kind = kind, .size = size, .after = after};
}

void add_message(ListedNodes& nodes, const std::string& name, uint32_t from, uint32_t to, Bytes size,
                 const NodeNames& after_send = {}, const NodeNames& after_receive = {}) {
  check_stop();  // of all pairs there are millions
  nodes.push_back({.name = name + ".send",
                   .ranks = {from},
                   .kind = ActionKind::kSend,
                   .size = size,
                   .peers = {to},
                   .after = after_send});
  nodes.push_back({.name = name + ".recv",
                   .ranks = {to},
                   .kind = ActionKind::kReceive,
                   .size = size,
                   .peers = {from},
                   .after = after_receive});
}

template <ActionKind kKind>
ListedNodes one_call(const MicroSizes& m) {
  return {call_on(ranks_from(0, m.ranks), "call", kKind, kKind == ActionKind::kBarrier ? Bytes(0) : m.size)};
}

ListedNodes compute_one(const MicroSizes& m) {
  return {compute_on({0}, "compute", m.duration)};
}

ListedNodes compute_all(const MicroSizes& m) {
  return {compute_on(ranks_from(0, m.ranks), "compute", m.duration)};
}

ListedNodes compute_chain(const MicroSizes& m) {
  ListedNode chain = compute_on({0}, "compute", m.duration);
  chain.iterations = kMicroTimes;
  return {chain};
}

ListedNodes compute_fan_out(const MicroSizes& m) {
  ListedNodes nodes = {compute_on({0}, "first", m.duration)};
  for (uint32_t i = 0; i < kMicroTimes; ++i)
    nodes.push_back(compute_on({0}, fmt::format("branch{}", i), m.duration, {"first"}));
  return nodes;
}

ListedNodes compute_fan_in(const MicroSizes& m) {
  ListedNodes nodes;
  NodeNames branches;
  for (uint32_t i = 0; i < kMicroTimes; ++i) {
    branches.push_back(fmt::format("branch{}", i));
    nodes.push_back(compute_on({0}, branches.back(), m.duration));
  }
  nodes.push_back(compute_on({0}, "last", m.duration, branches));
  return nodes;
}

/// Rank r computes r + 1 times.
ListedNodes skewed(const MicroSizes& m) {
  ListedNodes nodes;
  for (uint32_t rank = 0; rank < m.ranks; ++rank)
    nodes.push_back(compute_on({rank}, "compute", m.duration * (rank + 1)));
  return nodes;
}

template <ActionKind kKind>
ListedNodes call_after_skew(const MicroSizes& m) {
  ListedNodes nodes = skewed(m);
  const Bytes size = kKind == ActionKind::kBarrier ? Bytes(0) : m.size;
  nodes.push_back(call_on(ranks_from(0, m.ranks), "call", kKind, size, {"compute"}));
  return nodes;
}

ListedNodes all_reduce_chain(const MicroSizes& m) {
  ListedNode chain = call_on(ranks_from(0, m.ranks), "call", ActionKind::kAllReduce, m.size);
  chain.iterations = kMicroTimes;
  return {chain};
}

ListedNodes all_reduce_beside_compute(const MicroSizes& m) {
  const RankList all = ranks_from(0, m.ranks);
  return {compute_on(all, "compute", m.duration), call_on(all, "call", ActionKind::kAllReduce, m.size)};
}

/// The lower and the upper half of an even number of ranks, 4 or more.
ListedNodes two_groups(const MicroSizes& m) {
  const uint32_t half = std::max(2u, m.ranks / 2);
  return {call_on(ranks_from(0, half), "lower", ActionKind::kAllReduce, m.size),
          call_on(ranks_from(half, 2 * half), "upper", ActionKind::kAllReduce, m.size)};
}

/// Each step computes and then exchanges; the next one waits for the exchange `lag` steps before it.
ListedNodes steps_with_lag(const MicroSizes& m, uint32_t lag) {
  const RankList all = ranks_from(0, m.ranks);
  ListedNodes nodes;
  for (uint32_t i = 0; i < kMicroTimes; ++i) {
    NodeNames after;
    if (i > 0) after.push_back(fmt::format("compute{}", i - 1));
    if (i >= lag) after.push_back(fmt::format("call{}", i - lag));
    nodes.push_back(compute_on(all, fmt::format("compute{}", i), m.duration, after));
    nodes.push_back(
        call_on(all, fmt::format("call{}", i), ActionKind::kAllReduce, m.size, {fmt::format("compute{}", i)}));
  }
  return nodes;
}

ListedNodes iterations(const MicroSizes& m) {
  return steps_with_lag(m, 1);
}

ListedNodes cross_iteration(const MicroSizes& m) {
  return steps_with_lag(m, 2);
}

ListedNodes message(const MicroSizes& m) {
  ListedNodes nodes;
  add_message(nodes, "message", 0, 1, m.size);
  return nodes;
}

ListedNodes message_empty(const MicroSizes&) {
  ListedNodes nodes;
  add_message(nodes, "message", 0, 1, Bytes(0));
  return nodes;
}

ListedNodes ping_pong(const MicroSizes& m) {
  ListedNodes nodes;
  add_message(nodes, "ping", 0, 1, m.size);
  add_message(nodes, "pong", 1, 0, m.size, {"ping.recv"});
  return nodes;
}

ListedNodes exchange(const MicroSizes& m) {
  ListedNodes nodes;
  add_message(nodes, "there", 0, 1, m.size);
  add_message(nodes, "back", 1, 0, m.size);
  return nodes;
}

ListedNodes relay(const MicroSizes& m) {
  ListedNodes nodes;
  for (uint32_t rank = 0; rank + 1 < m.ranks; ++rank) {
    const NodeNames after = rank == 0 ? NodeNames() : NodeNames{fmt::format("hop{}.recv", rank - 1)};
    add_message(nodes, fmt::format("hop{}", rank), rank, rank + 1, m.size, after);
  }
  return nodes;
}

ListedNodes fan_out(const MicroSizes& m) {
  const RankList others = ranks_from(1, m.ranks);
  return {{.name = "send", .ranks = {0}, .kind = ActionKind::kSend, .size = m.size, .peers = others},
          {.name = "recv", .ranks = others, .kind = ActionKind::kReceive, .size = m.size, .peers = {0}}};
}

ListedNodes incast(const MicroSizes& m) {
  const RankList others = ranks_from(1, m.ranks);
  return {{.name = "send", .ranks = others, .kind = ActionKind::kSend, .size = m.size, .peers = {0}},
          {.name = "recv", .ranks = {0}, .kind = ActionKind::kReceive, .size = m.size, .peers = others}};
}

ListedNodes incast_uneven(const MicroSizes& m) {
  ListedNodes nodes;
  for (uint32_t rank = 1; rank < m.ranks; ++rank)
    add_message(nodes, fmt::format("from{}", rank), rank, 0, Bytes(m.size.count * rank));
  return nodes;
}

ListedNodes incast_then_fan_out(const MicroSizes& m) {
  ListedNodes nodes = incast(m);
  for (ListedNode& node : fan_out(m)) {
    if (node.kind == ActionKind::kSend) node.after = {"recv"};
    node.name = "answer." + node.name;
    nodes.push_back(node);
  }
  return nodes;
}

ListedNodes ring_shift(const MicroSizes& m) {
  ListedNodes nodes;
  for (uint32_t rank = 0; rank < m.ranks; ++rank)
    add_message(nodes, fmt::format("shift{}", rank), rank, (rank + 1) % m.ranks, m.size);
  return nodes;
}

ListedNodes all_pairs(const MicroSizes& m) {
  ListedNodes nodes;
  for (uint32_t from = 0; from < m.ranks; ++from) {
    for (uint32_t to = 0; to < m.ranks; ++to)
      if (from != to) add_message(nodes, fmt::format("from{}.to{}", from, to), from, to, m.size);
  }
  return nodes;
}

/// Stage r computes each micro-batch when it has come from the stage before, and passes it on.
ListedNodes pipeline(const MicroSizes& m) {
  ListedNodes nodes;
  const auto named = [](const char* what, uint32_t batch) { return fmt::format("{}{}", what, batch); };
  for (uint32_t rank = 0; rank < m.ranks; ++rank) {
    for (uint32_t batch = 0; batch < kMicroTimes; ++batch) {
      NodeNames after;
      if (batch > 0) after.push_back(named("compute", batch - 1));
      if (rank > 0) after.push_back(named("mb", batch) + ".recv");
      nodes.push_back(compute_on({rank}, named("compute", batch), m.duration, after));
      if (rank + 1 < m.ranks) add_message(nodes, named("mb", batch), rank, rank + 1, m.size, {named("compute", batch)});
    }
  }
  return nodes;
}

ListedNodes barrier_between(const MicroSizes& m) {
  const RankList all = ranks_from(0, m.ranks);
  return {call_on(all, "before", ActionKind::kAllReduce, m.size),
          call_on(all, "barrier", ActionKind::kBarrier, Bytes(0), {"before"}),
          compute_on(all, "compute", m.duration, {"barrier"})};
}

ListedNodes sizes_disagree(const MicroSizes& m) {
  ListedNodes nodes;
  for (const uint32_t rank : {0, 1}) {
    nodes.push_back(call_on({rank}, "call", ActionKind::kAllReduce, Bytes(m.size.count * (rank + 1))));
    nodes.back().group = {0, 1};
  }
  return nodes;
}

ListedNodes message_lost(const MicroSizes& m) {
  ListedNodes nodes = message(m);
  nodes.pop_back();
  return nodes;
}

constexpr std::array kCases = {
    MicroCase{"compute_one", "D", compute_one},
    MicroCase{"compute_all", "D", compute_all},
    MicroCase{"compute_chain", "4 D", compute_chain},
    MicroCase{"compute_fan_out", "5 D: a rank computes one after the other", compute_fan_out},
    MicroCase{"compute_fan_in", "5 D: a rank computes one after the other", compute_fan_in},
    MicroCase{"compute_skew", "n D: rank r computes for (r + 1) D", skewed},
    MicroCase{"all_reduce", "T(all_reduce of S)", one_call<ActionKind::kAllReduce>},
    MicroCase{"all_gather", "T(all_gather of S)", one_call<ActionKind::kAllGather>},
    MicroCase{"reduce_scatter", "T(reduce_scatter of S)", one_call<ActionKind::kReduceScatter>},
    MicroCase{"all_to_all", "T(all_to_all of S)", one_call<ActionKind::kAllToAll>},
    MicroCase{"broadcast", "T(broadcast of S)", one_call<ActionKind::kBroadcast>},
    MicroCase{"reduce", "T(reduce of S)", one_call<ActionKind::kReduce>},
    MicroCase{"gather", "T(gather of S)", one_call<ActionKind::kGather>},
    MicroCase{"scatter", "T(scatter of S)", one_call<ActionKind::kScatter>},
    MicroCase{"barrier", "T(barrier)", one_call<ActionKind::kBarrier>},
    MicroCase{"barrier_after_skew", "n D + T(barrier): all wait for the last", call_after_skew<ActionKind::kBarrier>},
    MicroCase{"barrier_between", "T(all_reduce of S) + T(barrier) + D", barrier_between},
    MicroCase{"all_reduce_after_skew", "n D + T(all_reduce of S)", call_after_skew<ActionKind::kAllReduce>},
    MicroCase{"all_reduce_chain", "4 T(all_reduce of S)", all_reduce_chain},
    MicroCase{"all_reduce_beside_compute", "the larger of D and T(all_reduce of S)", all_reduce_beside_compute},
    MicroCase{"two_groups", "T(all_reduce of S over n / 2 ranks): groups do not meet", two_groups},
    MicroCase{"iterations", "4 (D + T(all_reduce of S))", iterations},
    MicroCase{"cross_iteration",
              "4 D + T(all_reduce of S) where D is the larger: step i waits for the exchange of i - 2",
              cross_iteration},
    MicroCase{"message", "T(message of S)", message},
    MicroCase{"message_empty", "T(message of 0 B): latencies and a frame", message_empty},
    MicroCase{"ping_pong", "2 T(message of S)", ping_pong},
    MicroCase{"exchange", "T(message of S): links are full-duplex", exchange},
    MicroCase{"relay", "(n - 1) T(message of S)", relay},
    MicroCase{"fan_out", "the source's line: (n - 1) S, and a latency", fan_out},
    MicroCase{"incast", "the destination's line: (n - 1) S, and a latency", incast},
    MicroCase{"incast_uneven", "the destination's line: n (n - 1) / 2 S, and a latency", incast_uneven},
    MicroCase{"incast_then_fan_out", "twice (n - 1) S on rank 0's line, and latencies", incast_then_fan_out},
    MicroCase{"ring_shift", "T(message of S): each port has one in and one out", ring_shift},
    MicroCase{"all_pairs", "each port's line: (n - 1) S, and a latency", all_pairs},
    MicroCase{"pipeline", "(n + 3) D + (n - 1) T(message of S) where D is the larger", pipeline},
    MicroCase{"sizes_disagree", "refused: rank 1 calls all_reduce with twice the bytes", sizes_disagree},
    MicroCase{"message_lost", "refused: nobody receives what rank 0 sends", message_lost},
};

}  // namespace

std::span<const MicroCase> micro_cases() {
  return kCases;
}

const MicroCase* find_micro_case(std::string_view name) {
  const auto found = std::ranges::find(kCases, name, &MicroCase::name);
  return found == kCases.end() ? nullptr : &*found;
}

}  // namespace rankwire
