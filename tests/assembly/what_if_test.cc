#include "emulator/assembly/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"
#include "emulator/input/config.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Four ranks, each behind a port of its own, compute for 1 ms, and then 0 and 1, and 2 and 3, reduce 1 MiB; then 0
/// sends 2 MiB to 2. One after the other, and alone on the ports that it uses.
class WhatIf : public ::testing::Test {
 protected:
  WhatIf() {
    for (int rank = 0; rank < 4; ++rank) {
      testing::Nodes nodes = {testing::compute(1, "work").micros(1000),
                              testing::collective(2, "sum").after({1}).size(1 << 20).group(rank < 2 ? "tp0" : "tp1")};
      if (rank == 0) nodes.push_back(testing::send(3, "over", 2).after({2}).size(2 << 20));
      if (rank == 2) nodes.push_back(testing::receive(3, "over", 0).after({2}).size(2 << 20));
      traces_.add(nodes);
    }
    traces_.groups(R"({"tp0": [0, 1], "tp1": [2, 3]})");
    const std::filesystem::path file = folder_ / "four.yaml";
    std::ofstream(file) << "workload: {traces: " << traces_.options.traces.front()
                        << ", groups: " << traces_.options.groups_file << "}\n"
                        << "hosts: {count: 4, npus: 1}\nports: {count: 4, rate: 10Gbps}\n";
    prepare(setup_, load_config(file, {}), folder_.path());
  }
  std::vector<WhatIfRow> run(uint32_t threads = 1) const {
    return run_what_if(setup_, WhatIfScope::kAll, threads, {stop_}).rows;
  }
  Duration as_it_is() const {
    return run_unrecorded(setup_, {.label = "as it is"}, reference_network(setup_), {stop_})->completion;
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  rankwire::Setup setup_;
  std::atomic<bool> stop_{false};
};

std::vector<std::string> names(const std::vector<WhatIfRow>& rows) {
  std::vector<std::string> names;
  for (const WhatIfRow& row : rows) names.push_back(row.kind + " " + row.name);
  return names;
}

// tp0 and tp1 send 2 MiB each; p0 and p2 have 1 MiB of these out and in, and 2 MiB of the SEND.
TEST_F(WhatIf, TriesEachThingWithTheMostBytesFirst) {
  EXPECT_THAT(names(run()), ElementsAre("compute ", "wires ", "group tp#", "point_to_point ", "port p0", "port p2",
                                        "port p1", "port p3"));
}

TEST_F(WhatIf, WhatIsFreeTakesNoTimeAndAllElseWhatItTook) {
  const std::vector<WhatIfRow> rows = run();
  ASSERT_EQ(rows.size(), 8u);
  const Duration whole = as_it_is(), work = milliseconds(1);
  EXPECT_EQ(rows[0].completion, whole - work);
  EXPECT_EQ(rows[1].completion, work);
  // 2 MiB at 10 Gbit/s take 1.678 ms, with headers of 2 % at MTU 4096 and a few microseconds of latency less than 1.75
  // ms.
  EXPECT_GT(rows[2].completion, work + microseconds(1678));
  EXPECT_LT(rows[2].completion, work + microseconds(1750));
  // What is left without the one and without the other are all parts, and the work twice.
  EXPECT_EQ(rows[2].completion + rows[3].completion, whole + work);
}

TEST_F(WhatIf, IsTheSameWhateverTheNumberOfThreads) {
  const auto completions = [](const std::vector<WhatIfRow>& rows) {
    std::vector<Duration> list;
    for (const WhatIfRow& row : rows) list.push_back(row.completion);
    return list;
  };
  EXPECT_EQ(completions(run(1)), completions(run(3)));
}

TEST_F(WhatIf, EndsWithWhatItHasWhenInterrupted) {
  stop_ = true;
  EXPECT_THAT(run(2), IsEmpty());
}

}  // namespace
}  // namespace rankwire
