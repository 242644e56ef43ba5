#include "emulator/report/timeline_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rankwire {
namespace {

using ::testing::HasSubstr;

OperationTimes from_to(int64_t start_ps, int64_t end_ps) {
  return {Time(start_ps), Time(end_ps)};
}

// 400 columns of 1,000 ps.
constexpr Time kEnd = Time(400'000);

std::string drawn(const TimelineColumns& columns) {
  return columns.svg(0, 0, 8, "ec");
}

TEST(TimelineColumns, AColumnIsAsHighAsItsShare) {
  TimelineColumns columns;
  columns.mark(from_to(0, 250), kEnd);  // a quarter of column 0: 2 of 8, at its foot
  EXPECT_EQ(drawn(columns), "<rect class=\"ec\" x=\"0\" y=\"6\" width=\"2\" height=\"2\"/>\n");
  columns.mark(from_to(500, 750), kEnd);  // and another
  EXPECT_EQ(drawn(columns), "<rect class=\"ec\" x=\"0\" y=\"4\" width=\"2\" height=\"4\"/>\n");
}

TEST(TimelineColumns, WhatOverlapsCountsOnce) {
  TimelineColumns columns;
  columns.mark(from_to(0, 500), kEnd);
  columns.mark(from_to(100, 400), kEnd);
  columns.mark(from_to(250, 500), kEnd);
  EXPECT_THAT(drawn(columns), HasSubstr("y=\"4\" width=\"2\" height=\"4\""));
}

TEST(TimelineColumns, FullColumnsAreOneRectangle) {
  TimelineColumns columns;
  columns.mark(from_to(10'000, 20'000), kEnd);
  columns.mark(from_to(399'000, 400'000), kEnd);
  EXPECT_EQ(drawn(columns),
            "<rect class=\"ec\" x=\"20\" y=\"0\" width=\"20\" height=\"8\"/>\n"
            "<rect class=\"ec\" x=\"798\" y=\"0\" width=\"2\" height=\"8\"/>\n");
}

// 0.1 % of the column would be 0.008 of 8.
TEST(TimelineColumns, TheLeastIsSeen) {
  TimelineColumns columns;
  columns.mark(from_to(5'000, 5'001), kEnd);
  EXPECT_EQ(drawn(columns), "<rect class=\"ec\" x=\"10\" y=\"7.5\" width=\"2\" height=\"0.5\"/>\n");
}

// Columns of 0.025 ps: each that an operation touches is full.
TEST(TimelineColumns, ColumnsMayBeShorterThanAPicosecond) {
  TimelineColumns columns;
  columns.mark(from_to(5, 10), Time(10));
  EXPECT_EQ(drawn(columns), "<rect class=\"ec\" x=\"400\" y=\"0\" width=\"400\" height=\"8\"/>\n");
}

}  // namespace
}  // namespace rankwire
