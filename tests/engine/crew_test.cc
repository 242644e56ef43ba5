// Runs of several workers, in threads, in real time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/engine/run.h"
#include "emulator/engine/worker_transport.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::Bench;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::one_send;
using ::testing::SizeIs;
using testing::WorkloadBuilder;

/// Takes messages and says nothing of them.
class SilentTransport final : public Transport {
 public:
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time, std::span<const Message> messages) noexcept override { return messages.size(); }
  size_t poll(Time, std::span<Event>) noexcept override { return 0; }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return ""; }
  void close() noexcept override {}
};

/// A workload whose ranks are dealt out to workers in turns. Each worker sends what its ranks send over a model of its
/// own, or into silence.
class CrewRun {
 public:
  enum class Wire { kModel, kSilence };

  CrewRun(Workload workload, uint32_t workers, EngineOptions options = {}, Wire wire = Wire::kModel)
      : bench_(std::move(workload), options),
        iterations_{SharedIterations(workers)},
        exchange_(workers),
        rows_(workers) {
    const auto of = [workers](RankId rank) { return static_cast<uint16_t>(rank.value % workers); };
    for (const Connection& c : bench_.plan.transport.connections)
      routes_.push_back({of(c.source), of(c.source), of(c.source), of(c.destination)});
    for (uint32_t worker = 0; worker < workers; ++worker) {
      std::vector<bool> has;
      for (uint32_t rank = 0; rank < bench_.ranks(); ++rank) has.push_back(of(RankId(rank)) == worker);
      options.shard = Shard(std::move(has), worker, iterations_);
      engines_.push_back(std::make_unique<Engine>(bench_.workload, bench_.plan, options, rows_[worker]));
      std::unique_ptr<Transport> own;
      if (wire == Wire::kModel) own = std::make_unique<NetworkModel>(bench_.network());
      if (wire == Wire::kSilence) own = std::make_unique<SilentTransport>();
      transports_.push_back(std::make_unique<WorkerTransport>(std::move(own), worker, routes_, exchange_));
      transports_.back()->connect(transports_.back()->prepare(bench_.plan.transport));
    }
  }

  std::vector<Worker> workers() const {
    std::vector<Worker> workers;
    for (size_t i = 0; i < engines_.size(); ++i) workers.push_back({engines_[i].get(), transports_[i].get()});
    return workers;
  }
  RunResult run(const RunOptions& options = {}, const std::atomic<bool>& interrupted = testing::kGoOn) {
    Crew crew(workers());
    RealClock clock;
    clock.start();
    return crew.run([](ConnectionId) { return "described"; }, clock, options, interrupted);
  }

  const Plan& plan() const { return bench_.plan; }
  CommunicationCounters counters() const {
    CommunicationCounters sum;
    for (const auto& engine : engines_) sum += engine->communication().counters();
    return sum;
  }
  size_t operations() const {
    size_t sum = 0;
    for (const testing::RowsOfARun& rows : rows_) sum += rows.operations_.size();
    return sum;
  }

 private:
  Bench bench_;
  std::array<SharedIterations, 1> iterations_;
  WorkerExchange exchange_;
  std::vector<WorkerRoute> routes_;
  std::vector<testing::RowsOfARun> rows_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<WorkerTransport>> transports_;
};

Workload all_reduces_of_four() {
  WorkloadBuilder builder(4);
  const GroupId all = builder.group("all", {0, 1, 2, 3});
  for (uint32_t r = 0; r < 4; ++r) {
    const uint32_t first = builder.collective(r, CollectiveKind::kAllReduce, all, 4'000);
    builder.collective(r, CollectiveKind::kAllToAll, all, 4'000, {builder.compute(r, microseconds(r), {first})});
  }
  return builder.build();
}

class CrewOf : public ::testing::TestWithParam<uint32_t> {};

TEST_P(CrewOf, DeliversEveryMessageOnce) {
  constexpr uint32_t kIterations = 20;
  CrewRun run(all_reduces_of_four(), GetParam(), {.iterations = kIterations});
  const RunResult result = run.run({.deadline = seconds(60)});
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_THAT(result.workers, SizeIs(GetParam()));
  const CommunicationCounters counters = run.counters();
  EXPECT_EQ(counters.delivered, kIterations * run.plan().messages_per_iteration);
  EXPECT_EQ(counters.sent, counters.delivered);
  EXPECT_EQ(counters.duplicated, 0u);
  EXPECT_EQ(run.operations(), 4u * 3 * kIterations);
}

INSTANTIATE_TEST_SUITE_P(Workers, CrewOf, ::testing::Values(1, 2, 3, 4));

// Who waits for whom is one list, whichever worker has the ranks.
TEST(Crew, AStallIsOfAllWorkersTogether) {
  CrewRun run(one_send(100), 2, {}, CrewRun::Wire::kSilence);
  const RunResult result = run.run({.deadline = seconds(60), .stall_timeout = milliseconds(50)});
  EXPECT_EQ(result.verdict, Verdict::kStalled);
  EXPECT_THAT(result.reason, HasSubstr("no progress for"));
  EXPECT_THAT(result.waiting, Contains(HasSubstr("rank 0 in 'send'")));
  EXPECT_THAT(result.waiting, Contains(HasSubstr("rank 1 in 'receive'")));
}

// Rank 1 waits without any progress of its own for longer than the timeout, while rank 0 computes.
TEST(Crew, AWorkerThatWaitsForOneThatComputesIsNoStall) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 100, {builder.compute(0, milliseconds(400))});
  builder.receive(1, 0, 0, 100);
  CrewRun run(builder.build(), 2);
  // Long enough for a thread that waits for a processor when the time of rank 0 has come.
  const RunResult result = run.run({.deadline = seconds(60), .stall_timeout = milliseconds(300)});
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_GE(result.total, milliseconds(400));
}

TEST(Crew, TheDeadlineIsEverybodys) {
  CrewRun run(one_send(100), 2, {}, CrewRun::Wire::kSilence);
  const RunResult result = run.run({.deadline = milliseconds(30)});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.reason, "deadline of 0.03 s passed");
}

TEST(Crew, StopsWhenInterrupted) {
  const std::atomic<bool> interrupted{true};
  CrewRun run(one_send(100), 2);
  EXPECT_EQ(run.run({}, interrupted).verdict, Verdict::kInterrupted);
}

// What a worker enters with belongs to its thread from the beginning to the end.
TEST(Crew, EveryWorkerEntersInItsOwnThread) {
  CrewRun run(one_send(100), 2);
  std::vector<Worker> workers = run.workers();
  std::vector<std::thread::id> entered(2), left(2);
  for (uint32_t i = 0; i < 2; ++i) {
    workers[i].enter = [&, i] {
      entered[i] = std::this_thread::get_id();
      return std::shared_ptr<void>(&left[i],
                                   [](void* id) { *static_cast<std::thread::id*>(id) = std::this_thread::get_id(); });
    };
  }
  Crew crew(workers);
  EXPECT_NE(entered[1], std::thread::id()) << "the others are ready before the run begins";
  EXPECT_EQ(entered[0], std::thread::id());
  RealClock clock;
  EXPECT_EQ(crew.run([](ConnectionId) { return ""; }, clock, {}, testing::kGoOn).verdict, Verdict::kOk);
  EXPECT_EQ(entered[0], std::this_thread::get_id());
  EXPECT_EQ(entered, left);
  EXPECT_NE(entered[0], entered[1]);
}

TEST(Crew, AWorkerThatCannotEnterIsAnErrorAndNobodyRuns) {
  CrewRun run(one_send(100), 2);
  std::vector<Worker> workers = run.workers();
  workers[1].enter = []() -> std::shared_ptr<void> { fail_run("no place for worker 1"); };
  try {
    Crew crew(workers);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no place for worker 1");
  }
  EXPECT_EQ(run.operations(), 0u);
}

TEST(Crew, MayLeaveWithoutARun) {
  CrewRun run(one_send(100), 2);
  { const Crew crew(run.workers()); }
  EXPECT_EQ(run.operations(), 0u);
}

}  // namespace
}  // namespace rankwire
