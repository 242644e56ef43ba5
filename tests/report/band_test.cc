#include "emulator/report/band.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/assessment.h"
#include "emulator/report/limits.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// 50 us emulated; the reference, 30 us, is of the model `flow`.
RunReader record_of(const std::filesystem::path& folder, const std::vector<Duration>& ensemble) {
  {
    RunRecorder recorder(folder);
    testing::begin_sample(recorder);
    testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
    RunEnd end = testing::sample_end(microseconds(30));
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"}).end(end);
    recorder.ensemble(ensemble);
  }
  return RunReader(folder);
}

// Of 20 the first is the 5 % quantile, the tenth the median, the nineteenth the 95 % one.
TEST(ReferenceBand, HasTheQuantilesOfTheNearestRank) {
  const TemporaryFolder folder;
  std::vector<Duration> ensemble;
  for (int i = 20; i > 0; --i) ensemble.push_back(microseconds(20 + i));
  const auto band = reference_band(record_of(folder.path(), ensemble));
  ASSERT_TRUE(band);
  EXPECT_EQ(band->runs, 20u);
  EXPECT_EQ(band->low, microseconds(21));
  EXPECT_EQ(band->median, microseconds(30));
  EXPECT_EQ(band->high, microseconds(39));
}

TEST(ReferenceBand, IsWhatTheEmulatedSideIsComparedWith) {
  const TemporaryFolder folder;
  const RunReader record = record_of(folder.path(), {microseconds(25), microseconds(40), microseconds(50)});
  EXPECT_EQ(band_json(record), nlohmann::ordered_json::parse(R"({"runs": 3, "p5_ps": 25000000, "median_ps": 40000000,
    "p95_ps": 50000000, "per_rank_p5_ps": null, "per_rank_median_ps": null, "per_rank_p95_ps": null, "symmetric_ps": 30000000,
    "has_reference": true, "ratio_median": 1.25, "ratio_low": 1.0, "ratio_high": 2.0})"));
  EXPECT_EQ(band_text(record), "25 us .. 50 us of 3 runs, median 40 us; ratio 1.250, 1.000 .. 2.000");
  EXPECT_THAT(summary_table(record), HasSubstr("band          25 us .. 50 us of 3 runs"));
}

/// Rank 0 ended at 49.999 us emulated and at 29.999 us in the reference, rank 1 at 50 and 30. In three members rank 0
/// ended at 48 to 52 us and rank 1 at 20 to 28.
void write_ranks(const std::filesystem::path& folder) {
  RunRecorder recorder(folder);
  testing::begin_sample(recorder);
  testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
  recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"})
      .end(testing::sample_end(microseconds(30)));
  recorder.ensemble(std::vector{microseconds(48), microseconds(50), microseconds(52)});
  recorder.ensemble_ranks(std::vector<std::vector<Duration>>{{microseconds(52), microseconds(28)},
                                                             {microseconds(48), microseconds(20)},
                                                             {microseconds(50), microseconds(24)}});
}

TEST(ReferenceBand, IsOfEachRankToo) {
  const TemporaryFolder folder;
  write_ranks(folder.path());
  const RunReader record(folder.path());
  const std::vector<ReferenceBand> bands = rank_bands(record);
  ASSERT_EQ(bands.size(), 2u);
  EXPECT_EQ(beyond(bands[0], record.emulated()->end.per_rank[0]), Duration());
  EXPECT_EQ(beyond(bands[1], record.emulated()->end.per_rank[1]), microseconds(22));
  EXPECT_EQ(beyond(bands[1], microseconds(19)), Duration() - microseconds(1));
  const nlohmann::ordered_json band = band_json(record);
  EXPECT_EQ(band["per_rank_p5_ps"], nlohmann::json::parse("[48000000, 20000000]"));
  EXPECT_EQ(band["per_rank_median_ps"], nlohmann::json::parse("[50000000, 24000000]"));
  EXPECT_EQ(band["per_rank_p95_ps"], nlohmann::json::parse("[52000000, 28000000]"));
}

TEST(ReferenceBand, StandsBesideEachRankInTableAndPage) {
  const TemporaryFolder folder;
  write_ranks(folder.path());
  write_report(folder.path(), {ReportFormat::kCsv, ReportFormat::kHtml});
  EXPECT_THAT(testing::file_text(folder / "ranks.csv"), AllOf(HasSubstr(",49999000,48000000,50000000,52000000\n"),
                                                              HasSubstr(",50000000,20000000,24000000,28000000\n"),
                                                              HasSubstr(",30000000,20000000,24000000,28000000\n")));
  const std::string page = testing::file_text(folder / "report.html");
  EXPECT_THAT(page, HasSubstr(">48 us .. 52 us</td><td class=\"n\" data-value=\"0\">0 ps</td>"));
  EXPECT_THAT(page, HasSubstr(">20 us .. 28 us</td><td class=\"n\" data-value=\"22000000\">22 us</td>"));
}

// 50 us are 1.67 of the reference's 30, and 1.25 of the median's 40.
TEST(ReferenceBand, ItsMedianIsWhatTheLimitOfTheRatioCounts) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    recorder.limits(std::vector<LimitInfo>{{"ratio", 1.3}});
    testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
    testing::record_reference(recorder);
    recorder.ensemble(std::vector{microseconds(40)});
  }
  EXPECT_EQ(limit_results(RunReader(folder.path())).front().text,
            "limits.ratio: 1.25, at most 1.3 (1.25 .. 1.25 over the band)");
}

// 50 us are 1.25 of the band's 40 and 2 of its 25: at the one end a limit of 1.3 is kept, at the other it is broken.
TEST(ReferenceBand, ALimitBetweenItsEndsIsInconclusive) {
  for (const auto& [limit, verdict] : {std::pair(1.2, "failed"), std::pair(1.3, "inconclusive"),
                                       std::pair(1.9, "inconclusive"), std::pair(2.0, "ok")}) {
    const TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      testing::begin_sample(recorder);
      recorder.limits(std::vector<LimitInfo>{{"ratio", limit}});
      testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
      testing::record_reference(recorder);
      recorder.ensemble(std::vector{microseconds(25), microseconds(32), microseconds(40)});
    }
    const RunReader record(folder.path());
    EXPECT_EQ(verdict_of(record).verdict, verdict) << limit;
    EXPECT_EQ(limit_results(record).front().low, 1.25);
    EXPECT_EQ(limit_results(record).front().high, 2.0);
  }
}

// What all else is compared with is the member at the median where it was recorded: 40 us, and not 30. The single run
// keeps its place in the band.
TEST(ReferenceBand, ItsMedianIsTheReferenceWhereItWasRecorded) {
  for (const char* const verdict : {"ok", "interrupted"}) {
    const TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      testing::begin_sample(recorder);
      testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
      const auto begin = [&](const char* model) {
        return recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = model});
      };
      begin(kFlowModel).end(testing::sample_end(microseconds(30)));
      RunEnd end = testing::sample_end(microseconds(40));
      end.verdict = verdict;
      begin(kMedianOfFlow).end(end);
      recorder.ensemble(std::vector{microseconds(40), microseconds(40), microseconds(41)});
    }
    const RunReader record(folder.path());
    const bool is_median = verdict == std::string("ok");
    EXPECT_EQ(record.reference()->end.completion, is_median ? microseconds(40) : microseconds(30));
    EXPECT_EQ(run_of_flow(record), record.reference());
    EXPECT_EQ(band_json(record)["symmetric_ps"], 30'000'000);
    EXPECT_EQ(band_json(record)["has_reference"], false);
    EXPECT_EQ(band_json(record)["ratio_median"], 1.25);
  }
}

TEST(ReferenceBand, SaysWhenTheReferenceIsOutside) {
  const TemporaryFolder folder;
  const RunReader record = record_of(folder.path(), {microseconds(20), microseconds(22)});
  EXPECT_EQ(band_json(record)["has_reference"], false);
  EXPECT_THAT(band_text(record), HasSubstr("; 30 us of the single run is outside"));
}

// A thousandth of the median, 30.04 us, is 30.04 ns: 30 us is less than that below 30.02 us, and more below 30.04 us.
// (30.04 - 0.03004 us = 30.00996 us.)
TEST(ReferenceBand, HasTheReferenceWhereItIsAsNearAsItsMembersDiffer) {
  for (const bool is_near : {true, false}) {
    const TemporaryFolder folder;
    const RunReader record =
        record_of(folder.path(), {nanoseconds(is_near ? 30'020 : 30'040), nanoseconds(30'040), nanoseconds(30'050)});
    EXPECT_EQ(reference_band(record)->has(microseconds(30)), is_near);
    EXPECT_EQ(band_json(record)["has_reference"], is_near);
    EXPECT_EQ(reference_band(record)->low, is_near ? microseconds(30) : nanoseconds(30'040));
  }
}

TEST(ReferenceBand, IsAbsentWithoutAnEnsemble) {
  const TemporaryFolder folder;
  const RunReader record = record_of(folder.path(), {});
  EXPECT_FALSE(reference_band(record));
  EXPECT_TRUE(band_json(record).is_null());
  EXPECT_EQ(band_text(record), "");
}

TEST(ReferenceBand, SaysWhenTheProgramLeavesItOut) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder, R"({"name": "large", "simulation": {"ensemble": "auto"}})");
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"})
        .end(testing::sample_end(microseconds(30)));
  }
  const RunReader record(folder.path());
  EXPECT_TRUE(band_json(record).is_null());
  EXPECT_THAT(band_text(record), HasSubstr("none: the run is too large"));
  EXPECT_EQ(band_text(record), missing_band_text(record));
}

TEST(ReferenceBand, SaysThatItIsLeftOutForWhatDidNotEnd) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder, R"({"name": "stopped", "simulation": {"ensemble": "auto"}})");
    RunEnd end = testing::sample_end(microseconds(30));
    end.verdict = "interrupted";
    recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2}).end(end);
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"})
        .end(testing::sample_end(microseconds(30)));
  }
  EXPECT_THAT(band_text(RunReader(folder.path())), HasSubstr("none: the run was stopped before"));
}

// It is of flow alone, and whoever leaves it to the program is told.
TEST(ReferenceBand, SaysThatTheReferenceIsAnotherModel) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder, R"({"name": "two", "simulation": {"ensemble": "auto"}})");
    for (const char* const model : {"alpha_beta", "flow"})
      recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = model})
          .end(testing::sample_end(microseconds(30)));
  }
  EXPECT_EQ(band_text(RunReader(folder.path())), "none: it is of the model flow, and the reference is alpha_beta");
}

}  // namespace
}  // namespace rankwire
