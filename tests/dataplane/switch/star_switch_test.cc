#include "dataplane/switch/star_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "dataplane/ports/memory_port.h"
#include "tests/dataplane/switch/star_bench.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace testing;

std::vector<int64_t> arrivals(const std::vector<Reception>& receptions, Time since) {
  std::vector<int64_t> times;
  for (const Reception& reception : receptions) times.push_back((reception.arrival - since).ps);
  return times;
}

// A frame of 1000 B occupies 1000 + 24 B of a line: 8192 bits, 819.2 ns at 10 Gb/s.
constexpr int64_t kFrameTime = 819'200;
// Link 100 ns, in 819.2, switch 1000, out 819.2, link 100.
constexpr int64_t kOneFrame = 2'838'400;

TEST(VirtualSwitch, DelaysOneFrameByLinksSerializationsAndLatency) {
  SwitchBench bench({k10G, k10G}, options());
  bench.learn_stations();
  const Time start = bench.now();
  bench.send(0, start, station(0), station(1), 1000);
  bench.run();
  EXPECT_THAT(arrivals(bench.received(1), start), ElementsAre(kOneFrame));
  EXPECT_THAT(bench.received(0), IsEmpty());
  bench.expect_conservation();
}

TEST(VirtualSwitch, SerializesAtTheRateOfEachLine) {
  SwitchBench bench({k10G, Bandwidth(40'000'000'000)}, options());
  bench.learn_stations();
  const Time start = bench.now();
  bench.send(0, start, station(0), station(1), 1000);
  bench.run();
  // 100 + 819.2 + 1000 + 204.8 + 100 ns.
  EXPECT_THAT(arrivals(bench.received(1), start), ElementsAre(2'224'000));
}

TEST(VirtualSwitch, PassesAStreamAtLineRate) {
  SwitchBench bench({k10G, k10G}, options());
  bench.learn_stations();
  const Time start = bench.now();
  // Handed over at one instant: the input line spaces them, and they never queue at an output of the same rate.
  for (int i = 0; i < 200; ++i) bench.send(0, start, station(0), station(1), 1000);
  bench.run();
  const auto times = arrivals(bench.received(1), start);
  ASSERT_EQ(times.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(times[i], kOneFrame + i * kFrameTime);
  EXPECT_EQ(bench.counters(1).peak_queue, Bytes(1000));
}

TEST(VirtualSwitch, LateStepDoesNotDelayWhatFollows) {
  SwitchBench bench({k10G, k10G}, options());
  bench.learn_stations();
  const Time start = bench.now();
  bench.send(0, start, station(0), station(1), 1000);
  bench.device().step(start + microseconds(50));  // all of it in one step, 47 us late
  bench.send(0, start + microseconds(50), station(0), station(1), 1000);
  bench.device().step(start + microseconds(50) + Duration(kOneFrame) - Duration(1));
  EXPECT_THAT(arrivals(bench.received(1), start), ElementsAre(50'000'000));
  bench.device().step(start + microseconds(50) + Duration(kOneFrame));
  EXPECT_THAT(arrivals(bench.received(1), start), ElementsAre(50'000'000 + kOneFrame));
}

/// Frames of two inputs become eligible in pairs, one pair a frame time: the k-th pair (k >= 2) finds k - 2 frames
/// waiting and leaves k behind, because one frame leaves a frame time. The first pair leaves 1: its first frame goes at
/// once.
class TwoToOne : public ::testing::Test {
 protected:
  static void send_pairs(SwitchBench& bench, int pairs, uint8_t tos) {
    bench.learn_stations();
    const Time start = bench.now();
    for (int k = 0; k < pairs; ++k) {
      bench.send(0, start, station(0), station(2), 1000, tos);
      bench.send(1, start, station(1), station(2), 1000, tos);
    }
    bench.run();
  }
};

TEST_F(TwoToOne, DropsWhatDoesNotFitIntoTheBuffer) {
  SwitchOptions small = options();
  small.buffer = Bytes(10'000);
  SwitchBench bench({k10G, k10G, k10G}, small);
  send_pairs(bench, 50, kEct0);
  // Pairs 1..10 fit (10 frames wait behind pair 10). From pair 11 on the first of a pair takes the place that became
  // free and the second is dropped: 40 drops. Which comes first is drawn by lot, so either port gets 10 and half of 40
  // through, within 4 standard deviations of sqrt(40) / 2.
  EXPECT_EQ(bench.counters(2).dropped(FabricDrop::kTail), 40u);
  EXPECT_EQ(bench.counters(2).peak_queue, Bytes(10'000));
  int from_0 = 0, from_1 = 0;
  for (const Reception& reception : bench.received(2)) (reception.source == station(0) ? from_0 : from_1)++;
  EXPECT_EQ(from_0 + from_1, 60);
  EXPECT_NEAR(from_0, 30, 13);
  bench.expect_conservation();
}

TEST_F(TwoToOne, QueueGrowsByOneFrameAPair) {
  SwitchBench bench({k10G, k10G, k10G}, options());
  send_pairs(bench, 50, kEct0);
  EXPECT_EQ(bench.counters(2).dropped(FabricDrop::kTail), 0u);
  EXPECT_EQ(bench.counters(2).peak_queue, Bytes(50'000));
  // 100 frames back to back from the time that the first would have alone.
  const auto receptions = bench.received(2);
  ASSERT_EQ(receptions.size(), 100u);
  EXPECT_EQ(receptions.back().arrival - receptions.front().arrival, Duration(99 * kFrameTime));
}

TEST_F(TwoToOne, MarksFramesThatFindMoreThanTheThreshold) {
  SwitchOptions marking = options();
  marking.ecn_threshold = Bytes(5'000);
  SwitchBench bench({k10G, k10G, k10G}, marking);
  send_pairs(bench, 20, kEct0);
  // The first of pair k finds k - 2 frames, more than 5 from k = 8 on: 13 frames. The second finds k - 1, more than 5
  // from k = 7 on: 14 frames.
  EXPECT_EQ(bench.counters(2).marks, 27u);
  const auto receptions = bench.received(2);
  ASSERT_EQ(receptions.size(), 40u);
  // In queue order the first marked frame is the second of pair 7, the 14th frame.
  for (size_t i = 0; i < receptions.size(); ++i) {
    const bool marked = i == 13 || i >= 14;
    EXPECT_EQ(receptions[i].tos, marked ? kCe : kEct0) << i;
    EXPECT_TRUE(receptions[i].checksum_correct) << i;
  }
}

TEST_F(TwoToOne, LeavesFramesThatAreNotEcnCapableAlone) {
  SwitchOptions marking = options();
  marking.ecn_threshold = Bytes(0);
  SwitchBench bench({k10G, k10G, k10G}, marking);
  send_pairs(bench, 20, kNotEct);
  EXPECT_EQ(bench.counters(2).marks, 0u);
  for (const Reception& reception : bench.received(2)) EXPECT_EQ(reception.tos, kNotEct);
}

TEST_F(TwoToOne, DoesNotCountFramesThatArriveMarked) {
  SwitchOptions marking = options();
  marking.ecn_threshold = Bytes(0);
  SwitchBench bench({k10G, k10G, k10G}, marking);
  send_pairs(bench, 20, kCe);
  EXPECT_EQ(bench.counters(2).marks, 0u);
}

/// RFC 1624, section 4: the update must not turn a checksum of 0xFFFF's neighbourhood into the other zero. All DSCPs
/// and both ECT code points, checked by the full sum.
TEST_F(TwoToOne, KeepsTheChecksumRightForEveryTrafficClass) {
  SwitchOptions marking = options();
  marking.ecn_threshold = Bytes(0);
  SwitchBench bench({k10G, k10G, k10G}, marking);
  for (int dscp = 0; dscp < 64; ++dscp) {
    for (const int ect : {1, 2}) {
      send_pairs(bench, 3, static_cast<uint8_t>(dscp << 2 | ect));
      int marked = 0;
      for (const Reception& reception : bench.received(2)) {
        ASSERT_TRUE(reception.checksum_correct) << dscp;
        marked += (reception.tos & 3) == kCe;
      }
      ASSERT_GT(marked, 0) << dscp;
    }
  }
}

TEST(VirtualSwitch, LosesTheConfiguredShareAndTheSameFramesForTheSameSeed) {
  const auto survivors = [](uint64_t seed) {
    SwitchOptions lossy = options();
    lossy.loss_ppm = 100'000;
    lossy.seed = seed;
    SwitchBench bench({k10G, k10G}, lossy);
    std::vector<int64_t> times;
    // Broadcast, so that no station need be known. Blocks of 1000 frames keep the pool small.
    for (int block = 0; block < 20; ++block) {
      for (int i = 0; i < 1000; ++i) bench.send(0, Time(block * 1'000'000'000'000), station(0), kBroadcast, 60);
      bench.run();
      for (const Reception& reception : bench.received(1)) times.push_back(reception.arrival.ps);
    }
    bench.expect_conservation();
    EXPECT_EQ(bench.counters(0).dropped(FabricDrop::kRandomLoss), 20'000 - times.size());
    return times;
  };
  const auto first = survivors(7);
  // Binomial(20000, 0.1) losses: mean 2000, sigma sqrt(20000 * 0.1 * 0.9) = 42.4; 5 sigma is 212.
  EXPECT_NEAR(static_cast<double>(first.size()), 18'000, 212);
  EXPECT_EQ(survivors(7), first);
  EXPECT_NE(survivors(8), first);
}

TEST(VirtualSwitch, FloodsTheUnknownAndForwardsTheLearned) {
  SwitchBench bench({k10G, k10G, k10G}, options());
  bench.send(0, Time(), station(0), station(2), 100);
  bench.run();
  EXPECT_EQ(bench.received(1).size(), 1u);
  EXPECT_EQ(bench.received(2).size(), 1u);
  EXPECT_THAT(bench.received(0), IsEmpty());
  EXPECT_EQ(bench.counters(0).flooded, 1u);
  EXPECT_EQ(bench.counters(0).flood_copies, 1u);

  bench.send(2, bench.now(), station(2), station(0), 100);
  bench.run();
  EXPECT_EQ(bench.received(0).size(), 1u);
  EXPECT_THAT(bench.received(1), IsEmpty());
  bench.send(0, bench.now(), station(0), station(2), 100);
  bench.run();
  EXPECT_EQ(bench.received(2).size(), 1u);
  EXPECT_THAT(bench.received(1), IsEmpty());
  EXPECT_EQ(bench.counters(2).flooded, 0u);
  EXPECT_EQ(bench.counters(0).flooded, 1u);
  bench.expect_conservation();
  EXPECT_EQ(bench.pool().available(), bench.pool().size());
}

TEST(VirtualSwitch, FloodedCopiesAreEqualToTheFrame) {
  SwitchBench bench({k10G, k10G, k10G, k10G}, options());
  bench.send(1, Time(), station(1), kBroadcast, 333, kEct0);
  bench.run();
  for (const size_t port : {0u, 2u, 3u}) {
    const auto receptions = bench.received(port);
    ASSERT_EQ(receptions.size(), 1u) << port;
    EXPECT_EQ(receptions[0].length, 333u);
    EXPECT_EQ(receptions[0].source, station(1));
    EXPECT_TRUE(receptions[0].checksum_correct);
  }
}

TEST(VirtualSwitch, FollowsAStationThatMoves) {
  SwitchBench bench({k10G, k10G, k10G}, options());
  bench.learn_stations();
  bench.send(2, bench.now(), station(0), kBroadcast, 60);  // station 0 now speaks from port 2
  bench.run();
  bench.received(0), bench.received(1);
  bench.send(1, bench.now(), station(1), station(0), 60);
  bench.run();
  EXPECT_EQ(bench.received(2).size(), 1u);
  EXPECT_THAT(bench.received(0), IsEmpty());
}

TEST(VirtualSwitch, FiltersWhatABridgeMustNotForward) {
  SwitchBench bench({k10G, k10G}, options());
  bench.learn_stations();
  bench.send(0, bench.now(), station(5), kBroadcast, 60);  // a second station behind port 0
  bench.run();
  bench.received(1);
  bench.send(0, bench.now(), station(0), station(5), 60);      // never back to the port it came from
  bench.send(0, bench.now(), station(0), 0x0180C2000001, 60);  // PAUSE
  bench.run();
  EXPECT_EQ(bench.counters(0).dropped(FabricDrop::kFiltered), 2u);
  EXPECT_THAT(bench.received(0), IsEmpty());
  EXPECT_THAT(bench.received(1), IsEmpty());
  EXPECT_EQ(bench.pool().available(), bench.pool().size());
  bench.expect_conservation();
}

TEST(VirtualSwitch, FloodsWhenTheTableIsFull) {
  SwitchOptions tiny = options();
  tiny.addresses = 2;
  SwitchBench bench({k10G, k10G, k10G}, tiny);
  bench.learn_stations();  // 0 and 1 are learned, 2 is not
  bench.send(0, bench.now(), station(0), station(1), 60);
  bench.send(0, bench.now(), station(0), station(2), 60);
  bench.run();
  EXPECT_EQ(bench.received(1).size(), 2u);
  EXPECT_EQ(bench.received(2).size(), 1u);
}

TEST(VirtualSwitch, OffersRefusedFramesAgain) {
  SwitchBench bench({k10G, k10G}, options(), 4);
  bench.learn_stations();
  const Time start = bench.now();
  for (int i = 0; i < 4; ++i) bench.send(0, start, station(0), station(1), 1000);
  bench.device().step(start);
  for (int i = 0; i < 4; ++i) bench.send(0, start, station(0), station(1), 1000);
  bench.run();
  // The link to NIC 1 takes 4 frames; the others wait in the switch until the NIC receives.
  EXPECT_EQ(bench.device().held(), 4u);
  EXPECT_EQ(bench.received(1).size(), 4u);
  bench.run();
  EXPECT_EQ(bench.received(1).size(), 4u);
  EXPECT_EQ(bench.device().held(), 0u);
  bench.expect_conservation();
}

/// More frames wait at one port than a line can hold: they must still take their place among those of other ports.
TEST(VirtualSwitch, KeepsTheOrderOfTimeAcrossInputsInOneStep) {
  SwitchOptions instant;  // no latency at all: each input holds only two bursts
  SwitchBench bench({k10G, k10G, k10G}, instant);
  bench.learn_stations();
  const Time start = bench.now();
  for (int i = 0; i < 500; ++i) {
    bench.send(0, start + Duration(i * kFrameTime * 2), station(0), station(2), 1000);
    bench.send(1, start + Duration(i * kFrameTime * 2 + 1), station(1), station(2), 1000);
  }
  bench.device().step(start + seconds(1));
  const auto receptions = bench.received(2);
  ASSERT_EQ(receptions.size(), 1000u);
  for (size_t i = 0; i < receptions.size(); ++i) ASSERT_EQ(receptions[i].source, station(i % 2)) << i;
  EXPECT_EQ(bench.counters(2).peak_queue, Bytes(1999 - 999));  // never more than the newest frame
}

TEST(VirtualSwitch, RefusesOptionsOutOfRange) {
  FramePool pool(2);
  auto [nic, inner] = make_memory_link(pool, 2, "port");
  const SwitchPort port{inner.get(), k10G};
  const auto make = [](SwitchPort p, SwitchOptions o) { make_star_switch({&p, 1}, o); };
  EXPECT_NO_THROW(make(port, options()));
  EXPECT_THROW(make({inner.get(), Bandwidth()}, options()), Error);
  SwitchOptions bad = options();
  bad.loss_ppm = 1'000'001;
  EXPECT_THROW(make(port, bad), Error);
  bad = options();
  bad.buffer = Bytes();
  EXPECT_THROW(make(port, bad), Error);
  EXPECT_THROW(make_star_switch({}, options()), Error);
}

/// Two NICs exchange frames in this thread, the switch runs in its own.
TEST(VirtualSwitch, RunsOnAThreadOfItsOwn) {
  constexpr uint32_t kFrames = 3'000;
  FramePool pool(2048, 128);
  auto link_0 = make_memory_link(pool, 256, "port0");
  auto link_1 = make_memory_link(pool, 256, "port1");
  const std::array<FramePort*, 2> nics = {link_0.first.get(), link_1.first.get()};
  const std::array<SwitchPort, 2> ports = {SwitchPort{link_0.second.get(), Bandwidth(100'000'000'000)},
                                           SwitchPort{link_1.second.get(), Bandwidth(100'000'000'000)}};
  const std::unique_ptr<VirtualFabric> owned = make_star_switch(ports, options());
  VirtualFabric& device = *owned;
  RealClock clock;
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      if (!device.step(clock.now())) std::this_thread::yield();
    }
  });

  std::array<uint32_t, 2> sent{}, received{};
  uint32_t misplaced = 0;
  for (int64_t turn = 0; turn < 50'000'000 && received[0] + received[1] < 2 * kFrames; ++turn) {
    const uint32_t i = turn % 2;
    std::array<Frame, 8> frames;
    size_t n = nics[i]->allocate(std::span(frames).first(std::min(8u, kFrames - sent[i])));
    for (size_t k = 0; k < n; ++k) {
      std::memset(frames[k].head, 0, 64);
      frames[k].head[5] = static_cast<uint8_t>(1 + (1 - i));
      frames[k].head[11] = static_cast<uint8_t>(1 + i);
      const uint32_t number = sent[i] + static_cast<uint32_t>(k);
      std::memcpy(frames[k].head + 20, &number, sizeof number);
      frames[k].head_length = 64;
    }
    const size_t taken = nics[i]->transmit(clock.now(), std::span(frames).first(n));
    nics[i]->release(std::span(frames).first(n).subspan(taken));
    sent[i] += static_cast<uint32_t>(taken);

    n = nics[i]->receive(clock.now(), frames);
    for (const Frame& frame : std::span(frames).first(n)) {
      uint32_t number;
      std::memcpy(&number, frame.head + 20, sizeof number);
      misplaced += number != received[i]++;
    }
    nics[i]->release(std::span(frames).first(n));
    if (n == 0 && taken == 0) std::this_thread::yield();
  }
  stop = true;
  thread.join();
  EXPECT_THAT(received, ElementsAre(kFrames, kFrames));
  EXPECT_EQ(misplaced, 0u);
  EXPECT_EQ(device.held(), 0u);
  EXPECT_EQ(pool.available(), pool.size());
}

}  // namespace
}  // namespace rankwire
