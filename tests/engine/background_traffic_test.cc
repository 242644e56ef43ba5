#include "emulator/engine/background_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "tests/counting_new.h"
#include "tests/engine/bench.h"

namespace rankwire {
namespace {

using testing::at_us;
using ::testing::ElementsAre;

/// 1000 bytes at 8 Gbit/s: a message a microsecond.
BackgroundEntry a_message_a_microsecond() {
  return {.name = "even",
          .job = {},
          .sizes = SizeDistribution(Bytes(1'000)),
          .arrivals = BackgroundArrivals::kEven,
          .rate = Bandwidth(8'000'000'000),
          .limit = 1'000};
}

BackgroundEntry a_closed_loop(uint32_t outstanding) {
  return {.name = "closed",
          .job = {},
          .sizes = SizeDistribution(Bytes(1'000)),
          .arrivals = BackgroundArrivals::kClosed,
          .limit = outstanding};
}

/// Flows from end 0 to 1, and from 1 to 0 where there are two, without ranks.
class Traffic {
 public:
  explicit Traffic(const BackgroundEntry& entry, uint32_t flows = 1, BackgroundKeys keys = BackgroundKeys::kIgnored,
                   const Shard& shard = Shard(), uint32_t connections_of_jobs = 0) {
    for (uint32_t c = 0; c < connections_of_jobs; ++c) plan_.transport.connections.push_back({.id = ConnectionId(c)});
    index_plan(plan_);
    Placement placement;
    for (uint32_t end = 0; end < 2; ++end) {
      placement.ranks.push_back({.host = end, .npu = 0, .nic = 0, .port = PortId(end)});
      placement.nic.push_back(NicId(end));
    }
    BackgroundTold told{.entry = entry, .pairs = {{0, 1}}};
    if (flows > 1) told.pairs.emplace_back(1, 0);
    background_ = add_background(plan_, placement, {told}, {"a", "b"}, 1, 5);
    traffic_.emplace(background_, plan_, shard, keys);
  }

  BackgroundTraffic& operator*() { return *traffic_; }
  BackgroundTraffic* operator->() { return &*traffic_; }
  const Plan& plan() const { return plan_; }

  /// The times of the first messages of flow 0, as far as the loop would come in so many steps.
  std::vector<int64_t> due_times(size_t steps) {
    std::vector<int64_t> times;
    for (size_t i = 0; i < steps && traffic_->next_event() != Time::never(); ++i) {
      const Time now = traffic_->next_event();
      traffic_->advance(now);
      times.push_back(now.ps / 1'000'000);
      traffic_->posted(traffic_->outgoing().size());
    }
    return times;
  }
  static Event sent(const Message& message, Time posted, Time acked) {
    Event event;
    event.connection = message.connection;
    event.index = message.index;
    event.bytes = message.bytes;
    event.sent = {posted, posted, posted, acked};
    return event;
  }
  static Event received(const Message& message, Time delivered, uint64_t key) {
    Event event = sent(message, delivered, delivered);
    event.kind = EventKind::kReceived;
    event.at_source = false;
    event.received = {delivered, delivered, key, 0};
    return event;
  }

 private:
  Plan plan_;
  BackgroundPlan background_;
  std::optional<BackgroundTraffic> traffic_;
};

TEST(BackgroundTraffic, AnEvenOpenLoopSendsWhatItsRateSays) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.start = at_us(5), entry.stop = at_us(8);
  Traffic traffic(entry);
  EXPECT_EQ(traffic->next_event(), at_us(5));
  EXPECT_THAT(traffic.due_times(10), ElementsAre(5, 6, 7));
  EXPECT_EQ(traffic->counters()[0].offered, 3u);
  EXPECT_EQ(traffic->counters()[0].posted, 3u);
  EXPECT_EQ(traffic->counters()[0].bytes_posted, 3'000u);
}

TEST(BackgroundTraffic, ALateLoopPostsAllThatIsDue) {
  Traffic traffic(a_message_a_microsecond(), 2);
  traffic->advance(at_us(2));
  // At 0, 1 and 2 us, of the first flow and of the second.
  std::vector<std::pair<uint32_t, uint32_t>> posted;
  for (const Message& message : traffic->outgoing()) posted.emplace_back(message.connection.value, message.index);
  using ::testing::Pair;
  EXPECT_THAT(posted, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1), Pair(0, 2), Pair(1, 2)));
  // What the transport does not take waits in its order.
  traffic->posted(4);
  ASSERT_EQ(traffic->outgoing().size(), 2u);
  EXPECT_EQ(traffic->outgoing()[0].connection, ConnectionId(0));
  EXPECT_EQ(traffic->outgoing()[0].index, 2u);
}

TEST(BackgroundTraffic, BurstsBeginWithTheStart) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.start = at_us(3);
  entry.on = microseconds(2), entry.off = microseconds(8);
  Traffic traffic(entry);
  // On from 3 to 5, 13 to 15, 23 to 25 us.
  EXPECT_THAT(traffic.due_times(5), ElementsAre(3, 4, 13, 14, 23));
}

TEST(BackgroundTraffic, WhatIsPostponedGoesOnWhereItWas) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.stop = at_us(10);
  Traffic even(entry);
  EXPECT_THAT(even.due_times(2), ElementsAre(0, 1));
  even->postpone(microseconds(5));
  // Those that were due at 2, 3 and 4 us; the next one is due when the entry stops.
  EXPECT_THAT(even.due_times(10), ElementsAre(7, 8, 9));
  EXPECT_EQ(even->counters()[0].posted, 5u);

  Traffic late(entry);
  late->postpone(microseconds(10));
  late->advance(at_us(11));
  EXPECT_EQ(late->counters()[0].offered, 0u);

  entry.stop = Time::never();
  entry.on = microseconds(2), entry.off = microseconds(8);
  Traffic bursts(entry);
  EXPECT_THAT(bursts.due_times(1), ElementsAre(0));
  bursts->postpone(microseconds(3));
  // The second of the first burst, at 1 us otherwise, and the burst from 10 us on.
  EXPECT_THAT(bursts.due_times(3), ElementsAre(4, 13, 14));
}

TEST(BackgroundTraffic, WhatIsDueBeyondTheBacklogIsOfferedAlone) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.limit = 2;
  Traffic traffic(entry);
  traffic->advance(at_us(4));
  const std::vector<Message> posted(traffic->outgoing().begin(), traffic->outgoing().end());
  ASSERT_EQ(posted.size(), 2u);
  EXPECT_EQ(traffic->counters()[0].offered, 5u);
  EXPECT_EQ(traffic->counters()[0].bytes_offered, 5'000u);
  EXPECT_EQ(traffic->counters()[0].posted, 2u);
  traffic->posted(2);
  Event event = Traffic::sent(posted[0], at_us(0), at_us(4));
  EXPECT_EQ(traffic->take(at_us(4), {&event, 1}), 0u);
  traffic->advance(at_us(5));
  ASSERT_EQ(traffic->outgoing().size(), 1u);
  EXPECT_EQ(traffic->outgoing()[0].index, 2u);
  EXPECT_EQ(traffic->counters()[0].completion.max(), microseconds(4));
}

// Nothing is acknowledged, so that all but the first two are offered alone: 8 Gbit/s are 100 MB in 100 ms, and some
// 20,000 messages of their mean of 5 kB, a tenth of them about ten times as large.
TEST(BackgroundTraffic, WhatIsOfferedAloneHasTheSizesOfTheDistribution) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.sizes = SizeDistribution({{Bytes(100), 900'000'000}, {Bytes(100'000), SizeDistribution::kWhole}});
  entry.limit = 2;
  for (const BackgroundArrivals arrivals : {BackgroundArrivals::kEven, BackgroundArrivals::kPoisson}) {
    entry.arrivals = arrivals;
    Traffic traffic(entry);
    while (traffic->next_event() <= at_us(100'000)) traffic->advance(traffic->next_event());
    const BackgroundCounters& counters = traffic->counters()[0];
    EXPECT_EQ(counters.posted, 2u);
    EXPECT_NEAR(static_cast<double>(counters.bytes_offered), 1e8, 1e7);
    EXPECT_NEAR(static_cast<double>(counters.offered), 1e8 / static_cast<double>(entry.sizes.mean().count), 2'000);
  }
}

TEST(BackgroundTraffic, AClosedLoopPostsWhenAMessageIsAcknowledged) {
  Traffic traffic(a_closed_loop(2));
  traffic->advance(at_us(0));
  const std::vector<Message> posted(traffic->outgoing().begin(), traffic->outgoing().end());
  ASSERT_EQ(posted.size(), 2u);
  traffic->posted(2);
  EXPECT_EQ(traffic->next_event(), Time::never());
  Event event = Traffic::sent(posted[0], at_us(0), at_us(3));
  EXPECT_EQ(traffic->take(at_us(3), {&event, 1}), 0u);
  ASSERT_EQ(traffic->outgoing().size(), 1u);
  EXPECT_EQ(traffic->outgoing()[0].index, 2u);
  EXPECT_EQ(traffic->counters()[0].acknowledged, 1u);
}

TEST(BackgroundTraffic, EventsOfOthersStayInTheirOrder) {
  Traffic traffic(a_closed_loop(1), 1, BackgroundKeys::kIgnored, Shard(), 3);
  traffic->advance(at_us(0));
  ASSERT_EQ(traffic->outgoing()[0].connection, ConnectionId(3));
  std::vector<Event> events(3);
  events[0].connection = ConnectionId(2), events[2].connection = ConnectionId(0);
  events[1] = Traffic::sent(traffic->outgoing()[0], at_us(0), at_us(3));
  traffic->posted(1);
  ASSERT_EQ(traffic->take(at_us(3), events), 2u);
  EXPECT_EQ(events[0].connection, ConnectionId(2));
  EXPECT_EQ(events[1].connection, ConnectionId(0));
}

TEST(BackgroundTraffic, AClosedLoopWaitsForTheNextBurst) {
  BackgroundEntry entry = a_closed_loop(1);
  entry.on = microseconds(2), entry.off = microseconds(8);
  entry.stop = at_us(25);
  Traffic traffic(entry);
  traffic->advance(at_us(0));
  for (const int64_t acked : {1, 4, 13, 24}) {
    ASSERT_EQ(traffic->outgoing().size(), 1u);
    Event event = Traffic::sent(traffic->outgoing()[0], at_us(0), at_us(acked));
    traffic->posted(1);
    traffic->take(at_us(acked), {&event, 1});
    // At 1 us it is on; at 4 us off until 10 us; at 13 us off until 20 us; at 24 us until 30 us, when it has stopped.
    const int64_t next = acked == 4 ? 10 : acked == 13 ? 20 : 0;
    EXPECT_EQ(traffic->next_event(), next > 0 ? at_us(next) : Time::never());
    traffic->advance(at_us(next));
  }
  EXPECT_TRUE(traffic->outgoing().empty());
  EXPECT_EQ(traffic->counters()[0].posted, 4u);
}

TEST(BackgroundTraffic, AFlowThatFailedStopsAndOthersGoOn) {
  Traffic traffic(a_message_a_microsecond(), 2);
  traffic->advance(at_us(0));
  Event failed = Traffic::sent(traffic->outgoing()[0], at_us(0), Time::never());
  failed.kind = EventKind::kFailed;
  traffic->posted(2);
  traffic->take(at_us(0), {&failed, 1});
  traffic->advance(at_us(3));
  ASSERT_EQ(traffic->outgoing().size(), 3u);
  for (const Message& message : traffic->outgoing()) EXPECT_EQ(message.connection, ConnectionId(1));
  EXPECT_EQ(traffic->counters()[0].failed, 1u);
  EXPECT_EQ(traffic->counters()[0].failed_flows, 1u);
}

TEST(BackgroundTraffic, PoissonGapsHaveTheMeanOfTheRate) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.arrivals = BackgroundArrivals::kPoisson;
  entry.limit = 1;
  Traffic traffic(entry);
  // In 20,000 us as many messages, with a deviation of the root of that, 141; five of those.
  const auto run = [](Traffic& one) {
    for (int64_t us = 0; us <= 20'000; us += 50) one->advance(at_us(us));
  };
  run(traffic);
  EXPECT_NEAR(static_cast<double>(traffic->counters()[0].offered), 20'000, 707);
  Traffic again(entry);
  run(again);
  EXPECT_EQ(again->counters()[0].offered, traffic->counters()[0].offered);
}

TEST(BackgroundTraffic, TheDestinationKnowsSizesAndPayload) {
  BackgroundEntry entry = a_message_a_microsecond();
  entry.sizes = SizeDistribution({{Bytes(100), 0}, {Bytes(5'000), SizeDistribution::kWhole}});
  Traffic traffic(entry, 1, BackgroundKeys::kCompared);
  std::set<int64_t> sizes;
  for (int64_t us = 0; us < 200; us += 10) {
    traffic->advance(at_us(us));
    for (const Message& message : traffic->outgoing()) {
      sizes.insert(message.bytes.count);
      // Every tenth one carries the payload of another.
      const uint64_t key = payload_key(message.id) ^ (message.index % 10 == 9);
      Event events[] = {Traffic::received(message, at_us(us), key), Traffic::sent(message, at_us(us), at_us(us))};
      EXPECT_EQ(traffic->take(at_us(us), events), 0u);
    }
    traffic->posted(traffic->outgoing().size());
  }
  const BackgroundCounters& counters = traffic->counters()[0];
  EXPECT_GT(counters.posted, 20u);
  EXPECT_GT(sizes.size(), 10u);
  EXPECT_EQ(counters.delivered, counters.posted);
  EXPECT_EQ(counters.bytes_delivered, counters.bytes_posted);
  EXPECT_EQ(counters.payload_errors, counters.posted / 10);
  EXPECT_EQ(counters.last_delivery, at_us(190));
}

TEST(BackgroundTraffic, AWorkerHasTheFlowsOfItsSources) {
  std::vector<SharedIterations> iterations;
  iterations.emplace_back(2);
  Traffic traffic(a_message_a_microsecond(), 2, BackgroundKeys::kIgnored, Shard({false, true}, 1, iterations));
  traffic->advance(at_us(0));
  ASSERT_EQ(traffic->outgoing().size(), 1u);
  EXPECT_EQ(traffic->outgoing()[0].connection, ConnectionId(1));
  // What arrives here comes from a source of the other worker, which alone hears of its end.
  Message other = traffic->outgoing()[0];
  other.connection = ConnectionId(0);
  Event event = Traffic::received(other, at_us(1), 0);
  traffic->take(at_us(1), {&event, 1});
  EXPECT_EQ(traffic->counters()[0].delivered, 1u);
  EXPECT_EQ(traffic->counters()[0].acknowledged, 0u);
}

TEST(BackgroundTraffic, TakesNoMemory) {
  Traffic traffic(a_closed_loop(8), 2);
  const uint64_t before = testing::allocations;
  for (int64_t us = 0; us < 100; ++us) {
    traffic->advance(at_us(us));
    // Half of them are taken at a time, and acknowledged, which posts as many.
    for (int i = 0; i < 8; ++i) {
      Event event = Traffic::sent(traffic->outgoing().front(), at_us(us), at_us(us));
      traffic->posted(1);
      traffic->take(at_us(us), {&event, 1});
    }
  }
  EXPECT_EQ(testing::allocations, before);
  EXPECT_GT(traffic->counters()[0].posted, 500u);
}

TEST(BackgroundPlan, ConnectionsStandBehindThoseOfTheJobs) {
  Traffic traffic(a_closed_loop(3), 2);
  const TransportPlan& plan = traffic.plan().transport;
  ASSERT_EQ(plan.connections.size(), 2u);
  EXPECT_EQ(plan.ranks, 2u);
  EXPECT_EQ(plan.messages_in_flight, 6u);
  EXPECT_EQ(plan.connections[1].job, JobId(1));
  EXPECT_EQ(plan.connections[1].source, RankId(1));
  EXPECT_EQ(plan.connections[1].destination_nic, NicId(0));
  EXPECT_EQ(plan.connections[1].largest_message, Bytes(1'000));
  EXPECT_EQ(plan.connections[1].messages_per_iteration, 0u);
  EXPECT_EQ(traffic.plan().messages_per_iteration, 0u);
  EXPECT_FALSE(BackgroundPlan().has(ConnectionId(0)));
}

TEST(BackgroundPlan, MoreEntriesThanJobsCanBeNamedAreAnError) {
  Plan plan;
  index_plan(plan);
  const std::vector<BackgroundTold> told(MessageId::kMaxJobs, {.entry = a_closed_loop(1), .pairs = {}});
  EXPECT_THROW(add_background(plan, {}, told, {}, 1, 0), Error);
}

// At 999 us 1000 messages are due, the first since 999 us. A loop in real time is not to stand still for all of them.
TEST(BackgroundTraffic, MakesSoManyMessagesAtOnceAndTheRestTheNextTimes) {
  Traffic traffic(a_message_a_microsecond());
  for (const size_t made : {256u, 512u, 768u, 1000u, 1000u}) {
    traffic->advance(at_us(999));
    EXPECT_EQ(traffic->outgoing().size(), made);
  }
  EXPECT_EQ(traffic->counters()[0].behind, microseconds(999));
  EXPECT_EQ(traffic->next_event(), at_us(1000));
}

}  // namespace
}  // namespace rankwire
