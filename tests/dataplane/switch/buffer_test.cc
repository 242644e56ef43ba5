#include "dataplane/switch/buffer.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace rankwire {
namespace {

/// Whatever else the buffer holds: of a frame that may pass, charging and releasing it would tell nobody anything.
/// Limits of 0, fixed or because the buffer is full, forbid it, since they ask for silence of whoever has sent a frame.
TEST(SharedBuffer, WhatPassesLeavesNoTrace) {
  Random random(11);
  uint32_t passed = 0, held = 0;
  for (int i = 0; i < 20'000; ++i) {
    BufferOptions options;
    options.shared = Bytes(static_cast<int64_t>(random.below(4)) * 5'000);
    options.reserve = Bytes(static_cast<int64_t>(random.below(3)) * 3'000);
    options.headroom = Bytes(4'000);
    if (random.below(2) == 0) options.ingress.fixed = Bytes(static_cast<int64_t>(random.below(3)) * 2'000);
    SharedBuffer buffer(options);
    PriorityGroup group, other;
    for (uint64_t n = random.below(4); n > 0; --n) {
      const Bytes length(60 + static_cast<int64_t>(random.below(4'000)));
      buffer.admit_lossless(random.below(2) == 0 ? group : other, length);
    }
    group.paused = random.below(4) == 0;
    const Bytes length(60 + static_cast<int64_t>(random.below(4'000)));
    if (!buffer.passes_lossless(group, length)) {
      ++held;
      continue;
    }
    ++passed;
    const Bytes used = buffer.used(), total = group.total;
    ASSERT_TRUE(buffer.admit_lossless(group, length));
    ASSERT_FALSE(buffer.must_pause(group));
    ASSERT_FALSE(group.paused);
    buffer.release(group, length);
    ASSERT_EQ(buffer.used(), used);
    ASSERT_EQ(group.total, total);
    ASSERT_EQ(group.headroom, 0u);
  }
  EXPECT_GT(passed, 1'000u);
  EXPECT_GT(held, 1'000u);
}

}  // namespace
}  // namespace rankwire
