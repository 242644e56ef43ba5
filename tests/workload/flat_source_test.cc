#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/workload/node_source.h"
#include "tests/counting_new.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

/// Nodes at 0..4 with ids 50, 40, 30, 20, 10. 1 and 2 wait for 0, 4 waits for 1 and 2; 3 is free.
RankTrace diamond() {
  RankTrace trace;
  for (const uint64_t id : {50, 40, 30, 20, 10}) {
    trace.nodes.emplace_back();
    trace.nodes.back().id = id;
  }
  trace.dependencies = {0, 1, 1, 0, 2};
  trace.successor_begin = {0, 2, 3, 4, 4, 4};
  trace.successors = {1, 2, 4, 4};
  return trace;
}

/// Completes every node as it comes.
std::vector<uint32_t> drain(NodeSource& source) {
  std::vector<uint32_t> order;
  for (uint32_t node = source.next(); node != NodeSource::kNone; node = source.next()) {
    order.push_back(node);
    source.complete(node);
  }
  return order;
}

TEST(FlatSource, HandsOutReadyNodesByLowestId) {
  const RankTrace trace = diamond();
  const auto source = make_flat_source(trace);
  EXPECT_EQ(source->next(), 3u);  // id 20 before id 50
  EXPECT_EQ(source->next(), 0u);
  EXPECT_EQ(source->next(), NodeSource::kNone);
  source->complete(0);
  EXPECT_EQ(source->next(), 2u);  // id 30 before id 40
  EXPECT_EQ(source->next(), 1u);
  source->complete(1);
  EXPECT_EQ(source->next(), NodeSource::kNone) << "4 waits for 2 as well";
  source->complete(2);
  EXPECT_EQ(source->next(), 4u);
  EXPECT_EQ(source->lookup(4).id, 10u);
}

TEST(FlatSource, PushedBackNodesComeAgainInTheirPlace) {
  const RankTrace trace = diamond();
  const auto source = make_flat_source(trace);
  const uint32_t first = source->next();
  const uint32_t second = source->next();
  source->push_back(second);
  source->push_back(first);
  EXPECT_EQ(source->next(), first);
  EXPECT_EQ(source->next(), second);
  EXPECT_FALSE(source->finished());
}

TEST(FlatSource, FinishesWhenAllAreCompleteAndBeginsAgain) {
  const RankTrace trace = diamond();
  const auto source = make_flat_source(trace);
  for (int iteration = 0; iteration < 3; ++iteration) {
    EXPECT_FALSE(source->finished());
    EXPECT_THAT(drain(*source), ElementsAre(3, 0, 2, 1, 4));
    EXPECT_TRUE(source->finished());
    source->reset();
  }
  source->next();
  source->reset();
  EXPECT_EQ(source->next(), 3u) << "reset also forgets what was handed out";
}

TEST(FlatSource, ATraceWithoutNodesIsFinished) {
  RankTrace trace;
  trace.successor_begin = {0};
  const auto source = make_flat_source(trace);
  EXPECT_EQ(source->next(), NodeSource::kNone);
  EXPECT_TRUE(source->finished());
}

TEST(FlatSource, DoesNotAllocateAfterConstruction) {
  const RankTrace trace = diamond();
  const auto source = make_flat_source(trace);
  const uint64_t before = testing::allocations;
  for (int iteration = 0; iteration < 10; ++iteration) {
    for (uint32_t node = source->next(); node != NodeSource::kNone; node = source->next()) {
      source->push_back(node);
      source->complete(source->next());
    }
    source->reset();
  }
  EXPECT_EQ(testing::allocations, before);
}

}  // namespace
}  // namespace rankwire
