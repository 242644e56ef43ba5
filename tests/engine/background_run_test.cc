// A loop with a background beside the engine, over the reference model in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/engine/background_traffic.h"
#include "emulator/engine/live_feed.h"
#include "emulator/engine/live_observer.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kRate;
using testing::NoRows;
using ::testing::Not;
using testing::WorkloadBuilder;

/// Two ranks behind a port each, and a closed loop of one message of 1000 bytes from the first port to the second.
class BesideBackground {
 public:
  explicit BesideBackground(Workload workload, Time stop = Time::never()) : workload_(std::move(workload)) {
    PlacementOptions options{.hosts = 2, .ports = 2, .addresses = {.first = Ipv4Address{0xC6120001}}};
    options.guests = {{.host = 0, .npu = 0, .nic = 0, .port = PortId(0)},
                      {.host = 1, .npu = 0, .nic = 0, .port = PortId(1)}};
    const Placement placement = place_ranks(2, options);
    EXPECT_EQ(placement.nics.size(), 2u);  // guests share those of the ranks
    plan_ = make_plan(workload_, placement, {.chunk = Bytes(std::numeric_limits<int32_t>::max())}, 1);
    const BackgroundEntry entry{.name = "rival",
                                .job = {},
                                .sizes = SizeDistribution(Bytes(1'000)),
                                .arrivals = BackgroundArrivals::kClosed,
                                .limit = 1,
                                .stop = stop};
    background_ = add_background(plan_, placement, {{.entry = entry, .pairs = {{0, 1}}}}, {"a", "b"}, 1, 0);
  }

  RunResult run(const RunOptions& options = {}, LiveFeed* live = nullptr) {
    NoRows rows;
    Engine engine(workload_, plan_, {}, rows);
    BackgroundTraffic traffic(background_, plan_, Shard());
    NetworkModel model(
        star_network({.port_bandwidth = std::vector<Bandwidth>(2, kRate), .local_bandwidth = kRate}, plan_.transport));
    model.connect(model.prepare(plan_.transport));
    VirtualClock clock;
    const std::atomic<bool> go_on{false};
    const std::vector<LiveObserver::Route> routes(plan_.transport.connections.size());
    std::optional<LiveObserver> observer;
    if (live != nullptr) observer.emplace(*live, 0, engine, model, routes, &traffic);
    Crew crew(
        {{.engine = &engine, .transport = &model, .background = &traffic, .live = observer ? &*observer : nullptr}});
    const RunResult result =
        crew.run([&](ConnectionId connection) { return model.describe(connection); }, clock, options, go_on);
    delivered_ = traffic.counters()[0].delivered;
    return result;
  }
  /// Messages of the background.
  uint64_t delivered() const { return delivered_; }

 private:
  const Workload workload_;
  Plan plan_;
  BackgroundPlan background_;
  uint64_t delivered_ = 0;
};

TEST(BackgroundRun, EndsWithTheJobsAndSharesTheirLines) {
  // 10,000 bytes at half a byte a nanosecond; as many of the background in that time, the last not yet delivered, or
  // just.
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 10'000);
  builder.receive(1, 0, 0, 10'000);
  BesideBackground run(builder.build());
  const RunResult result = run.run();
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_EQ(result.total, microseconds(20));
  EXPECT_GE(run.delivered(), 9u);
  EXPECT_LE(run.delivered(), 10u);
}

TEST(BackgroundRun, TheLinesAreTheJobsAgainWhenItStops) {
  // Until 4 us both send 2000 bytes each, and what is under way then ends; the 8000 bytes left take 8 us.
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 10'000);
  builder.receive(1, 0, 0, 10'000);
  BesideBackground run(builder.build(), Time() + microseconds(4));
  const RunResult result = run.run();
  EXPECT_EQ(result.total, microseconds(12));
  EXPECT_EQ(run.delivered(), 2u);
}

// As above: of 12 us 4 for two messages of the background, none of which is counted by packets.
TEST(BackgroundRun, WhoLooksOnSeesItsMessages) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 10'000);
  builder.receive(1, 0, 0, 10'000);
  BesideBackground run(builder.build(), Time() + microseconds(4));
  LiveFeed feed("emulated", {"p0", "p1"}, {{"train", 1}}, 2, 1, {}, {}, {{"rival", false}});
  run.run({}, &feed);
  const LiveBackground seen = feed.read().background.at(0);
  EXPECT_EQ(seen.posted, 2u);
  EXPECT_EQ(seen.delivered, 2u);
  EXPECT_EQ(seen.failed, 0u);
  EXPECT_EQ(seen.bytes_posted, 2'000u);
  EXPECT_EQ(seen.bytes_delivered, 2'000u);
  EXPECT_EQ(seen.packets_sent, 0u);
}

TEST(BackgroundRun, RanksThatWaitForEachOtherAreFoundAlthoughItGoesOn) {
  WorkloadBuilder builder(2);
  for (const uint32_t rank : {0u, 1u}) {
    const uint32_t received = builder.receive(rank, 1 - rank, 0, 1'000);
    builder.send(rank, 1 - rank, 0, 1'000, {received});
  }
  BesideBackground run(builder.build());
  const RunResult result = run.run({.deadline = seconds(1)});
  EXPECT_EQ(result.verdict, Verdict::kStalled);
  EXPECT_THAT(result.reason, HasSubstr("nothing is left to happen"));
  EXPECT_THAT(result.waiting, Not(IsEmpty()));
  // At once, not at the deadline.
  EXPECT_LT(result.total, microseconds(10));
}

TEST(BackgroundRun, AJobThatComputesIsNotTakenForOneThatWaits) {
  WorkloadBuilder builder(2);
  builder.compute(0, milliseconds(1));
  BesideBackground run(builder.build());
  const RunResult result = run.run();
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_EQ(result.total, milliseconds(1));
  // 1 ms at a byte a nanosecond, less one message.
  EXPECT_GE(run.delivered(), 999u);
}

// What arrives may be the background's, so it counts for six timeouts of 100 us. At half a byte a nanosecond 200,000
// bytes take 400 us, and 1,000,000 would take 2 ms.
TEST(BackgroundRun, WhatArrivesIsProgressOfALongMessageForSixTimeouts) {
  const auto result_of = [](int64_t bytes) {
    WorkloadBuilder builder(2);
    builder.send(0, 1, 0, bytes);
    builder.receive(1, 0, 0, bytes);
    return BesideBackground(builder.build()).run({.deadline = seconds(1), .stall_timeout = microseconds(100)});
  };
  EXPECT_EQ(result_of(200'000).verdict, Verdict::kOk);
  const RunResult result = result_of(1'000'000);
  EXPECT_EQ(result.verdict, Verdict::kStalled) << result.reason;
  EXPECT_GE(result.total, microseconds(600));
  EXPECT_LE(result.total, microseconds(800));
}

}  // namespace
}  // namespace rankwire
