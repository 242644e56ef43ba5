// One thread publishes while others read.
#include "emulator/engine/live_snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "emulator/engine/live_feed.h"

namespace rankwire {
namespace {

TEST(LiveSnapshot, HasNothingBeforeTheFirstPublication) {
  LiveSnapshot snapshot(2);
  std::vector<uint64_t> words(2);
  EXPECT_FALSE(snapshot.read(words));
  snapshot.publish(std::vector<uint64_t>{3, 4});
  ASSERT_TRUE(snapshot.read(words));
  EXPECT_EQ(words, (std::vector<uint64_t>{3, 4}));
}

// Of publication n word i is n (i + 1): a copy of two publications shows, and so does one that is older than the last.
TEST(LiveSnapshot, IsReadAsOneWhileItIsWritten) {
  constexpr uint64_t kPublications = 20'000;
  constexpr size_t kWords = 64, kReaders = 3;
  LiveSnapshot snapshot(kWords);
  std::atomic<bool> go_on{true};
  std::vector<std::thread> readers;
  std::vector<uint64_t> torn(kReaders), older(kReaders), last(kReaders);
  for (size_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] {
      std::vector<uint64_t> words(kWords);
      while (go_on.load()) {
        if (!snapshot.read(words)) continue;
        for (size_t i = 0; i < kWords; ++i) torn[reader] += words[i] != words[0] * (i + 1);
        older[reader] += words[0] < last[reader];
        last[reader] = words[0];
      }
    });
  }
  std::vector<uint64_t> words(kWords);
  for (uint64_t n = 1; n <= kPublications; ++n) {
    for (size_t i = 0; i < kWords; ++i) words[i] = n * (i + 1);
    snapshot.publish(words);
  }
  go_on = false;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, std::vector<uint64_t>(kReaders, 0));
  EXPECT_EQ(older, std::vector<uint64_t>(kReaders, 0));
  ASSERT_TRUE(snapshot.read(words));
  EXPECT_EQ(words.front(), kPublications);
}

// Of two workers: the later time, sums, and of iterations the most, since each knows of some.
TEST(LiveFeed, AddsUpWhatWorkersPublish) {
  LiveFeed feed("emulated", {"p0", "p1"}, {{"train", 9}}, 100, 2);
  LiveFigures one{.now = Time(7), .jobs = {{100, 3}}, .ports = {{1, 2, 3, 4}, {}}};
  LiveFigures other{.now = Time(5), .jobs = {{20, 2}}, .ports = {{10, 20, 30, 40}, {5, 6, 7, 8}}};
  one[LiveCount::kOperations] = 11, other[LiveCount::kOperations] = 31;
  one[LiveCount::kPausesReceived] = 2;
  std::vector<uint64_t> words(feed.words());
  feed.pack(one, words);
  feed.snapshot(0).publish(words);
  EXPECT_EQ(feed.read()[LiveCount::kOperations], 11u) << "the other has published nothing yet";
  feed.pack(other, words);
  feed.snapshot(1).publish(words);
  const LiveFigures sum = feed.read();
  EXPECT_EQ(sum.now, Time(7));
  EXPECT_EQ(sum[LiveCount::kOperations], 42u);
  EXPECT_EQ(sum[LiveCount::kPausesReceived], 2u);
  EXPECT_EQ(sum.jobs[0].bytes, 120u);
  EXPECT_EQ(sum.jobs[0].iterations, 3u);
  EXPECT_EQ(sum.ports[0].tx_packets, 11u);
  EXPECT_EQ(sum.ports[0].rx_bytes, 44u);
  EXPECT_EQ(sum.ports[1].tx_bytes, 6u);
  EXPECT_EQ(sum.ports[1].rx_packets, 7u);
}

}  // namespace
}  // namespace rankwire
