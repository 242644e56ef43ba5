#include "dataplane/switch/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "dataplane/switch/storms.h"

namespace rankwire {
namespace {

/// Drops are counted once each, whatever the interval has become, and the last length stays.
TEST(FabricSeries, HalvesItsResolutionWhenItIsFull) {
  FabricSeries series({.interval = Duration(10), .rows = 8}, 2 * kPriorities);
  for (int i = 0; i < 100; ++i) {
    const uint32_t queue = i % 2 == 0 ? 0 : 9;
    if (series.due(Time(i * 10))) {
      series.sample([&](uint32_t) { return std::pair(Bytes(i - 1), false); });
    }
    series.drop(queue, Time(i * 10));
  }
  series.sample([](uint32_t) { return std::pair(Bytes(99), true); });
  // 100 rows of 10 ps do not fit into 8. Two queues in 4 intervals would: at least 1000 ps / 4, in doublings of 10 ps
  // 320; once more for rows that were written while an interval was being doubled.
  EXPECT_GE(series.interval(), Duration(320));
  EXPECT_LE(series.interval(), Duration(640));
  EXPECT_EQ(series.lost(), 0u);
  std::map<uint32_t, uint32_t> drops;
  Time last;
  for (const FabricSample& row : series.rows()) {
    drops[row.port] += row.events.drops;
    EXPECT_GE(row.at, last);
    EXPECT_EQ(row.at.ps % series.interval().ps, 0);
    last = row.at;
  }
  EXPECT_EQ(drops[0], 50u);
  EXPECT_EQ(drops[1], 50u);
  EXPECT_EQ(series.rows().back().length, 99u);
  EXPECT_TRUE(series.rows().back().paused);
}

/// Each kind of event is counted in the interval in which it happens, and in that alone.
TEST(FabricSeries, CountsPausesBothWays) {
  FabricSeries series({.interval = Duration(10), .rows = 8}, kPriorities);
  const auto sample = [&] { series.sample([](uint32_t) { return std::pair(Bytes(), false); }); };
  series.pause(3, true, Time(1));
  series.pause(3, false, Time(2));
  series.pause(3, true, Time(3));
  series.ask(3, Time(4));
  sample();
  series.pause(3, false, Time(11));
  sample();
  ASSERT_EQ(series.rows().size(), 2u);
  EXPECT_EQ(series.rows()[0].events.xoff_rx, 2u);
  EXPECT_EQ(series.rows()[0].events.xoff_tx, 1u);
  EXPECT_EQ(series.rows()[1].events.xoff_rx, 0u);
  EXPECT_EQ(series.rows()[1].at, Time(20));
}

/// Of three queues two have a row each when there are but two: no interval is so long that the third has one as well.
TEST(FabricSeries, LosesRowsOfMoreQueuesThanItHasRows) {
  FabricSeries series({.interval = Duration(10), .rows = 2}, kPriorities);
  for (int64_t at = 0; at < 1000; at += 10) {
    for (uint32_t queue = 0; queue < 3; ++queue) series.touch(queue, Time(at));
    series.sample([](uint32_t) { return std::pair(Bytes(1), false); });
  }
  EXPECT_EQ(series.interval(), Duration(10));
  EXPECT_EQ(series.rows().size(), 2u);
  EXPECT_EQ(series.lost(), 298u);
}

/// Four queues that all are active in every interval need four rows an interval. With five rows the interval becomes as
/// long as the time so far, at most twice as long, however many queues ask for a row of it.
TEST(FabricSeries, DoublesTheIntervalOnceForAllQueuesOfASample) {
  FabricSeries series({.interval = Duration(10), .rows = 5}, kPriorities);
  const auto sample = [&] { series.sample([](uint32_t) { return std::pair(Bytes(1), false); }); };
  for (int64_t at = 0; at < 10'000; at += 10) {
    if (series.due(Time(at))) sample();
    for (uint32_t queue = 0; queue < 4; ++queue) series.touch(queue, Time(at));
  }
  sample();
  EXPECT_LE(series.interval(), Duration(20'000));
  EXPECT_GE(series.rows().size(), 4u);
  EXPECT_EQ(series.lost(), 0u);
  EXPECT_LE(series.rows().back().at, Time(20'000 + 10'000));
}

/// Before time 0 a fabric is at work as well, while next hops are resolved.
TEST(FabricSeries, DoesNotPutTogetherWhatIsBeforeTimeZeroAndBehindIt) {
  FabricSeries series({.interval = Duration(10), .rows = 2}, kPriorities);
  const auto sample = [&] { series.sample([](uint32_t) { return std::pair(Bytes(1), false); }); };
  for (int64_t at = -100; at < 2000; at += 10) {
    if (series.due(Time(at))) sample();
    series.touch(3, Time(at));
  }
  sample();
  // The 100 ps before 0 are in one interval once that is 160 ps long, 10 ps doubled four times. Then there is one row
  // on either side of 0, no longer interval makes room for a third, and what comes in the twelve from 160 ps on is
  // lost.
  ASSERT_EQ(series.rows().size(), 2u);
  EXPECT_EQ(series.interval(), Duration(160));
  EXPECT_EQ(series.rows()[0].at, Time());
  EXPECT_EQ(series.rows()[1].at, Time(160));
  EXPECT_EQ(series.lost(), 12u);
}

/// A reader has the rows in parts, and all again when an interval has been doubled meanwhile.
TEST(FabricSeries, IsReadInPartsAndAgainAfterDoubling) {
  FabricSeries series({.interval = Duration(10), .rows = 8}, kPriorities);
  const auto add = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      series.drop(0, Time(i * 10));
      series.sample([&](uint32_t) { return std::pair(Bytes(i), false); });
    }
  };
  SeriesCursor cursor;
  std::vector<FabricSample> out(3);
  add(0, 4);
  SeriesPart part = series.read(cursor, out);
  EXPECT_EQ(part.rows, 3u);
  EXPECT_FALSE(part.anew);
  EXPECT_EQ(out[2].length, 2u);
  part = series.read(cursor, out);
  EXPECT_EQ(part.rows, 1u);
  EXPECT_EQ(out[0].length, 3u);
  EXPECT_EQ(series.read(cursor, out).rows, 0u);
  add(4, 9);  // the ninth makes 20 ps of the interval and 5 rows of 9
  part = series.read(cursor, out);
  EXPECT_TRUE(part.anew);
  EXPECT_EQ(part.interval, Duration(20));
  EXPECT_EQ(part.rows, 3u);
  EXPECT_EQ(out[0].events.drops, 2u);
  part = series.read(cursor, out);
  EXPECT_FALSE(part.anew);
  EXPECT_EQ(part.rows, series.rows().size() - 3);
}

// While one thread counts what storms drop, another copies them: what it has in the end is what there is.
TEST(FabricStorms, AnotherThreadCopiesWhatThereIsInTheEnd) {
  FabricStorms storms(true);
  std::atomic<bool> done{false};
  std::vector<FabricStorm> copy;
  std::thread reader([&] {
    for (bool last = false; !last;) {
      last = done.load();
      copy = storms.copy();
    }
  });
  for (uint32_t i = 0; i < 1000; ++i) {
    storms.begin(i % 3, 3, Time(i), Time(i + 1));
    storms.drop(i % 3, 3);
    storms.forward(i % 3, 3);
    if (i % 2 == 0) storms.end(i % 3, 3, Time(i + 2));
  }
  done = true;
  reader.join();
  ASSERT_EQ(copy.size(), 1000u);
  EXPECT_TRUE(std::ranges::equal(copy, storms.rows()));
  EXPECT_EQ(copy[998], (FabricStorm{.port = 2,
                                    .priority = 3,
                                    .stuck = Time(998),
                                    .begin = Time(999),
                                    .end = Time(1000),
                                    .dropped = 1,
                                    .forwarded = 1}));
}

// While one thread samples, another reads: what it has put together is what there is in the end.
TEST(FabricSeries, AnotherThreadReadsWhatThereIsInTheEnd) {
  FabricSeries series({.interval = Duration(10), .rows = 64}, kPriorities);
  std::atomic<bool> done{false};
  std::vector<FabricSample> read;
  std::thread reader([&] {
    SeriesCursor cursor;
    std::vector<FabricSample> out(7);
    for (bool last = false; !last;) {
      last = done.load();
      SeriesPart part;
      do {
        part = series.read(cursor, out);
        if (part.anew) read.clear();
        read.insert(read.end(), out.begin(), out.begin() + static_cast<ptrdiff_t>(part.rows));
      } while (part.rows == out.size());
    }
  });
  for (int i = 0; i < 3000; ++i) {
    series.drop(static_cast<uint32_t>(i % 3), Time(i * 10));
    if (series.due(Time((i + 1) * 10))) series.sample([&](uint32_t) { return std::pair(Bytes(i), false); });
  }
  series.sample([](uint32_t) { return std::pair(Bytes(), false); });  // the interval under way
  done = true;
  reader.join();
  ASSERT_EQ(read.size(), series.rows().size());
  uint32_t drops = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].at, series.rows()[i].at);
    drops += read[i].events.drops;
  }
  EXPECT_EQ(drops, 3000u);
}

}  // namespace
}  // namespace rankwire
