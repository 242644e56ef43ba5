// Ranks that several engines have, and messages that other workers send: the same run, whoever has what.
#include "emulator/engine/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/workload/jobs.h"
#include "tests/engine/bench.h"
#include "tests/engine/sharded_run.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::Bench;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ShardedRun;
using testing::WorkloadBuilder;

TEST(SharedIterations, AreThoseOfTheSlowestShard) {
  SharedIterations iterations(3);
  iterations.publish(0, 5), iterations.publish(1, 2);
  EXPECT_EQ(iterations.ended_by_all(), 0u) << "the third has told nothing";
  iterations.publish(2, 3);
  EXPECT_EQ(iterations.ended_by_all(), 2u);
  iterations.note_end(0, Time(7)), iterations.note_end(2, Time(9)), iterations.note_end(1, Time(4));
  EXPECT_EQ(iterations.last_end(), Time(9));
}

TEST(Shard, HasTheRanksThatItIsGiven) {
  EXPECT_TRUE(Shard().has(RankId(7))) << "alone it has all";
  std::array<SharedIterations, 1> iterations{SharedIterations(2)};
  const Shard shard({true, false}, 1, iterations);
  EXPECT_TRUE(shard.has(RankId(0)));
  EXPECT_FALSE(shard.has(RankId(1)));
}

/// Computes, collectives of two groups that overlap, and a pair that sends and receives: six ranks.
Workload mixed() {
  WorkloadBuilder builder(6);
  const GroupId all = builder.group("all", {0, 1, 2, 3, 4, 5}), odd = builder.group("odd", {1, 3, 5});
  for (uint32_t r = 0; r < 6; ++r) {
    const uint32_t computed = builder.compute(r, microseconds(1 + r));
    const uint32_t reduced = builder.collective(r, CollectiveKind::kAllReduce, all, 6'000, {computed});
    if (r % 2 == 1) builder.collective(r, CollectiveKind::kAllToAll, odd, 3'000, {computed});
    if (r == 2) builder.send(2, 5, 0, 700, {reduced});
    if (r == 5) builder.receive(5, 2, 0, 700, {computed});
  }
  return builder.build();
}

/// The same twice: the second begins 5 us after the end of the first, with another number of iterations.
Workload two_jobs() {
  std::vector<JobPart> parts;
  parts.push_back({.job = {.name = "first", .iterations = 2}, .workload = mixed()});
  parts.push_back(
      {.job = {.name = "second", .iterations = 3, .after = JobId(0), .start = microseconds(5)}, .workload = mixed()});
  return join_jobs(std::move(parts));
}

using OperationTimes = std::tuple<uint32_t, uint32_t, uint32_t, int64_t, int64_t>;

/// `all` and those of `rows`, in order.
std::vector<OperationTimes> operations(const std::vector<OperationRecord>& rows, std::vector<OperationTimes> all = {}) {
  for (const OperationRecord& row : rows)
    all.emplace_back(row.rank.value, row.node, row.iteration, row.start.ps, row.end.ps);
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> messages(const std::vector<MessageRecord>& rows, std::vector<std::string> all = {}) {
  for (const MessageRecord& row : rows)
    all.push_back(to_string(row.id) + (row.at_source ? " sent " : " received ") + std::to_string(row.last.ps));
  std::ranges::sort(all);
  return all;
}

/// In virtual time a ring takes no time, so that everything happens when it does with one engine, whoever has which
/// rank, and whoever sends and receives.
void expect_the_same_run(Workload workload, uint32_t workers) {
  const EngineOptions options{.iterations = 3};
  Bench one(std::move(workload), options);
  ASSERT_EQ(one.run().verdict, Verdict::kOk);
  std::mt19937 random(workers);
  for (int trial = 0; trial < 20; ++trial) {
    const auto any = [&] { return static_cast<uint32_t>(random() % workers); };
    std::vector<uint32_t> of_rank(one.ranks());
    for (uint32_t& worker : of_rank) worker = any();
    std::vector<WorkerRoute> routes;
    for (const Connection& c : one.plan.transport.connections) {
      routes.push_back({.sender = static_cast<uint16_t>(any()),
                        .receiver = static_cast<uint16_t>(any()),
                        .source = static_cast<uint16_t>(of_rank[c.source.value]),
                        .destination = static_cast<uint16_t>(of_rank[c.destination.value])});
    }
    NetworkModel model(one.network());
    ShardedRun run(one.workload, one.plan, options, model, of_rank, routes, workers);
    run.run();
    ASSERT_TRUE(run.finished());
    std::vector<OperationTimes> rows;
    std::vector<std::string> delivered;
    CommunicationCounters counters;
    for (uint32_t worker = 0; worker < workers; ++worker) {
      rows = operations(run.rows(worker).operations_, std::move(rows));
      delivered = messages(run.rows(worker).messages_, std::move(delivered));
      counters += run.engine(worker).communication().counters();
    }
    EXPECT_EQ(rows, operations(one.rows.operations_));
    EXPECT_EQ(delivered, messages(one.rows.messages_));
    EXPECT_EQ(counters.sent, one.engine.communication().counters().sent);
    EXPECT_EQ(counters.delivered, one.engine.communication().counters().delivered);
    EXPECT_EQ(counters.bytes_delivered, one.engine.communication().counters().bytes_delivered);
    for (size_t job = 0; job < one.engine.job_spans().size(); ++job)
      EXPECT_EQ(run.engine(0).job_spans()[job].end, one.engine.job_spans()[job].end);
  }
}

class AnyAssignment : public ::testing::TestWithParam<uint32_t> {};

TEST_P(AnyAssignment, MakesTheSameRun) {
  expect_the_same_run(mixed(), GetParam());
}

TEST_P(AnyAssignment, MakesTheSameRunOfTwoJobs) {
  expect_the_same_run(two_jobs(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(OfWorkers, AnyAssignment, ::testing::Range(1u, 9u));

/// Fails every message of one connection at its source, and sends the others at once.
class FailingConnection final : public Transport {
 public:
  explicit FailingConnection(ConnectionId failing) : failing_(failing) {}
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    for (const Message& message : messages) {
      Event event;
      event.connection = message.connection, event.index = message.index, event.bytes = message.bytes;
      event.sent = {now, now, now, now};
      if (message.connection == failing_) {
        event.kind = EventKind::kFailed, event.failure = Failure::kRetryExceeded;
        events_.push_back(event);
        continue;
      }
      events_.push_back(event);
      event.kind = EventKind::kReceived, event.at_source = false;
      event.received = {now, now, 0, 0};
      events_.push_back(event);
    }
    return messages.size();
  }
  size_t poll(Time, std::span<Event> events) noexcept override {
    const size_t n = std::min(events.size(), events_.size());
    std::copy_n(events_.begin(), n, events.begin());
    events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(n));
    activity_ += n;
    return n;
  }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override { return activity_; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return ""; }
  void close() noexcept override {}

 private:
  const ConnectionId failing_;
  std::vector<Event> events_;
  uint64_t activity_ = 0;
};

/// Rank 0 sends to rank 1, of another worker; a third worker has the port.
struct OneSend {
  explicit OneSend(OnFailure on_failure) : options{.messages = {.on_failure = on_failure}} {
    WorkloadBuilder builder(2);
    builder.send(0, 1, 0, 100);
    builder.receive(1, 0, 0, 100);
    bench.emplace(builder.build(), options);
    for (size_t c = 0; c < bench->plan.transport.connections.size(); ++c)
      routes.push_back({.sender = 2, .receiver = 1, .source = 0, .destination = 1});
  }
  EngineOptions options;
  std::optional<Bench> bench;
  std::vector<WorkerRoute> routes;
};

TEST(Shards, AMessageThatItsSourceGivesUpIsAwaitedByNeither) {
  OneSend send(OnFailure::kContinue);
  FailingConnection network(ConnectionId(0));
  ShardedRun run(send.bench->workload, send.bench->plan, send.options, network, {0, 1}, send.routes, 3);
  run.run();
  EXPECT_TRUE(run.finished()) << "both ends of the message are told";
  EXPECT_EQ(run.engine(0).communication().counters().failed, 1u);
  EXPECT_EQ(run.engine(1).communication().counters().failed, 0u) << "it counts at its source";
  EXPECT_EQ(run.engine(0).communication().failures().size(), 1u);
}

TEST(Shards, TheSourcesShardStopsARunWithAFailedMessage) {
  OneSend send(OnFailure::kStop);
  FailingConnection network(ConnectionId(0));
  ShardedRun run(send.bench->workload, send.bench->plan, send.options, network, {0, 1}, send.routes, 3);
  run.run();
  EXPECT_FALSE(run.finished());
  EXPECT_TRUE(run.engine(0).must_stop());
  EXPECT_THAT(run.engine(0).failure_text(), HasSubstr("rank 0 -> 1"));
  EXPECT_FALSE(run.engine(1).must_stop());
  EXPECT_THAT(run.engine(1).stall_report(8, [](ConnectionId) { return "described"; }),
              Contains(HasSubstr("rank 1 in 'receive'")));
}

}  // namespace
}  // namespace rankwire
