#include "emulator/engine/live_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/engine/run.h"
#include "tests/engine/bench.h"

namespace rankwire {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Asks as soon as the first operation has ended.
class CuriousSink final : public RecordSink {
 public:
  explicit CuriousSink(LiveFeed& feed) : feed_(feed) {}
  void operations(std::span<const OperationRecord>) noexcept override {
    if (feed_.waits.asked() == 0) feed_.waits.ask();
  }
  void messages(std::span<const MessageRecord>) noexcept override {}

 private:
  LiveFeed& feed_;
};

/// Rank 0 computes for a second, and again, and then sends 1000 bytes to rank 1.
class LiveObserverTest : public ::testing::Test {
 protected:
  static Workload workload() {
    testing::WorkloadBuilder builder(2);
    builder.send(0, 1, 0, 1000, {builder.compute(0, seconds(1), {builder.compute(0, seconds(1))})});
    builder.receive(1, 0, 0, 1000);
    return builder.build();
  }

  RunResult run(std::vector<LiveObserver::Route> routes) {
    NetworkModel model(bench_.network());
    model.connect(model.prepare(bench_.plan.transport));
    Engine engine(bench_.workload, bench_.plan, {}, sink_);
    LiveObserver observer(feed_, 0, engine, model, routes);
    Crew crew({{.engine = &engine, .transport = &model, .live = &observer}});
    VirtualClock clock;
    return crew.run([](ConnectionId) { return ""; }, clock, {}, testing::kGoOn);
  }

  testing::Bench bench_{workload()};
  LiveFeed feed_{"emulated", {"p0", "p1"}, {{"train", 1}}, 4, 1, std::vector<LiveFeed::Rank>(2)};
  CuriousSink sink_{feed_};
};

TEST_F(LiveObserverTest, PublishesWhatTheRunCameTo) {
  ASSERT_EQ(run({{.job = JobId(0), .source = {}, .destination = {}}}).verdict, Verdict::kOk);
  const LiveFigures figures = feed_.read();
  EXPECT_EQ(figures.now, Time() + seconds(2) + microseconds(1)) << "1000 bytes at one a nanosecond";
  EXPECT_EQ(figures[LiveCount::kOperations], 4u) << "two computations, SEND and RECV";
  EXPECT_EQ(figures[LiveCount::kInFlight], 0u);
  EXPECT_EQ(figures[LiveCount::kMessages], 1u);
  EXPECT_EQ(figures.jobs[0].bytes, 1000u);
  EXPECT_EQ(figures.jobs[0].iterations, 1u);
  EXPECT_EQ(figures.ports[0].tx_bytes, 0u) << "which their transport tallies";
}

TEST_F(LiveObserverTest, PublishesHowFarEachRankCame) {
  ASSERT_EQ(run({{.job = JobId(0), .source = {}, .destination = {}}}).verdict, Verdict::kOk);
  const LiveFigures figures = feed_.read();
  EXPECT_EQ(figures.ranks[0].ended, 3u) << "two computations and SEND";
  EXPECT_EQ(figures.ranks[0].last_end, Time() + seconds(2) + microseconds(1));
  EXPECT_EQ(figures.ranks[0].last, 2u) << "SEND is the third node";
  EXPECT_EQ(figures.ranks[1].ended, 1u);
}

// Whole messages stand for frames that only a device has counted.
TEST_F(LiveObserverTest, CountsWholeMessagesOfPortsWithoutATally) {
  run({{.job = {}, .source = PortId(0), .destination = PortId(1)}});
  const LiveFigures figures = feed_.read();
  EXPECT_EQ(figures.jobs[0].bytes, 0u) << "of no job";
  EXPECT_EQ(figures.ports[0].tx_bytes, 1000u);
  EXPECT_EQ(figures.ports[0].rx_bytes, 0u);
  EXPECT_EQ(figures.ports[1].rx_bytes, 1000u);
  EXPECT_EQ(figures.ports[1].tx_bytes, 0u);
}

// It is asked at the end of the first computation and answers in the turn at the end of the second, before that: then
// rank 1 waits for the message of rank 0.
TEST_F(LiveObserverTest, TellsWhoWaitsForWhomWhenAsked) {
  EXPECT_THAT(feed_.waits.lines(), IsEmpty());
  run({{.job = JobId(0), .source = {}, .destination = {}}});
  EXPECT_THAT(feed_.waits.lines(), Contains(HasSubstr("rank 1")));
}

}  // namespace
}  // namespace rankwire
