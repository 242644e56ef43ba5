#include "converters/collective_series.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GeneratedSeries : public ::testing::Test {
 protected:
  /// Two sizes, 64 and 128 B, one call of each to warm up and two that count, of 4 ranks.
  static CollectiveSeries series(MeasuredCollective collective) {
    return {.series = {.collective = collective, .ranks = 4, .smallest = Bytes(64), .largest = Bytes(128)},
            .warmup = 1,
            .iterations = 2,
            .root = 2};
  }
  std::vector<std::vector<WrittenNode>> generate(const CollectiveSeries& series) {
    const std::string prefix = folder_ / fmt::format("set{}", ++sets_);
    const GeneratedTraces traces = generate_collective_series(series, prefix);
    expect_valid(traces, prefix);
    std::vector<std::vector<WrittenNode>> ranks;
    for (uint32_t rank = 0; rank < traces.ranks; ++rank) ranks.push_back(read_written(trace_file(prefix, rank)));
    return ranks;
  }
  static std::vector<std::string> names_of(const std::vector<WrittenNode>& nodes) {
    std::vector<std::string> names;
    for (const WrittenNode& node : nodes) names.push_back(node.name);
    return names;
  }
  static std::string refusal(const CollectiveSeries& series) {
    try {
      check_collective_series(series);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  TemporaryFolder folder_;
  int sets_ = 0;
};

TEST_F(GeneratedSeries, GoesSizeBySizeAndWaitsBetween) {
  const auto ranks = generate(series(MeasuredCollective::kAllReduce));
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_THAT(names_of(ranks[3]),
              ElementsAre("all_reduce size=64 warmup 0", "barrier", "all_reduce size=64 iteration 0",
                          "all_reduce size=64 iteration 1", "barrier", "all_reduce size=128 warmup 0", "barrier",
                          "all_reduce size=128 iteration 0", "all_reduce size=128 iteration 1"));
  // A chain: each waits for the one before.
  for (size_t i = 1; i < ranks[3].size(); ++i) EXPECT_THAT(ranks[3][i].after, ElementsAre(ranks[3][i - 1].id));
}

TEST_F(GeneratedSeries, HasABarrierBeforeEachCallWhereAsked) {
  CollectiveSeries other = series(MeasuredCollective::kAllReduce);
  other.barrier = true;
  other.warmup = 0;
  other.series.largest = Bytes(64);
  EXPECT_THAT(names_of(generate(other)[0]),
              ElementsAre("all_reduce size=64 iteration 0", "barrier", "all_reduce size=64 iteration 1"));
}

// The size is the whole of an all-gather, of which a rank has a quarter, and of a reduce-scatter, of which it has all.
TEST_F(GeneratedSeries, InputsAreThoseOfTheCollective) {
  const auto input = [&](MeasuredCollective collective) {
    const auto nodes = generate(series(collective))[1];
    return node_named(nodes, measured_name(collective, Bytes(128), false, 1)).size;
  };
  EXPECT_EQ(input(MeasuredCollective::kAllGather), 32);
  EXPECT_EQ(input(MeasuredCollective::kGather), 32);
  EXPECT_EQ(input(MeasuredCollective::kReduceScatter), 128);
  EXPECT_EQ(input(MeasuredCollective::kAllToAll), 128);
  EXPECT_EQ(input(MeasuredCollective::kScatter), 128);
  EXPECT_EQ(input(MeasuredCollective::kBroadcast), 128);
}

TEST_F(GeneratedSeries, RootedOnesNameTheRoot) {
  EXPECT_EQ(generate(series(MeasuredCollective::kReduce))[0].front().root, 2);
  EXPECT_EQ(generate(series(MeasuredCollective::kAllReduce))[0].front().root, -1);
}

// 4 ranks with parts of 1600 B, see MeasuredCollective.SpreadPartsGrowWithTheDistance; rank 1 is at distance 0, 1, 2
// and 3 of ranks 1, 2, 3 and 0.
TEST_F(GeneratedSeries, UnevenPartsFollowTheDistance) {
  CollectiveSeries other = series(MeasuredCollective::kAllToAllV);
  other.series.smallest = other.series.largest = Bytes(6400);
  EXPECT_EQ(generate(other)[1].front().splits, "[3200, 0, 1056, 2128]");
}

TEST_F(GeneratedSeries, SendrecvIsARing) {
  const auto nodes = generate(series(MeasuredCollective::kSendRecv))[0];
  EXPECT_EQ(nodes[0].destination, 1);
  EXPECT_EQ(nodes[0].size, 64);
  EXPECT_EQ(nodes[1].source, 3);
  EXPECT_TRUE(nodes[1].after.empty());
  // What follows waits for both.
  EXPECT_THAT(nodes[2].after, ElementsAre(nodes[0].id, nodes[1].id));
}

// Of 64 B each rank has 16, sends these to its neighbour and then 32 to the rank two further.
TEST_F(GeneratedSeries, HypercubeDoublesWhatItSends) {
  const auto nodes = generate(series(MeasuredCollective::kHypercube))[1];
  EXPECT_EQ(nodes[0].destination, 0);
  EXPECT_EQ(nodes[0].size, 16);
  EXPECT_EQ(nodes[2].destination, 3);
  EXPECT_EQ(nodes[2].size, 32);
}

TEST_F(GeneratedSeries, RefusesWhatCannotBe) {
  const auto with = [](MeasuredCollective collective, auto change) {
    CollectiveSeries wrong = series(collective);
    change(wrong);
    return refusal(wrong);
  };
  using enum MeasuredCollective;
  EXPECT_EQ(refusal(series(kAllReduce)), "");
  EXPECT_THAT(with(kAllReduce, [](auto& s) { s.series.smallest = Bytes(256); }), HasSubstr("which is above max"));
  EXPECT_THAT(with(kAllReduce, [](auto& s) { s.series.smallest = Bytes(6); }), HasSubstr("not a whole number"));
  EXPECT_THAT(with(kAllReduce, [](auto& s) { s.series.factor = 1; }), HasSubstr("factor is 1"));
  EXPECT_THAT(with(kAllReduce, [](auto& s) { s.series.ranks = 1; }), HasSubstr("ranks is 1"));
  EXPECT_THAT(with(kHypercube, [](auto& s) { s.series.ranks = 6; }), HasSubstr("power of two"));
  EXPECT_THAT(with(kReduce, [](auto& s) { s.root = 4; }), HasSubstr("there are ranks 0 to 3"));
  EXPECT_THAT(with(kAllGather, [](auto& s) { s.series.ranks = 9; }), HasSubstr("must be at least 144 B"));
  // It has no root.
  EXPECT_EQ(with(kAllReduce, [](auto& s) { s.root = 4; }), "");
}

}  // namespace
}  // namespace rankwire
