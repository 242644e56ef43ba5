#include "emulator/assembly/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <set>

#include "emulator/assembly/nic_network.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"
#include "emulator/input/config.h"
#include "emulator/simulator/network_model.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two ranks compute for 1 ms and then reduce 8 bytes, which takes some microseconds.
class EnsembleTest : public ::testing::Test {
 protected:
  EnsembleTest() {
    for (int rank = 0; rank < 2; ++rank)
      traces_.add({testing::compute(1, "work").micros(1000), testing::collective(2, "sum").after({1}).size(8)});
    prepare_with(setup_, traces_);
  }
  void prepare_with(rankwire::Setup& setup, const testing::TraceSet& traces) const {
    const std::filesystem::path file = folder_ / "two.yaml";
    std::ofstream(file) << "workload: {traces: " << traces.options.traces.front() << "}\n"
                        << "hosts: {count: 2, npus: 1}\nports: {count: 2, rate: 10Gbps}\n";
    prepare(setup, load_config(file, {}), folder_.path());
  }
  std::vector<Duration> run(uint32_t members, uint32_t threads) const {
    return run_ensemble(setup_, members, threads, {stop_}).completions;
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  rankwire::Setup setup_;
  std::atomic<bool> stop_{false};
};

// The later of two ends 1 ms (1 + z / 1000), z normal, and all of 40 draws are within 5 deviations; then both wait for
// the same messages.
TEST_F(EnsembleTest, MembersDifferByATenthOfAPercentOfTheirComputing) {
  const std::vector<Duration> completions = run(20, 1);
  ASSERT_EQ(completions.size(), 20u);
  const auto [least, most] = std::ranges::minmax(completions);
  EXPECT_GT(most - least, microseconds(1)) << "one deviation";
  EXPECT_LT(most - least, microseconds(10));
  EXPECT_EQ(std::set(completions.begin(), completions.end()).size(), 20u) << "no two are alike";
}

// The all-reduce is a ring of two: a rank sends 4 bytes to reduce and then 4 bytes to gather. A frame of 82 bytes
// beside them and 16 + 4 of the first and last of a message is 106 bytes, 84.8 ns at 10 Gb/s, and passes two cables,
// each with its latency, and a switch, which stores it before it sends.
TEST_F(EnsembleTest, KnowsTheMeanTimeOfARanksCommunication) {
  const auto& fabric = setup_.config.embedded_switch;
  const Duration message = (Duration(84'800) + fabric.link_latency) * 2 + fabric.latency;
  EXPECT_THAT(mean_communication(setup_, reference_network(setup_)), ElementsAre(message * 2, message * 2));
}

// Two ranks with nothing but two collectives, one of 64 MiB. A rank that begins late holds up the other, so that the
// time grows by the greater of two |z| / 1000 of a mean communication, about 27 ms: all of 20 draws are within 5
// deviations. Without start times that differ all members would be alike.
TEST_F(EnsembleTest, MembersOfPureCommunicationBeginAtOtherTimes) {
  testing::TraceSet traces;
  for (int rank = 0; rank < 2; ++rank)
    traces.add({testing::collective(1, "a").size(64 << 20), testing::collective(2, "b").after({1}).size(8)});
  rankwire::Setup setup;
  prepare_with(setup, traces);
  const Duration mean = mean_communication(setup, reference_network(setup)).front();
  EXPECT_GT(mean, milliseconds(27));
  EXPECT_LT(mean, milliseconds(29));
  const std::vector<Duration> completions = run_ensemble(setup, 20, 1, {stop_}).completions;
  ASSERT_EQ(completions.size(), 20u);
  const auto [least, most] = std::ranges::minmax(completions);
  EXPECT_GT(most - least, microseconds(5));
  EXPECT_LT(most - least, microseconds(5 * 29));
  EXPECT_EQ(std::set(completions.begin(), completions.end()).size(), 20u) << "no two are alike";
}

// Two nodes a rank, and two messages: 2 x (2 + 2) an iteration.
TEST_F(EnsembleTest, IsThereByItselfUnlessItsMessagesAloneAreTooMany) {
  const uint64_t each = 8 * NetworkModel::kWorkOfMessage;
  EXPECT_EQ(least_member_work(setup_), each);
  EXPECT_EQ(ensemble_members(setup_), kAutoMembers);
  setup_.config.workload.iterations = static_cast<uint32_t>(kAutoWork / 3 / each);
  EXPECT_EQ(ensemble_members(setup_), kAutoMembers);
  ++setup_.config.workload.iterations;
  EXPECT_EQ(ensemble_members(setup_), 0u);
}

TEST_F(EnsembleTest, HasAsManyMembersByItselfAsItMayCost) {
  const auto variation = member_variation(setup_, 0);
  const Network network = network_with(Nics::kTurns, setup_, reference_network(setup_));
  const auto member = run_unrecorded(setup_, {.label = "first", .variation = variation.get()}, network, {stop_});
  const uint64_t work = member->work;
  EXPECT_GT(work, 4 * NetworkModel::kWorkOfMessage);
  const auto affordable = [&](uint64_t most) { return run_affordable_ensemble(setup_, most, 2, {stop_}).completions; };
  EXPECT_EQ(affordable(100 * work), run(kAutoMembers, 1));
  EXPECT_EQ(affordable(6 * work - 1), run(5, 1));
  EXPECT_EQ(affordable(3 * work), run(3, 1));
  EXPECT_TRUE(affordable(3 * work - 1).empty());
}

// Of a thousand iterations, all of which are the same work, it is ended after some of them.
TEST_F(EnsembleTest, EndsAMemberThatCostsTooMuch) {
  setup_.config.workload.iterations = 1'000;
  uint64_t ended = 0;
  const RunControl control{.interrupted = stop_, .watch = [&](WatchedRun run) {
                             return std::shared_ptr<void>(nullptr, [&ended, run](void*) { ended = run.done(); });
                           }};
  const Network network = reference_network(setup_);
  const uint64_t whole = run_unrecorded(setup_, {.label = "whole"}, network, {stop_})->work;
  EXPECT_FALSE(run_unrecorded(setup_, {.label = "part", .most_work = whole / 10}, network, control));
  EXPECT_GE(ended, 4'000u / 10);
  EXPECT_LT(ended, 4'000u / 9);
}

TEST_F(EnsembleTest, IsWhatTheConfigurationSays) {
  setup_.config.workload.iterations = 1'000'000;
  setup_.config.simulation.ensemble = 3;
  EXPECT_EQ(ensemble_members(setup_), 3u);
  setup_.config.workload.iterations = 1;
  setup_.config.simulation.ensemble = 0;
  EXPECT_EQ(ensemble_members(setup_), 0u);
}

TEST_F(EnsembleTest, IsThereByItselfOfTheReferenceAlone) {
  setup_.config.simulation.fidelity = {SimulationFidelity::kAlphaBeta, SimulationFidelity::kFlow};
  EXPECT_EQ(ensemble_members(setup_), 0u);
}

TEST_F(EnsembleTest, IsTheSameWhateverTheNumberOfThreads) {
  EXPECT_EQ(run(7, 1), run(7, 3));
}

// Of the two ranks' 1 ms (1 + z / 1000), and of what the all-reduce takes.
TEST_F(EnsembleTest, MembersTellHowLongOperationsTakeOnAverage) {
  const Ensemble ensemble = run_ensemble(setup_, 3, 1, {stop_});
  ASSERT_EQ(ensemble.operations.size(), 3u * 2);
  for (uint32_t member = 0; member < 3; ++member) {
    const EnsembleOperation& work = ensemble.operations[2 * member];
    EXPECT_EQ(work.member, member);
    EXPECT_EQ(work.name, "work");
    EXPECT_GT(work.mean, microseconds(995));
    EXPECT_LT(work.mean, microseconds(1005));
    EXPECT_NE(work.mean, milliseconds(1));
    EXPECT_EQ(ensemble.operations[2 * member + 1].kind, "all_reduce");
  }
}

// The job ends with the later of the two, which wait for each other: both end within the few microseconds of a message.
TEST_F(EnsembleTest, MembersTellWhenEachRankEnds) {
  const Ensemble ensemble = run_ensemble(setup_, 3, 1, {stop_});
  ASSERT_EQ(ensemble.per_rank.size(), 3u);
  for (size_t member = 0; member < 3; ++member) {
    ASSERT_EQ(ensemble.per_rank[member].size(), 2u);
    const auto [first, last] = std::ranges::minmax(ensemble.per_rank[member]);
    EXPECT_EQ(last, ensemble.completions[member]);
    EXPECT_LT(last - first, microseconds(10));
  }
}

TEST_F(EnsembleTest, FollowsFromTheSeed) {
  const std::vector<Duration> before = run(3, 1);
  ++setup_.config.seed;
  EXPECT_NE(run(3, 1), before);
}

TEST_F(EnsembleTest, EndsWithWhatItHasWhenInterrupted) {
  stop_ = true;
  EXPECT_THAT(run(5, 2), IsEmpty());
}

}  // namespace
}  // namespace rankwire
