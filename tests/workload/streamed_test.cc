// Traces that stay in their files, beside the same traces in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "emulator/workload/node_source.h"
#include "emulator/workload/node_stream.h"
#include "tests/workload/node_table.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Both ways of loading, and the random order in which they are run.
class Pair {
 public:
  Pair(TraceSet& set, uint32_t reach) {
    set.options.stream_above = UINT64_MAX;
    set.warnings.clear();
    whole_ = set.load();
    whole_warnings_ = std::exchange(set.warnings, {});
    set.options.stream_above = 0;
    set.options.stream_reach = reach;
    streamed_ = set.load();
    EXPECT_EQ(set.warnings, whole_warnings_);
    EXPECT_TRUE(whole_.streaming.empty());
    EXPECT_FALSE(streamed_.streaming.empty());
  }

  const Workload& streamed() const { return streamed_; }
  void compare_tables() const { EXPECT_EQ(table(streamed_), table(whole_)); }

  /// Takes, gives back and completes nodes of each rank at random.
  void compare_sources(std::mt19937& random, int iterations = 2) const {
    for (uint32_t rank = 0; rank < whole_.ranks.size(); ++rank) {
      const auto expected = make_source(whole_, RankId(rank));
      const auto source = make_source(streamed_, RankId(rank));
      for (int i = 0; i < iterations; ++i) {
        ASSERT_NO_FATAL_FAILURE(compare(*source, *expected, random)) << "rank " << rank << " iteration " << i;
        source->reset();
        expected->reset();
      }
    }
  }

 private:
  static void compare(NodeSource& source, NodeSource& expected, std::mt19937& random) {
    std::vector<std::pair<uint32_t, uint32_t>> taken;
    while (!expected.finished()) {
      ASSERT_FALSE(source.finished());
      if (taken.empty() || random() % 3 != 0) {
        const uint32_t theirs = expected.next(), ours = source.next();
        ASSERT_EQ(ours == NodeSource::kNone, theirs == NodeSource::kNone) << source.problem();
        if (theirs != NodeSource::kNone) {
          ASSERT_EQ(shown(source.lookup(ours)), shown(expected.lookup(theirs)));
          ASSERT_EQ(source.place(ours), expected.place(theirs));
          taken.emplace_back(ours, theirs);
          continue;
        }
        ASSERT_FALSE(taken.empty()) << "both stand still";
      }
      const size_t chosen = random() % taken.size();
      const auto [ours, theirs] = taken[chosen];
      taken.erase(taken.begin() + static_cast<ptrdiff_t>(chosen));
      if (random() % 5 == 0) {
        source.push_back(ours);
        expected.push_back(theirs);
      } else {
        source.complete(ours);
        expected.complete(theirs);
      }
    }
    ASSERT_EQ(source.next(), NodeSource::kNone);
    ASSERT_TRUE(source.finished()) << source.problem();
    ASSERT_TRUE(source.can_go_on());
  }

  Workload whole_, streamed_;
  Warnings whole_warnings_;
};

struct Shape {
  size_t nodes = 400;
  size_t displaced = 0;  ///< how far nodes stand from where they could, so that references point forward
  size_t back = 12;      ///< how far references point back, as a rule
  bool missing = false;  ///< control dependencies on nodes that do not exist
};

/// A rank's nodes in an order that is possible, then displaced. Some depend on nothing, some on what is far.
/// Collectives have a group each, since displaced they could not run in the order of the file.
Nodes random_nodes(std::mt19937& random, const Shape& shape) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  std::vector<uint64_t> ids(shape.nodes);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = 3 * i;
  std::ranges::shuffle(ids, random);
  std::vector<std::pair<size_t, chakra::Node>> placed;
  for (size_t i = 0; i < shape.nodes; ++i) {
    const std::string name = fmt::format("node {}", i % 7);
    Make make = below(8) == 0
                    ? collective(ids[i], name).size(static_cast<int64_t>(1 + below(99))).group(fmt::format("g{}", i))
                    : compute(ids[i], name);
    if (below(3) == 0) make.on_cpu();
    make.micros(below(4)).integer("num_ops", static_cast<int64_t>(below(1000)));
    const size_t reach = below(10) == 0 ? i : std::min(i, shape.back);
    for (size_t n = below(12) == 0 ? 0 : 1 + below(3); n > 0 && reach > 0; --n) {
      const uint64_t parent = ids[i - 1 - below(reach)];
      below(4) == 0 ? make.after_control({parent}) : make.after({parent});
    }
    if (below(15) == 0) make.after({ids[i]}).after_control({ids[i]});
    if (shape.missing && below(9) == 0) make.after_control({1'000'000 + below(5)});
    placed.emplace_back(i + below(shape.displaced + 1), make);
  }
  std::ranges::stable_sort(placed, {}, [](const auto& item) { return item.first; });
  Nodes nodes;
  for (auto& [place, node] : placed) nodes.push_back(std::move(node));
  return nodes;
}

class StreamedTraces : public ::testing::TestWithParam<DependencyPolicy> {};

TEST_P(StreamedTraces, HandOutWhatTracesInMemoryDo) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()) + 7);
  size_t far = 0, forward = 0;
  for (const size_t displaced : {0, 4, 60}) {
    for (const uint32_t reach : {2, 8, 50, 16384}) {
      // Control dependencies alone must resolve.
      const bool missing = GetParam() != DependencyPolicy::kControl && reach == 8;
      TraceSet set({random_nodes(random, {.displaced = displaced, .missing = missing})});
      std::string groups = "{";
      for (size_t i = 0; i < Shape().nodes; ++i) groups += fmt::format("{}\"g{}\": [0]", i == 0 ? "" : ", ", i);
      set.groups(groups + "}");
      set.options.dependencies = GetParam();
      set.options.select.names = {"node [0-5]"};
      set.options.compute = {3, 2};
      const Pair pair(set, reach);
      pair.compare_tables();
      ASSERT_NO_FATAL_FAILURE(pair.compare_sources(random)) << "displaced " << displaced << " reach " << reach;
      far += pair.streamed().ranks[0].streamed->far.size();
      forward += !pair.streamed().ranks[0].in_order;
    }
  }
  EXPECT_GT(far, 100u);
  EXPECT_GE(forward, 8u);
}

INSTANTIATE_TEST_SUITE_P(All, StreamedTraces,
                         ::testing::Values(DependencyPolicy::kAuto, DependencyPolicy::kData, DependencyPolicy::kControl,
                                           DependencyPolicy::kBoth));

TEST(StreamedWorkload, KeepsOnlyWhatCommunicatesOrIsFar) {
  Nodes nodes;
  for (uint64_t id = 0; id < 100; ++id) {
    if (id == 0 || id == 60) {
      nodes.push_back(compute(id, "root"));
    } else {
      nodes.push_back(id % 10 == 0 ? collective(id, "all").size(8).after({id - 1}) : compute(id, "c").after({id - 1}));
    }
  }
  TraceSet set({nodes});
  const Pair pair(set, 20);
  const RankTrace& trace = pair.streamed().ranks[0];
  // 10, 20, .. 90 communicate but for 60, which depends on nothing and stands 60 places behind the beginning.
  EXPECT_THAT(trace.streamed->places, ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 90));
  ASSERT_THAT(trace.streamed->far, ElementsAre(5));
  EXPECT_EQ(trace.nodes[5].name, "root");
  EXPECT_EQ(trace.streamed->nodes, 100u);
  EXPECT_EQ(trace.streamed->operations, 91u);
  EXPECT_TRUE(trace.in_order);
}

TEST(StreamedWorkload, StreamsAboveTheNumberOfNodesOfAllRanks) {
  TraceSet set({{compute(1, "a"), compute(2, "b")}, {compute(1, "a")}});
  set.options.stream_above = 3;
  EXPECT_TRUE(set.load().streaming.empty());
  set.options.stream_above = 2;
  EXPECT_FALSE(set.load().streaming.empty());
}

/// Two ranks of which each sends and receives and takes part in all-reduces.
std::vector<Nodes> exchange(bool receive_first) {
  std::vector<Nodes> ranks;
  for (int64_t rank = 0; rank < 2; ++rank) {
    Nodes nodes = {compute(1, "begin"), send(2, "to", 1 - rank).size(64).after({1}),
                   receive(3, "from", 1 - rank).size(64), collective(4, "all").size(32).after({3}),
                   collective(5, "gather", CollectiveKind::kAllGather).size(32).after({4})};
    if (receive_first) std::swap(nodes[0], nodes[2]);
    ranks.push_back(std::move(nodes));
  }
  return ranks;
}

TEST(StreamedWorkload, RanksThatCommunicateAreAsInMemory) {
  std::mt19937 random(5);
  for (const bool receive_first : {false, true}) {
    TraceSet set(exchange(receive_first));
    const Pair pair(set, 2);
    pair.compare_tables();
    ASSERT_NO_FATAL_FAILURE(pair.compare_sources(random)) << receive_first;
  }
}

/// The error of loading from files, which are small and far behind all limits otherwise.
std::string streamed_error(TraceSet& set) {
  set.options.stream_above = 0;
  return set.error();
}

TEST(StreamedWorkload, RefusesRanksThatWaitForEachOther) {
  std::vector<Nodes> ranks;
  for (int64_t rank = 0; rank < 2; ++rank) {
    ranks.push_back({receive(1, "from", 1 - rank).size(8), send(2, "to", 1 - rank).size(8).after({1})});
  }
  TraceSet set(ranks);
  EXPECT_THAT(streamed_error(set), HasSubstr("w.0.et: node 1 \"from\": the ranks wait for each other: rank 0 node 1"));
}

TEST(StreamedWorkload, IsLoadedWholeWhereOnlyTheGraphTellsAnOrder) {
  // The files have x before y, so y waits, but x depends on it: in memory that is a warning.
  const Nodes nodes = {collective(1, "x").size(8).after({2}), collective(2, "y").size(8)};
  TraceSet set({nodes, nodes});
  const std::vector<std::string> rows = table(set.load());
  const Warnings warnings = std::exchange(set.warnings, {});
  ASSERT_EQ(warnings.size(), 1u);
  set.options.stream_above = 0;
  const Workload workload = set.load();
  EXPECT_TRUE(workload.streaming.empty());
  EXPECT_EQ(table(workload), rows);
  ASSERT_EQ(set.warnings.size(), 2u);
  EXPECT_THAT(set.warnings[0], HasSubstr("loaded whole in spite of workload.stream_above: "));
  EXPECT_THAT(set.warnings[0], HasSubstr("node 2 \"y\" could not run with collectives in the order of the files"));
  EXPECT_EQ(set.warnings[1], warnings[0]);
}

TEST(StreamedWorkload, RefusesWhatTracesInMemoryAreRefusedFor) {
  const auto error = [](const Nodes& nodes) {
    TraceSet set({nodes});
    return streamed_error(set);
  };
  EXPECT_THAT(error({compute(1, "a").after({2}), compute(2, "b").after({1})}),
              HasSubstr("its dependencies are a cycle: "));
  EXPECT_THAT(error({compute(1, "a").after({9})}), HasSubstr("node 1: its data dependency on node 9 does not resolve"));
  EXPECT_THAT(error({compute(1, "a").after_control({9})}),
              HasSubstr("node 1: its control dependency on node 9 does not resolve"));
  EXPECT_THAT(error({compute(1, "a"), compute(1, "b")}), HasSubstr("node 1 \"b\": the id is that of another node"));
  EXPECT_THAT(error({compute(1, "a").integer("num_ops", -1)}), HasSubstr("w.0.et: node 1 \"a\": num_ops is -1"));
}

TEST(StreamedWorkload, SaysHowFarReferencesReachBeyondTheLimit) {
  Nodes nodes = {compute(0, "first").after({NodeStream::kMostOpen + 9})};
  for (uint64_t id = 1; id <= NodeStream::kMostOpen; ++id) nodes.push_back(compute(id, "").after({id - 1}));
  nodes.push_back(compute(NodeStream::kMostOpen + 9, "last"));
  TraceSet set({nodes});
  // The node at place 262144 is the 262145th that waits.
  EXPECT_THAT(streamed_error(set), HasSubstr("since place 0 of the file, a reach of 262144; raise"));
}

TEST(StreamedWorkload, SaysThatTooManyNodesAreFar) {
  Nodes nodes;
  for (uint64_t id = 0; id < NodeStream::kMostOpen + 10; ++id) nodes.push_back(compute(id, ""));
  TraceSet set({nodes});
  set.options.stream_reach = 8;
  EXPECT_THAT(streamed_error(set), HasSubstr("more than 262144 nodes depend on nothing within 8 places"));
}

TEST(StreamedSource, SaysWhenTheFileIsNotWhatItWas) {
  TraceSet set({{compute(1, "a"), collective(2, "x").size(8).after({1}), compute(3, "b").after({2})}});
  set.options.stream_above = 0;
  const Workload workload = set.load();
  const auto problem_with = [&](const Nodes& nodes) {
    TraceSet::write(set.file(0), nodes);
    const auto source = make_source(workload, RankId(0));
    for (uint32_t node = source->next(); node != NodeSource::kNone; node = source->next()) source->complete(node);
    EXPECT_FALSE(source->can_go_on());
    EXPECT_FALSE(source->finished());
    return source->problem();
  };
  EXPECT_THAT(problem_with({compute(1, "a"), collective(7, "x").size(8), compute(3, "b")}),
              HasSubstr("w.0.et: the file has changed since it was read first, at node 2"));
  EXPECT_THAT(problem_with({compute(1, "a")}), HasSubstr("the file has changed"));
  EXPECT_THAT(problem_with({compute(1, "a"), collective(2, "x").size(8), compute(1, "b")}),
              HasSubstr("an id comes again"));
}

}  // namespace
}  // namespace rankwire
