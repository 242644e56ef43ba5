#include "dataplane/ports/memory_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace rankwire {
namespace {

constexpr std::array<uint8_t, 16> kPayload = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

TEST(FramePool, HandsOutDistinctAlignedFramesUntilItIsEmpty) {
  FramePool pool(5, 100);
  EXPECT_EQ(pool.frame_capacity(), 128u);  // the next multiple of 64
  std::array<Frame, 8> frames;
  ASSERT_EQ(pool.allocate(frames), 5u);
  std::set<uint8_t*> heads;
  for (const Frame& frame : std::span(frames).first(5)) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.head) % 64, 0u);
    EXPECT_EQ(frame.length(), 0u);
    std::memset(frame.head, 0xAA, pool.frame_capacity());
    heads.insert(frame.head);
  }
  EXPECT_EQ(heads.size(), 5u);
  // No frame overlaps the next: sorted starts are at least one capacity apart.
  for (auto a = heads.begin(), b = std::next(a); b != heads.end(); ++a, ++b) EXPECT_GE(*b - *a, 128);
  EXPECT_EQ(pool.available(), 0u);
  EXPECT_EQ(pool.allocate(std::span(frames).subspan(5)), 0u);
  pool.release(std::span(frames).first(3));
  EXPECT_EQ(pool.available(), 3u);
  EXPECT_EQ(pool.allocate(std::span(frames).first(8)), 3u);
}

TEST(FramePool, KeepsEveryFrameOverManyLaps) {
  FramePool pool(7, 64);
  std::set<void*> all;
  std::array<Frame, 3> frames;
  for (int lap = 0; lap < 1000; ++lap) {
    ASSERT_EQ(pool.allocate(frames), 3u);
    for (const Frame& frame : frames) all.insert(frame.handle);
    pool.release(frames);
  }
  EXPECT_EQ(all.size(), 7u);
  EXPECT_EQ(pool.available(), 7u);
}

/// Seven frames, of which three at a time are in use: no other memory is touched.
TEST(FramePool, OfOneThreadHandsOutFirstWhatCameBackLast) {
  FramePool pool(7, 64, PoolUse::kOneThread);
  std::set<void*> all;
  std::array<Frame, 3> frames;
  for (int lap = 0; lap < 100; ++lap) {
    ASSERT_EQ(pool.allocate(frames), 3u);
    EXPECT_EQ(pool.available(), 4u);
    for (const Frame& frame : frames) all.insert(frame.handle);
    pool.release(frames);
  }
  EXPECT_EQ(all.size(), 3u);
  std::array<FrameBuffer, 8> buffers;
  ASSERT_EQ(pool.allocate(buffers), 7u);
  EXPECT_EQ(pool.available(), 0u);
  EXPECT_EQ(std::set<void*>(buffers.begin(), buffers.begin() + 7).size(), 7u);
}

/// Each holder writes its own mark and finds it unchanged: two threads never hold one frame at once.
TEST(FramePool, NeverGivesOneFrameToTwoThreads) {
  FramePool pool(64, 64);
  std::atomic<int> clashes{0};
  const auto work = [&](uint8_t mark) {
    std::array<Frame, 16> frames;
    for (int i = 0; i < 20'000; ++i) {
      const size_t n = pool.allocate(std::span(frames).first(1 + static_cast<size_t>(i) % 16));
      for (size_t k = 0; k < n; ++k) frames[k].head[0] = mark;
      for (size_t k = 0; k < n; ++k) clashes += frames[k].head[0] != mark;
      pool.release(std::span(frames).first(n));
    }
  };
  std::thread a(work, uint8_t{1}), b(work, uint8_t{2}), c(work, uint8_t{3});
  a.join(), b.join(), c.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(pool.available(), 64u);
}

TEST(MemoryLink, CarriesHeadPayloadAndTailToTheOtherEnd) {
  FramePool pool(8);
  auto [a, b] = make_memory_link(pool, 4, "link");
  EXPECT_TRUE(a->capabilities().payload_by_reference);
  EXPECT_EQ(a->capabilities().frame_capacity, 4352u);
  EXPECT_EQ(b->next_event(), Time::never());

  std::array<Frame, 1> frame;
  ASSERT_EQ(a->allocate(frame), 1u);
  std::memset(frame[0].head, 0x5A, 42);
  frame[0].head_length = 42;
  frame[0].payload = kPayload.data();
  frame[0].payload_length = 16;
  frame[0].tail_length = 4;
  std::memcpy(frame[0].tail, "ICRC", 4);
  ASSERT_EQ(a->transmit(Time(700), frame), 1u);
  EXPECT_EQ(b->next_event(), Time(700));
  EXPECT_EQ(a->next_event(), Time::never());

  std::array<Frame, 4> received;
  ASSERT_EQ(b->receive(Time(900), received), 1u);
  EXPECT_EQ(received[0].arrival, Time(700));
  EXPECT_EQ(received[0].length(), 62u);  // 42 + 16 + 4
  EXPECT_EQ(received[0].payload, kPayload.data());
  EXPECT_EQ(received[0].head[41], 0x5A);
  EXPECT_EQ(std::memcmp(received[0].tail, "ICRC", 4), 0);
  b->release({received.data(), 1});
  EXPECT_EQ(pool.available(), 8u);

  const PortCounters sent = a->counters(), got = b->counters();
  EXPECT_EQ(sent.name, "link.a");
  EXPECT_EQ(got.name, "link.b");
  EXPECT_EQ(sent.tx_frames, 1u);
  EXPECT_EQ(sent.tx_bytes, 62u);
  EXPECT_EQ(got.rx_frames, 1u);
  EXPECT_EQ(got.rx_bytes, 62u);
  EXPECT_EQ(got.tx_frames, 0u);
}

class MemoryLinkOf : public ::testing::TestWithParam<PoolUse> {};

TEST_P(MemoryLinkOf, RefusesBeyondItsQueueAndCountsIt) {
  FramePool pool(64, FramePool::kDefaultCapacity, GetParam());
  auto [a, b] = make_memory_link(pool, 40, "link");  // rounded up to 64
  std::array<Frame, 64> frames;
  ASSERT_EQ(b->allocate(frames), 64u);
  for (Frame& frame : frames) frame.head_length = 60;
  EXPECT_EQ(b->transmit(Time(1), std::span(frames).first(50)), 50u);
  // 14 places are left, and one push of 32 is split.
  std::array<Frame, 20> more;
  std::copy_n(frames.begin() + 44, 20, more.begin());
  EXPECT_EQ(b->transmit(Time(2), more), 14u);
  EXPECT_EQ(b->counters().tx_refused, 6u);
  EXPECT_EQ(b->counters().tx_bytes, 64u * 60);
}

/// A port may hand out fewer at a time than are asked for.
size_t reserve_all(FramePort& port, std::span<FrameBuffer> buffers) {
  size_t reserved = 0;
  while (reserved < buffers.size()) {
    const size_t n = port.reserve(buffers.subspan(reserved));
    if (n == 0) break;
    reserved += n;
  }
  return reserved;
}

/// Two runs of two frames into a queue that has room for three: the fourth is complete, and is sent later.
TEST_P(MemoryLinkOf, CompletesWhatItRefuses) {
  FramePool pool(16, 448, GetParam());
  auto [a, b] = make_memory_link(pool, 4, "link");
  std::array<Frame, 4> got;
  ASSERT_EQ(a->allocate(std::span(got).first(1)), 1u);
  got[0].head_length = 60;
  ASSERT_EQ(a->transmit(Time(1), std::span(got).first(1)), 1u);
  std::array<FrameBuffer, 4> buffers;
  ASSERT_EQ(reserve_all(*a, buffers), 4u);
  const std::array<FrameRun, 2> runs = {FrameRun{.shape = {.payload_length = 20, .header_length = 54}, .count = 2},
                                        FrameRun{.shape = {.payload_length = 30, .header_length = 70}, .count = 2}};
  ASSERT_EQ(a->send_complete(Time(2), buffers, runs), 3u);
  EXPECT_EQ(a->counters().tx_refused, 1u);
  EXPECT_EQ(a->length(buffers[3]), 100u);
  ASSERT_EQ(b->receive(Time(3), got), 4u);
  EXPECT_EQ(got[2].length(), 74u);
  EXPECT_EQ(got[3].length(), 100u);
  EXPECT_EQ(a->send(Time(4), std::span(buffers).last(1)), 1u);
  ASSERT_EQ(b->receive(Time(4), got), 1u);
  EXPECT_EQ(got[0].length(), 100u);
  EXPECT_EQ(got[0].arrival, Time(4));
}

/// In one thread a frame may be sent before it arrives; whoever receives it can look at it, but gets it no earlier.
TEST(MemoryLink, HoldsBackWhatIsSentAheadOfTime) {
  FramePool pool(8, 128, PoolUse::kOneThread);
  Doorbells bells(1, BellUse::kOneThread);
  auto [a, b] = make_memory_link(pool, 2, "link", {&bells, 0});
  std::array<Frame, 3> frames;
  ASSERT_EQ(a->allocate(frames), 3u);
  for (size_t i = 0; i < 3; ++i) frames[i].head_length = static_cast<uint16_t>(60 + i);
  EXPECT_TRUE(a->send_ahead(Time(10), frames[0]));
  EXPECT_TRUE(a->send_ahead(Time(20), frames[1]));
  EXPECT_FALSE(a->send_ahead(Time(30), frames[2])) << "there is no room";
  EXPECT_EQ(a->counters().tx_refused, 0u);
  uint32_t rung = 0;
  bells.answer_all([&](uint32_t) { ++rung; });
  EXPECT_EQ(rung, 1u);
  EXPECT_EQ(b->next_event(), Time(10));
  ASSERT_NE(b->waiting(1), nullptr);
  EXPECT_EQ(b->waiting(1)->length(), 61u);
  EXPECT_EQ(b->waiting(2), nullptr);
  std::array<Frame, 4> got;
  EXPECT_EQ(b->receive(Time(9), got), 0u);
  ASSERT_EQ(b->receive(Time(19), got), 1u);
  EXPECT_EQ(got[0].arrival, Time(10));
  EXPECT_EQ(b->next_event(), Time(20));
  EXPECT_EQ(b->receive(Time(20), got), 1u);
  // Between threads nothing is held back.
  FramePool shared(8, 128);
  auto [c, d] = make_memory_link(shared, 2, "link");
  ASSERT_EQ(c->allocate(std::span(frames).first(1)), 1u);
  EXPECT_FALSE(c->send_ahead(Time(10), frames[0]));
  EXPECT_EQ(d->waiting(0), nullptr);
}

/// Headers 54 B long in front of the payload's place, 4096 B of the pattern by reference, and 4 B of trailer.
TEST_P(MemoryLinkOf, SendsWhatIsWrittenIntoReservedBuffers) {
  FramePool pool(8, 448, GetParam());
  Doorbells bells(1), answers(1);
  auto [a, b] = make_memory_link(pool, 4, "link", {&bells, 0}, {&answers, 0});
  std::array<FrameBuffer, 2> buffers;
  ASSERT_EQ(reserve_all(*a, buffers), 2u);
  for (const FrameBuffer buffer : buffers) {
    uint8_t* const place = a->capabilities().place(buffer);
    std::memset(place - 54, 0x5A, 54);
    std::memcpy(place, "ICRC", 4);
  }
  const std::array<FrameRun, 1> run = {
      FrameRun{.shape = {.payload_length = 4096, .header_length = 54, .trailer_length = 4}, .count = 2}};
  a->complete(buffers, run);
  EXPECT_EQ(a->length(buffers[0]), 4154u);
  ASSERT_EQ(a->send(Time(5), buffers), 2u);
  std::array<Frame, 4> got;
  ASSERT_EQ(b->receive(Time(6), got), 2u);
  EXPECT_EQ(got[1].arrival, Time(5));
  EXPECT_EQ(got[1].length(), 4154u);
  EXPECT_EQ(got[1].head[53], 0x5A);
  EXPECT_EQ(std::memcmp(got[1].tail, "ICRC", 4), 0);
  uint32_t rung = 0;
  bells.answer_all([&](uint32_t) { ++rung; });
  answers.answer_all([&](uint32_t) { rung += 100; });
  EXPECT_EQ(rung, 1u);
  ASSERT_EQ(b->transmit(Time(7), std::span(got).first(1)), 1u);
  answers.answer_all([&](uint32_t) { rung += 100; });
  EXPECT_EQ(rung, 101u);
}

INSTANTIATE_TEST_SUITE_P(Pools, MemoryLinkOf, ::testing::Values(PoolUse::kManyThreads, PoolUse::kOneThread));

TEST(MemoryLink, KeepsOrderAndLosesNothingBetweenTwoThreads) {
  constexpr uint32_t kFrames = 50'000;
  FramePool pool(256, 64);
  auto link = make_memory_link(pool, 64, "link");
  std::thread sender([&port = *link.first] {
    std::array<Frame, 8> frames;
    for (uint32_t next = 0; next < kFrames;) {
      size_t n = port.allocate(std::span(frames).first(std::min<size_t>(8, kFrames - next)));
      for (size_t i = 0; i < n; ++i) {
        const uint32_t number = next + static_cast<uint32_t>(i);
        std::memcpy(frames[i].head, &number, sizeof number);
        frames[i].head_length = 60;
      }
      const size_t taken = port.transmit(Time(next), std::span(frames).first(n));
      port.release(std::span(frames).first(n).subspan(taken));
      next += static_cast<uint32_t>(taken);
      if (taken == 0) std::this_thread::yield();
    }
  });
  uint32_t expected = 0, misplaced = 0;
  std::array<Frame, 16> frames;
  while (expected < kFrames) {
    const size_t n = link.second->receive(Time(), frames);
    for (const Frame& frame : std::span(frames).first(n)) {
      uint32_t number;
      std::memcpy(&number, frame.head, sizeof number);
      misplaced += number != expected++;
    }
    link.second->release(std::span(frames).first(n));
    if (n == 0) std::this_thread::yield();
  }
  sender.join();
  EXPECT_EQ(misplaced, 0u);
  EXPECT_EQ(pool.available(), 256u);
  EXPECT_EQ(link.first->counters().tx_frames, kFrames);
  EXPECT_EQ(link.second->counters().rx_frames, kFrames);
}

}  // namespace
}  // namespace rankwire
