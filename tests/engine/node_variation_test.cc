// Nodes that take another time than their own.
#include "emulator/engine/node_variation.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "tests/engine/bench.h"

namespace rankwire::testing {
namespace {

/// Adds a microsecond for each rank and two for each iteration, and notes what it is asked.
class Added final : public NodeVariation {
 public:
  using Call = std::tuple<uint32_t, uint32_t, uint32_t, int64_t, int64_t>;

  VariedTime vary(RankId rank, uint32_t place, uint32_t iteration, Duration takes, Time start) const noexcept override {
    calls_.emplace_back(rank.value, place, iteration, takes.ps, start.ps);
    const Duration more = microseconds(rank.value + 2 * int64_t{iteration});
    return {start + takes + more, more, Duration(), microseconds(rank.value)};
  }
  mutable std::vector<Call> calls_;
};

// Rank 1 computes 3 us and then 5 us, in two iterations: 4 us and 6 us, 6 us and 8 us.
TEST(NodeVariation, DecidesWhenANodeEnds) {
  WorkloadBuilder builder(2);
  builder.compute(1, microseconds(5), {builder.compute(1, microseconds(3))});
  const Added variation;
  Bench bench(builder.build(), {.iterations = 2, .variation = &variation});
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.rows.of(1, 0).end, Time(microseconds(4).ps));
  EXPECT_EQ(bench.rows.of(1, 1).end, Time(microseconds(10).ps));
  EXPECT_EQ(bench.rows.of(1, 0, 1).end, Time(microseconds(16).ps));
  EXPECT_EQ(bench.rows.of(1, 1, 1).end, Time(microseconds(24).ps));
  EXPECT_EQ(variation.calls_, (std::vector<Added::Call>{{1, 0, 0, 3'000'000, 0},
                                                        {1, 1, 0, 5'000'000, 4'000'000},
                                                        {1, 0, 1, 3'000'000, 10'000'000},
                                                        {1, 1, 1, 5'000'000, 16'000'000}}));
}

TEST(NodeVariation, IsCountedByRankAndModel) {
  WorkloadBuilder builder(2);
  builder.compute(1, microseconds(5), {builder.compute(1, Duration(0))});
  Workload workload = builder.build();
  workload.ranks[1].nodes[0].timed_by = TimedBy::kDefault;
  workload.ranks[1].nodes[1].timed_by = TimedBy::kTable;
  const Added variation;
  Bench bench(std::move(workload), {.iterations = 2, .variation = &variation});
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  const ComputeTimes& times = bench.engine.compute_times(RankId(1));
  EXPECT_EQ(times.models[static_cast<size_t>(TimedBy::kTable)].nodes, 2u);
  EXPECT_EQ(times.models[static_cast<size_t>(TimedBy::kTable)].time, microseconds(10));
  // What takes no time is not varied.
  EXPECT_EQ(times.models[static_cast<size_t>(TimedBy::kDefault)].nodes, 2u);
  EXPECT_EQ(variation.calls_.size(), 2u);
  EXPECT_EQ(times.jitter, microseconds(1 + 3));
  EXPECT_EQ(times.slowed, microseconds(2));
  EXPECT_EQ(bench.engine.compute_times(RankId(0)).slowed, Duration(0));
}

/// Rank 1 is 2 us late, and 1 us later in every iteration; it alone.
class Late final : public NodeVariation {
 public:
  VariedTime vary(RankId, uint32_t, uint32_t, Duration takes, Time start) const noexcept override {
    return {start + takes, Duration(), Duration(), Duration()};
  }
  Duration late(RankId rank, uint32_t iteration) const noexcept override {
    return rank == RankId(1) ? microseconds(2 + int64_t{iteration}) : Duration(0);
  }
};

// Rank 0 computes 1 us, rank 1 sends it 1000 bytes, one a nanosecond. The next iteration begins when both have ended
// this one, and the SEND with its acknowledgement does last: rank 0's at 3 us, rank 1's 3 us later.
TEST(NodeVariation, DecidesWhenARankBeginsAnIteration) {
  WorkloadBuilder builder(2);
  builder.compute(0, microseconds(1));
  builder.send(1, 0, 0, 1000);
  builder.receive(0, 1, 0, 1000);
  const Late variation;
  Bench bench(builder.build(), {.iterations = 2, .variation = &variation});
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.rows.of(0, 0).start, at_us(0));
  EXPECT_EQ(bench.rows.of(1, 0).start, at_us(2));
  EXPECT_EQ(bench.rows.of(0, 1).end, at_us(3));
  EXPECT_EQ(bench.rows.of(0, 0, 1).start, at_us(3));
  EXPECT_EQ(bench.rows.of(1, 0, 1).start, at_us(6));
  EXPECT_EQ(bench.rows.of(0, 1, 1).end, at_us(7));
}

// A job that begins at 5 us: its late rank at 7 us.
TEST(NodeVariation, MakesRanksOfAJobLateThatBeginsLater) {
  WorkloadBuilder builder(2);
  for (uint32_t rank = 0; rank < 2; ++rank) builder.compute(rank, microseconds(1));
  Workload workload = builder.build();
  workload.jobs.push_back(
      {.name = "later", .first_rank = 0, .ranks = 2, .iterations = 1, .after = {}, .start = microseconds(5)});
  const Late variation;
  Bench bench(std::move(workload), {.variation = &variation});
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.rows.of(0, 0).start, at_us(5));
  EXPECT_EQ(bench.rows.of(1, 0).start, at_us(7));
}

}  // namespace
}  // namespace rankwire::testing
