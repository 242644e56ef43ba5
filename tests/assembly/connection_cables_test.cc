#include "emulator/assembly/connection_cables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "emulator/assembly/run.h"
#include "emulator/input/config.h"
#include "emulator/record/reader.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

/// Rank 0 sends 64 KiB to rank 1, which stands at another leaf of two, joined by four spines.
class ConnectionCablesTest : public ::testing::Test {
 protected:
  ConnectionCablesTest() {
    traces_.add({testing::send(1, "there", 1).size(65536)});
    traces_.add({testing::receive(1, "there", 0).size(65536)});
  }
  std::filesystem::path config(const std::string& more) const {
    const std::filesystem::path file = folder_ / "leaves.yaml";
    std::ofstream(file) << "workload: {traces: " << traces_.options.traces.front() << "}\n"
                        << "hosts: {count: 2, npus: 1}\nports: {count: 2, device: memory, rate: 10Gbps}\n"
                        << "record: {causes: on}\nsimulation: {ensemble: off}\n"
                        << more;
    return file;
  }
  std::vector<ConnectionCables> cables(const std::string& more) const {
    rankwire::Setup setup;
    prepare(setup, load_config(config(more), {}), folder_.path());
    return connection_cables(setup);
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
};

constexpr const char* kLeaves = "fabric: {topology: leaf_spine, leaves: 2, spines: 4}\n";

// The switches' own counters are the oracle: frames leave by those ports to other switches and by no others. Of five
// seeds four spines are not always the same one's.
TEST_F(ConnectionCablesTest, AreThoseThatFramesLeaveBy) {
  std::set<std::string> all;
  for (int seed = 1; seed <= 5; ++seed) {
    const std::atomic<bool> stop{false};
    const std::filesystem::path out = folder_ / fmt::format("out{}", seed);
    PreparedRun prepared(resolve(config(std::string(kLeaves) + fmt::format("seed: {}\n", seed)), {}, RunKind::kTwin),
                         {out});
    for (const CompletedRun& done : prepared.run({stop})) ASSERT_EQ(done.result.verdict, Verdict::kOk);
    const RunReader record(out);
    std::set<std::string> used;
    for (const PortCounters& port : record.ports(*record.emulated()))
      if (port.name.find("spine") != std::string::npos && port.tx_frames > 0) used.insert(port.name);
    const std::vector<ConnectionCables> told = record.connection_cables();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(std::set({told[0].out, told[0].into, told[0].back_out, told[0].back_into}), used) << "seed " << seed;
    all.merge(used);
  }
  EXPECT_GT(all.size(), 4u);
}

TEST_F(ConnectionCablesTest, AreNotKnownWherePacketsChooseOrCablesFail) {
  EXPECT_EQ(cables(kLeaves).size(), 1u);
  EXPECT_TRUE(cables("").empty()) << "one switch";
  const std::string leaves = "fabric: {topology: leaf_spine, leaves: 2, spines: 4, ";
  EXPECT_TRUE(cables(leaves + "balancing: {spreading: packet}}\ntransport: {out_of_order: 64}\n").empty());
  EXPECT_TRUE(cables(leaves + "failures: [{a: spine0, down: 1us, up: 2us}]}\n").empty());
}

}  // namespace
}  // namespace rankwire
