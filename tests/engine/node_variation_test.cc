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

}  // namespace
}  // namespace rankwire::testing
