#include "emulator/traces/operation_table.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

OperationTable table_of(const std::string& name, std::vector<Duration> durations) {
  OperationTable table;
  table.add({"compute", name}, tally_of(std::move(durations), Bytes(8)));
  return table;
}

// 1, 2, 2, 5 and 9 us of two tables: in the middle is 2.
TEST(OperationTable, MergesDurations) {
  OperationTable table = table_of("gemm", {microseconds(5), microseconds(1), microseconds(2)});
  table.merge(table_of("gemm", {microseconds(9), microseconds(2)}));
  ASSERT_EQ(table.operations().size(), 1u);
  const OperationTally& tally = table.operations().begin()->second;
  EXPECT_EQ(tally.count, 5u);
  EXPECT_EQ(tally.bytes, Bytes(16));
  EXPECT_EQ(tally.total, microseconds(19));
  EXPECT_EQ(tally.least(), microseconds(1));
  EXPECT_EQ(tally.median(), microseconds(2));
  EXPECT_EQ(tally.most(), microseconds(9));
}

TEST(OperationTable, OfAnEvenNumberTheLowerOneIsTheMedian) {
  const OperationTable table = table_of("gemm", {microseconds(4), microseconds(1)});
  EXPECT_EQ(table.operations().begin()->second.median(), microseconds(1));
}

TEST(OperationTable, ManyNamesBecomePatternsInWhateverOrder) {
  OperationTable forwards, backwards;
  for (size_t i = 0; i <= OperationTable::kMostNames; ++i) {
    forwards.merge(table_of("layer" + std::to_string(i) + ".gemm", {microseconds(1)}));
    EXPECT_EQ(forwards.has_patterns(), i == OperationTable::kMostNames);
    backwards.merge(table_of("layer" + std::to_string(OperationTable::kMostNames - i) + ".gemm", {microseconds(1)}));
  }
  for (const OperationTable* table : {&forwards, &backwards}) {
    ASSERT_EQ(table->operations().size(), 1u);
    EXPECT_EQ(table->operations().begin()->first.name, "layer#.gemm");
    EXPECT_EQ(table->operations().begin()->second.count, OperationTable::kMostNames + 1);
  }
}

TEST(OperationTable, SortsByTime) {
  OperationTable table = table_of("short", {microseconds(1)});
  table.merge(table_of("long", {microseconds(3)}));
  EXPECT_EQ(table.sorted().front().first->name, "long");
  EXPECT_EQ(table.total(), microseconds(4));
}

}  // namespace
}  // namespace rankwire
