// What a transport does about PFC and PAUSE frames, to the picosecond, in virtual time.
#include "dataplane/wire/pause.h"

#include <gtest/gtest.h>

#include <array>

#include "dataplane/ports/memory_port.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::FrameBytes;
using testing::pair_plan;
using testing::RocePair;
using testing::UntaggedIpv4;

constexpr uint32_t kDataPriority = 3, kAckPriority = 6;
constexpr PrioritySet kData = priority_bit(kDataPriority), kAcks = priority_bit(kAckPriority);
// 60 + 24 bytes at 100 Gb/s are 6.72 ns, and the line is 500 ns long.
constexpr Duration kWay = Duration(506'720);
// At 100 Gb/s a quantum is 5.12 ns.
constexpr Duration kQuantum = Duration(5'120);

// DSCP / 8 is the priority: data 3, everything else 6.
RoceOptions options() {
  RoceOptions options;
  options.mtu = 1024;
  const Marking other{.dscp = 48};
  options.markings = {.data = {.dscp = 26}, .ack = other, .nak = other, .cnp = other};
  return options;
}

uint64_t count(const std::vector<FrameBytes>& frames, uint8_t dscp) {
  return static_cast<uint64_t>(std::ranges::count_if(frames, [dscp](const FrameBytes& frame) {
    const auto& fields = *reinterpret_cast<const UntaggedIpv4*>(frame.data());
    return fields.ethernet.ether_type == Be16(kEtherTypeIpv4) && fields.ip.type_of_service >> 2 == dscp;
  }));
}

// 802.1Q-2018 and the usual map: the tag tells, else DSCP / 8. Switches that are known tell otherwise.
TEST(PriorityOfAMarking, IsThatOfTheSwitchesWhereTheyAreKnown) {
  const Marking marking{.dscp = 26, .priority = 5};
  EXPECT_EQ(priority_of(marking, false, std::nullopt), priority_bit(3));
  EXPECT_EQ(priority_of(marking, true, std::nullopt), priority_bit(5));
  ClassOptions classes;
  EXPECT_EQ(priority_of(marking, true, classes), priority_bit(3));
  classes.of_dscp[26] = 6;
  EXPECT_EQ(priority_of(marking, true, classes), priority_bit(6));
  EXPECT_EQ(priority_of(marking, false, classes), priority_bit(6));
  classes.trust = PriorityTrust::kPcp;
  EXPECT_EQ(priority_of(marking, true, classes), priority_bit(5));
  EXPECT_EQ(priority_of(marking, false, classes), priority_bit(0)) << "no tag";
}

/// Messages in both directions, far longer than the test, and a far end of a's line that sends pauses.
class RocePause : public ::testing::Test {
 protected:
  void SetUp() override { start(PauseMode::kSoftware); }
  void start(PauseMode mode) {
    pair_ = std::make_unique<RocePair>(options(), testing::Impairments(), pair_plan(), mode);
    pair_->connect();
    pair_->port_a().capture();
    pair_->post(RocePair::message(0, 0, 1 << 20));
    pair_->post(RocePair::message(1, 0, 1 << 20));
    run_to(Time() + microseconds(10));
  }
  void run_to(Time time) {
    pair_->run_until(time);
    pair_->set_now(time);
  }
  /// Sends a pause to a, and returns when it arrives.
  Time pause(const PauseFrame& pause) {
    Frame frame;
    EXPECT_EQ(pair_->port_b().allocate({&frame, 1}), 1u);
    write_pause(MacAddress(), pause, frame);
    EXPECT_EQ(pair_->port_b().transmit(pair_->now(), {&frame, 1}), 1u);
    return pair_->now() + kWay;
  }
  uint64_t data_sent() const { return count(pair_->port_a().sent(), 26); }
  uint64_t acks_sent() const { return count(pair_->port_a().sent(), 48); }
  Duration paused(uint32_t priority) const { return pair_->a().ports()[0].paused[priority]; }

  std::unique_ptr<RocePair> pair_;
};

TEST_F(RocePause, StopsThePausedPriorityOnlyAndUntilItsQuantaAreOver) {
  const Time arrival = pause(priority_pause(kData, 1000));
  run_to(arrival - Duration(1));
  const uint64_t before = data_sent();
  run_to(arrival);
  EXPECT_EQ(data_sent(), before);
  const uint64_t acks = acks_sent();
  const Time end = arrival + kQuantum * 1000;
  run_to(end - Duration(1));
  EXPECT_EQ(data_sent(), before);
  EXPECT_GT(acks_sent(), acks) << "acknowledgements have another priority";
  run_to(end);
  EXPECT_GT(data_sent(), before) << "the first frame starts when the pause is over";
  run_to(end + microseconds(5));
  EXPECT_EQ(paused(kDataPriority), kQuantum * 1000);
  EXPECT_EQ(paused(kAckPriority), Duration());
  EXPECT_EQ(pair_->a().counters().pause_rx, 1u);
  EXPECT_EQ(pair_->a().ports()[0].pause_rx, 1u);
  EXPECT_EQ(pair_->b().counters().pause_rx, 0u);
}

TEST_F(RocePause, AcknowledgementsStopWhenTheirPriorityDoes) {
  const Time arrival = pause(priority_pause(kAcks, 1000));
  run_to(arrival);
  const uint64_t acks = acks_sent(), data = data_sent();
  const Time end = arrival + kQuantum * 1000;
  run_to(end - Duration(1));
  EXPECT_EQ(acks_sent(), acks);
  EXPECT_GT(data_sent(), data);
  run_to(end + microseconds(1));
  EXPECT_GT(acks_sent(), acks);
}

TEST_F(RocePause, GoesOnWhenToldTo) {
  run_to(pause(priority_pause(kData, 65535)));
  const uint64_t before = data_sent();
  run_to(pair_->now() + microseconds(20));
  const Time go_on = pause(priority_pause(kData, 0));
  run_to(go_on - Duration(1));
  EXPECT_EQ(data_sent(), before);
  run_to(go_on);
  EXPECT_GT(data_sent(), before);
  // From one arrival to the other.
  EXPECT_EQ(paused(kDataPriority), microseconds(20) + kWay);
}

TEST_F(RocePause, ARefreshCountsAnew) {
  const Time first = pause(priority_pause(kData, 1000));
  run_to(first);
  const uint64_t before = data_sent();
  run_to(first + microseconds(4));
  const Time second = pause(priority_pause(kData, 1000));
  const Time end = second + kQuantum * 1000;
  run_to(end - Duration(1));
  EXPECT_EQ(data_sent(), before);
  run_to(end);
  EXPECT_GT(data_sent(), before);
  EXPECT_EQ(paused(kDataPriority), end - first);
}

TEST_F(RocePause, GlobalPauseStopsEverything) {
  PauseFrame global{.kind = PauseFrame::Kind::kGlobal};
  global.quanta.fill(1000);
  const Time arrival = pause(global);
  run_to(arrival);
  const size_t before = pair_->port_a().sent().size();
  run_to(arrival + kQuantum * 1000 - Duration(1));
  EXPECT_EQ(pair_->port_a().sent().size(), before);
  run_to(arrival + kQuantum * 1000);
  EXPECT_GT(pair_->port_a().sent().size(), before);
}

TEST_F(RocePause, IsCountedAndNotObeyedWhenOff) {
  start(PauseMode::kOff);
  const Time arrival = pause(priority_pause(kAllPriorities, 65535));
  run_to(arrival);
  const uint64_t before = data_sent();
  run_to(arrival + microseconds(5));
  // 5 us / (1024 + 54 + 4 + 24 bytes at 100 Gb/s, 88.48 ns) = 56.5 frames, a few of them with longer headers, and
  // acknowledgements between them.
  EXPECT_GE(data_sent(), before + 50);
  EXPECT_EQ(pair_->a().counters().pause_rx, 1u);
  EXPECT_EQ(paused(kDataPriority), Duration());
}

TEST_F(RocePause, ATimePausedIsNoStallOfTheGenerator) {
  const uint64_t stalls = pair_->a().counters().stalls;
  const Time arrival = pause(priority_pause(kAllPriorities, 65535));  // 335 us, catch-up is 100 us
  run_to(arrival + kQuantum * 65535 + microseconds(10));
  EXPECT_EQ(pair_->a().counters().stalls, stalls);
}

TEST_F(RocePause, DescribesAPausedQueuePair) {
  run_to(pause(priority_pause(kData, 65535)) + microseconds(20));
  EXPECT_NE(pair_->a().describe(ConnectionId(0)).find("paused by the next station"), std::string::npos)
      << pair_->a().describe(ConnectionId(0));
}

/// A pause that arrives at one queue of a port holds for all of them.
TEST(RocePauseQueues, AllStop) {
  constexpr Bandwidth kRate{100'000'000'000};
  FramePool pool(4096);
  auto first = make_memory_link(pool, 1024, "first"), second = make_memory_link(pool, 1024, "second");
  auto unused = make_memory_link(pool, 1024, "unused");
  RoceTransport a(options(), {{PortId(0), first.first.get(), kRate}, {PortId(0), second.first.get(), kRate}});
  RoceTransport b(options(), {{PortId(1), unused.first.get(), kRate}});
  const TransportPlan plan = pair_plan(2);
  std::vector<EndPoint> ends = a.prepare(plan);
  std::ranges::copy(b.prepare(plan), std::back_inserter(ends));
  ASSERT_TRUE(a.connect(ends).empty());
  const auto poll = [&](Time now) {
    Event none;
    a.poll(now, std::span(&none, 0));
  };
  const auto arrived = [](FramePort& port, Time now) {
    std::array<Frame, 32> frames;
    const size_t n = port.receive(now, frames);
    port.release(std::span(frames).first(n));
    return n;
  };
  poll(Time() - seconds(1));  // announcements
  for (FramePort* port : {first.second.get(), second.second.get()}) arrived(*port, Time());
  for (const uint32_t connection : {0u, 1u}) {
    const Message message = RocePair::message(connection, 0, 1 << 20);
    ASSERT_EQ(a.post(Time(), {&message, 1}), 1u);
  }
  poll(Time());
  EXPECT_GT(arrived(*first.second, Time()), 0u);
  EXPECT_GT(arrived(*second.second, Time()), 0u);

  Frame frame;
  ASSERT_EQ(second.second->allocate({&frame, 1}), 1u);
  write_pause(MacAddress(), priority_pause(kData, 1000), frame);
  ASSERT_EQ(second.second->transmit(Time(), {&frame, 1}), 1u);
  // The line has the rate of both queues together: a quantum is 2.56 ns.
  const Time end = Time() + Duration(2'560) * 1000;
  for (const Time now : {Time() + microseconds(1), end - Duration(1)}) {
    poll(now);
    EXPECT_EQ(arrived(*first.second, now), 0u);
    EXPECT_EQ(arrived(*second.second, now), 0u);
  }
  EXPECT_EQ(a.next_event(), end);
  poll(end);
  EXPECT_GT(arrived(*first.second, end), 0u);
  EXPECT_GT(arrived(*second.second, end), 0u);
  const std::vector<PortCounters> ports = a.ports();
  EXPECT_EQ(ports[0].paused[kDataPriority], end - Time());
  EXPECT_EQ(ports[1].pause_rx, 0u) << "the row of the first queue stands for the port";
  a.close();
  b.close();
}

/// b drains a quarter of what the line carries.
class SlowReceiver : public ::testing::Test {
 protected:
  Time finish(PauseMode mode, const RoceOptions& options = rankwire::options()) {
    const ReceiveBufferOptions buffer{.drain_rate = Bandwidth(25'000'000'000),
                                      .size = Bytes(256 << 10),
                                      .xoff = Bytes(128 << 10),
                                      .xon = Bytes(64 << 10)};
    pair_ = std::make_unique<RocePair>(options, testing::Impairments(), pair_plan(), mode, buffer);
    pair_->connect();
    for (uint32_t i = 0; i < 4; ++i) pair_->post(RocePair::message(0, i, 1 << 20));
    pair_->run_until();
    const std::vector<Event> received = pair_->events(EventKind::kReceived);
    EXPECT_EQ(received.size(), 4u);
    return received.empty() ? Time() : received.back().received.delivered;
  }

  std::unique_ptr<RocePair> pair_;
};

TEST_F(SlowReceiver, SlowsTheSenderDownWithoutLoss) {
  const Time end = finish(PauseMode::kSoftware);
  const TransportCounters a = pair_->a().counters(), b = pair_->b().counters();
  EXPECT_EQ(RocePair::detail(pair_->b(), "receive_buffer_drops"), 0u);
  EXPECT_EQ(a.retransmitted, 0u);
  EXPECT_GT(b.pause_tx, 2u);
  EXPECT_EQ(a.pause_rx, b.pause_tx);
  EXPECT_EQ(b.pause_tx % 2, 0u) << "every pause has its end";
  // 4096 packets of 1024 + 54 + 4 bytes drain in 1.418 ms at 25 Gb/s; when the last has arrived at most 128 KiB and
  // what was under way at XOFF (0.5 us there, 0.5 us back: 12.5 kB) are not drained yet: 46 us.
  const Duration drain = serialization_time(Bytes(4096 * 1082), Bandwidth(25'000'000'000));
  EXPECT_GE(end - Time(), drain - microseconds(46));
  EXPECT_LE(end - Time(), drain + microseconds(2));
}

TEST_F(SlowReceiver, LosesWhatASenderThatIsNotPausedSends) {
  RoceOptions patient = options();
  patient.profile.retry_count = 7;
  const Time end = finish(PauseMode::kOff, patient);
  EXPECT_NE(end, Time());
  EXPECT_GT(RocePair::detail(pair_->b(), "receive_buffer_drops"), 0u);
  EXPECT_GT(pair_->a().counters().retransmitted, 0u);
  EXPECT_EQ(pair_->b().counters().pause_tx, 0u);
}

}  // namespace
}  // namespace rankwire
