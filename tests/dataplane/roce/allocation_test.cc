// The hot path takes no memory.
#include <gtest/gtest.h>

#include "tests/counting_new.h"
#include "tests/dataplane/roce/pair.h"
#include "tests/dataplane/verbs/bench.h"

namespace rankwire {
namespace {

using testing::ImpairedPort;
using testing::pair_plan;
using testing::RocePair;

TEST(Allocation, CounterCounts) {
  const uint64_t before = testing::allocations;
  delete new volatile int(1);
  EXPECT_EQ(testing::allocations, before + 1);
}

/// Data on connection 0, clear-to-send on its reverse, both ends on one transport, as in a run on one host.
struct LoopRun {
  explicit LoopRun(const RoceOptions& options, const testing::Impairments& impairments)
      : near(*links.first, impairments),
        far(*links.second, impairments),
        transport(options, {{PortId(0), &near, impairments.rate}, {PortId(1), &far, impairments.rate}}) {
    near.reserve(1024);
    far.reserve(1024);
    plan.connections[1].reverse_of = ConnectionId(0);
    plan.connections[1].control = true;
    plan.connections[1].largest_message = Bytes(64);
    EXPECT_TRUE(transport.connect(transport.prepare(plan)).empty());
  }
  ~LoopRun() { transport.close(); }

  /// Until `messages` of each connection have been sent and received, or for a second.
  void run(uint32_t messages) {
    std::array<Event, 64> events;
    uint32_t posted = 0;
    for (Time now; reported < 4 * messages && now < Time() + seconds(1);) {
      if (posted < messages && posted - reported / 4 < kPosted) {
        const Message both[] = {RocePair::message(0, posted, 30'000 - posted), RocePair::message(1, posted, 64)};
        ASSERT_EQ(transport.post(now, both), 2u);
        ++posted;
      }
      reported += static_cast<uint32_t>(transport.poll(now, events));
      now = std::max(now, std::min(transport.next_event(), now + microseconds(1)));
    }
  }

  FramePool pool{4096};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links = make_memory_link(pool, 1024, "link");
  ImpairedPort near, far;
  static constexpr uint32_t kPosted = 100;  // of each connection at a time
  uint32_t reported = 0;                    // events
  TransportPlan plan = pair_plan();
  RoceTransport transport;
};

TEST(Allocation, NoneBetweenConnectAndClose) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const uint32_t queue_pairs : {1, 4}) {
      for (const PayloadMode payload : {PayloadMode::kChecking, PayloadMode::kPattern}) {
        for (const uint32_t loss : {0, 5'000}) {
          SCOPED_TRACE(::testing::Message()
                       << "verb " << static_cast<int>(verb) << ", " << queue_pairs << " queue pairs, loss " << loss);
          RoceOptions options;
          options.mtu = 1024;
          options.verb = verb;
          options.queue_pairs = queue_pairs;
          options.payload = payload;
          options.profile.timeout_exponent = 4;
          options.receive_queue = 8;
          options.profile.not_ready_code = 1;
          options.neighbours = NeighbourMode::kResolve;
          testing::Impairments lossy;
          lossy.loss_ppm = loss;
          LoopRun loop(options, lossy);
          constexpr uint32_t kMessages = 300;
          const uint64_t before = testing::allocations;
          loop.run(kMessages);
          EXPECT_EQ(testing::allocations, before);
          EXPECT_EQ(loop.reported, 4 * kMessages);
          const TransportCounters counters = loop.transport.counters();
          EXPECT_EQ(counters.messages_delivered, 2 * kMessages);
          EXPECT_EQ(counters.payload_errors, 0u);
          EXPECT_EQ(counters.payload_copies > 0, payload == PayloadMode::kChecking);
          // Both ends are here, so one-way latencies can be told: never shorter than the line's.
          EXPECT_GT(loop.transport.latencies()[1].histogram->count() + loop.transport.latencies()[3].histogram->count(),
                    0u);
        }
      }
    }
  }
}

TEST(Allocation, NoneUnderCongestionControl) {
  for (const CongestionAlgorithm algorithm : {CongestionAlgorithm::kStatic, CongestionAlgorithm::kDcqcn,
                                              CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift}) {
    SCOPED_TRACE(::testing::Message() << "algorithm " << static_cast<int>(algorithm));
    RoceOptions options;
    options.mtu = 1024;
    options.profile.timeout_exponent = 4;
    options.congestion.algorithm = algorithm;
    options.congestion.rate = Bandwidth(10'000'000'000);
    options.congestion.dcqcn.min_rate = Bandwidth(1'000'000'000);
    options.congestion.swift.base_target = microseconds(2);
    options.congestion.notifies = true;
    LoopRun loop(options, {.loss_ppm = 5'000, .mark_ppm = 20'000});
    constexpr uint32_t kMessages = 300;
    const uint64_t before = testing::allocations;
    loop.run(kMessages);
    EXPECT_EQ(testing::allocations, before);
    EXPECT_EQ(loop.reported, 4 * kMessages);
    EXPECT_GT(loop.transport.counters().cnp_rx, 0u);
  }
}

// Through RDMA devices, those that fail included.
TEST(Allocation, NoneOfTheVerbsTransportBetweenConnectAndClose) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const PayloadMode payload : {PayloadMode::kChecking, PayloadMode::kPattern}) {
      SCOPED_TRACE(::testing::Message() << "verb " << static_cast<int>(verb));
      VerbsOptions options;
      options.verb = verb;
      options.queue_pairs = 3;
      options.payload = payload;
      if (verb != DataVerb::kSendImm) options.max_message = 1024;
      TransportPlan plan = testing::verbs_plan(2, {0, 100, 5000});
      testing::add_clear_to_send(plan, 3, 64);
      testing::VerbsBench bench(options, plan);
      ASSERT_TRUE(bench.connect().empty());
      bench.fabric.recording = false;
      bench.events.reserve(10'000);
      const uint64_t before = testing::allocations;
      for (uint32_t i = 0; i < 300; ++i) {
        for (uint32_t connection = 0; connection < 4; ++connection) bench.post(connection, i);
        if (i == 200) bench.queue_pair(2, 1, true).next_status = WorkStatus::kRetryExceeded;
        if (i % 3 == 2) bench.run();
      }
      EXPECT_EQ(testing::allocations, before);
      EXPECT_EQ(bench.events_of(EventKind::kReceived, 0).size(), 300u);
      EXPECT_EQ(bench.events_of(EventKind::kReceived, 1).size(), 300u);
      EXPECT_GE(bench.events_of(EventKind::kFailed, 2).size(), 98u);
    }
  }
}

}  // namespace
}  // namespace rankwire
