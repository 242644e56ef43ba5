#include "base/spsc_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;

TEST(SpscRing, RoundsItsCapacityUp) {
  EXPECT_EQ(SpscRing<int>(5).capacity(), 8u);
  EXPECT_EQ(SpscRing<int>(8).capacity(), 8u);
}

TEST(SpscRing, TakesWhatFitsAndGivesItBackInOrder) {
  SpscRing<int> ring(4);
  const std::vector<int> items{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(ring.push(items), 4u);
  EXPECT_EQ(ring.size(), 4u);
  std::array<int, 3> out{};
  EXPECT_EQ(ring.pop(out), 3u);
  EXPECT_THAT(out, ElementsAre(1, 2, 3));
  EXPECT_EQ(ring.push(std::span(items).subspan(4)), 2u);
  ASSERT_NE(ring.front(), nullptr);
  EXPECT_EQ(*ring.front(), 4);
  EXPECT_EQ(ring.pop(out), 3u);
  EXPECT_THAT(out, ElementsAre(4, 5, 6));
  EXPECT_EQ(ring.front(), nullptr);
  EXPECT_EQ(ring.pop(out), 0u);
}

TEST(SpscRing, WhatIsInFrontCanBeLeftOrDropped) {
  SpscRing<int> ring(2);
  ring.push(std::array{7, 8});
  ASSERT_NE(ring.front(), nullptr);
  EXPECT_EQ(*ring.front(), 7) << "as often as one looks";
  EXPECT_EQ(*ring.front(), 7);
  ring.drop();
  EXPECT_EQ(*ring.front(), 8);
  EXPECT_EQ(ring.push(std::array{9}), 1u) << "what was dropped has left room";
  ring.drop();
  EXPECT_EQ(*ring.front(), 9);
  ring.drop();
  EXPECT_EQ(ring.front(), nullptr);
}

TEST(SpscRing, CarriesEverythingBetweenTwoThreadsInOrder) {
  constexpr uint64_t kItems = 200'000;
  SpscRing<uint64_t> ring(64);
  std::thread producer([&] {
    uint64_t next = 0;
    while (next < kItems) {
      std::array<uint64_t, 7> batch;
      size_t n = 0;
      for (; n < batch.size() && next + n < kItems; ++n) batch[n] = next + n;
      const size_t taken = ring.push({batch.data(), n});
      next += taken;
      if (taken == 0) std::this_thread::yield();
    }
  });
  uint64_t expected = 0;
  bool in_order = true;
  while (expected < kItems) {
    std::array<uint64_t, 5> batch;
    const size_t n = ring.pop(batch);
    for (size_t i = 0; i < n; ++i) in_order &= batch[i] == expected++;
    if (n == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(ring.size(), 0u);
}

}  // namespace
}  // namespace rankwire
