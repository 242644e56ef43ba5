#include "emulator/engine/collective_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::WorkloadBuilder;

constexpr uint32_t kNone = CollectiveOrder::kNone;

/// Node n of the rank is a collective of group `groups[n]`; ids and run orders count up with n.
RankTrace trace_of(const std::vector<uint32_t>& groups) {
  WorkloadBuilder builder(1);
  for (const uint32_t group : groups) builder.collective(0, CollectiveKind::kAllReduce, GroupId(group), 1'000);
  return std::move(builder.build().ranks.front());
}

MATCHER_P2(Holds, node, behind, "") {
  return arg.node == node && arg.behind == behind;
}

TEST(CollectiveOrder, OfAGroupOneRunsAtATimeInRunOrder) {
  RankTrace trace = trace_of({0, 0, 0});
  std::swap(trace.nodes[0].run_order, trace.nodes[2].run_order);
  CollectiveOrder order(trace, 0);
  order.make_ready(0), order.make_ready(1);
  EXPECT_EQ(order.begin(), kNone) << "node 2 comes first, and is not ready";
  order.make_ready(2);
  for (const uint32_t node : {2u, 1u, 0u}) {
    EXPECT_EQ(order.begin(), node);
    EXPECT_EQ(order.begin(), kNone) << "one at a time";
    order.end(node);
  }
  EXPECT_EQ(order.begin(), kNone) << "none is left";
}

TEST(CollectiveOrder, OfSeveralGroupsTheLowestIdComesFirst) {
  RankTrace trace = trace_of({0, 1, 2});
  std::swap(trace.nodes[0].id, trace.nodes[2].id);
  CollectiveOrder order(trace, 0);
  for (const uint32_t node : {0u, 1u, 2u}) order.make_ready(node);
  for (const uint32_t node : {2u, 1u, 0u}) EXPECT_EQ(order.begin(), node);
}

TEST(CollectiveOrder, NoMoreThanTheLimitRun) {
  const RankTrace trace = trace_of({0, 1, 2});
  CollectiveOrder order(trace, 2);
  for (const uint32_t node : {0u, 1u, 2u}) order.make_ready(node);
  EXPECT_EQ(order.begin(), 0u);
  EXPECT_EQ(order.begin(), 1u);
  EXPECT_EQ(order.begin(), kNone);
  order.end(1);
  EXPECT_EQ(order.begin(), 2u);
}

TEST(CollectiveOrder, WhatIsNoCollectiveIsNotItsOwn) {
  WorkloadBuilder builder(1);
  const uint32_t send = builder.send(0, 1, 0, 1'000);
  const uint32_t collective = builder.collective(0, CollectiveKind::kAllReduce, GroupId(0), 1'000);
  const Workload workload = builder.build();
  CollectiveOrder order(workload.ranks.front(), 1);
  order.make_ready(collective);
  EXPECT_EQ(order.begin(), collective);
  order.end(send);
  EXPECT_EQ(order.begin(), kNone) << "the collective still runs";
}

TEST(CollectiveOrder, TheNextIterationBeginsWithTheFirst) {
  const RankTrace trace = trace_of({0, 0});
  CollectiveOrder order(trace, 1);
  for (const uint32_t node : {0u, 1u}) {
    order.make_ready(node);
    EXPECT_EQ(order.begin(), node);
    order.end(node);
  }
  order.reset();
  EXPECT_EQ(order.begin(), kNone) << "none is ready";
  order.make_ready(1), order.make_ready(0);
  EXPECT_EQ(order.begin(), 0u);
}

// Group 0 runs nothing since node 0 is not ready, group 1 runs node 2, and group 2 may not: the limit is 1. Of group 3
// none is ready.
TEST(CollectiveOrder, SaysWhatIsHeldBackAndWhy) {
  const RankTrace trace = trace_of({0, 0, 1, 2, 3});
  CollectiveOrder order(trace, 1);
  EXPECT_THAT(order.held_back(), IsEmpty());
  for (const uint32_t node : {1u, 2u, 3u}) order.make_ready(node);
  EXPECT_EQ(order.begin(), 2u);
  EXPECT_THAT(order.held_back(), ElementsAre(Holds(1u, 0u), Holds(3u, kNone)));
}

}  // namespace
}  // namespace rankwire
