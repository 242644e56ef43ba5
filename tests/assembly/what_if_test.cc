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
    return run_what_if(setup_, WhatIfScope::kAll, {.variation = setup_.variation.get()}, threads, {stop_}).rows;
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

/// Eight ranks, four behind each of two leaves, reduce; neighbours on the ring are behind different leaves.
class Disturbed : public ::testing::Test {
 protected:
  static constexpr const char* kSlowSpine = "failures: [{a: spine0, rate: 1Gbps}], ";
  static constexpr const char* kNoise =
      "background: [{name: noise, pattern: incast, to: 3, size: 64KiB, outstanding: 2}]\n";

  /// What it takes, and in `rows` what it takes without what disturbs it.
  Duration completion(const std::string& fabric, const std::string& more, std::vector<WhatIfRow>* rows = nullptr) {
    const std::filesystem::path file = folder_ / "eight.yaml";
    std::ofstream(file) << "workload: {generate: {layers: 2, hidden: 256, sequence: 64, vocabulary: 1000, "
                           "tensor_parallel: 1, data_parallel: 8}}\n"
                        << "collectives: {ring: {order: listed, ranks: [0, 4, 1, 5, 2, 6, 3, 7]}}\n"
                        << "hosts: {count: 8, npus: 1}\nports: {count: 8, device: memory, rate: 10Gbps}\n"
                        << "fabric: {topology: leaf_spine, spines: 4, " << fabric << "}\n"
                        << more;
    rankwire::Setup setup;
    prepare(setup, load_config(file, {}), folder_.path());
    if (rows != nullptr)
      *rows = run_what_if(setup, WhatIfScope::kDisturbances, {.variation = setup.variation.get()}, 1, {stop_}).rows;
    return run_unrecorded(setup, {.label = "as it is"}, reference_network(setup), {stop_})->completion;
  }

  const testing::TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
};

// What a run without a disturbance takes is what a configuration without it does; but for the background, whose
// connections change what hashes make of the others.
TEST_F(Disturbed, RunsGoWithoutOneThingEach) {
  std::vector<WhatIfRow> rows;
  const Duration whole = completion(kSlowSpine, kNoise, &rows);
  ASSERT_THAT(names(rows), ElementsAre("collisions ", "failures ", "background "));
  const std::string spread = "balancing: {spreading: packet}, ";
  EXPECT_EQ(rows[0].completion,
            completion(kSlowSpine + spread, std::string(kNoise) + "transport: {out_of_order: 64}\n"));
  EXPECT_EQ(rows[1].completion, completion("", kNoise));
  EXPECT_LT(rows[1].completion, whole);
  EXPECT_LT(rows[2].completion, whole);
}

TEST_F(Disturbed, NothingIsRunAgainWhereNothingDisturbs) {
  std::vector<WhatIfRow> rows;
  completion("balancing: {spreading: packet}, ", "transport: {out_of_order: 64}\n", &rows);
  EXPECT_THAT(rows, IsEmpty());
}

}  // namespace
}  // namespace rankwire
