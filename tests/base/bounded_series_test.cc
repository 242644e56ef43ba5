#include "base/bounded_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
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

using Series = BoundedSeries<Sum>;

/// What is new since the reading before; the first says whether all is told again.
std::pair<bool, std::vector<Row>> read(const Series& series, Series::Cursor& cursor, size_t most = 100) {
  std::vector<Sum> out(most);
  const Series::Part part = series.read(cursor, out);
  std::vector<Row> rows;
  for (const Sum& row : std::span(out).first(part.rows)) rows.emplace_back(row.at.ps, row.of, row.value);
  return {part.anew, rows};
}

// Until the interval behind its own is over, too, a row may change: things need not be in order.
TEST(BoundedSeries, TellsRowsOnceTheyAreOver) {
  Series series(Duration(10), 100);
  series.begin(2);
  Series::Cursor cursor;
  series.add({Time(0), 0, 1});
  series.add({Time(10), 0, 2});
  EXPECT_THAT(read(series, cursor).second, ElementsAre());
  series.add({Time(20), 0, 4});
  EXPECT_THAT(read(series, cursor).second, ElementsAre(Row(10, 0, 1)));
  series.add({Time(30), 0, 8});
  series.add({Time(40), 0, 16});
  EXPECT_THAT(read(series, cursor, 1).second, ElementsAre(Row(20, 0, 2)));
  EXPECT_THAT(read(series, cursor, 1).second, ElementsAre(Row(30, 0, 4)));
  EXPECT_THAT(read(series, cursor), std::pair(false, std::vector<Row>()));
}

TEST(BoundedSeries, TellsWhatIsOverThoughNothingFollows) {
  Series series(Duration(10), 100);
  series.begin(1);
  Series::Cursor cursor;
  series.add({Time(0), 0, 1});
  series.pass(Time(9));
  EXPECT_THAT(read(series, cursor).second, ElementsAre());
  series.pass(Time(10));
  EXPECT_THAT(read(series, cursor).second, ElementsAre(Row(10, 0, 1)));
}

TEST(BoundedSeries, TellsAllAgainWhenTheIntervalDoubles) {
  Series series(Duration(10), 4);
  series.begin(1);
  Series::Cursor cursor;
  for (int i = 0; i < 4; ++i) series.add({Time(10 * i), 0, 1 << i});
  EXPECT_EQ(read(series, cursor).second.size(), 2u);
  series.add({Time(40), 0, 16});
  const auto [anew, rows] = read(series, cursor);
  EXPECT_TRUE(anew);
  EXPECT_THAT(rows, ElementsAre(Row(20, 0, 1 + 2)));
}

// Thing 1 is far behind, and adds to a row that has been told.
TEST(BoundedSeries, TellsAllAgainWhenARowThatWasToldGrows) {
  Series series(Duration(10), 100);
  series.begin(2);
  Series::Cursor cursor;
  series.add({Time(1), 1, 1});
  series.add({Time(50), 0, 2});
  EXPECT_THAT(read(series, cursor).second, ElementsAre(Row(10, 1, 1)));
  series.add({Time(2), 1, 4});
  EXPECT_THAT(read(series, cursor), std::pair(true, std::vector<Row>{Row(10, 1, 5)}));
}

// Under a sanitizer of threads: who reads sees each row as it was when it was told.
TEST(BoundedSeries, IsReadWhileItIsWritten) {
  constexpr int kAll = 20'000;
  Series series(Duration(10), 300);
  series.begin(3);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < kAll; ++i) series.add({Time(i * 7), static_cast<uint32_t>(i % 3), 1});
    done = true;
  });
  Series::Cursor cursor;
  int64_t sum = 0;
  for (bool last = false; !last;) {
    last = done;
    for (auto part = read(series, cursor, 50); part.first || !part.second.empty(); part = read(series, cursor, 50)) {
      if (part.first) sum = 0;
      for (const Row& row : part.second) sum += std::get<2>(row);
    }
  }
  writer.join();
  for (const Sum& row : series.rows().subspan(cursor.rows)) sum += row.value;
  EXPECT_EQ(sum, kAll);
}

}  // namespace
}  // namespace rankwire
