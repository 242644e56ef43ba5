// Several models of one run.
#include "emulator/report/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/assessment.h"
#include "emulator/report/html.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TemporaryFolder;

/// A model whose all-reduce ends after so many microseconds.
void record_model(RunRecorder& recorder, const std::string& model, int64_t end_us, const std::string& verdict = "ok") {
  const Fidelity fidelity = model == "twin" ? Fidelity::kTwin : Fidelity::kReference;
  RunRecorder::Run run =
      recorder.begin({.fidelity = fidelity, .clock = "virtual", .ranks = 2, .seed = 7, .model = model});
  RecordSink& sink = run.sink();
  sink.operations(testing::sample_operations(end_us));
  RunEnd end = testing::sample_end(microseconds(end_us));
  end.verdict = verdict;
  end.reason = verdict == "ok" ? "" : "because";
  run.end(end);
}

class Models : public ::testing::Test {
 protected:
  void write(const std::vector<std::pair<std::string, int64_t>>& models, bool emulated = true) {
    RunRecorder recorder(folder_.path(), {});
    testing::begin_sample(recorder);
    if (emulated) testing::record_emulated(recorder, testing::sample_end(microseconds(50)));
    for (const auto& [model, end] : models) record_model(recorder, model, end);
  }
  TemporaryFolder folder_;
};

TEST_F(Models, StandInTheirOrderTheFirstIsTheReference) {
  write({{"flow", 25}, {"alpha_beta", 40}});
  const RunReader record(folder_.path());
  ASSERT_EQ(record.models().size(), 2u);
  EXPECT_EQ(record.reference()->start.model, "flow");
  EXPECT_DOUBLE_EQ(*completion_ratio(record), 2);  // 50 us / 25 us
  const auto json = models_json(record);
  EXPECT_EQ(json.at(0).at("model"), "flow");
  EXPECT_EQ(json.at(1).at("completion_time_ps"), 40'000'000);
  EXPECT_DOUBLE_EQ(json.at(1).at("ratio"), 1.25);
  EXPECT_EQ(models_text(record), "flow 25 us (ratio 2.000), alpha_beta 40 us (ratio 1.250)");
}

TEST_F(Models, MeansOfTheKindsOfCommunication) {
  write({{"flow", 25}, {"recorded", 30}});
  const auto models = read_models(RunReader(folder_.path()));
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0].name, "emulated");
  EXPECT_FALSE(models[0].ratio);
  // It begins at 10 us at both ranks. Compute is no communication.
  EXPECT_EQ(models[0].kinds.at("all_reduce").mean, microseconds(40));
  EXPECT_EQ(models[2].kinds.at("all_reduce").mean, microseconds(20));
  EXPECT_EQ(models[2].kinds.at("all_reduce").count, 2u);
  EXPECT_EQ(models[2].kinds.size(), 1u);
}

TEST_F(Models, OneIsNotPutBesideItself) {
  write({{"flow", 25}});
  const RunReader record(folder_.path());
  EXPECT_THAT(models_text(record), IsEmpty());
  EXPECT_THAT(html_models(record), IsEmpty());
  EXPECT_EQ(models_json(record).size(), 1u);
}

TEST_F(Models, PageAndSummaryHaveAll) {
  write({{"flow", 25}, {"alpha_beta", 40}}, false);
  const RunReader record(folder_.path());
  EXPECT_THAT(summary_table(record), HasSubstr("flow 25 us, alpha_beta 40 us"));
  const std::string html = html_models(record);
  EXPECT_THAT(html, HasSubstr("<td>alpha_beta</td><td>ok</td><td class=\"n\" data-value=\"40000000\">40 us</td>"));
  EXPECT_THAT(html, HasSubstr("all_reduce"));
  EXPECT_THAT(html, Not(HasSubstr("emulated</td>")));
}

TEST_F(Models, ATwinFillsTheEmulatedSideWhereNothingIsEmulated) {
  write({{"twin", 50}, {"flow", 25}, {"alpha_beta", 40}}, false);
  const RunReader record(folder_.path());
  ASSERT_NE(record.emulated(), nullptr);
  EXPECT_EQ(record.emulated()->start.fidelity, Fidelity::kTwin);
  EXPECT_EQ(record.reference()->start.model, "flow");
  EXPECT_EQ(models_text(record), "twin 50 us, flow 25 us (ratio 2.000), alpha_beta 40 us (ratio 1.250)");
  const auto models = read_models(record);  // each once
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0].name, "twin");
  EXPECT_THAT(html_models(record), HasSubstr("All other tables compare with flow."));
}

TEST_F(Models, BesideAnEmulatedRunATwinIsAReferenceAsOthers) {
  write({{"twin", 40}, {"flow", 25}});
  const RunReader record(folder_.path());
  EXPECT_EQ(record.emulated()->start.fidelity, Fidelity::kEmulated);
  EXPECT_EQ(record.reference()->start.model, "twin");
  EXPECT_DOUBLE_EQ(*completion_ratio(record), 1.25);  // 50 us / 40 us
  EXPECT_EQ(models_text(record), "twin 40 us (ratio 1.250), flow 25 us (ratio 2.000)");
}

TEST_F(Models, ATwinAloneHasNoReference) {
  write({{"twin", 50}}, false);
  const RunReader record(folder_.path());
  EXPECT_EQ(record.reference(), nullptr);
  EXPECT_EQ(verdict_of(record).verdict, "ok");
  EXPECT_FALSE(completion_ratio(record));
  EXPECT_THAT(summary_table(record), HasSubstr("50 us twin"));
}

// As when a signal ends the ensemble, whose reference is there.
TEST_F(Models, WhatASignalHasCutShortIsTheVerdictOfRunsThatEndedWell) {
  {
    RunRecorder recorder(folder_.path(), {});
    testing::begin_sample(recorder);
    record_model(recorder, "flow", 25);
    recorder.interrupted("stopped by a signal before the band");
  }
  const RecordVerdict verdict = verdict_of(RunReader(folder_.path()));
  EXPECT_EQ(verdict.verdict, "interrupted");
  EXPECT_EQ(verdict.code, "signal");
  EXPECT_EQ(verdict.reason, "stopped by a signal before the band");
}

TEST_F(Models, ALaterOneThatFailsIsTheVerdict) {
  {
    RunRecorder recorder(folder_.path(), {});
    testing::begin_sample(recorder);
    record_model(recorder, "flow", 25);
    record_model(recorder, "recorded", 25, "failed");
  }
  const RunReader record(folder_.path());
  EXPECT_EQ(verdict_of(record).verdict, "failed");
  EXPECT_THAT(models_text(record), HasSubstr("recorded failed"));
}

}  // namespace
}  // namespace rankwire
