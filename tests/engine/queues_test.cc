#include "emulator/engine/queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;

TEST(ReadyQueue, GivesTheLowestIdWhateverItsNode) {
  ReadyQueue queue(3);
  queue.push(30, 1), queue.push(10, 3), queue.push(20, 2);
  std::vector<uint32_t> nodes;
  while (!queue.empty()) nodes.push_back(queue.pop());
  EXPECT_THAT(nodes, ElementsAre(3, 2, 1));
}

TEST(RankQueue, GivesEachRankOnceTheLowestFirst) {
  RankQueue queue(4);
  for (const uint32_t rank : {2u, 0u, 3u, 2u, 0u}) queue.push(RankId(rank));
  EXPECT_EQ(queue.pop(), RankId(0));
  queue.push(RankId(1));
  queue.push(RankId(0));  // it has been taken, so it is there anew
  std::vector<uint32_t> ranks;
  while (!queue.empty()) ranks.push_back(queue.pop().value);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));
}

TEST(TimerQueue, EqualTimesLeaveByKindOwnerAndItem) {
  using Kind = TimerQueue::Kind;
  TimerQueue queue;
  EXPECT_EQ(queue.next(), Time::never());
  const Time at = Time() + microseconds(1);
  queue.push({.at = at, .kind = Kind::kReduce, .owner = 0, .item = 0});
  queue.push({.at = at, .kind = Kind::kNode, .owner = 2, .item = 0});
  queue.push({.at = at, .kind = Kind::kNode, .owner = 1, .item = 7, .place = 5});
  queue.push({.at = at, .kind = Kind::kNode, .owner = 1, .item = 6});
  queue.push({.at = Time(), .kind = Kind::kTransfer, .owner = 9, .item = 9});
  EXPECT_EQ(queue.next(), Time());
  EXPECT_EQ(queue.pop().kind, Kind::kTransfer);
  EXPECT_EQ(queue.pop().item, 6u);
  EXPECT_EQ(queue.pop().place, 5u);
  EXPECT_EQ(queue.pop().owner, 2u);
  EXPECT_EQ(queue.pop().kind, Kind::kReduce);
  EXPECT_EQ(queue.next(), Time::never());
}

}  // namespace
}  // namespace rankwire
