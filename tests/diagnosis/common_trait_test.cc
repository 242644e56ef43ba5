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

// 32 ranks behind 4 ports in 4 groups of 8, two of each behind a port: 4 x 48 pairs. Port 2 is dead, and those of one
// group met it first: they are a quarter of the pairs, while half of all have an end at port 2.
TEST(CommonTrait, IsNoGroupWhereOnePortHasAllOfIt) {
  std::vector<TroubledPair> pairs;
  for (uint32_t group = 0; group < 4; ++group) {
    for (TroubledPair pair : all_pairs(8, 4)) {
      const bool is_at_port = pair.source.value % 4 == 2 || pair.destination.value % 4 == 2;
      pair.group = "tp" + std::to_string(group);
      pair.source = RankId(8 * group + pair.source.value),
      pair.destination = RankId(8 * group + pair.destination.value);
      pair.trouble = group == 0 && is_at_port ? 1 : 0, pair.traffic = 1;
      pairs.push_back(pair);
    }
  }
  // 24 of 192 pairs, all among the 96 of port 2: C(96, 24) / C(192, 24) < 0.5^24, which is no chance.
  const auto found = common_trait(pairs, nics(32, 4, 4), {24, 192});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kPort);
  EXPECT_EQ(found->value, 2u);
  // Five that have an end there, to it and from it, meet some port of four with 4 x C(96, 5) / C(192, 5) = 0.12, which
  // may be chance, and some group with 4 x C(48, 5) / C(192, 5) = 0.003: of neither is spoken.
  size_t left = 5;
  for (TroubledPair& pair : pairs) pair.trouble = pair.trouble > 0 && left > 0 ? (--left, 1) : 0;
  EXPECT_FALSE(common_trait(pairs, nics(32, 4, 4), {5, 192}));
  // Where no place alone has it all the group is what they share.
  for (TroubledPair& pair : pairs) pair.trouble = pair.group == "tp0" ? 1 : 0;
  const auto shared = common_trait(pairs, nics(32, 4, 4), {48, 192});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->trait, Trait::kGroup);
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

// A ring of four: 2 of 4 connections are port 2's, which happens by chance in 1 of C(4, 2) = 6 ways for each of 4
// ports; they are all that it has, and no other port's are so.
TEST(CommonTrait, OfAPopulationIsThePortAllOfWhoseMembersHaveIt) {
  std::vector<TroubledPair> pairs;
  for (uint32_t source = 0; source < 4; ++source) {
    const bool fails = source == 1 || source == 2;
    pairs.push_back({.job = JobId(0),
                     .group = "dp",
                     .source = RankId(source),
                     .destination = RankId((source + 1) % 4),
                     .trouble = fails ? 1.0 : 0.0,
                     .traffic = 1});
  }
  const auto found = common_trait(pairs, nics(4, 4, 4), {2, 4});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trait, Trait::kPort);
  EXPECT_EQ(found->value, 2u);
  pairs[3].trouble = 1;  // port 3's, too, but for none of port 0's other one
  EXPECT_FALSE(common_trait(pairs, nics(4, 4, 4), {3, 4}));
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
