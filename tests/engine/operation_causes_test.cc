#include "emulator/engine/operation_causes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/bench.h"
#include "tests/engine/hand_made_plan.h"

namespace rankwire {
namespace {

using testing::all_reduce_of_three;
using testing::Bench;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::WorkloadBuilder;

/// The model, which knows no causes, with shares made up: 1 ps transmitting, and 100 ps + the message's index paused
/// where rank 1 sends.
class BlamingTransport final : public Transport {
 public:
  explicit BlamingTransport(const Network& network) : model_(network) {}

  std::vector<EndPoint> prepare(const TransportPlan& plan) override {
    plan_ = plan;
    return model_.prepare(plan);
  }
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override { return model_.connect(remote); }
  size_t post(Time now, std::span<const Message> messages) noexcept override { return model_.post(now, messages); }
  size_t poll(Time now, std::span<Event> events) noexcept override {
    const size_t n = model_.poll(now, events);
    shares_.assign(n, TimeByCause());
    for (size_t i = 0; i < n; ++i) {
      if (events[i].kind != EventKind::kSent) continue;
      shares_[i][Cause::kTransmitting] = Duration(1);
      if (plan_.connections[events[i].connection.value].source == RankId(1))
        shares_[i][Cause::kPaused] = Duration(100 + events[i].index);
      events[i].causes = &shares_[i];
    }
    return n;
  }
  Time next_event() const noexcept override { return model_.next_event(); }
  uint64_t activity() const noexcept override { return model_.activity(); }
  TransportCounters counters() const override { return model_.counters(); }
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override { return model_.flows_of(range); }
  std::vector<PortCounters> ports() const override { return model_.ports(); }
  std::string describe(ConnectionId connection) const override { return model_.describe(connection); }
  void close() noexcept override { model_.close(); }

 private:
  NetworkModel model_;
  TransportPlan plan_;
  std::vector<TimeByCause> shares_;
};

std::vector<std::string> rows_of(Bench& bench) {
  BlamingTransport transport(bench.network());
  EXPECT_EQ(bench.run_over(transport).verdict, Verdict::kOk);
  std::vector<std::string> rows;
  for (const CauseRecord& row : bench.rows.causes_) {
    const RankId to = bench.plan.transport.connections[row.connection.value].destination;
    rows.push_back(fmt::format("i{} rank {} node {} to {}: {} + {}", row.iteration, row.rank.value, row.node, to.value,
                               row.causes[Cause::kTransmitting].ps, row.causes[Cause::kPaused].ps));
    EXPECT_EQ(row.causes.total(), row.causes[Cause::kTransmitting] + row.causes[Cause::kPaused]);
  }
  std::ranges::sort(rows);
  return rows;
}

/// In picoseconds.
TimeByCause share_of(int64_t transmitting, int64_t paused) {
  TimeByCause share;
  share[Cause::kTransmitting] = Duration(transmitting);
  share[Cause::kPaused] = Duration(paused);
  return share;
}

// Slot 0 runs an operation of two edges, slot 1 one of one.
TEST(OperationCauses, AreKeptBySlotAndEdgeUntilTaken) {
  testing::HandMadePlan made;
  const ConnectionId there = made.connect(0, 1, 1), back = made.connect(0, 1, 1);
  made.add_rank({testing::send(1, 0, 1), testing::receive(1, 0, 1)}, {}, {there, back});
  made.add_rank({testing::send(0, 0, 1)}, {}, {back});
  OperationCauses causes(made.build());
  ASSERT_TRUE(causes.on());
  causes.add(0, 0, share_of(1, 10)), causes.add(0, 0, share_of(2, 20));
  causes.add(0, 1, share_of(4, 40)), causes.add(1, 0, share_of(8, 80));
  EXPECT_EQ(causes.take(0, 0), share_of(3, 30));
  EXPECT_EQ(causes.take(0, 0), TimeByCause()) << "it has been taken";
  EXPECT_EQ(causes.take(0, 1), share_of(4, 40));
  EXPECT_EQ(causes.take(1, 0), share_of(8, 80));
}

TEST(OperationCauses, AreNotKeptUnlessWanted) {
  EXPECT_FALSE(OperationCauses().on());
  EXPECT_FALSE(OperationCauses(Plan()).on());
}

// A ring of three: each rank sends 2 + 2 messages to the next in each iteration, rank 1 those with the indexes 0 to 3
// and 4 to 7: 4 x 100 + 6 and 4 x 100 + 22.
TEST(OperationCauses, AreTheSumsOfTheMessagesConnectionByConnection) {
  Bench bench(all_reduce_of_three(3'000), {.iterations = 2});
  EXPECT_THAT(rows_of(bench), ElementsAre("i0 rank 0 node 0 to 1: 4 + 0", "i0 rank 1 node 0 to 2: 4 + 406",
                                          "i0 rank 2 node 0 to 0: 4 + 0", "i1 rank 0 node 0 to 1: 4 + 0",
                                          "i1 rank 1 node 0 to 2: 4 + 422", "i1 rank 2 node 0 to 0: 4 + 0"));
}

// Both are on their way at once, on one connection: tag 1 has the index 1.
TEST(OperationCauses, TwoOperationsOfOneConnectionAreKeptApart) {
  WorkloadBuilder builder(2);
  for (const uint32_t tag : {0u, 1u}) builder.send(1, 0, tag, 1'000), builder.receive(0, 1, tag, 1'000);
  Bench bench(builder.build());
  EXPECT_THAT(rows_of(bench), ElementsAre("i0 rank 1 node 0 to 0: 1 + 100", "i0 rank 1 node 1 to 0: 1 + 101"));
}

TEST(OperationCauses, NobodyHearsOfThemWhereTheTransportTellsNone) {
  Bench bench(all_reduce_of_three(3'000));
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_THAT(bench.rows.causes_, IsEmpty());
}

}  // namespace
}  // namespace rankwire
