// What a run that goes on says when somebody asks who waits for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Asks as soon as an operation has ended.
class AskingSink final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override { asked.store(1); }
  void messages(std::span<const MessageRecord>) noexcept override {}
  std::atomic<uint32_t> asked{0};
};

// Rank 0 computes for 1 us and then sends 1000 bytes at one byte a nanosecond; asked when it has computed, rank 1 waits
// for its message.
TEST(WaitInquiry, IsAnsweredOnceWhileTheRunGoesOn) {
  testing::WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 1000, {builder.compute(0, microseconds(1))});
  builder.receive(1, 0, 0, 1000);
  const Workload workload = builder.build();
  const Placement placement = place_ranks(2, {.hosts = 2, .ports = 2, .addresses = {.first = Ipv4Address{0xC6120001}}});
  const Plan plan = make_plan(workload, placement, {}, 1);
  AskingSink sink;
  Engine engine(workload, plan, {}, sink);
  const Bandwidth rate(8'000'000'000);
  NetworkModel model(star_network({.port_bandwidth = {rate, rate}, .local_bandwidth = rate}, plan.transport));
  model.connect(model.prepare(plan.transport));
  VirtualClock clock;
  std::vector<std::string> answers;
  Time when;
  const WaitInquiry inquiry{sink.asked, [&](uint32_t worker, Time now, std::span<const std::string> waiting) {
                              EXPECT_EQ(worker, 0u);
                              when = now;
                              answers.insert(answers.end(), waiting.begin(), waiting.end());
                            }};
  const std::atomic<bool> go_on{false};
  const RunResult result = run(engine, model, {}, clock, {.inquiry = &inquiry}, go_on);
  EXPECT_EQ(result.verdict, Verdict::kOk);
  EXPECT_THAT(answers, ElementsAre(HasSubstr("rank 0"), HasSubstr("rank 1")));
  EXPECT_EQ(when, Time(microseconds(2).ps)) << "the turn behind that in which rank 0 has computed: the message arrives";
}

}  // namespace
}  // namespace rankwire
