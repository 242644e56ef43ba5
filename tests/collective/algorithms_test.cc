// Every algorithm by name, executed for groups of every size: what members end with, and how much each sends in how
// many steps.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "base/error.h"
#include "emulator/collective/algorithm_table.h"
#include "emulator/collective/binary_tree.h"
#include "tests/collective/definitions.h"
#include "tests/collective/named_algorithms.h"

namespace rankwire {
namespace {

/// Members of a group, hosts of two (the last may have one), and three hosts whose members alternate.
std::vector<std::vector<uint32_t>> host_maps(Algorithm algorithm, uint32_t n) {
  const bool asks = asks_for_hosts(algorithm);
  std::vector<std::vector<uint32_t>> maps(asks ? 4 : 1);
  for (uint32_t i = 0; i < n && asks; ++i) {
    maps[1].push_back(i / 2);
    maps[2].push_back(10 - i % 3);
    maps[3].push_back(7);
  }
  return maps;
}

void expect_correct(const ScheduleRequest& request, const ScheduleOptions& options, uint32_t most_channels) {
  SCOPED_TRACE(::testing::Message() << "bytes " << request.bytes.count << " channels " << options.channels << " root "
                                    << request.root << " hosts " << (request.hosts.empty() ? 0 : request.hosts[0]));
  Executor executor(request, options);
  expect_matched(executor.schedules());
  for (const Schedule& schedule : executor.schedules())
    expect_well_formed(request, options.chunk, most_channels, schedule);
  expect_delivered(executor, request);
}

/// Elements of an input: none, one, fewer than members, as many, an odd number, and several slices of 11.
std::vector<int64_t> sizes_of(Operation operation, uint32_t n) {
  const bool gathers = operation == Operation::kAllGather || operation == Operation::kGather;
  return {0, 1, int64_t{n} - 1, n, 101 / (gathers ? 4 : 1), (gathers ? 2 : 16) * int64_t{n} + 5};
}

class EveryAlgorithm : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(EveryAlgorithm, DeliversForEveryNumberOfMembers) {
  const auto [operation, algorithm] = GetParam();
  for (const uint32_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 33})
    for (const int64_t count : sizes_of(operation, n))
      for (const uint32_t channels : {1, 2})
        for (const auto& hosts : host_maps(algorithm, n)) {
          if (n > 17 && (channels == 1 || count < n)) continue;
          ScheduleRequest request{.operation = operation, .members = n, .bytes = Bytes(4 * count), .element = Bytes(4)};
          request.root = static_cast<uint32_t>(count + channels) % n;
          request.hosts = hosts;
          expect_correct(request, options_of(GetParam(), channels, Bytes(44)), 2 * channels);
          if (HasFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm, ::testing::ValuesIn(named_algorithms()), name_of);

/// What a group of n does, where every division leaves no rest: `unit` bytes for every member, vertex and half.
struct Group {
  Operation operation;
  Algorithm algorithm;
  uint32_t n, hosts;

  uint32_t k() const { return static_cast<uint32_t>(std::bit_width(n)) - 1; }
  uint32_t p() const { return 1u << k(); }
  uint32_t extras() const { return n - p(); }
  uint32_t rounds() const { return static_cast<uint32_t>(std::bit_width(n - 1)); }  // ceil(log2 n)
};

/// Steps in which anybody sends, derived where the algorithm is declared and in docs/collectives.md.
uint32_t expected_steps(const Group& g) {
  const uint32_t before_and_after = g.extras() > 0 ? 2 : 0;
  switch (g.algorithm) {
    case Algorithm::kDoubleBinaryTree:
      return 2;
    case Algorithm::kHalvingDoubling:  // an all-reduce gives back to the extra members, a reduce does not
      return 2 * g.k() + (g.operation == Operation::kAllReduce ? before_and_after : before_and_after / 2);
    case Algorithm::kHalvingDoublingElimination:  // exchange and hand over
      return 2 * g.k() + (g.extras() == 0 ? 0 : g.operation == Operation::kAllReduce ? 3 : 2);
    case Algorithm::kRecursiveDoubling:
    case Algorithm::kRecursiveHalving:
      return g.k() + before_and_after;
    case Algorithm::kBruck:
    case Algorithm::kPat:
    case Algorithm::kBinomialTree:
      return g.rounds();
    case Algorithm::kPairwise:
      return g.n - 1;
    case Algorithm::kRing:
      return g.operation == Operation::kAllReduce ? 2 * (g.n - 1) : g.n - 1;
    case Algorithm::kDirect:
      return g.operation == Operation::kAllReduce ? 2 : g.operation == Operation::kAllToAll ? g.n - 1 : 1;
    case Algorithm::kHierarchical: {
      const bool local = g.hosts < g.n;
      if (g.operation == Operation::kAllReduce) return 2 * (g.hosts - 1) + (local ? 2 : 0);
      if (g.operation == Operation::kAllToAll) return (local ? 1 : 0) + (g.hosts > 1 ? 1 : 0);
      return g.hosts - 1 + (local ? 1 : 0);
    }
    default:
      break;
  }
  return 0;
}

/// Blocks of the members of a vertex range, extra members included.
int64_t blocks_of_vertices(const Group& g, uint32_t first, uint32_t count) {
  int64_t blocks = 0;
  for (uint32_t v = first; v < first + count; ++v) blocks += v < g.extras() ? 2 : 1;
  return blocks;
}

/// By member; `s` is the input. Vertices: of members 2i, 2i+1 below twice the extras the even one stays (or the root).
int64_t expected_bytes(const Group& g, const ScheduleRequest& r, uint32_t m) {
  const int64_t s = r.bytes.count, n = g.n, block = s / n, p = g.p();
  const bool rooted = g.operation == Operation::kReduce;
  const bool paired = m < 2 * g.extras();
  const bool stays = !paired || (rooted && (m ^ 1u) == r.root ? false : rooted && m == r.root ? true : m % 2 == 0);
  const uint32_t vertex = paired ? m / 2 : m - g.extras();
  const uint32_t number = (m + g.n - r.root) % g.n;  // in a tree from the root on
  const uint32_t height = number == 0 ? g.rounds() : static_cast<uint32_t>(std::countr_zero(number));
  const int64_t subtree = std::min<int64_t>(int64_t{1} << height, n - number);
  const int64_t own_host = n / g.hosts, hosts = g.hosts;
  switch (g.algorithm) {
    case Algorithm::kDoubleBinaryTree: {
      // Half of the data in each tree: to the parent, and back to each child.
      int64_t halves = 0;
      for (const TreePlace& place : {binary_tree(g.n, m), complementary_binary_tree(g.n, m)})
        halves += static_cast<int64_t>(place.children.size()) + (place.parent ? 1 : 0);
      return halves * s / 2;
    }
    case Algorithm::kHalvingDoubling:
    case Algorithm::kHalvingDoublingElimination: {
      // s/2 + s/4 + ... + s/p = s - s/p to scatter. An all-reduce sends as much on the way back; a reduce sends
      // s / 2^(j+1) once, over the highest dimension j in which the vertex differs from the root's.
      const bool eliminates = g.algorithm == Algorithm::kHalvingDoublingElimination;
      if (!stays) return s;  // at once, or in two halves
      int64_t sum = s - s / p + (paired && eliminates ? s / 2 : 0);
      if (!rooted) return sum + s - s / p + (paired ? s : 0);
      const uint32_t root_vertex = r.root < 2 * g.extras() ? r.root / 2 : r.root - g.extras();
      return vertex == root_vertex ? sum : sum + (s >> std::bit_width(vertex ^ root_vertex));
    }
    case Algorithm::kRecursiveDoubling: {
      if (!stays) return s;
      if (g.operation == Operation::kAllReduce) return s * g.k() + (paired ? s : 0);
      int64_t blocks = paired ? n - 1 : 0;
      for (uint32_t j = 0; j < g.k(); ++j) blocks += blocks_of_vertices(g, vertex >> j << j, 1u << j);
      return blocks * s;
    }
    case Algorithm::kRecursiveHalving:
      // All parts but those of its own vertex, then the extra member's.
      return stays ? s - blocks_of_vertices(g, vertex, 1) * block + (paired ? block : 0) : s;
    case Algorithm::kBruck: {
      if (g.operation == Operation::kAllGather) return (n - 1) * s;
      int64_t hops = 0;  // data for the member d ahead goes as many hops as d has bits, and members are alike
      for (uint32_t d = 1; d < g.n; ++d) hops += std::popcount(d);
      return hops * block;
    }
    case Algorithm::kPat:
    case Algorithm::kRing:
    case Algorithm::kDirect:
    case Algorithm::kPairwise:
      break;
    case Algorithm::kBinomialTree:
      if (g.operation == Operation::kGather) return number == 0 ? 0 : subtree * s;
      if (g.operation == Operation::kScatter) return (subtree - 1) * block;
      if (g.operation == Operation::kReduce) return number == 0 ? 0 : s;
      // One child for every power of two below the subtree's size.
      return s * (std::bit_width(static_cast<uint64_t>(subtree - 1)));
    case Algorithm::kHierarchical:
    case Algorithm::kPxn:
      // m members on each of H hosts. Scatter to m - 1 neighbours, and over H - 1 steps of a ring of H parts.
      if (g.operation == Operation::kAllReduce)
        return 2 * ((own_host - 1) * s / own_host + (hosts - 1) * s / own_host / hosts);
      if (g.operation == Operation::kReduceScatter)
        return (own_host - 1) * s / own_host + (hosts - 1) * s / own_host / hosts;
      // One input H - 1 times along the ring, then H inputs to each neighbour.
      if (g.operation == Operation::kAllGather) return (hosts - 1) * s + (own_host - 1) * hosts * s;
      // To each neighbour its part and one for each other host; to each other host one member gets the host's data.
      return (own_host - 1) * hosts * block + (hosts - 1) * own_host * block;
    default:
      break;
  }
  // What needs no more than it must.
  switch (g.operation) {
    case Operation::kAllReduce:
      return 2 * (s - block);
    case Operation::kAllGather:
      return (n - 1) * s;
    case Operation::kBroadcast:
      return (m + 1) % g.n == r.root ? 0 : s;
    case Operation::kReduce:
    case Operation::kGather:
      return m == r.root ? 0 : s;
    case Operation::kScatter:
      return m == r.root ? s - block : 0;
    default:
      return s - block;
  }
}

class EveryClosedForm : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(EveryClosedForm, StepsAndBytesAreThose) {
  const auto [operation, algorithm] = GetParam();
  const bool by_host = algorithm == Algorithm::kHierarchical || algorithm == Algorithm::kPxn;
  for (uint32_t n = 2; n <= 24; ++n)
    for (const uint32_t on_host : {1u, 2u, 3u, n}) {
      if (n % on_host != 0 || (on_host > 1 && !by_host)) continue;
      const Group g{operation, algorithm, n, n / on_host};
      // Divisible by n and by twice the vertices, and so that rings of hosts divide a column's part.
      ScheduleRequest request{.operation = operation, .members = n, .bytes = Bytes(int64_t{n} * n * 64)};
      request.root = n / 3;
      for (uint32_t i = 0; i < n; ++i) request.hosts.push_back(i / on_host);
      SCOPED_TRACE(::testing::Message() << n << " members on " << g.hosts << " hosts");
      std::set<uint16_t> steps;
      for (uint32_t m = 0; m < n; ++m) {
        request.position = m;
        const Schedule schedule = make_schedule(request, options_of(GetParam(), 1, Bytes(1 << 20)));
        EXPECT_EQ(bytes_sent(schedule).count, expected_bytes(g, request, m)) << "member " << m;
        for (const Step& step : schedule.steps) steps.insert(step.step);
      }
      if (algorithm != Algorithm::kPxn) {
        EXPECT_EQ(steps.size(), expected_steps(g));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryClosedForm, ::testing::ValuesIn(named_algorithms()), name_of);

TEST(Algorithms, AreRefusedForOtherOperations) {
  const ScheduleRequest request{.operation = Operation::kBroadcast, .members = 4, .bytes = Bytes(64)};
  try {
    make_schedule(request, options_of({Operation::kBroadcast, Algorithm::kPat}, 1, Bytes(64)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "broadcast: the algorithm pat is none of auto, ring, binomial_tree, in_network");
  }
}

// Trees need two channels for each.
TEST(Algorithms, TreesHaveAtMostSixteenTimesTwoChannels) {
  const ScheduleRequest request{.operation = Operation::kAllReduce, .members = 4, .bytes = Bytes(640)};
  const auto make = [&](uint32_t channels) {
    make_schedule(request, options_of({Operation::kAllReduce, Algorithm::kDoubleBinaryTree}, channels, Bytes(64)));
  };
  EXPECT_NO_THROW(make(16));
  EXPECT_THROW(make(17), Error);
}

// NCCL's pictures of the trees of 14 (binary) and of 12 and 13 nodes (double): parents by node, -1 the root.
TEST(BinaryTree, IsThatOfNccl) {
  const auto parents = [](auto tree, uint32_t n) {
    std::vector<int> result;
    for (uint32_t i = 0; i < n; ++i) {
      const TreePlace place = tree(n, i);
      result.push_back(place.parent ? static_cast<int>(*place.parent) : -1);
    }
    return result;
  };
  EXPECT_EQ(parents(binary_tree, 14), (std::vector<int>{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12}));
  EXPECT_EQ(parents(binary_tree, 12), (std::vector<int>{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10}));
  EXPECT_EQ(parents(complementary_binary_tree, 12), (std::vector<int>{1, 3, 1, 11, 5, 7, 5, 3, 9, 7, 9, -1}));
  EXPECT_EQ(parents(complementary_binary_tree, 13), (std::vector<int>{9, -1, 3, 5, 3, 9, 7, 5, 7, 1, 11, 0, 11}));
}

// Every node's children are those that name it, two at most, and nobody has children in both trees (beyond the roots').
TEST(BinaryTree, ParentsAndChildrenAgree) {
  for (uint32_t n = 1; n <= 65; ++n)
    for (const auto tree : {binary_tree, complementary_binary_tree}) {
      std::vector<std::set<uint32_t>> children(n);
      uint32_t roots = 0;
      for (uint32_t i = 0; i < n; ++i) {
        const TreePlace place = tree(n, i);
        roots += place.parent ? 0 : 1;
        if (place.parent) children[*place.parent].insert(i);
      }
      EXPECT_EQ(roots, 1u);
      for (uint32_t i = 0; i < n; ++i) {
        const TreePlace place = tree(n, i);
        EXPECT_LE(place.children.size(), 2u);
        EXPECT_EQ(std::set<uint32_t>(place.children.begin(), place.children.end()), children[i]) << n << " " << i;
        const bool inner_in_both =
            !binary_tree(n, i).children.empty() && !complementary_binary_tree(n, i).children.empty();
        const bool is_root = !binary_tree(n, i).parent || !complementary_binary_tree(n, i).parent;
        EXPECT_FALSE(inner_in_both && !is_root) << n << " " << i;
      }
    }
}

/// Whom each member of a ring all-gather sends to, channel by channel.
std::vector<std::vector<uint32_t>> successors(const ScheduleRequest& request, const ScheduleOptions& options,
                                              uint32_t channels) {
  std::vector<std::vector<uint32_t>> result(channels, std::vector<uint32_t>(request.members));
  for (ScheduleRequest own = request; own.position < own.members; ++own.position)
    for (const Step& step : make_schedule(own, options).steps)
      if (step.kind == StepKind::kSend) result[step.channel][own.position] = step.peer;
  return result;
}

TEST(Ring, FollowsItsOrderInBothDirections) {
  ScheduleRequest request{.operation = Operation::kAllGather, .members = 5, .bytes = Bytes(64)};
  EXPECT_EQ(successors(request, {}, 1)[0], (std::vector<uint32_t>{1, 2, 3, 4, 0}));
  EXPECT_EQ(successors(request, {.ring_order = RingOrder::kDescending}, 1)[0], (std::vector<uint32_t>{4, 0, 1, 2, 3}));
  // 0 2 4 1 3
  const ScheduleOptions both{.ring_order = RingOrder::kInterleaved, .ring_direction = RingDirection::kBidirectional};
  const auto ways = successors(request, both, 2);
  EXPECT_EQ(ways[0], (std::vector<uint32_t>{2, 3, 4, 0, 1}));
  EXPECT_EQ(ways[1], (std::vector<uint32_t>{3, 4, 0, 1, 2}));
  request.ring = {3, 1, 4, 2, 0};
  EXPECT_EQ(successors(request, {.ring_order = RingOrder::kListed}, 1)[0], (std::vector<uint32_t>{3, 4, 0, 1, 2}));
}

TEST(Ring, DeliversInEveryOrderAndDirection) {
  for (const Operation operation : {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                                    Operation::kBroadcast, Operation::kReduce})
    for (const uint32_t n : {2u, 3u, 5u, 8u})
      for (const RingDirection direction : {RingDirection::kForward, RingDirection::kBidirectional})
        for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{n} - 1, int64_t{203}}) {
          ScheduleRequest request{.operation = operation, .members = n, .bytes = Bytes(4 * count), .element = Bytes(4)};
          request.root = n / 2;
          for (uint32_t i = 0; i < n; ++i) request.ring.push_back((3 * i + 1) % n);
          if (n == 3) request.ring = {2, 1, 0};
          for (const uint32_t channels : {1, 2}) {
            ScheduleOptions options{.ring_direction = direction, .channels = channels, .chunk = Bytes(64)};
            for (const RingOrder order : {RingOrder::kListed, RingOrder::kDescending, RingOrder::kInterleaved}) {
              options.ring_order = order;
              expect_correct(request, options, 2 * channels);
            }
          }
          if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace rankwire
