#include "feeder/finished_ids.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace rankwire {
namespace {

TEST(FinishedIds, HoldsWhatASetHolds) {
  std::mt19937_64 random(2);
  for (const uint64_t spread : {uint64_t{1}, uint64_t{37}, uint64_t{1} << 50}) {
    FinishedIds ids;
    std::set<uint64_t> oracle;
    for (int i = 0; i < 5'000; ++i) {
      const uint64_t id = random() % 3'000 * spread;
      ASSERT_EQ(ids.contains(id), oracle.contains(id));
      ASSERT_EQ(ids.insert(id), oracle.insert(id).second);
      ASSERT_TRUE(ids.contains(id));
    }
    ids.clear();
    EXPECT_FALSE(ids.contains(*oracle.begin()));
  }
}

TEST(FinishedIds, TheLargestIdIsOneAsAnyOther) {
  FinishedIds ids;
  EXPECT_FALSE(ids.contains(UINT64_MAX));
  EXPECT_TRUE(ids.insert(UINT64_MAX));
  EXPECT_TRUE(ids.contains(UINT64_MAX));
  EXPECT_FALSE(ids.contains(UINT64_MAX - 1));
}

// 4 million dense ids are 7813 pages of 64 bytes, in a vector that may be twice as long, and as many entries of 16
// bytes in a table that is at most half full and at least a quarter: 16384 x 64 and 32768 x 16 at the most. 3 bits an
// id.
TEST(FinishedIds, TakesFewBitsADenseId) {
  FinishedIds ids;
  constexpr uint64_t kIds = 4'000'000;
  for (uint64_t id = 0; id < kIds; ++id) ids.insert(id);
  EXPECT_LT(ids.bytes(), 16384u * 64 + 32768 * 16 + 1);
  EXPECT_GE(ids.bytes() * 8, kIds);
}

}  // namespace
}  // namespace rankwire
