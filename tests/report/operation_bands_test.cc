#include "emulator/report/operation_bands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/report.h"
#include "emulator/report/summary_table.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// The all-reduce takes 40 us emulated and 20 us in the reference; in three members 25, 40 and 20 us on average.
class OperationBandsTest : public ::testing::Test {
 protected:
  OperationBandsTest() {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
    testing::record_reference(recorder);
    recorder.ensemble(std::vector{microseconds(40), microseconds(40), microseconds(40)});
    std::vector<EnsembleOperation> rows;
    for (const int64_t us : {25, 40, 20})
      rows.push_back({.member = static_cast<uint32_t>(rows.size()),
                      .name = "grads <script>",
                      .kind = "all_reduce",
                      .group = "dp",
                      .job = JobId(0),
                      .mean = microseconds(us)});
    recorder.ensemble_operations(rows);
  }

  const TemporaryFolder folder_;
};

TEST_F(OperationBandsTest, AreOfTheMembersMeans) {
  const RunReader record(folder_.path());
  OperationBands bands(record);
  const ReferenceBand* const band = bands.of_pattern("grads <script>", "all_reduce", "dp", JobId(0));
  ASSERT_NE(band, nullptr);
  EXPECT_EQ(band->runs, 3u);
  EXPECT_EQ(band->low, microseconds(20));
  EXPECT_EQ(band->median, microseconds(25));
  EXPECT_EQ(band->high, microseconds(40));
  EXPECT_EQ(bands.of(testing::sample_node(1, 1, "grads <script>", "all_reduce")), band);
  EXPECT_EQ(bands.of(testing::sample_node(0, 0, "gemm, \"big\"", "compute")), nullptr);
  EXPECT_EQ(bands.of_pattern("grads <script>", "all_reduce", "dp", JobId(1)), nullptr);
}

// Rank 0 begins 15 us late in the reference, so that its all-reduce takes 5 us and rank 1's 20: more apart than 14 us,
// from the first member's mean to the last's.
TEST(OperationBands, AreOfNoExecutionWhereRanksDiffer) {
  for (const int64_t late : {0, 15}) {
    const TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      testing::begin_sample(recorder);
      testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
      RunRecorder::Run run =
          recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"});
      for (const uint32_t rank : {0, 1}) {
        const OperationRecord row{.rank = RankId(rank),
                                  .node = 1,
                                  .iteration = 0,
                                  .start = Time(microseconds(rank == 0 ? 10 + late : 10).ps),
                                  .end = Time(microseconds(30).ps)};
        run.sink().operations({&row, 1});
      }
      run.end(testing::sample_end(microseconds(30)));
      std::vector<EnsembleOperation> rows;
      for (const int64_t us : {16, 30})
        rows.push_back({.member = static_cast<uint32_t>(rows.size()),
                        .name = "grads <script>",
                        .kind = "all_reduce",
                        .group = "dp",
                        .job = JobId(0),
                        .mean = microseconds(us)});
      recorder.ensemble(std::vector{microseconds(40), microseconds(40)});
      recorder.ensemble_operations(rows);
    }
    OperationBands bands{RunReader(folder.path())};
    EXPECT_EQ(bands.of(testing::sample_node(1, 1, "grads <script>", "all_reduce")) != nullptr, late == 0);
    EXPECT_NE(bands.of_pattern("grads <script>", "all_reduce", "dp", JobId(0)), nullptr);
  }
}

// 40 us are as long as the slowest member's, 1.6 times the median, and twice the fastest.
TEST_F(OperationBandsTest, AreWhatTablesCompareWith) {
  write_report(folder_.path());
  EXPECT_THAT(testing::file_text(folder_ / "operations.csv"),
              HasSubstr(",200.000,200.000,,,,,,,,,,,20000000,25000000,40000000,1.000,1.600,2.000\n"));
  EXPECT_THAT(testing::file_text(folder_ / "report.html"), HasSubstr("1.600, 1.000 .. 2.000"));
}

// 50 us emulated of the 40 us that are the median; the reference itself takes 30.
TEST_F(OperationBandsTest, TheHeadlineIsOfTheBandsMedianToo) {
  const RunReader record(folder_.path());
  EXPECT_THAT(summary_table(record), HasSubstr("ratio 1.250 of the band's median"));
  EXPECT_EQ(predicted_ratio(record), 1.25);
}

}  // namespace
}  // namespace rankwire
