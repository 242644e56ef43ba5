// Where the time of a queue pair goes, in virtual time: every picosecond once.
#include <gtest/gtest.h>

#include "dataplane/roce/cause_clock.h"
#include "dataplane/wire/pause.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::pair_plan;
using testing::RocePair;

constexpr Time clock_at(int64_t ns) {
  return Time() + nanoseconds(ns);
}

TEST(CauseClock, ChargesEachStateUntilTheNext) {
  CauseClock clock;
  clock.enter(Cause::kPort, clock_at(100), Duration());
  clock.enter(Cause::kWindow, clock_at(130), Duration());
  clock.enter(Cause::kAcknowledgement, clock_at(150), Duration());
  clock.stop(clock_at(190), Duration());
  clock.enter(Cause::kPort, clock_at(1000), Duration());
  const TimeByCause causes = clock.read(clock_at(1005), Duration());
  EXPECT_EQ(causes[Cause::kPort], nanoseconds(30 + 5));
  EXPECT_EQ(causes[Cause::kWindow], nanoseconds(20));
  EXPECT_EQ(causes[Cause::kAcknowledgement], nanoseconds(40));
  EXPECT_EQ(causes.total(), nanoseconds(90 + 5)) << "nothing while nothing is posted";
}

TEST(CauseClock, TransmissionsComeFirst) {
  CauseClock clock;
  clock.enter(Cause::kPort, clock_at(0), Duration());
  clock.transmit(nanoseconds(10), clock_at(0), false);
  clock.transmit(nanoseconds(10), clock_at(0), false);  // behind it: until 20 ns
  clock.enter(Cause::kAcknowledgement, clock_at(15), Duration());
  clock.stop(clock_at(50), Duration());
  const TimeByCause causes = clock.read(clock_at(50), Duration());
  EXPECT_EQ(causes[Cause::kTransmitting], nanoseconds(20));
  EXPECT_EQ(causes[Cause::kAcknowledgement], nanoseconds(30));
  EXPECT_EQ(causes[Cause::kPort], Duration());
}

TEST(CauseClock, PausesCountWhereTheQueuePairCouldSend) {
  CauseClock clock;
  clock.enter(Cause::kPort, clock_at(0), nanoseconds(1000));
  clock.enter(Cause::kWindow, clock_at(100), nanoseconds(1060));
  clock.stop(clock_at(200), nanoseconds(1160));
  const TimeByCause causes = clock.read(clock_at(200), nanoseconds(1160));
  EXPECT_EQ(causes[Cause::kPaused], nanoseconds(60));
  EXPECT_EQ(causes[Cause::kPort], nanoseconds(40));
  EXPECT_EQ(causes[Cause::kWindow], nanoseconds(100));
}

TEST(CauseClock, ATimeOutTellsWhatTheWaitWas) {
  CauseClock clock;
  clock.enter(Cause::kAcknowledgement, clock_at(0), Duration());
  clock.enter(Cause::kAcknowledgement, clock_at(30), Duration());  // progress
  clock.blame(Cause::kRecovering);
  clock.enter(Cause::kRecovering, clock_at(100), Duration());
  clock.transmit(nanoseconds(10), clock_at(100), true);
  clock.stop(clock_at(120), Duration());
  const TimeByCause causes = clock.read(clock_at(120), Duration());
  EXPECT_EQ(causes[Cause::kAcknowledgement], nanoseconds(30));
  EXPECT_EQ(causes[Cause::kRecovering], nanoseconds(90));
  EXPECT_EQ(causes[Cause::kTransmitting], Duration());
}

TEST(CauseClock, TheLastPacketsSentAgainAreRecoveryAsWell) {
  CauseClock clock;
  clock.enter(Cause::kRecovering, clock_at(0), Duration());
  clock.enter(Cause::kAcknowledgement, clock_at(20), Duration());  // none is left that has to be sent again
  clock.transmit(nanoseconds(10), clock_at(20), true);             // and this is on the line until 30 ns
  clock.enter(Cause::kPort, clock_at(50), Duration());
  clock.transmit(nanoseconds(10), clock_at(50), false);
  clock.stop(clock_at(60), Duration());
  const TimeByCause causes = clock.read(clock_at(60), Duration());
  EXPECT_EQ(causes[Cause::kRecovering], nanoseconds(30));
  EXPECT_EQ(causes[Cause::kAcknowledgement], nanoseconds(20));
  EXPECT_EQ(causes[Cause::kTransmitting], nanoseconds(10));
}

/// 1024 + 54 (headers) + 4 (ICRC) + 24 bytes at 100 Gb/s.
constexpr Duration kMiddle = Duration(88'480);

class RoceCauses : public ::testing::Test {
 protected:
  static RoceOptions options() {
    RoceOptions options;
    options.mtu = 1024;
    options.causes = CauseRecording::kOn;
    return options;
  }
  void start(const RoceOptions& options, const testing::Impairments& impairments = {}, uint32_t connections = 1) {
    pair_ = std::make_unique<RocePair>(options, impairments, connections);
    pair_->connect();
  }
  void run_to(Time time) {
    pair_->run_until(time);
    pair_->set_now(time);
  }
  void pause(uint16_t quanta) {
    Frame frame;
    ASSERT_EQ(pair_->port_b().allocate({&frame, 1}), 1u);
    write_pause(MacAddress(), priority_pause(priority_bit(3), quanta), frame);
    ASSERT_EQ(pair_->port_b().transmit(pair_->now(), {&frame, 1}), 1u);
  }
  TimeByCause causes(uint32_t connection = 0) const {
    const std::vector<FlowCounters> flows = pair_->a().flows();
    EXPECT_TRUE(flows[connection].causes.has_value());
    return flows[connection].causes.value_or(TimeByCause());
  }
  /// What the messages that ended at a say in sum; each has its share, and none is negative.
  TimeByCause shares(uint32_t connection = 0) const {
    TimeByCause sum;
    for (const EventKind kind : {EventKind::kSent, EventKind::kFailed})
      for (const Event& event : pair_->events(kind)) {
        if (event.connection != ConnectionId(connection)) continue;
        if (event.causes == nullptr) {
          ADD_FAILURE() << "message " << event.index << " has no share";
          continue;
        }
        EXPECT_GE(std::ranges::min(event.causes->spent), Duration());
        sum += *event.causes;
      }
    return sum;
  }
  /// From the first post to the last acknowledgement of a connection that was never idle in between.
  Duration busy(uint32_t connection = 0) const {
    Time posted = Time::never(), acked = Time::long_ago();
    for (const Event& event : pair_->events(EventKind::kSent)) {
      if (event.connection != ConnectionId(connection)) continue;
      posted = std::min(posted, event.sent.posted);
      acked = std::max(acked, event.sent.acked);
    }
    return acked - posted;
  }

  std::unique_ptr<RocePair> pair_;
};

TEST_F(RoceCauses, ALoneMessageIsTransmittedAndAcknowledged) {
  start(options());
  pair_->post(RocePair::message(0, 0, 64 << 10));
  pair_->run_until();
  // 64 packets, the first with RETH (16 bytes, 1.28 ns), the last with an immediate (4 bytes, 0.32 ns).
  EXPECT_EQ(causes()[Cause::kTransmitting], kMiddle * 64 + Duration(1'280 + 320));
  // From the end of the last packet: 500 ns there, the acknowledgement's 86 bytes (6.88 ns) and 500 ns back.
  EXPECT_EQ(causes()[Cause::kAcknowledgement], Duration(1'006'880));
  EXPECT_EQ(causes().total(), busy());
  EXPECT_EQ(causes().total(), causes()[Cause::kTransmitting] + causes()[Cause::kAcknowledgement]);
}

TEST_F(RoceCauses, IdleTimeIsNotCounted) {
  start(options());
  pair_->post(RocePair::message(0, 0, 1024));
  pair_->run_until();
  const Duration first = causes().total();
  EXPECT_EQ(first, busy());
  pair_->set_now(pair_->now() + milliseconds(1));
  pair_->post(RocePair::message(0, 1, 1024));
  pair_->run_until();
  EXPECT_EQ(causes().total(), first * 2);
  // Both were alone: their shares are alike.
  const std::vector<Event> sent = pair_->events(EventKind::kSent);
  ASSERT_EQ(sent.size(), 2u);
  for (const Event& event : sent) EXPECT_EQ(event.causes->total(), first);
  EXPECT_EQ(*sent[0].causes, *sent[1].causes);
}

// Posted together, so the second is on the line before the first is acknowledged: the first one's share ends with its
// acknowledgement, and the second one's lasts from there to its own.
TEST_F(RoceCauses, SharesOfMessagesInARowFollowEachOther) {
  start(options());
  for (uint32_t i = 0; i < 2; ++i) pair_->post(RocePair::message(0, i, 8 << 10));
  pair_->run_until();
  const std::vector<Event> sent = pair_->events(EventKind::kSent);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].causes->total(), sent[0].sent.acked - sent[0].sent.posted);
  EXPECT_EQ(sent[1].causes->total(), sent[1].sent.acked - sent[0].sent.acked);
  EXPECT_EQ(shares(), causes());
}

// Messages in parts on several queue pairs, by every verb, under loss: of a READ the source's words that data is ready.
TEST_F(RoceCauses, SharesOfSplitMessagesAddUp) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    RoceOptions split = options();
    split.verb = verb;
    split.queue_pairs = 3;
    split.profile.retry_count = 7;
    start(split, {.loss_ppm = 5'000});
    for (uint32_t i = 0; i < 20; ++i) pair_->post(RocePair::message(0, i, 50'000));
    pair_->run_until();
    ASSERT_EQ(pair_->events(EventKind::kSent).size(), 20u);
    TimeByCause all;
    const std::vector<FlowCounters> flows = pair_->a().flows();
    for (uint32_t member = 0; member < 3; ++member) all += flows[member].causes.value();
    EXPECT_GT(all.total(), Duration());
    EXPECT_EQ(shares(), all) << static_cast<int>(verb);
  }
}

TEST_F(RoceCauses, AConnectionThatFailsTellsItsTimeAsWell) {
  RoceOptions hasty = options();
  hasty.profile.retry_count = 2;
  start(hasty, {.loss_ppm = 1'000'000});
  for (uint32_t i = 0; i < 3; ++i) pair_->post(RocePair::message(0, i, 1024));
  pair_->run_until();
  ASSERT_EQ(pair_->events(EventKind::kFailed).size(), 3u);
  EXPECT_GT(causes()[Cause::kRecovering], Duration());
  EXPECT_EQ(shares(), causes());
}

TEST_F(RoceCauses, AClosedWindow) {
  RoceOptions narrow = options();
  narrow.profile.window = narrow.profile.ack_every = 4;
  start(narrow);
  pair_->post(RocePair::message(0, 0, 64 << 10));
  pair_->run_until();
  EXPECT_EQ(causes().total(), busy());
  EXPECT_EQ(causes()[Cause::kTransmitting], kMiddle * 64 + Duration(1'280 + 320));
  // 16 windows; behind each but the last the line is empty for a round trip.
  EXPECT_EQ(causes()[Cause::kWindow], Duration(1'006'880) * 15);
  EXPECT_EQ(causes()[Cause::kAcknowledgement], Duration(1'006'880));
}

TEST_F(RoceCauses, TwoShareAPort) {
  start(options(), {}, 2);
  for (uint32_t connection : {0u, 1u}) pair_->post(RocePair::message(connection, 0, 64 << 10));
  pair_->run_until();
  for (uint32_t connection : {0u, 1u}) {
    EXPECT_EQ(causes(connection).total(), busy(connection));
    EXPECT_EQ(causes(connection)[Cause::kTransmitting], kMiddle * 64 + Duration(1'280 + 320));
    // Each waits for turns of 16 packets of the other: three of them, or four.
    EXPECT_GE(causes(connection)[Cause::kPort], kMiddle * (3 * 16));
    EXPECT_LE(causes(connection)[Cause::kPort], kMiddle * (4 * 16) + nanoseconds(10));
  }
}

TEST_F(RoceCauses, APause) {
  start(options());
  pair_->post(RocePair::message(0, 0, 256 << 10));
  run_to(Time() + microseconds(5));
  pause(1000);
  pair_->run_until();
  EXPECT_EQ(causes().total(), busy());
  // 1000 quanta are 5.12 us, of which a frame that had begun may have used one line time.
  EXPECT_LE(causes()[Cause::kPaused], nanoseconds(5'120));
  EXPECT_GE(causes()[Cause::kPaused], nanoseconds(5'120) - kMiddle);
}

TEST_F(RoceCauses, ARateBelowTheLine) {
  RoceOptions slow = options();
  slow.congestion.algorithm = CongestionAlgorithm::kStatic;
  slow.congestion.rate = Bandwidth(10'000'000'000);
  start(slow);
  pair_->post(RocePair::message(0, 0, 64 << 10));
  pair_->run_until();
  EXPECT_EQ(causes().total(), busy());
  EXPECT_EQ(causes()[Cause::kTransmitting], kMiddle * 64 + Duration(1'280 + 320));
  // At a tenth of the line rate nine line times pass behind each packet but the last.
  EXPECT_EQ(causes()[Cause::kCongestionControl], (kMiddle * 63 + Duration(1'280)) * 9);
  EXPECT_EQ(causes()[Cause::kAcknowledgement], Duration(1'006'880));
}

// Held from outside it is as if others had the line. Each packet but the last puts the next off by ten line times, of
// which it has one; at half of the way the rest may go at line rate.
TEST_F(RoceCauses, AHoldFromOutside) {
  RoceOptions held = options();
  held.held = true;
  start(held);
  pair_->a().hold(ConnectionId(0), Bandwidth(10'000'000'000), pair_->now());
  pair_->post(RocePair::message(0, 0, 64 << 10));
  const Time half = pair_->now() + kMiddle * 10 * 32;
  run_to(half);
  pair_->a().hold(ConnectionId(0), Bandwidth(), half);
  pair_->run_until();
  EXPECT_EQ(causes().total(), busy());
  EXPECT_EQ(causes()[Cause::kTransmitting], kMiddle * 64 + Duration(1'280 + 320));
  EXPECT_EQ(causes()[Cause::kCongestionControl], Duration());
  // 32 packets and the first's RETH have been waited for, up to the look at half of the way.
  EXPECT_LE(causes()[Cause::kPort], (kMiddle * 33 + Duration(1'280)) * 9);
  EXPECT_GE(causes()[Cause::kPort], kMiddle * 31 * 9);
}

TEST_F(RoceCauses, ALossThatOnlyTheTimeOutRepairs) {
  start(options());
  pair_->port_b().lose(0);
  pair_->post(RocePair::message(0, 0, 1024));
  pair_->run_until();
  EXPECT_EQ(pair_->a().counters().timeouts, 1u);
  EXPECT_EQ(causes().total(), busy());
  const Duration timeout = first_timeout(reliable_options(options().profile, 1024));
  // The time-out counts from the packet, whose line time belongs to transmitting.
  EXPECT_LE(causes()[Cause::kRecovering], timeout);
  EXPECT_GE(causes()[Cause::kRecovering], timeout - kMiddle * 2);
}

TEST_F(RoceCauses, SumsUpUnderLossReorderingAndPauses) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RoceOptions patient = options();
    patient.profile.retry_count = 7;
    start(patient, {.loss_ppm = 5'000, .duplicate_ppm = 1'000, .reorder_ppm = 5'000, .seed = seed}, 3);
    for (uint32_t connection = 0; connection < 3; ++connection)
      for (uint32_t i = 0; i < 3; ++i) pair_->post(RocePair::message(connection, i, 300'000));
    for (int i = 1; i <= 5; ++i) {
      run_to(Time() + microseconds(15 * i));
      pause(static_cast<uint16_t>(500 * i));
    }
    pair_->run_until();
    Duration recovering;
    for (uint32_t connection = 0; connection < 3; ++connection) {
      ASSERT_EQ(causes(connection).total(), busy(connection)) << "seed " << seed;
      ASSERT_EQ(shares(connection), causes(connection)) << "seed " << seed;
      recovering += causes(connection)[Cause::kRecovering];
    }
    EXPECT_GT(recovering, Duration());
  }
}

TEST_F(RoceCauses, AReceiverThatIsNotReady) {
  RoceOptions unready = options();
  unready.receive_queue = 1;
  start(unready);
  // b's application takes no events meanwhile, so it posts no receive again.
  for (uint32_t i = 0; i < 2; ++i) pair_->post(RocePair::message(0, i, 1024));
  Event none;
  const auto step = [&](RoceTransport& transport) { transport.poll(pair_->now(), std::span(&none, 0)); };
  const Time end = Time() + microseconds(200);
  while (pair_->now() < end) {
    step(pair_->a());
    step(pair_->b());
    const Time next = std::min(pair_->a().next_event(), pair_->b().next_event());
    pair_->set_now(std::min(end, std::max(next, pair_->now() + nanoseconds(10))));
  }
  pair_->run_until();
  EXPECT_GT(pair_->a().counters().rnr_naks, 0u);
  EXPECT_EQ(causes().total(), busy());
  EXPECT_GT(causes()[Cause::kReceiverNotReady], Duration());
}

TEST_F(RoceCauses, NothingIsKeptUnlessAskedFor) {
  RoceOptions off = options();
  off.causes = CauseRecording::kOff;
  start(options());
  const size_t with = pair_->a().queue_pair_bytes();
  start(off);
  EXPECT_FALSE(pair_->a().flows()[0].causes.has_value());
  // Of the two connections one queue pair each is here.
  EXPECT_EQ(pair_->a().queue_pair_bytes() + 2 * (sizeof(CauseClock) + sizeof(TimeByCause)), with);
  pair_->post(RocePair::message(0, 0, 1024));
  pair_->run_until();
  ASSERT_EQ(pair_->events(EventKind::kSent).size(), 1u);
  EXPECT_EQ(pair_->events(EventKind::kSent)[0].causes, nullptr);
}

}  // namespace
}  // namespace rankwire
