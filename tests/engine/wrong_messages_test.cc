#include "emulator/engine/wrong_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace rankwire {
namespace {

using Counted = std::tuple<uint32_t, uint32_t, uint64_t>;

std::vector<Counted> counted(const WrongMessages& wrong) {
  std::vector<Counted> all;
  wrong.for_each([&](RankId rank, uint32_t node, uint64_t messages) { all.push_back({rank.value, node, messages}); });
  return all;
}

TEST(WrongMessages, CountsByRankAndNode) {
  Plan plan;
  plan.nodes = {std::vector<NodePlan>(2), {}, std::vector<NodePlan>(3)};
  WrongMessages wrong(plan);
  EXPECT_THAT(counted(wrong), ::testing::IsEmpty());
  wrong.add(RankId(2), 0);
  wrong.add(RankId(0), 1);
  wrong.add(RankId(2), 2);
  wrong.add(RankId(2), 0);
  EXPECT_THAT(counted(wrong), ::testing::ElementsAre(Counted(0, 1, 1), Counted(2, 0, 2), Counted(2, 2, 1)));
}

TEST(WrongMessages, OfNoPlanAreNone) {
  EXPECT_THAT(counted(WrongMessages()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace rankwire
