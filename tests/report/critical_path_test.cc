#include "emulator/report/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

// Rank 0 computes 10 us, then all-reduces 40 us where the reference has 20: a gap of 20 us, all of it communication.
TEST(CriticalPathReport, SummaryHasThePathAndThePartsOfTheGap) {
  const SampleReport report;
  const auto json = report.summary();
  EXPECT_EQ(json["waterfall"]["gap_ps"], 20'000'000);
  EXPECT_EQ(json["waterfall"]["unexplained_ps"], 20'000'000);
  EXPECT_EQ(json["waterfall"]["compute_ps"], 0);
  const auto& path = json["critical_path"]["emulated"];
  EXPECT_EQ(path["completion_ps"], 50'000'000);
  EXPECT_EQ(path["compute_ps"], 10'000'000);
  EXPECT_EQ(path["communication_ps"], 40'000'000);
  EXPECT_EQ(path["operations"][0]["name"], "grads <script> (all_reduce dp)");
  EXPECT_EQ(path["operations"][0]["reference_ps"], 20'000'000);
  EXPECT_EQ(path["computing_ranks"][0]["name"], "rank 0");
  EXPECT_EQ(path["ranks"][0]["name"], "rank 0");
  EXPECT_EQ(path["ranks"][0]["time_ps"], 50'000'000);
  EXPECT_EQ(path["groups"][0]["name"], "dp");
  EXPECT_EQ(path["groups"][0]["time_ps"], 40'000'000);
  EXPECT_EQ(path["groups"][0]["reference_ps"], 20'000'000);
  EXPECT_EQ(path["ports"], nlohmann::ordered_json::array()) << "it is not recorded where ranks are";
  EXPECT_EQ(path["connections"], nlohmann::ordered_json::array()) << "nobody recorded causes";
  EXPECT_EQ(json["critical_path"]["reference"]["completion_ps"], 30'000'000);
  EXPECT_EQ(json["critical_path"]["reference"]["operations"][0]["reference_ps"], nullptr);
}

TEST(CriticalPathReport, PrintedSummarySaysWhere) {
  const std::string text = SampleReport().table();
  EXPECT_THAT(text,
              HasSubstr("path          80.0 % communication, 20.0 % compute, 0.0 % between operations, in 2 steps; "
                        "longest grads <script> (all_reduce dp), 80.0 %\n"));
  EXPECT_THAT(text,
              HasSubstr("gap           +20 us against the reference along that path: +20 us communication without a "
                        "known cause; most in grads <script> (all_reduce dp), +20 us; 'record.causes: on' would tell "
                        "why\n"));
}

TEST(CriticalPathReport, SaysThatExecutionsAreTooMany) {
  Diagnosis diagnosis;
  EXPECT_EQ(unsearched_text(diagnosis), "");
  diagnosis.unsearched = 13'000'000;
  EXPECT_THAT(unsearched_text(diagnosis),
              HasSubstr("a run has 13000000 executions, of which at most 12000000 are held"));
  diagnosis.path.emplace();
  EXPECT_EQ(unsearched_text(diagnosis), "") << "of the side that is shown there is a path";
}

TEST(CriticalPathReport, TheMainCauseIsASentence) {
  const auto gap_of = [](Duration windows, Duration pauses, Duration unknown, Duration generator = {}) {
    Diagnosis diagnosis;
    diagnosis.path.emplace().completion = milliseconds(100);
    Waterfall& waterfall = diagnosis.waterfall.emplace();
    waterfall.parts[static_cast<size_t>(GapCause::kWindow)] = windows;
    waterfall.parts[static_cast<size_t>(GapCause::kPaused)] = pauses;
    waterfall.parts[static_cast<size_t>(GapCause::kUnexplained)] = unknown;
    waterfall.gap = windows + pauses + unknown;
    diagnosis.gap = GapShares{.gap = waterfall.gap, .generator = generator, .rest = waterfall.gap - generator};
    return main_cause_text(diagnosis);
  };
  EXPECT_EQ(gap_of(milliseconds(8), milliseconds(2), {}),
            "of the 10 ms by which it took longer than the reference 8 ms are 'window full' along the critical path");
  EXPECT_EQ(gap_of(milliseconds(3), milliseconds(2), {}), "") << "a twentieth";
  EXPECT_EQ(gap_of(milliseconds(2), {}, milliseconds(8)), "") << "nobody knows";
  EXPECT_EQ(gap_of(milliseconds(4), milliseconds(3), milliseconds(3)), "") << "none is half of it";
  EXPECT_EQ(gap_of(milliseconds(8), milliseconds(2), {}, milliseconds(6)), "") << "it may be the generator";
}

TEST(CriticalPathReport, CsvHasEachStep) {
  EXPECT_EQ(
      SampleReport().csv("critical_path.csv"),
      "step,job,rank,iteration,node,name,kind,group,before_ps,from_ps,to_ps,reference_ps,compute_ps,recovering_ps,"
      "rnr_ps,paused_ps,congestion_control_ps,window_ps,port_ps,acknowledgement_ps,path_latency_ps,queueing_own_job_ps,"
      "queueing_others_ps,unexplained_ps,faster_ps,between_ps,other_chain_ps,generator_ps,acknowledgement_frames_ps\n"
      "0,0,0,0,10,\"gemm, \"\"big\"\"\",compute,,0,0,10000000,10000000,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
      // 20 us longer than the reference, and the record does not say why.
      "1,0,0,0,11,grads "
      "<script>,all_reduce,dp,0,10000000,50000000,20000000,0,0,0,0,0,0,0,0,0,0,0,20000000,0,0,0,0,0\n");
}

TEST(CriticalPathReport, MarkdownHasBothLines) {
  const SampleReport report;
  write_report(report.folder(), {ReportFormat::kMarkdown});
  const std::string text = testing::file_text(report.folder() / "report.md");
  EXPECT_THAT(text, HasSubstr("| Path | 80.0 % communication"));
  EXPECT_THAT(text, HasSubstr("| Gap | +20 us against the reference"));
}

TEST(CriticalPathReport, PageHasItEscaped) {
  const std::string page = SampleReport().page();
  EXPECT_THAT(page, HasSubstr("Where the time went along the critical path"));
  EXPECT_THAT(page, HasSubstr("grads &lt;script&gt; (all_reduce dp)"));
}

// Of more executions than are replayed.
TEST(CriticalPathReport, PageSaysWhyNothingWasReplayed) {
  const SampleReport report;
  const RunReader record(report.folder());
  Diagnosis diagnosis = diagnose(record);
  ASSERT_TRUE(diagnosis.removed);
  const std::string note = "replays without it are of 500,000 executions at most";
  EXPECT_THAT(html_critical_path(record, diagnosis), AllOf(HasSubstr("Without it"), Not(HasSubstr(note))));
  diagnosis.removed.reset();
  EXPECT_THAT(html_critical_path(record, diagnosis), AllOf(HasSubstr(note), Not(HasSubstr("Without it"))));
}

TEST(CriticalPathReport, OfARunThatFailedThereIsNone) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.verdict = "failed", end.reason = "a cable";
  const SampleReport report(end);
  EXPECT_EQ(report.summary()["waterfall"], nullptr);
  EXPECT_EQ(report.summary()["critical_path"]["emulated"], nullptr);
  EXPECT_THAT(report.table(), Not(HasSubstr("against the reference along that path")));
  EXPECT_THAT(report.table(), HasSubstr("\npath          of the reference: "));
}

}  // namespace
}  // namespace rankwire
