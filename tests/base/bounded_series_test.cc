#include "base/bounded_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;

struct Sum {
  Time at;
  uint32_t of = 0;
  int value = 0;

  void add(const Sum& later) noexcept { value += later.value; }
};

/// End of the interval in picoseconds, thing and value.
using Row = std::tuple<int64_t, uint32_t, int>;

std::vector<Row> rows_of(const BoundedSeries<Sum>& series) {
  std::vector<Row> rows;
  for (const Sum& row : series.rows()) rows.emplace_back(row.at.ps, row.of, row.value);
  return rows;
}

TEST(BoundedSeries, HasARowForEachThingAndIntervalInWhichThereIsSomething) {
  BoundedSeries<Sum> series(Duration(10), 100);
  series.begin(2);
  series.add({Time(0), 0, 1});
  series.add({Time(9), 0, 2});
  series.add({Time(5), 1, 4});  // things need not be in order
  series.add({Time(10), 0, 8});
  series.add({Time(99), 1, 16});
  EXPECT_THAT(rows_of(series), ElementsAre(Row(10, 0, 3), Row(10, 1, 4), Row(20, 0, 8), Row(100, 1, 16)));
  EXPECT_EQ(series.lost(), 0u);
}

// Four rows are full with the fifth: of 20 ps two remain, and one is free for it.
TEST(BoundedSeries, LengthensTheIntervalWhenRowsAreFull) {
  BoundedSeries<Sum> series(Duration(10), 4);
  series.begin(1);
  for (int i = 0; i < 5; ++i) series.add({Time(10 * i), 0, 1 << i});
  EXPECT_EQ(series.interval(), Duration(20));
  EXPECT_THAT(rows_of(series), ElementsAre(Row(20, 0, 1 + 2), Row(40, 0, 4 + 8), Row(60, 0, 16)));
}

TEST(BoundedSeries, KeepsTheSumOverAThousandRowsInThree) {
  BoundedSeries<Sum> series(Duration(1), 3);
  series.begin(2);
  for (int i = 0; i < 1000; ++i) series.add({Time(i), static_cast<uint32_t>(i % 2), 1});
  int sum = 0;
  for (const Sum& row : series.rows()) sum += row.value;
  EXPECT_EQ(sum, 1000);
  EXPECT_LE(series.rows().size(), 3u);
  EXPECT_EQ(series.lost(), 0u);
}

// Two rows for three things: no interval is long enough.
TEST(BoundedSeries, CountsWhatItHasNoRowFor) {
  BoundedSeries<Sum> series(Duration(1), 2);
  series.begin(3);
  for (int i = 0; i < 30; ++i) series.add({Time(i), static_cast<uint32_t>(i % 3), 1});
  EXPECT_EQ(series.rows().size(), 2u);
  EXPECT_EQ(series.lost(), 10u);
}

TEST(BoundedSeries, IsMadeAsCoarseAsAnother) {
  BoundedSeries<Sum> series(Duration(10), 100);
  series.begin(1);
  for (int i = 0; i < 4; ++i) series.add({Time(10 * i), 0, 1 << i});
  series.lengthen(Duration(40));
  EXPECT_THAT(rows_of(series), ElementsAre(Row(40, 0, 15)));
  series.lengthen(Duration(10));
  EXPECT_EQ(series.interval(), Duration(40)) << "never shorter";
}

}  // namespace
}  // namespace rankwire
