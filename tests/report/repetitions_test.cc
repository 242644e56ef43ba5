#include "emulator/report/repetitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/report/repeated_comparison.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;

/// The sample's emulated run several times, and its reference, 30 us.
class RepetitionsTest : public ::testing::Test {
 protected:
  /// One that takes so many microseconds.
  static RunEnd taking(int64_t micros, const std::string& verdict = "ok", const std::string& reason = "") {
    RunEnd end = testing::sample_end(microseconds(micros));
    end.verdict = verdict, end.reason = reason;
    return end;
  }

  RunReader record(const std::vector<RunEnd>& ends, uint32_t planned, const std::vector<LimitInfo>& limits = {},
                   bool has_reference = true) {
    {
      RunRecorder recorder(where_);
      testing::begin_sample(recorder);
      if (!limits.empty()) recorder.limits(limits);
      for (uint32_t i = 0; i < ends.size(); ++i) {
        RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated,
                                               .clock = "real",
                                               .ranks = 2,
                                               .seed = 7,
                                               .repetition = {.number = i + 1, .planned = planned}});
        run.sink().operations(testing::sample_operations(ends[i].completion.ps / 1'000'000));
        run.warning("of " + std::to_string(i + 1));
        run.end(ends[i]);
      }
      if (has_reference) testing::record_reference(recorder);
    }
    return RunReader(where_);
  }

  TemporaryFolder folder_;
  std::filesystem::path where_ = folder_.path();
};

// The mean is 60 us, the deviation 10 us, the interval 60 +- 4.302653 x 10 / sqrt(3) us; over 30 us 1.171954 ..
// 2.828046.
TEST_F(RepetitionsTest, AreToldWithTheirSpreadAndTheMedianOneIsShown) {
  const RunReader reader = record({taking(70), taking(50), taking(60)}, 3);
  EXPECT_EQ(reader.shown(), 3u);
  EXPECT_EQ(reader.runs().size(), 2u);
  EXPECT_EQ(verdict_of(reader).verdict, "ok");
  const auto json = summary(reader)["repetitions"];
  EXPECT_EQ(json["planned"], 3);
  EXPECT_EQ(json["completed"], 3);
  EXPECT_EQ(json["shown"], 3);
  EXPECT_EQ(json["mean_ps"], 60'000'000);
  EXPECT_EQ(json["median_ps"], 60'000'000);
  EXPECT_EQ(json["min_ps"], 50'000'000);
  EXPECT_EQ(json["max_ps"], 70'000'000);
  EXPECT_EQ(json["deviation_ps"], 10'000'000);
  EXPECT_DOUBLE_EQ(json["coefficient_of_variation"], 1.0 / 6);
  EXPECT_EQ(json["confidence"]["method"], "student_t");
  EXPECT_NEAR(json["confidence"]["low_ps"].get<double>(), 35'158'623, 2);
  EXPECT_NEAR(json["confidence"]["high_ps"].get<double>(), 84'841'377, 2);
  EXPECT_NEAR(json["confidence"]["ratio_low"].get<double>(), 1.171954, 1e-6);
  EXPECT_NEAR(json["confidence"]["ratio_high"].get<double>(), 2.828046, 1e-6);
  EXPECT_EQ(json["runs"][1], nlohmann::ordered_json::parse(R"({"repetition": 2, "verdict": "ok", "reason": "",
      "reason_code": "completed", "fidelity": "ok", "completion_time_ps": 50000000})"));
  EXPECT_THAT(repetition_lines(reader),
              ElementsAre("3 of 3 came to the end: mean 60 us, 95 % confidence 35.16 us .. 84.84 us (Student's t), "
                          "coefficient of variation 17 %, 50 us .. 70 us; ratio 1.172 .. 2.828; the tables show 3"));
  EXPECT_EQ(summary(reader)["emulated"]["completion_time_ps"], 60'000'000);
  // Its all-reduce began at 10 us and ended at 60 us.
  EXPECT_THAT(summary_table(reader), HasSubstr("50 us      20 us"));
}

TEST_F(RepetitionsTest, OfTwoInTheMiddleTheShorterOneIsShown) {
  EXPECT_EQ(record({taking(80), taking(50), taking(60), taking(70)}, 4).shown(), 3u);
}

TEST_F(RepetitionsTest, AnyOneCanBeShown) {
  RunReader reader = record({taking(70), taking(50), taking(60)}, 3);
  reader.show(2);
  EXPECT_EQ(reader.shown(), 2u);
  EXPECT_EQ(summary(reader)["emulated"]["completion_time_ps"], 50'000'000);
  EXPECT_THAT([&] { reader.show(4); }, ThrowsMessage<Error>(HasSubstr("no repetition 4; the record has 1 to 3")));
}

TEST_F(RepetitionsTest, OnlyTheShownOnesWarningsCount) {
  EXPECT_THAT(record({taking(70), taking(50), taking(60)}, 3).warnings(), ElementsAre("of 3"));
}

TEST_F(RepetitionsTest, AFailedOneGivesTheVerdictAndIsShown) {
  const RunReader reader = record(
      {taking(50), taking(20, "stalled", "no progress\nrank 1 waits"), taking(60), taking(20, "failed", "x")}, 4);
  EXPECT_EQ(reader.shown(), 2u);
  const RecordVerdict verdict = verdict_of(reader);
  EXPECT_EQ(verdict.verdict, "stalled");
  EXPECT_EQ(verdict.code, "no_progress");
  EXPECT_EQ(verdict.reason, "repetition 2 of 4 and 1 more: no progress\nrank 1 waits");
  EXPECT_THAT(repetition_times(reader), ElementsAre(microseconds(50), microseconds(60)));
  EXPECT_THAT(repetition_lines(reader)[1], HasSubstr("2: stalled after 20 us: no progress"));
  EXPECT_THAT(repetition_lines(reader)[2], HasSubstr("4: failed after 20 us: x"));
  EXPECT_EQ(summary(reader)["repetitions"]["runs"][1]["reason_code"], "no_progress");
}

TEST_F(RepetitionsTest, AnErrorMeasuresNothingAndIsNotShown) {
  const RunReader reader = record({taking(50), {.verdict = "failed", .reason = "no link"}}, 2, {}, false);
  EXPECT_EQ(reader.shown(), 1u);
  EXPECT_EQ(verdict_of(reader).reason, "repetition 2 of 2: no link");
}

TEST_F(RepetitionsTest, AnInterruptedOneLeavesTheOthersWhatTheyAre) {
  const RunReader reader = record({taking(50), taking(60), taking(10, "interrupted", "stopped by a signal")}, 5);
  EXPECT_EQ(reader.shown(), 1u);
  EXPECT_EQ(verdict_of(reader).verdict, "interrupted");
  EXPECT_EQ(verdict_of(reader).reason, "repetition 3 of 5: stopped by a signal");
  EXPECT_EQ(summary(reader)["repetitions"]["completed"], 2);
  EXPECT_THAT(repetition_lines(reader).front(), HasSubstr("2 of 5 came to the end: mean 55 us"));
}

TEST_F(RepetitionsTest, ThoseThatNeverBeganAreMissed) {
  const RecordVerdict stopped = verdict_of(record({taking(50), taking(60)}, 5));
  EXPECT_EQ(stopped.verdict, "interrupted");
  EXPECT_EQ(stopped.code, "signal") << "the reference had its turn";
  EXPECT_EQ(stopped.reason, "2 of 5 repetitions have taken place");
  EXPECT_EQ(verdict_of(record({taking(50), taking(60)}, 5, {}, false)).code, "no_end");
}

// 70 us are 2.33 of the reference's 30 us.
TEST_F(RepetitionsTest, EachKeepsTheLimitsOrTheRunHasFailed) {
  const RunReader reader = record({taking(50), taking(70), taking(60)}, 3, {{"ratio", 2.1}});
  EXPECT_EQ(verdict_of(reader).verdict, "failed");
  EXPECT_EQ(verdict_of(reader).code, "limit_exceeded");
  EXPECT_EQ(verdict_of(reader).reason, "repetition 2 of 3: limits.ratio: 2.333333 is above 2.1");
  EXPECT_EQ(repetition_results(reader)[2].verdict.verdict, "ok");
}

TEST_F(RepetitionsTest, OneWithTimeOutsDegradesAll) {
  RunEnd late = taking(70);
  late.counters.timeouts = 2;
  const RunReader reader = record({taking(50), late, taking(60)}, 3);
  EXPECT_EQ(verdict_of(reader).verdict, "degraded");
  EXPECT_EQ(verdict_of(reader).reason, "repetition 2 of 3: 2 time-outs");
}

TEST_F(RepetitionsTest, ThePagesHaveATableOfThem) {
  record({taking(70), taking(50), taking(20, "failed", "a < b")}, 3);
  write_report(folder_.path(), {ReportFormat::kHtml, ReportFormat::kMarkdown});
  const std::string page = testing::file_text(folder_.path() / "report.html");
  EXPECT_THAT(page, HasSubstr("<h2>Repetitions</h2>"));
  EXPECT_THAT(page, HasSubstr("3 (shown)</td>"));
  EXPECT_THAT(page, HasSubstr("a &lt; b"));
  EXPECT_THAT(testing::file_text(folder_.path() / "report.md"), HasSubstr("| Repetitions | 2 of 3 came to the end"));
}

// 70 us and 50 us over the reference's 30 us, whatever limits make of them.
TEST_F(RepetitionsTest, ThePageHasTheRatioOfEachThatCameToItsEnd) {
  RunEnd late = taking(70);
  late.counters.slipped = microseconds(30);
  record({late, taking(50), taking(20, "failed", "a cable")}, 3, {{"ratio", 1.1}});
  write_report(folder_.path(), {ReportFormat::kHtml});
  EXPECT_EQ(repetition_results(RunReader(folder_.path()))[0].verdict.verdict, "inconclusive");
  const std::string page = testing::file_text(folder_.path() / "report.html");
  const std::string table = page.substr(page.find("<h2>Repetitions</h2>"));
  EXPECT_THAT(table, HasSubstr("2.333</td>"));
  EXPECT_THAT(table, HasSubstr("1.667</td>"));
  EXPECT_THAT(table, Not(HasSubstr("0.667</td>")));
}

TEST_F(RepetitionsTest, ARunThatIsNotRepeatedHasNone) {
  const testing::SampleReport single;
  EXPECT_TRUE(single.summary()["repetitions"].is_null());
  EXPECT_THAT(single.table(), Not(HasSubstr("repetitions")));
  EXPECT_THAT(single.page(), Not(HasSubstr("Repetitions")));
}

/// Two records.
class ComparedRepetitions : public RepetitionsTest {
 protected:
  RunReader record_elsewhere(const std::vector<RunEnd>& ends) {
    where_ = folder_ / "other";
    return record(ends, static_cast<uint32_t>(ends.size()));
  }

  static std::vector<RunEnd> all_taking(std::initializer_list<int64_t> micros) {
    std::vector<RunEnd> ends;
    for (const int64_t n : micros) ends.push_back(taking(n));
    return ends;
  }
};

// Of 70 ways to deal eight times into four and four, one has all long ones in the second: p = 2 / 70. The sixteen
// differences are 17 (1), 18 (2), 19 (3), 20 (4), .. 23 (1), and at 95 % all of them count.
TEST_F(ComparedRepetitions, ADifferenceIsOneWhereChanceWouldSeldomMakeIt) {
  const RunReader base = record(all_taking({50, 51, 52, 53}), 4);
  const RunReader other = record_elsewhere(all_taking({70, 71, 72, 73}));
  const auto comparison = compare_times(repetition_times(base), repetition_times(other));
  ASSERT_TRUE(comparison);
  EXPECT_TRUE(comparison->differs());
  const auto json = repeated_comparison_json(comparison);
  EXPECT_EQ(json["times"]["base"], 4);
  EXPECT_EQ(json["median_ps"]["base"], 51'500'000);
  EXPECT_EQ(json["median_ps"]["other"], 71'500'000);
  EXPECT_EQ(json["test"]["method"], "mann_whitney_u");
  EXPECT_EQ(json["test"]["u"], 16);
  EXPECT_NEAR(json["test"]["p"].get<double>(), 2.0 / 70, 1e-12);
  EXPECT_EQ(json["difference_ps"], 20'000'000);
  EXPECT_EQ(json["confidence"]["low_ps"], 17'000'000);
  EXPECT_EQ(json["confidence"]["high_ps"], 23'000'000);
  EXPECT_EQ(json["differs"], true);
  EXPECT_EQ(repeated_comparison_text(*comparison),
            "4 and 4 times, medians 51.5 us -> 71.5 us: longer by 20 us (95 % confidence 17 us .. 23 us longer, Hodges "
            "and Lehmann); p = 0.029 (Mann-Whitney U 16, exact): a difference");
}

TEST_F(ComparedRepetitions, NoiseIsNoDifferenceAndThreeTimesCannotTell) {
  const RunReader same = record(all_taking({50, 51, 52, 53}), 4);
  const auto noise = compare_times(repetition_times(same), repetition_times(same));
  ASSERT_TRUE(noise);
  EXPECT_FALSE(noise->differs());
  EXPECT_THAT(repeated_comparison_text(*noise), HasSubstr(": no difference that chance would not make"));
  const RunReader few = record(all_taking({50, 51, 52}), 3);
  const auto comparison =
      compare_times(repetition_times(few), repetition_times(record_elsewhere(all_taking({70, 71, 72}))));
  ASSERT_TRUE(comparison);
  EXPECT_FALSE(comparison->can_tell());
  EXPECT_FALSE(comparison->differs());
  EXPECT_TRUE(repeated_comparison_json(comparison)["confidence"].is_null());
  EXPECT_THAT(repeated_comparison_text(*comparison), HasSubstr("too few to tell, since 3 and 3 give 0.1 at the least"));
}

}  // namespace
}  // namespace rankwire
