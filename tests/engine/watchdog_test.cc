#include "emulator/engine/watchdog.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/bench.h"

namespace rankwire {
namespace {

/// Carries nothing, and has counted what a test says.
class CountingTransport final : public Transport {
 public:
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time, std::span<const Message> messages) noexcept override { return messages.size(); }
  size_t poll(Time, std::span<Event>) noexcept override { return 0; }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override { return counted.packets_tx + counted.packets_rx; }
  TransportCounters counters() const override { return counted; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return {}; }
  void close() noexcept override {}

  TransportCounters counted;
};

/// Whether ranks stand still that for 2 s wait for a message, of which 1 s is allowed, while `happen` changes what the
/// transport has counted every 10 ms.
template <class Happen>
bool stands_still_while(Happen happen) {
  testing::Bench bench(testing::all_reduce_of_three(3'000));
  CountingTransport transport;
  bench.engine.advance(Time());
  Watchdog watchdog(bench.engine, transport, seconds(1), Time());
  bool still = false;
  for (Time now; now < Time() + seconds(2) && !still; now += milliseconds(10)) {
    happen(transport.counted);
    still = watchdog.stands_still(now);
  }
  return still;
}

TEST(Watchdog, AMessageOnItsWayIsProgress) {
  EXPECT_FALSE(stands_still_while([](TransportCounters& c) { ++c.packets_rx; }));
}

TEST(Watchdog, WhatIsSentAndNeverArrivesIsNot) {
  EXPECT_TRUE(stands_still_while([](TransportCounters& c) { ++c.packets_tx, ++c.retransmitted; }));
}

// Three packets are sent again; the receiver has no room for the first and drops the others.
TEST(Watchdog, ARoundOfReceiverNotReadyIsNot) {
  EXPECT_TRUE(stands_still_while([](TransportCounters& c) {
    c.packets_rx += 3, ++c.rnr_naks_tx, c.out_of_sequence += 2;
    ++c.packets_rx, ++c.rnr_naks;
  }));
}

TEST(Watchdog, DuplicatesAndWhatIsBrokenAreNot) {
  EXPECT_TRUE(
      stands_still_while([](TransportCounters& c) { c.packets_rx += 2, ++c.duplicate_packets, ++c.icrc_errors; }));
}

TEST(Watchdog, OneNewPacketAmongThemIs) {
  EXPECT_FALSE(stands_still_while([](TransportCounters& c) { c.packets_rx += 3, c.duplicate_packets += 2; }));
}

/// Of an engine that waits for ever: in a turn a millisecond ten packets arrive, then there is one every `later`, each
/// second of which sends something if `is_sending`.
Time last_progress(Duration later, bool is_sending) {
  testing::Bench bench(testing::all_reduce_of_three(3'000));
  CountingTransport transport;
  bench.engine.advance(Time());
  Watchdog watchdog(bench.engine, transport, seconds(5), Time());
  const auto at = [&](int turn) { return Time() + milliseconds(std::min(turn, 10)) + later * std::max(turn - 10, 0); };
  for (int turn = 0; turn < 30 && !watchdog.stands_still(at(turn), at(turn + 1)); ++turn) {
    if (turn < 10) ++transport.counted.packets_rx;
    if (turn >= 10 && turn % 2 == 0 && is_sending) ++transport.counted.packets_tx;
  }
  return watchdog.last_progress();
}

// The tenth is counted behind the turn at 9 ms, and so seen in that at 10 ms, however long after that somebody looks.
TEST(Watchdog, KnowsWhenItWas) {
  EXPECT_EQ(last_progress(seconds(1), false), Time() + milliseconds(10));
}

TEST(Watchdog, TellsItFromWhatIsSentLongAfter) {
  EXPECT_EQ(last_progress(seconds(1), true), Time() + milliseconds(10));
}

TEST(Watchdog, TellsItFromWhatIsSentSoonAfter) {
  EXPECT_EQ(last_progress(milliseconds(1), true), Time() + milliseconds(10));
}

}  // namespace
}  // namespace rankwire
