#include "emulator/assembly/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <set>

#include "emulator/input/config.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::IsEmpty;

/// Two ranks compute for 1 ms and then reduce 8 bytes, which takes some microseconds.
class EnsembleTest : public ::testing::Test {
 protected:
  EnsembleTest() {
    for (int rank = 0; rank < 2; ++rank)
      traces_.add({testing::compute(1, "work").micros(1000), testing::collective(2, "sum").after({1}).size(8)});
    const std::filesystem::path file = folder_ / "two.yaml";
    std::ofstream(file) << "workload: {traces: " << traces_.options.traces.front() << "}\n"
                        << "hosts: {count: 2, npus: 1}\nports: {count: 2, rate: 10Gbps}\n";
    prepare(setup_, load_config(file, {}), folder_.path());
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

TEST_F(EnsembleTest, IsTheSameWhateverTheNumberOfThreads) {
  EXPECT_EQ(run(7, 1), run(7, 3));
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
