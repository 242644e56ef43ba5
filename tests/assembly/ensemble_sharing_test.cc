// Ensembles whose members several machines simulate: threads of the test, of which one may die.
#include "emulator/assembly/ensemble_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "emulator/assembly/ensemble.h"
#include "emulator/input/config.h"
#include "emulator/machines/machines.h"
#include "tests/machines/fake_links.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::FakeLinks;
using testing::FakeNetwork;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kMembers = 7;

/// Two ranks compute for 1 ms and then reduce 8 bytes.
class SharedEnsemble : public ::testing::Test {
 protected:
  SharedEnsemble() {
    for (int rank = 0; rank < 2; ++rank)
      traces_.add({testing::compute(1, "work").micros(1000), testing::collective(2, "sum").after({1}).size(8)});
    const std::filesystem::path file = folder_ / "two.yaml";
    std::ofstream(file) << "workload: {traces: " << traces_.options.traces.front() << "}\n"
                        << "hosts: {count: 2, npus: 1}\nports: {count: 2, rate: 10Gbps}\n";
    prepare(setup_, load_config(file, {}), folder_.path());
  }

  /// Calls `begins` with each member as it begins, counted from 0.
  RunControl control(const std::function<void(uint32_t member)>& begins) const {
    return {.interrupted = stop_, .watch = [begins](const WatchedRun& run) -> std::shared_ptr<void> {
              begins(static_cast<uint32_t>(std::stoul(run.label.substr(std::string("ensemble ").size()))) - 1);
              return nullptr;
            }};
  }

  /// The ensemble as three machines make it. `begins` is called on the machine that simulates the member.
  Ensemble shared(const std::function<void(uint32_t machine, uint32_t member)>& begins) {
    Ensemble ensemble;
    std::vector<std::thread> threads;
    for (uint32_t own = 0; own < network_.count(); ++own)
      threads.emplace_back([&, own] {
        Machines machines(std::make_unique<FakeLinks>(network_, own, std::string(1, static_cast<char>('a' + own))), "",
                          testing::kShortPatience);
        const RunControl told = control([&](uint32_t member) {
          {
            const std::lock_guard lock(mutex_);
            simulated_[own].push_back(member);
          }
          begins(own, member);
        });
        if (machines.leads()) {
          ensemble = run_ensemble(setup_, kMembers, 1, told, &machines);
          end_ensemble(machines);
        } else {
          help_with_ensemble(setup_, machines, 1, told);
        }
        machines.leave({});
      });
    for (std::thread& thread : threads) thread.join();
    return ensemble;
  }
  Ensemble alone() const { return run_ensemble(setup_, kMembers, 1, {stop_}); }

  static void expect_equal(const Ensemble& one, const Ensemble& other) {
    EXPECT_EQ(one.nics, other.nics);
    EXPECT_EQ(one.members, other.members);
    EXPECT_EQ(one.completions, other.completions);
    EXPECT_EQ(one.per_rank, other.per_rank);
    ASSERT_EQ(one.operations.size(), other.operations.size());
    for (size_t i = 0; i < one.operations.size(); ++i) {
      EXPECT_EQ(one.operations[i].member, other.operations[i].member);
      EXPECT_EQ(one.operations[i].name, other.operations[i].name);
      EXPECT_EQ(one.operations[i].mean, other.operations[i].mean);
    }
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  rankwire::Setup setup_;
  std::atomic<bool> stop_{false};
  FakeNetwork network_{3};
  std::mutex mutex_;
  std::vector<uint32_t> simulated_[3];
};

// Of the members behind the first each machine has every third.
TEST_F(SharedEnsemble, IsTheSameAsOneMachinesAndEachHasSimulatedItsPart) {
  const Ensemble ensemble = shared([](uint32_t, uint32_t) {});
  EXPECT_EQ(ensemble.completions.size(), kMembers);
  expect_equal(ensemble, alone());
  EXPECT_THAT(simulated_[0], ElementsAre(0, 1, 4));
  EXPECT_THAT(simulated_[1], ElementsAre(2, 5));
  EXPECT_THAT(simulated_[2], ElementsAre(3, 6));
}

TEST_F(SharedEnsemble, TheLeaderSimulatesWhatAMachineThatDiesHasNotTold) {
  const Ensemble ensemble = shared([this](uint32_t machine, uint32_t) {
    if (machine == 2) network_.cut_off(2);
  });
  EXPECT_EQ(ensemble.completions.size(), kMembers);
  expect_equal(ensemble, alone());
  EXPECT_THAT(simulated_[0], UnorderedElementsAre(0, 1, 4, 3, 6));
}

TEST_F(SharedEnsemble, TellsWhatTheFirstOfThoseThatFailedThrew) {
  const Ensemble ensemble = shared([](uint32_t, uint32_t member) {
    if (member == 3 || member == 5) fail_input("member {} has no memory", member);
  });
  EXPECT_THAT(ensemble.members, ElementsAre(0, 1, 2, 4, 6));
  ASSERT_TRUE(ensemble.error);
  try {
    std::rethrow_exception(ensemble.error);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_STREQ(error.what(), "member 3 has no memory");
  }
}

TEST(MemberOutcome, SurvivesItsWayToTheLeader) {
  MemberOutcome outcome{.is_known = true, .times = {}, .thrown = {}};
  EXPECT_FALSE(member_outcome(bytes_of(outcome)).times);
  outcome.times = MemberTimes{.completion = seconds(2),
                              .work = 1ull << 63,
                              .per_rank = {seconds(2), Duration(1)},
                              .operations = {Duration(7), std::nullopt}};
  const MemberOutcome told = member_outcome(bytes_of(outcome));
  EXPECT_TRUE(told.is_known);
  EXPECT_EQ(told.times, outcome.times);
  EXPECT_FALSE(told.thrown);
}

}  // namespace
}  // namespace rankwire
