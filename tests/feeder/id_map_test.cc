#include "feeder/id_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rankwire {
namespace {

TEST(IdMap, IsEmptyAtFirst) {
  const IdMap map;
  EXPECT_EQ(map.find(0), IdMap::kNone);
  EXPECT_EQ(map.size(), 0u);
}

// Few ids, so that they come and go often, and clusters form and are taken apart: against std::map.
TEST(IdMap, HoldsWhatAMapHolds) {
  std::mt19937_64 random(1);
  for (const uint64_t spread : {uint64_t{1}, uint64_t{1} << 40, UINT64_MAX / 200}) {
    IdMap map;
    std::map<uint64_t, uint32_t> oracle;
    for (uint32_t i = 0; i < 20'000; ++i) {
      const uint64_t id = random() % 200 * spread;
      const auto known = oracle.find(id);
      ASSERT_EQ(map.find(id), known == oracle.end() ? IdMap::kNone : known->second);
      if (known != oracle.end()) {
        map.erase(id);
        oracle.erase(known);
      } else {
        map.insert(id, i);
        oracle.emplace(id, i);
      }
      ASSERT_EQ(map.size(), oracle.size());
    }
    for (const auto& [id, number] : oracle) EXPECT_EQ(map.find(id), number);
    map.clear();
    EXPECT_EQ(map.find(oracle.begin()->first), IdMap::kNone);
  }
}

TEST(IdMap, GrowsOnlyWithTheMostAtOnce) {
  IdMap map;
  for (uint64_t id = 0; id < 100; ++id) map.insert(id, 0);
  const size_t before = map.bytes();
  for (uint64_t id = 100; id < 100'000; ++id) {
    map.insert(id, 0);
    map.erase(id - 100);
  }
  // 101 entries at most, at a load of at most a half: 256 of 16 bytes, as 100 took.
  EXPECT_EQ(before, 256u * 16);
  EXPECT_EQ(map.bytes(), before);
}

}  // namespace
}  // namespace rankwire
