#include "emulator/assembly/operation_means.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "emulator/input/config.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

constexpr Time after(int64_t us) {
  return Time() + microseconds(us);
}

/// Two ranks with two layers of one node each that differ in their number alone, and an all-reduce.
class OperationMeansTest : public ::testing::Test {
 protected:
  OperationMeansTest() {
    for (int rank = 0; rank < 2; ++rank)
      traces_.add({testing::compute(1, "layer1.work").micros(5), testing::compute(2, "layer22.work").micros(5),
                   testing::collective(3, "sum").after({1}).size(8)});
    const std::filesystem::path file = folder_ / "two.yaml";
    std::ofstream(file) << "workload: {traces: " << traces_.options.traces.front() << "}\n"
                        << "hosts: {count: 2, npus: 1}\nports: {count: 2, rate: 10Gbps}\n";
    prepare(setup_, load_config(file, {}), folder_.path());
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  rankwire::Setup setup_;
};

TEST_F(OperationMeansTest, NodesThatDifferInNumbersAreOfOnePattern) {
  const OperationPatterns patterns(setup_);
  ASSERT_EQ(patterns.all().size(), 2u);
  EXPECT_EQ(patterns.all()[0].name, "layer#.work");
  EXPECT_EQ(patterns.all()[0].kind, "compute");
  EXPECT_EQ(patterns.all()[1].name, "sum");
  EXPECT_EQ(patterns.all()[1].kind, "all_reduce");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(patterns.of(RankId(rank), 1), patterns.of(RankId(0), 0));
    EXPECT_EQ(patterns.of(RankId(rank), 2), 1u);
  }
  EXPECT_EQ(patterns.of(RankId(0), 3), std::nullopt) << "there are three nodes";
}

// 4, 6 and 11 us on average are 7.
TEST_F(OperationMeansTest, AreOverRanksNodesAndIterations) {
  const OperationPatterns patterns(setup_);
  OperationMeans means(patterns);
  const std::array rows{
      OperationRecord{.rank = RankId(0), .node = 0, .iteration = 0, .start = after(1), .end = after(5)},
      OperationRecord{.rank = RankId(0), .node = 1, .iteration = 1, .start = after(5), .end = after(11)},
      OperationRecord{.rank = RankId(1), .node = 0, .iteration = 0, .start = after(0), .end = after(11)}};
  means.operations(rows);
  EXPECT_EQ(means.mean(0), microseconds(7));
  EXPECT_EQ(means.mean(1), std::nullopt);
}

}  // namespace
}  // namespace rankwire
