#include "emulator/suite/suite_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/suite/gate_words.h"
#include "emulator/suite/jct_ratio.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

CaseResult tested(std::string id, CaseVerdict verdict, std::vector<Measured> measurements = {}) {
  CaseResult result{.id = std::move(id)};
  result.outcome = {verdict, verdict == CaseVerdict::kPass ? "" : "why"};
  result.outcome.measurements = std::move(measurements);
  return result;
}

SuiteResult gated_suite() {
  SuiteResult suite{.name = "bmwg", .version = "1"};
  Measured mean = measured("JCT, mean", 0.0125, "s", {}, {}, "N 4");
  mean.repetitions = 3;
  mean.variation = 0.02;
  suite.cases = {
      tested("T6.jct", CaseVerdict::kPass,
             {measured("JCT ratio P95", 1.2, "of the roofline", {}, {}, "N 4"),
              measured("JCT ratio P95", 1.05, "of the roofline", {}, {}, "N 8, 1.5 ms"), mean}),
      tested("T8.soak", CaseVerdict::kPass,
             {measured("JCT ratio P95", 1.1, "of the reference"), measured("queue depth P95", 12.5, "kB"),
              measured("share", 3, "%"), measured("none", std::numeric_limits<double>::quiet_NaN(), "us")}),
      tested("T1.burst", CaseVerdict::kSkipped),
      tested("T4.ecmp", CaseVerdict::kError),
      // Whose id is the beginning of another's.
      tested("T6", CaseVerdict::kFail),
  };
  return suite;
}

GateResult judged(const std::string& line, const SuiteResult& suite = gated_suite(), const SuiteKpis& kpis = {}) {
  return check_suite_gates(parse_gates(line, "g"), suite, kpis).at(0);
}

std::string refusal(const std::string& line) {
  try {
    judged(line);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kInput ? error.what() : "another kind";
  }
  return "none";
}

TEST(SuiteGates, NameMeasurementsInPlainLetters) {
  EXPECT_EQ(gate_name("JCT ratio P95"), "jct_ratio_p95");
  EXPECT_EQ(gate_name("JCT, mean"), "jct_mean");
  EXPECT_EQ(gate_name("BusBW (reference)"), "busbw_reference");
}

TEST(SuiteGates, HoldEachRowOfATestAndTellTheWorst) {
  const GateResult broken = judged("T6.jct.jct_ratio_p95 <= 1.10");
  EXPECT_EQ(broken.verdict, CaseVerdict::kFail);
  EXPECT_EQ(broken.text, "T6.jct.jct_ratio_p95[N 4]: 1.2 is above 1.10");
  EXPECT_EQ(judged("T6.jct.jct_ratio_p95[N 8, 1.5 ms] <= 1.10").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("min(T6.jct.jct_ratio_p95) <= 1.10").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("count(T6.jct.jct_ratio_p95) == 2").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T6.jct.jct_mean[*].variation <= 2 %").text, "T6.jct.jct_mean_s[N 4].variation: 2 %, at most 2 %");
  EXPECT_EQ(judged("T6.jct.jct_mean[*].repetitions >= 4").verdict, CaseVerdict::kFail);
}

TEST(SuiteGates, HoldWhatAllTestsMeasured) {
  const GateResult broken = judged("jct_ratio_p95 <= 1.10");
  EXPECT_EQ(broken.text, "jct_ratio_p95[T6.jct: N 4]: 1.2 is above 1.10");
  // 1.2, 1.05 and 1.1: 3.35 / 3.
  EXPECT_EQ(judged("mean(jct_ratio_p95) <= 1.117").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("verdicts.error == 1").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("verdict == fail").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T6.verdict == fail").verdict, CaseVerdict::kPass);
}

TEST(SuiteGates, TakeTheUnitsOfMeasurements) {
  EXPECT_EQ(judged("T6.jct.jct_mean == 12.5 ms").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T6.jct.jct_mean == 0.0125").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T8.soak.queue_depth_p95 == 12.5 KB").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T8.soak.share == 3 %").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T8.soak.share == 0.03").verdict, CaseVerdict::kPass);
  EXPECT_THAT(refusal("T6.jct.jct_mean[N 4] <= 2 GiB"), HasSubstr("g:1: 'T6.jct.jct_mean_s[N 4]' is not in GiB"));
  // What was measured and is no number keeps no bound.
  EXPECT_EQ(judged("T8.soak.none <= 1 us").verdict, CaseVerdict::kFail);
}

TEST(SuiteGates, AreUnclearOfTestsThatWereSkippedAndBrokenOfErrors) {
  EXPECT_EQ(judged("T1.burst.burst_absorption >= 1").verdict, CaseVerdict::kInconclusive);
  const GateResult error = judged("T4.ecmp.jfi >= 0.9");
  EXPECT_EQ(error.verdict, CaseVerdict::kFail);
  EXPECT_EQ(error.text, "T4.ecmp.jfi: T4.ecmp is error: why");
  EXPECT_EQ(judged("burst_absorption >= 1", gated_suite(), {{"T1.burst", {"burst_absorption"}}}).verdict,
            CaseVerdict::kInconclusive);
  SuiteResult cut = gated_suite();
  cut.interrupted = true;
  EXPECT_EQ(judged("T3.ecn.first_marked_at <= 1", cut).verdict, CaseVerdict::kFail);
}

TEST(SuiteGates, HoldFamiliesOfTestsAsTheyAreSelected) {
  // Of T6.jct, T8.soak, T1.burst (skipped), T4.ecmp (error) and T6 (fail).
  EXPECT_EQ(judged("T*.verdict != inconclusive").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T*.verdict != error").text, "T4.ecmp.verdict: error is error");
  EXPECT_EQ(judged("T6*.verdict == pass").text, "T6.verdict: fail is not pass");
  EXPECT_EQ(judged("T?.s*.verdict == pass").verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("count(T*.verdict) == 5").verdict, CaseVerdict::kPass);
  // T6.jct and T8.soak measure it; whether the one that ended in an error would have is known or not.
  const SuiteKpis kpis = {{"T4.ecmp", {"jfi"}}, {"T1.burst", {"burst"}}};
  EXPECT_EQ(judged("max(T?.*.jct_ratio_p95) == 1.2", gated_suite(), kpis).verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T?.*.jct_ratio_p95 <= 2").text, "T4.ecmp.jct_ratio_p95: T4.ecmp is error: why");
  EXPECT_EQ(judged("T?.*.jfi >= 0", gated_suite(), kpis).verdict, CaseVerdict::kFail);
  EXPECT_EQ(judged("T1.*.burst_absorption >= 1").verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(judged("T6.*.jct_mean[*].variation <= 2 %").verdict, CaseVerdict::kPass);
  EXPECT_THAT(refusal("T9*.verdict == pass"), HasSubstr("g:1: 'T9*.verdict': no test of the suite is called 'T9*'"));
  EXPECT_THAT(refusal("T6.*.jct_ratio_p96 <= 1"), HasSubstr("did you mean 'jct_ratio_p95'?"));
}

// A word that is no verdict is unlike all of them, and would keep each gate of "!=".
TEST(SuiteGates, TakeNoWordThatIsNoVerdict) {
  EXPECT_EQ(refusal("T*.verdict != failed"), "g:1: 'failed' is no verdict of a test; did you mean 'fail'?");
  EXPECT_EQ(refusal("T6.verdict != FAIL"), "g:1: 'FAIL' is no verdict of a test; did you mean 'fail'?");
  EXPECT_EQ(refusal("verdict != Fail"), "g:1: 'Fail' is no verdict of a suite; did you mean 'fail'?");
  EXPECT_THAT(refusal("T6.verdict == good"), HasSubstr("it is one of pass, fail, inconclusive, skipped, error"));
  EXPECT_EQ(judged("verdict != interrupted").verdict, CaseVerdict::kPass);
  const std::vector<TestCase> cases = {TestCase{.id = "T6"}};
  EXPECT_THROW(require_tests_of_gates(parse_gates("verdict != failed", "g"), cases), Error);
  EXPECT_NO_THROW(require_tests_of_gates(parse_gates("verdict == pass", "g"), cases));
  // Runs have words of their own.
  const auto refused = [](const std::string& line) {
    try {
      require_run_word(parse_gates(line, "g").at(0));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refused("verdict != fail"), "g:1: 'fail' is no verdict of a run; did you mean 'failed'?");
  EXPECT_EQ(refused("fidelity == OK"), "g:1: 'OK' is no fidelity of a run; did you mean 'ok'?");
  EXPECT_EQ(refused("verdict == ok"), "none");
  EXPECT_EQ(refused("ratio <= 1"), "none");
}

// T4.ecmp ended in an error and T6 failed, of which nobody knows what they would have measured.
TEST(SuiteGates, RefuseAMisspelledFigureOfAPatternWhateverFailed) {
  EXPECT_EQ(refusal("T*.jct_rato_p95 <= 1"),
            "g:1: 'T*.jct_rato_p95': no test of the suite has 'jct_rato_p95'; did you mean 'jct_ratio_p95'?");
  EXPECT_THAT(refusal("T4.*.verdit == pass"), HasSubstr("did you mean 'verdict'?"));
  EXPECT_EQ(judged("T4.*.jct_ratio_p99 <= 1").verdict, CaseVerdict::kFail) << "another quantile";
  EXPECT_EQ(judged("T4.*.throughput_efficiency <= 1").verdict, CaseVerdict::kFail);
}

TEST(SuiteGates, AreUnclearOfInconclusiveTestsUnlessOthersBreakThem) {
  SuiteResult suite = gated_suite();
  suite.cases[1].outcome.verdict = CaseVerdict::kInconclusive;  // T8.soak, 1.1; T6.jct has 1.2 and 1.05
  const GateResult broken = judged("T8.soak.jct_ratio_p95 <= 1.05", suite);
  EXPECT_EQ(broken.verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(broken.text, "T8.soak.jct_ratio_p95: 1.1 is above 1.05, but T8.soak is inconclusive");
  EXPECT_EQ(exit_status({broken}), 3);
  EXPECT_EQ(judged("T8.soak.jct_ratio_p95 <= 1.15", suite).verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(judged("jct_ratio_p95 <= 1.10", suite).text, "jct_ratio_p95[T6.jct: N 4]: 1.2 is above 1.10");
  EXPECT_EQ(judged("jct_ratio_p95 <= 1.10", suite).verdict, CaseVerdict::kFail);
  EXPECT_EQ(judged("jct_ratio_p95 <= 1.25", suite).verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(judged("mean(jct_ratio_p95) <= 1", suite).verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(judged("T6.jct.jct_ratio_p95 <= 1.25", suite).verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("count(jct_ratio_p95) == 3", suite).verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T8.soak.verdict == pass", suite).verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(judged("T8.soak.verdict != fail", suite).verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T8.soak.verdict == inconclusive", suite).verdict, CaseVerdict::kPass);
  EXPECT_EQ(judged("T6.verdict == pass", suite).verdict, CaseVerdict::kFail);
}

TEST(SuiteGates, NameTheNearestOfWhatNobodyKnows) {
  EXPECT_EQ(refusal("T6.jtc.jct_ratio <= 1"), "g:1: 'T6.jtc.jct_ratio': T6 has no 'jtc'; did you mean 'jct'?");
  EXPECT_THAT(refusal("jct_ratio_p59 <= 1"),
              HasSubstr("the suite has no 'jct_ratio_p59'; did you mean 'jct_ratio_p95'"));
  EXPECT_THAT(refusal("T6.jct.jct_ratio_p95[N 5] <= 1"), HasSubstr("did you mean 'N 4'"));
  // A test that passed has measured all that it does.
  EXPECT_THAT(refusal("T6.jct.jct_ration_p95 <= 1"), HasSubstr("did you mean 'jct_ratio_p95'"));
}

TEST(SuiteGates, NameTestsThatThereAreBeforeAnyIsRun) {
  std::vector<TestCase> cases(1);
  cases[0].id = "T6.jct";
  EXPECT_NO_THROW(require_tests_of_gates(parse_gates("T6.jct.whatever <= 1\njct_ratio <= 1", "g"), cases));
  EXPECT_THROW(require_tests_of_gates(parse_gates("T6.jtc.jct_ratio <= 1", "g"), cases), Error);
}

TEST(SuiteGates, StandInReportsAsTests) {
  const SuiteResult reported =
      with_gates(gated_suite(), check_suite_gates(parse_gates("T6.jct.jct_ratio_p95 <= 1.10", "g"), gated_suite()));
  EXPECT_EQ(reported.cases.back().id, "T6.jct.jct_ratio_p95 <= 1.10");
  EXPECT_EQ(reported.cases.back().outcome.verdict, CaseVerdict::kFail);
  EXPECT_EQ(reported.cases.back().outcome.measurements.at(0).high, 1.10);
}

TEST(NearestRank, IsAValueThatOccurred) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Of ten the 95th percentile is the tenth: ceil(9.5).
  EXPECT_EQ(nearest_rank({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 95), 10);
  EXPECT_EQ(nearest_rank({3, nan, 1, 2}, 50), 2);
  EXPECT_TRUE(std::isnan(nearest_rank({nan}, 95)));
}

}  // namespace
}  // namespace rankwire
