#include "emulator/engine/job_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "emulator/engine/shard.h"
#include "emulator/workload/jobs.h"
#include "tests/engine/bench.h"

namespace rankwire {
namespace {

using testing::Bench;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::WorkloadBuilder;

const Shard kAll;

/// So many ranks that do nothing.
Workload idle_ranks(uint32_t ranks) {
  return WorkloadBuilder(ranks).build();
}

/// Jobs a, b, ...
template <class... Parts>
Workload jobs_of(Parts... part) {
  std::vector<JobPart> parts;
  (parts.push_back(std::move(part)), ...);
  char name = 'a';
  for (JobPart& named : parts) named.job.name = std::string(1, name++);
  return join_jobs(std::move(parts));
}

std::vector<uint32_t> numbers(std::span<const RankId> ranks) {
  std::vector<uint32_t> numbers;
  for (const RankId rank : ranks) numbers.push_back(rank.value);
  return numbers;
}

TEST(JobGates, WithoutJobsAllRanksAreOneThatBeginsAtOnce) {
  const Workload workload = idle_ranks(2);
  TimerQueue timers;
  JobGates gates(workload, 2, {}, kAll, timers);
  EXPECT_THAT(numbers(gates.first_ranks()), ElementsAre(0, 1));
  EXPECT_EQ(timers.next(), Time::never());
  EXPECT_THAT(gates.end(RankId(0), 0, Time(5)), IsEmpty());
  EXPECT_TRUE(gates.open(RankId(0), 1));
  EXPECT_FALSE(gates.past_last(RankId(0), 1));
  EXPECT_THAT(numbers(gates.end(RankId(1), 0, Time(9))), ElementsAre(0, 1));
  gates.end(RankId(0), 1, Time(30));
  EXPECT_FALSE(gates.finished());
  gates.end(RankId(1), 1, Time(20));
  EXPECT_TRUE(gates.finished());
  EXPECT_TRUE(gates.past_last(RankId(0), 2));
  ASSERT_EQ(gates.spans().size(), 1u);
  EXPECT_EQ(gates.spans()[0].begin, Time(0));
  EXPECT_EQ(gates.spans()[0].end, Time(30)) << "the later of the two ranks' last ends";
}

// The second job has two iterations, the first one; neither waits for ranks of the other.
TEST(JobGates, EachJobHasItsOwnIterations) {
  const Workload workload = jobs_of(JobPart{.job = {.iterations = 1}, .workload = idle_ranks(1)},
                                    JobPart{.job = {.iterations = 2}, .workload = idle_ranks(1)});
  TimerQueue timers;
  JobGates gates(workload, 7, {}, kAll, timers);
  EXPECT_TRUE(gates.past_last(RankId(0), 1));
  EXPECT_FALSE(gates.past_last(RankId(1), 1));
  EXPECT_THAT(numbers(gates.end(RankId(1), 0, Time(4))), ElementsAre(1));
  EXPECT_EQ(gates.ended_by_all(RankId(1)), 1u);
  EXPECT_EQ(gates.ended_by_all(RankId(0)), 0u);
  gates.end(RankId(1), 1, Time(8));
  EXPECT_FALSE(gates.finished());
  gates.end(RankId(0), 0, Time(2));
  EXPECT_TRUE(gates.finished());
}

TEST(JobGates, AJobBeginsAtItsTime) {
  const Workload workload = jobs_of(JobPart{.job = {.start = nanoseconds(3)}, .workload = idle_ranks(1)},
                                    JobPart{.job = {}, .workload = idle_ranks(2)});
  TimerQueue timers;
  JobGates gates(workload, 1, {}, kAll, timers);
  EXPECT_THAT(numbers(gates.first_ranks()), ElementsAre(1, 2));
  ASSERT_EQ(timers.next(), Time(3'000));
  EXPECT_FALSE(gates.spans()[0].begin.has_value());
  const TimerQueue::Timer timer = timers.pop();
  EXPECT_EQ(timer.kind, TimerQueue::Kind::kJob);
  EXPECT_THAT(numbers(gates.begin(timer.owner, timer.at)), ElementsAre(0));
  EXPECT_EQ(gates.spans()[0].begin, Time(3'000));
}

// The job before it ends at 900 ps and is noticed later; 100 ps after that end it begins.
TEST(JobGates, AJobFollowsTheEndOfAnother) {
  const Workload workload =
      jobs_of(JobPart{.job = {}, .workload = idle_ranks(2)},
              JobPart{.job = {.after = JobId(0), .start = Duration(100)}, .workload = idle_ranks(1)});
  TimerQueue timers;
  JobGates gates(workload, 1, {}, kAll, timers);
  EXPECT_THAT(numbers(gates.first_ranks()), ElementsAre(0, 1));
  EXPECT_THAT(gates.idle_reasons(), ElementsAre("job b has not begun: it follows job a, which has not ended"));
  gates.end(RankId(0), 0, Time(900));
  EXPECT_EQ(timers.next(), Time::never());
  gates.end(RankId(1), 0, Time(700));
  EXPECT_EQ(timers.next(), Time(1'000));
  const TimerQueue::Timer timer = timers.pop();
  EXPECT_THAT(numbers(gates.begin(timer.owner, timer.at)), ElementsAre(2));
  EXPECT_THAT(gates.idle_reasons(), IsEmpty());
  gates.end(RankId(2), 0, Time(1'700));
  EXPECT_EQ(gates.spans()[1].completion(), Duration(700));
}

TEST(JobGates, AloneAJobWaitsForNobodyAndNobodyForOthers) {
  const Workload workload = jobs_of(JobPart{.job = {}, .workload = idle_ranks(1)},
                                    JobPart{.job = {.after = JobId(0)}, .workload = idle_ranks(1)},
                                    JobPart{.job = {.after = JobId(1)}, .workload = idle_ranks(1)});
  TimerQueue timers;
  JobGates gates(workload, 1, OnlyJob{.job = JobId(1), .begin = Time(50)}, kAll, timers);
  EXPECT_THAT(gates.first_ranks(), IsEmpty());
  EXPECT_EQ(timers.pop().at, Time(50));
  gates.begin(1, Time(50));
  gates.end(RankId(1), 0, Time(80));
  EXPECT_TRUE(gates.finished());
  EXPECT_EQ(timers.next(), Time::never()) << "the job behind it does not begin";
  EXPECT_EQ(gates.spans()[1].completion(), Duration(30));
  EXPECT_FALSE(gates.spans()[2].begin.has_value());
}

// The first begins with the run, the second never, the third 5 ps after the first. All that can end has ended then.
TEST(JobGates, AnIdleJobNeverBeginsAndNobodyWaitsForIt) {
  const Workload workload =
      jobs_of(JobPart{.job = {}, .workload = idle_ranks(1)}, JobPart{.job = {.idle = true}, .workload = idle_ranks(2)},
              JobPart{.job = {.after = JobId(0), .start = Duration(5)}, .workload = idle_ranks(1)});
  TimerQueue timers;
  JobGates gates(workload, 1, {}, kAll, timers);
  EXPECT_THAT(numbers(gates.first_ranks()), ElementsAre(0));
  EXPECT_EQ(timers.next(), Time::never());
  gates.end(RankId(0), 0, Time(100));
  EXPECT_FALSE(gates.finished());
  EXPECT_EQ(timers.pop().at, Time(105));
  gates.begin(2, Time(105));
  gates.end(RankId(3), 0, Time(110));
  EXPECT_TRUE(gates.finished());
  EXPECT_FALSE(gates.spans()[1].begin.has_value());
  EXPECT_EQ(gates.spans()[2].completion(), Duration(5));
  EXPECT_THAT(gates.idle_reasons(), IsEmpty());
}

/// Two ranks that compute so long, and then reduce `bytes` together.
Workload computing_and_reducing(Duration first, Duration second, int64_t bytes) {
  WorkloadBuilder builder(2);
  const GroupId world = builder.group("world", {0, 1});
  const Duration times[] = {first, second};
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const uint32_t node = builder.compute(rank, times[rank]);
    builder.collective(rank, CollectiveKind::kAllReduce, world, bytes, {node});
  }
  return builder.build();
}

// Job a ends with its last message, some picoseconds after whole nanoseconds; b begins then, and computes 5 ns.
TEST(EngineOfJobs, AJobBeginsAtTheVeryEndOfTheOther) {
  WorkloadBuilder second(1);
  second.compute(0, nanoseconds(5));
  Workload workload =
      jobs_of(JobPart{.job = {}, .workload = computing_and_reducing(Duration(10'001), Duration(25'003), 1'000)},
              JobPart{.job = {.after = JobId(0)}, .workload = second.build()});
  Bench bench(std::move(workload));
  const RunResult result = bench.run();
  ASSERT_EQ(result.verdict, Verdict::kOk) << result.reason;
  const std::vector<JobSpan> jobs = bench.engine.job_spans();
  const Time end = std::max(bench.rows.of(0, 1).end, bench.rows.of(1, 1).end);
  EXPECT_GT(end, Time(25'003));
  EXPECT_EQ(jobs.at(0).end, end);
  EXPECT_EQ(jobs.at(1).begin, end);
  EXPECT_EQ(bench.rows.of(2, 0).start, end);
  EXPECT_EQ(bench.rows.of(2, 0).end, end + nanoseconds(5));
  EXPECT_EQ(jobs.at(1).end, end + nanoseconds(5));
}

// Groups, peers and iterations of the second job are its own: alone and behind another job it takes the same, since the
// two share no port.
TEST(EngineOfJobs, JobsThatShareNothingTakeTheirOwnTime) {
  const auto spans = [](Workload workload) {
    Bench bench(std::move(workload));
    const RunResult result = bench.run();
    EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
    return bench.engine.job_spans();
  };
  const auto a = [] {
    return JobPart{.job = {}, .workload = computing_and_reducing(nanoseconds(1), nanoseconds(2), 4'000)};
  };
  const auto b = [] {
    return JobPart{.job = {.iterations = 3}, .workload = computing_and_reducing(nanoseconds(3), nanoseconds(1), 9'000)};
  };
  const std::vector<JobSpan> together = spans(jobs_of(a(), b()));
  EXPECT_EQ(together.at(0).completion(), spans(jobs_of(a())).at(0).completion());
  EXPECT_EQ(together.at(1).completion(), spans(jobs_of(b())).at(0).completion());
}

TEST(EngineOfJobs, WaitingRanksAreNamedByTheirJob) {
  WorkloadBuilder lonely(2);
  const GroupId world = lonely.group("world", {0, 1});
  lonely.collective(0, CollectiveKind::kAllReduce, world, 1'000);
  lonely.collective(1, CollectiveKind::kAllReduce, world, 1'000);
  Workload workload =
      jobs_of(JobPart{.job = {}, .workload = idle_ranks(1)}, JobPart{.job = {}, .workload = lonely.build()},
              JobPart{.job = {.after = JobId(1)}, .workload = idle_ranks(1)});
  // Of the second job's two ranks one never gets to its operation.
  workload.ranks[2].dependencies[0] = 1;
  Bench bench(std::move(workload));
  const RunResult result = bench.run();
  EXPECT_EQ(result.verdict, Verdict::kStalled);
  ASSERT_FALSE(result.waiting.empty());
  EXPECT_THAT(result.waiting.front(), HasSubstr("rank 0 of job b in 'collective'"));
  EXPECT_THAT(result.waiting.front(), HasSubstr("waits for rank 1 of job b"));
  EXPECT_THAT(result.waiting.back(), HasSubstr("job c has not begun: it follows job b"));
}

// Job a has a rank in either shard, and job b, which follows it, one in the second.
TEST(JobGates, AJobOfSeveralShardsEndsWithTheLastOfThem) {
  const Workload workload = jobs_of(JobPart{.job = {}, .workload = idle_ranks(2)},
                                    JobPart{.job = {.after = JobId(0)}, .workload = idle_ranks(1)});
  std::array<SharedIterations, 2> iterations{SharedIterations(2), SharedIterations(2)};
  const Shard first({true, false, false}, 0, iterations), second({false, true, true}, 1, iterations);
  TimerQueue timers, others;
  JobGates here(workload, 1, {}, first, timers), there(workload, 1, {}, second, others);
  EXPECT_THAT(numbers(here.first_ranks()), ElementsAre(0));
  EXPECT_THAT(numbers(there.first_ranks()), ElementsAre(1));
  EXPECT_THAT(there.end(RankId(1), 0, Time(8)), IsEmpty()) << "the other rank has not ended it";
  EXPECT_FALSE(there.finished()) << "job b has not begun";
  here.end(RankId(0), 0, Time(5));
  EXPECT_TRUE(here.finished());
  EXPECT_EQ(others.next(), Time::never()) << "nobody has looked";
  std::vector<uint32_t> free;
  there.look([&](std::span<const RankId> ranks) { free = numbers(ranks); });
  EXPECT_THAT(free, ElementsAre(1));
  ASSERT_EQ(others.next(), Time(8)) << "the later of the two ends, which is not the one that was noticed last";
  EXPECT_THAT(numbers(there.begin(others.pop().owner, Time(8))), ElementsAre(2));
  there.end(RankId(2), 0, Time(11));
  EXPECT_TRUE(there.finished());
  for (const JobGates* gates : {&here, &there}) {
    EXPECT_EQ(gates->spans()[0].end, Time(8));
    EXPECT_EQ(gates->spans()[1].end, Time(11));
  }
}

}  // namespace
}  // namespace rankwire
