#include "emulator/assembly/predicted_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "emulator/assembly/run.h"
#include "emulator/input/config.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

/// Rank 0 computes 10 us, rank 1 30 us; then both reduce 4 MiB, for which each sends 4 MiB: 8 MiB in all, at 10 Gb/s
/// 6710.8864 us.
class PredictedWorkTest : public ::testing::Test {
 protected:
  PredictedWorkTest() {
    for (const uint64_t micros : {10, 30})
      traces_.add({testing::compute(1, "work").micros(micros), testing::collective(2, "sum").after({1}).size(4 << 20)});
    std::ofstream(file()) << "workload: {traces: " << traces_.options.traces.front() << "}\n"
                          << "hosts: {count: 2, npus: 1}\n"
                          << "ports: {count: 2, device: memory, rate: 10Gbps}\n"
                          << "collectives: {algorithms: {all_reduce: ring}}\n";
  }
  std::string file() const { return folder_ / "small.yaml"; }
  void prepare_with(const std::vector<std::string>& settings) {
    prepare(setup_, load_config(file(), settings), folder_.path());
  }

  static constexpr double kTotal = 40 + 6710.8864;  // microseconds

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  rankwire::Setup setup_;
};

TEST_F(PredictedWorkTest, IsTheTimeOfComputingAndOfBytesOnTheLine) {
  prepare_with({});
  const PredictedWork predicted(setup_);
  ASSERT_TRUE(predicted.is_known());
  EXPECT_NEAR(predicted.share_of({.computed = microseconds(40)}), 40 / kTotal, 1e-12);
  EXPECT_NEAR(predicted.share_of({.computed = microseconds(40), .wire = Bytes(4 << 20)}), (40 + 3355.4432) / kTotal,
              1e-12);
  EXPECT_NEAR(predicted.share_of({.computed = microseconds(40), .wire = Bytes(8 << 20)}), 1, 1e-12);
  EXPECT_EQ(predicted.share_of({.computed = seconds(1)}), 1) << "computing that took longer";
}

TEST_F(PredictedWorkTest, IterationsAndTheInterconnectCount) {
  // Both on one host of two: all is local, at 1 Gb/s 67108.864 us an iteration.
  prepare_with({"workload.iterations=3", "hosts.npus=2", "mapping.policy=block", "local.bandwidth=1Gbps"});
  const PredictedWork predicted(setup_);
  EXPECT_NEAR(predicted.share_of({.local = Bytes(8 << 20)}), 67108.864 / (3 * (40 + 67108.864)), 1e-12);
}

TEST_F(PredictedWorkTest, ARunGetsToTheEndOfIt) {
  const std::atomic<bool> stop{false};
  std::map<std::string, double> shares;
  PreparedRun prepared(resolve(file(), std::vector<std::string>{"simulation.ensemble=off"}, RunKind::kTwin),
                       {folder_ / "out"});
  prepared.run({stop, [&](const WatchedRun& run) {
                  return std::shared_ptr<void>(nullptr, [&shares, run](void*) {
                    if (run.share) shares[run.label] = run.share();
                  });
                }});
  ASSERT_TRUE(shares.contains("twin"));
  EXPECT_NEAR(shares["twin"], 1, 1e-12);
}

}  // namespace
}  // namespace rankwire
