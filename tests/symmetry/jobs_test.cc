// Several jobs, whole and folded: classes do not mix them, and what they do to each other is the same.
#include "emulator/workload/jobs.h"

#include <gtest/gtest.h>

#include "tests/symmetry/both_runs.h"

namespace rankwire {
namespace {

/// Two jobs of as many ranks. `apart`: on hosts of their own; otherwise the n-th ranks of both share a host and its
/// NIC.
BothRuns on_star(JobPart a, JobPart b, bool apart, const ScheduleOptions& schedule, const EngineOptions& options) {
  const auto each = static_cast<uint32_t>(a.workload.ranks.size());
  a.job.name = "a", b.job.name = "b";
  std::vector<JobPart> parts;
  parts.push_back(std::move(a));
  parts.push_back(std::move(b));
  Workload workload = join_jobs(std::move(parts));
  const uint32_t hosts = apart ? 2 * each : each;
  Placement placement = in_blocks(2 * each, hosts, hosts);
  if (!apart) {
    const Placement blocks = placement;
    for (uint32_t r = 0; r < 2 * each; ++r) {
      const uint32_t place = 2 * (r % each) + r / each;
      placement.ranks[r] = blocks.ranks[place], placement.nic[r] = blocks.nic[place];
    }
  }
  return on_star(std::move(workload), placement, hosts, schedule, options, kRate);
}

JobPart one_ring(uint32_t ranks, int64_t bytes) {
  testing::WorkloadBuilder builder(ranks);
  const GroupId world = builder.group("world", members(0, ranks, 1));
  for (uint32_t r = 0; r < ranks; ++r) builder.collective(r, CollectiveKind::kAllReduce, world, bytes);
  return {.job = {}, .workload = builder.build()};
}

// Both are one rank that sends to itself, over a link to the switch and one from it.
TEST(FoldedJobs, AJobIsAClassOfItsOwn) {
  const BothRuns runs = on_star(one_ring(8, 8 << 16), one_ring(8, 8 << 16), false, {}, {});
  const auto reduced = quotient(runs.workload, runs.plan, runs.network);
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->classes.ranks.classes(), 2u);
  ASSERT_EQ(reduced->workload.jobs.size(), 2u);
  for (const uint32_t job : {0u, 1u}) {
    EXPECT_EQ(reduced->workload.jobs[job].first_rank, job);
    EXPECT_EQ(reduced->workload.jobs[job].ranks, 1u);
  }
  const auto folded = runs.folded();
  ASSERT_TRUE(folded);
  EXPECT_EQ(*folded, runs.whole());
  EXPECT_EQ(folded->shared.size(), 2u * 16) << "each of the jobs beside the other on 16 links";
}

// Alone, each job has the links for itself: half the time.
TEST(FoldedJobs, OneThatRunsWithoutTheOtherIsFoldedToo) {
  BothRuns runs = on_star(one_ring(8, 8 << 16), one_ring(8, 8 << 16), false, {}, {});
  const auto together = runs.folded();
  runs.options.only = OnlyJob{.job = JobId(1), .begin = Time() + microseconds(3)};
  const auto alone = runs.folded();
  ASSERT_TRUE(together && alone);
  EXPECT_EQ(*alone, runs.whole());
  EXPECT_EQ(alone->jobs[0].first, Time::never());
  EXPECT_EQ(alone->jobs[1].first, Time() + microseconds(3));
  EXPECT_LT(alone->jobs[1].second - alone->jobs[1].first, together->jobs[1].second - together->jobs[1].first);
}

/// Two steps with numbers of iterations, beginnings and places by chance; sometimes the second follows the first.
BothRuns random_jobs(uint64_t seed) {
  Random random(seed);
  const auto some = [&](std::initializer_list<uint32_t> of) { return of.begin()[random.below(of.size())]; };
  const uint32_t tensor = some({1, 2}), data = some({2, 4}), stages = some({1, 2});
  const auto part = [&](uint32_t t, uint32_t d, uint32_t s) {
    return JobPart{.job = {.iterations = some({1, 2, 3}), .start = nanoseconds(some({0, 0, 700, 20'000}))},
                   .workload = training_step(random, t, d, s, random.below(10) == 0 ? 1 : 0)};
  };
  JobPart a = part(tensor, data, stages),
          b = random.below(2) == 0 ? part(tensor, data, stages) : part(1, tensor * data, stages);
  if (random.below(4) == 0) b.job.after = JobId(0);
  if (random.below(10) == 0) a.job.idle = !b.job.after.valid();
  EngineOptions options{.communication = some({0, 0, 1, 2})};
  options.messages.reduce_latency = nanoseconds(some({0, 700}));
  const ScheduleOptions schedule{.channels = some({1, 2}), .chunk = Bytes(some({4'000, 1 << 20}))};
  return on_star(std::move(a), std::move(b), random.below(3) == 0, schedule, options);
}

// Also of links that both share, to the picosecond and byte.
TEST(FoldedJobs, TellWhatTheWholeRunTells) {
  uint32_t folded_runs = 0, sharing = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const BothRuns runs = random_jobs(seed);
    const auto folded = runs.folded();
    folded_runs += folded.has_value();
    if (!folded) continue;
    sharing += !folded->shared.empty();
    const Told whole = runs.whole();
    EXPECT_EQ(folded->operations, whole.operations) << "seed " << seed;
    EXPECT_EQ(folded->jobs, whole.jobs) << "seed " << seed;
    EXPECT_TRUE(folded->shared == whole.shared) << "seed " << seed;
    EXPECT_TRUE(*folded == whole) << "seed " << seed;
  }
  EXPECT_GT(folded_runs, 50u) << "of 150";
  EXPECT_GT(sharing, 20u) << "of them";
}

}  // namespace
}  // namespace rankwire
