#include "emulator/diagnosis/common_trait.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rankwire {
namespace {

/// Rank r stands behind port r % ports, on host r % hosts.
std::vector<RankNic> nics(uint32_t ranks, uint32_t ports, uint32_t hosts) {
  std::vector<RankNic> list;
  for (uint32_t r = 0; r < ranks; ++r)
    list.push_back({.nic = NicId(r), .port = PortId(r % ports), .mac = {}, .ip = {}, .host = r % hosts});
  return list;
}

/// All pairs of `ranks` ranks that are behind different ones of `ports` ports, 100 packets each.
std::vector<TroubledPair> all_pairs(uint32_t ranks, uint32_t ports) {
  std::vector<TroubledPair> pairs;
  for (uint32_t a = 0; a < ranks; ++a)
    for (uint32_t b = 0; b < ranks; ++b)
      if (a % ports != b % ports)
        pairs.push_back(
            {.job = JobId(0), .group = "dp", .source = RankId(a), .destination = RankId(b), .traffic = 100});
  return pairs;
}

template <class Has>
std::vector<TroubledPair> troubled(std::vector<TroubledPair> pairs, Has has) {
  for (TroubledPair& pair : pairs) pair.trouble = has(pair) ? 10 : 0;
  return pairs;
}

// 8 ranks behind 4 ports: 6 of 8 peers each, 48 pairs, of which 12 go to port 2.
TEST(CommonTrait, IsThePortThatAllTroubleGoesTo) {
  const auto pairs = troubled(all_pairs(8, 4), [](const auto& p) { return p.destination.value % 4 == 2; });
  const auto found = common_trait(pairs, nics(8, 4, 4), {120, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kDestinationPort) << "the host, which is alone behind it, explains no more";
  EXPECT_EQ(found->value, 2u);
  EXPECT_DOUBLE_EQ(found->part_of_trouble, 1);
  EXPECT_DOUBLE_EQ(found->part_of_traffic, 0.25);
}

TEST(CommonTrait, IsThePortAtEitherEndWhenBothDirectionsSuffer) {
  const auto pairs =
      troubled(all_pairs(8, 4), [](const auto& p) { return p.destination.value % 4 == 2 || p.source.value % 4 == 2; });
  const auto found = common_trait(pairs, nics(8, 4, 4), {240, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kPort);
  EXPECT_EQ(found->value, 2u);
  EXPECT_DOUBLE_EQ(found->part_of_traffic, 0.5) << "24 of 48 pairs";
}

// Behind one port stand two hosts, ranks r and r + 4 on different ones: only host 6 suffers.
TEST(CommonTrait, IsTheHostWhenOthersBehindThePortAreWell) {
  const auto pairs = troubled(all_pairs(16, 4), [](const auto& p) { return p.source.value % 8 == 6; });
  const auto found = common_trait(pairs, nics(16, 4, 8), {100, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kSourceHost);
  EXPECT_EQ(found->value, 6u);
}

TEST(CommonTrait, IsTheRank) {
  const auto pairs = troubled(all_pairs(8, 4), [](const auto& p) { return p.destination == RankId(5); });
  const auto found = common_trait(pairs, nics(8, 4, 4), {60, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kDestinationRank);
  EXPECT_EQ(found->value, 5u);
}

TEST(CommonTrait, IsThePairOfRanks) {
  const auto pairs =
      troubled(all_pairs(8, 4), [](const auto& p) { return p.source == RankId(1) && p.destination == RankId(6); });
  const auto found = common_trait(pairs, nics(8, 4, 4), {10, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kRankPair);
  EXPECT_EQ(found->value, 1u);
  EXPECT_EQ(found->other, 6u);
}

TEST(CommonTrait, IsTheJobOrTheGroupOfAJob) {
  auto pairs = all_pairs(8, 4);
  const size_t each = pairs.size();
  for (size_t i = 0; i < each; ++i) {
    TroubledPair other = pairs[i];
    other.job = JobId(1);
    pairs.push_back(other);
    other.group = "tp";
    pairs.push_back(other);
  }
  // Of job 1's two groups, each with a third of the traffic, both suffer.
  auto found = common_trait(troubled(pairs, [](const auto& p) { return p.job == JobId(1); }), nics(8, 4, 4), {100, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kJob);
  EXPECT_EQ(found->value, 1u);
  found = common_trait(troubled(pairs, [](const auto& p) { return p.job == JobId(1) && p.group == "dp"; }),
                       nics(8, 4, 4), {100, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kGroup) << "job 0 has a group of that name, too";
  EXPECT_EQ(found->group, "dp");
  EXPECT_EQ(found->value, 1u);
}

// 16 ranks behind 4 ports in 4 groups of one rank a port, each group all to all: 48 pairs. Port 2 is dead, and the
// first to meet it were those of one group: all of its 12 would be a quarter of the pairs, while 24 have an end at
// port 2.
TEST(CommonTrait, IsNoGroupWhereOnePortHasAllOfIt) {
  std::vector<TroubledPair> pairs;
  for (uint32_t group = 0; group < 4; ++group) {
    for (uint32_t a = 0; a < 4; ++a) {
      for (uint32_t b = 0; b < 4; ++b) {
        if (a == b) continue;
        pairs.push_back({.job = JobId(0),
                         .group = "tp" + std::to_string(group),
                         .source = RankId(4 * group + a),
                         .destination = RankId(4 * group + b),
                         .trouble = group == 0 && (a == 2 || b == 2) ? 1.0 : 0.0,
                         .traffic = 1});
      }
    }
  }
  // 6 of 48 pairs, all of which are among port 2's 24: C(24, 6) / C(48, 6) = 0.011, times 4 ports: may be chance.
  EXPECT_FALSE(common_trait(pairs, nics(16, 4, 4), {6, 48}));
  // Of packets that is none: 0.5^100.
  const auto found = common_trait(pairs, nics(16, 4, 4), {100, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kPort);
  EXPECT_EQ(found->value, 2u);
  // Without one port that has it all the group is what they share.
  for (TroubledPair& pair : pairs) pair.trouble = pair.group == "tp0" ? 1 : 0;
  EXPECT_EQ(common_trait(pairs, nics(16, 4, 4), {100, {}})->trait, Trait::kGroup);
}

TEST(CommonTrait, IsAbsentWhereTroubleIsEverywhere) {
  EXPECT_FALSE(common_trait(troubled(all_pairs(8, 4), [](const auto&) { return true; }), nics(8, 4, 4), {1000, {}}));
}

TEST(CommonTrait, IsAbsentWithoutTrouble) {
  EXPECT_FALSE(common_trait(all_pairs(8, 4), nics(8, 4, 4), {0, {}}));
  EXPECT_FALSE(common_trait({}, {}, {}));
}

// Incast: all traffic goes to port 0, so nothing tells the trouble from the rest of it.
TEST(CommonTrait, IsAbsentWhereAllTrafficHasIt) {
  std::vector<TroubledPair> pairs;
  for (uint32_t source = 1; source < 4; ++source)
    pairs.push_back({.job = JobId(0),
                     .group = {},
                     .source = RankId(source),
                     .destination = RankId(0),
                     .trouble = 5,
                     .traffic = 100});
  EXPECT_FALSE(common_trait(pairs, nics(4, 4, 4), {15, {}}));
}

// One lost packet is always somebody's: of 48 pairs each is as likely to be it.
TEST(CommonTrait, IsNotMadeOfASingleLoss) {
  const auto pairs =
      troubled(all_pairs(8, 4), [](const auto& p) { return p.source == RankId(1) && p.destination == RankId(6); });
  EXPECT_FALSE(common_trait(pairs, nics(8, 4, 4), {1, {}}));
}

// 6 of 12 connections failed, all that have an end at port 2: 1 of C(12, 6) = 924 ways, times 4 ports.
TEST(CommonTrait, OfAPopulationIsNoChanceWhereAllMembersHaveIt) {
  auto pairs =
      troubled(all_pairs(4, 4), [](const auto& p) { return p.source == RankId(2) || p.destination == RankId(2); });
  for (TroubledPair& pair : pairs) pair.trouble = pair.trouble > 0, pair.traffic = 1;
  const auto found = common_trait(pairs, nics(4, 4, 4), {6, 12});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kPort);
  EXPECT_FALSE(common_trait(pairs, nics(4, 4, 4), {6, {}})) << "thrown six times a coin falls so in one of 64";
}

// 1 of 12 failed.
TEST(CommonTrait, OfAPopulationIsNotMadeOfOneMember) {
  auto pairs =
      troubled(all_pairs(4, 4), [](const auto& p) { return p.source == RankId(0) && p.destination == RankId(2); });
  for (TroubledPair& pair : pairs) pair.trouble = pair.trouble > 0, pair.traffic = 1;
  EXPECT_FALSE(common_trait(pairs, nics(4, 4, 4), {1, 12}));
}

TEST(CommonTrait, NeedsNoPorts) {
  const auto pairs = troubled(all_pairs(8, 4), [](const auto& p) { return p.destination == RankId(5); });
  const auto found = common_trait(pairs, {}, {60, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kDestinationRank);
}

}  // namespace
}  // namespace rankwire
