#include "emulator/simulator/kernel_times.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

std::optional<Duration> time_in(const KernelTimes& table, uint32_t rank, const char* name) {
  return table.find(RankId(rank), name, 0, Bytes(0));
}

TEST(KernelTimes, TakesTheFirstRowThatFits) {
  const KernelTimes table({{.pattern = "gemm_1", .duration = microseconds(1)},
                           {.pattern = "gemm_*", .duration = microseconds(2)},
                           {.pattern = "gemm_2", .duration = microseconds(3)},
                           {.pattern = "gemm_1", .duration = microseconds(4)},
                           {.pattern = "soft[mM]ax?", .duration = microseconds(5)}});
  EXPECT_EQ(time_in(table, 0, "gemm_1"), microseconds(1));
  EXPECT_EQ(time_in(table, 0, "gemm_2"), microseconds(2));
  EXPECT_EQ(time_in(table, 0, "softMax3"), microseconds(5));
  EXPECT_EQ(time_in(table, 0, "softMax"), std::nullopt);
  EXPECT_EQ(time_in(table, 0, "a gemm_1"), std::nullopt);
}

TEST(KernelTimes, LooksAtRanks) {
  const KernelTimes table({{.pattern = "gemm", .ranks = {{RankId(1), RankId(3)}}, .duration = microseconds(1)},
                           {.pattern = "gemm", .ranks = {{RankId(2)}}, .duration = microseconds(2)},
                           {.pattern = "*", .ranks = {{RankId(0), RankId(3)}}, .duration = microseconds(3)}});
  EXPECT_EQ(time_in(table, 0, "gemm"), microseconds(3));
  EXPECT_EQ(time_in(table, 1, "gemm"), microseconds(1));
  EXPECT_EQ(time_in(table, 2, "gemm"), microseconds(2));
  EXPECT_EQ(time_in(table, 3, "gemm"), microseconds(1));
  EXPECT_EQ(time_in(table, 2, "other"), std::nullopt);
}

// 2 us + 10^6 x 0.0025 ps + 4,001 x 0.5 ps = 2,000,000 + 2,500 + 2,000.5 ps, rounded up; and (2^63 - 1) x 0.5025 ps
// + 2 us.
TEST(KernelTimes, IsLinearInTheWork) {
  const KernelTimes table(
      {{.pattern = "*", .duration = microseconds(2), .per_operation = 2'500'000, .per_byte = 500'000'000}});
  EXPECT_EQ(table.find(RankId(0), "x", 1'000'000, Bytes(4'001)), Duration(2'004'501));
  EXPECT_EQ(table.find(RankId(0), "x", INT64_MAX, Bytes(INT64_MAX)), Duration(4'634'744'448'521'524'844));
}

TEST(KernelTimes, Saturates) {
  const KernelTimes table({{.pattern = "*", .per_operation = INT64_MAX, .per_byte = INT64_MAX}});
  EXPECT_EQ(table.find(RankId(0), "x", INT64_MAX, Bytes(INT64_MAX)), Duration::max());
}

}  // namespace
}  // namespace rankwire
