#include "dataplane/roce/early_packets.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

using Outcome = EarlyPackets::Outcome;

EarlyPacket packet(uint32_t psn, uint32_t lane = 0) {
  return {.frame = {}, .psn = psn, .lane = lane};
}

std::vector<uint32_t> taken(EarlyPackets& packets, uint32_t queue_pair, uint32_t expected) {
  std::vector<uint32_t> psns;
  for (EarlyPacket early; packets.take(queue_pair, expected, early);) psns.push_back(early.psn);
  return psns;
}

TEST(EarlyPackets, GivesThemInOrderUpToTheExpected) {
  EarlyPackets packets(2, 1, 100);
  for (const uint32_t psn : {7u, 5u, 9u, 6u}) EXPECT_EQ(packets.keep(1, 4, packet(psn)), Outcome::kKept);
  EXPECT_FALSE(packets.any(0));
  EXPECT_FALSE(packets.due(1, 4));
  EXPECT_EQ(taken(packets, 1, 4), std::vector<uint32_t>());
  EXPECT_EQ(taken(packets, 1, 7), (std::vector<uint32_t>{5, 6, 7}));
  EXPECT_EQ(taken(packets, 1, 8), std::vector<uint32_t>());
  EXPECT_EQ(taken(packets, 1, 9), std::vector<uint32_t>{9});
  EXPECT_FALSE(packets.any(1));
}

TEST(EarlyPackets, KeepsEachOnceAndNoneTooFarAhead) {
  EarlyPackets packets(1, 1, 10);
  EXPECT_EQ(packets.keep(0, 4, packet(14)), Outcome::kKept);
  EXPECT_EQ(packets.keep(0, 4, packet(14)), Outcome::kDuplicate);
  EXPECT_EQ(packets.keep(0, 4, packet(15)), Outcome::kNoRoom);
}

TEST(EarlyPackets, PacketNumbersWrap) {
  EarlyPackets packets(1, 1, 10);
  for (const uint32_t psn : {1u, 0xFFFFFFu, 0u}) EXPECT_EQ(packets.keep(0, 0xFFFFFE, packet(psn)), Outcome::kKept);
  EXPECT_EQ(taken(packets, 0, 1), (std::vector<uint32_t>{0xFFFFFF, 0, 1}));
}

TEST(EarlyPackets, APortHasSoManyAndNoMore) {
  EarlyPackets packets(2, 2, 1024);
  for (uint32_t i = 0; i < EarlyPackets::kMostOfLane; ++i)
    ASSERT_EQ(packets.keep(0, 0, packet(1 + i, 1)), Outcome::kKept);
  EXPECT_EQ(packets.keep(1, 0, packet(1, 1)), Outcome::kNoRoom);
  EXPECT_EQ(packets.keep(1, 0, packet(1, 0)), Outcome::kKept);
  EarlyPacket early;
  ASSERT_TRUE(packets.take(0, early));
  EXPECT_EQ(early.psn, 1u);
  EXPECT_EQ(packets.keep(1, 0, packet(2, 1)), Outcome::kKept);
}

}  // namespace
}  // namespace rankwire
