#include "base/system_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

// What is written to is resident; the library gives blocks of this size back as soon as they are free.
TEST(SystemMemory, WhatAProcessHasWrittenToIsResident) {
  constexpr int64_t kBlock = 64 << 20;
  const Bytes before = resident_memory();
  ASSERT_GT(before, Bytes(0));
  const std::vector<char> block(kBlock, 1);
  EXPECT_GE(resident_memory() - before, Bytes(kBlock * 9 / 10)) << block.size();
}

TEST(SystemMemory, TheSystemHasMore) {
  const auto available = available_memory();
  EXPECT_GT(available.value_or(Bytes(1)), Bytes(0));
}

}  // namespace
}  // namespace rankwire
