#include "emulator/traces/stragglers.h"

#include <gtest/gtest.h>

#include "emulator/traces/inspect.h"
#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file

Stragglers find(const std::vector<Nodes>& ranks) {
  const TraceSet set(ranks);
  const CheckedSet checked = check(set);
  return inspect(checked.set, checked.matches, {}).stragglers;
}

/// Two collectives, which end at 20 and 50.
Nodes comes_at(uint64_t first, uint64_t second, uint64_t clock = 1000) {
  return {recorded(all_reduce(1, {}), clock + first, 20 - first),
          recorded(all_reduce(2, {1}), clock + second, 50 - second)};
}

// To the first, ranks come at 0, 5 and 12: rank 2 is 7 behind rank 1. To the second at 30, 40 and 30: rank 1 is 10
// behind.
TEST(Stragglers, WhoIsLastAndHowLate) {
  const Stragglers found = find({comes_at(0, 30), comes_at(5, 40), comes_at(12, 30)});
  EXPECT_EQ(found.collectives, 2u);
  EXPECT_TRUE(found.clock_offsets.empty());
  const std::vector<int64_t> last = {0, 1, 1}, held_up = {0, 10, 7}, waited = {12 + 10, 7, 10};
  for (size_t place = 0; place < 3; ++place) {
    const RankLateness& rank = found.ranks[place];
    EXPECT_EQ(rank.collectives, 2u);
    EXPECT_EQ(static_cast<int64_t>(rank.last), last[place]);
    EXPECT_EQ(rank.held_up, microseconds(held_up[place]));
    EXPECT_EQ(rank.waited, microseconds(waited[place]));
  }
  ASSERT_EQ(found.worst.size(), 2u);
  EXPECT_EQ(found.worst[0].place, 1u);
  EXPECT_EQ(found.worst[0].number, 1u);
  EXPECT_EQ(found.worst[0].late, microseconds(10));
  EXPECT_EQ(found.worst[1].late, microseconds(7));
  EXPECT_EQ(found.worst[1].spread, microseconds(12));
}

TEST(Stragglers, NobodyIsLastOfThoseThatComeTogether) {
  const Stragglers found = find({comes_at(0, 30), comes_at(0, 30)});
  EXPECT_EQ(found.collectives, 2u);
  EXPECT_TRUE(found.worst.empty());
}

// The clock of rank 1 shows 500 us more, so that it seems to begin when the others have ended.
TEST(Stragglers, ClocksAreSetByTheEnds) {
  const Stragglers found = find({comes_at(0, 30), comes_at(5, 40, 1500), comes_at(12, 30)});
  ASSERT_EQ(found.clock_offsets.size(), 3u);
  EXPECT_EQ(found.clock_offsets[1], microseconds(500));
  EXPECT_EQ(found.ranks[1].held_up, microseconds(10));
  EXPECT_EQ(found.ranks[2].held_up, microseconds(7));
}

// In an ideal schedule the members of a collective begin at once; who could have begun when tells who is late.
TEST(Stragglers, OfASchedule) {
  const Stragglers found = find({{step(1), all_reduce(2, {1})}, {step(1).micros(25), all_reduce(2, {1})}});
  EXPECT_EQ(found.ranks[1].held_up, microseconds(15));
  EXPECT_EQ(found.ranks[0].waited, microseconds(15));
}

}  // namespace
}  // namespace rankwire
