// Two records side by side.
#include "emulator/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SampleReport;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;

/// The sample, but that its all-reduce takes 50 us instead of 40, with another seed and a setting more.
void write_slower(const std::filesystem::path& folder, const std::string& verdict = "ok") {
  RunRecorder recorder(folder);
  testing::begin_sample(recorder, R"({"name":"sample <b>","seed":8,"transport":{"markings":[{"a/b":"x"}]}})");
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2, .seed = 8});
  RecordSink& sink = run.sink();
  sink.operations(testing::sample_operations(60));
  RunEnd end = testing::sample_end(microseconds(60));
  end.verdict = verdict;
  end.counters.retransmitted = 5;
  run.end(end);
}

TEST(Comparison, HasSettingsTimesAndCountersThatDiffer) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path());
  const auto json = comparison_json(compare(RunReader(base.folder()), RunReader(other.path())));
  EXPECT_EQ(json["side"], "emulated");
  EXPECT_EQ(json["folder"]["other"], other.path().string());
  EXPECT_EQ(json["completion_time_ps"]["base"], 50'000'000);
  EXPECT_EQ(json["completion_time_ps"]["other"], 60'000'000);
  EXPECT_DOUBLE_EQ(json["ratio"], 1.2);
  EXPECT_EQ(json["settings"], nlohmann::ordered_json::parse(R"([
      {"key": "seed", "base": 7, "other": 8}, {"key": "transport.markings[0].a/b", "base": null, "other": "x"}])"));
  ASSERT_EQ(json["operations"].size(), 2u);
  // Two ranks, 10 us longer each.
  EXPECT_EQ(json["operations"][0], nlohmann::ordered_json::parse(R"({"name": "grads <script>", "kind": "all_reduce",
      "group": "dp", "base": {"count": 2, "mean_ps": 40000000}, "other": {"count": 2, "mean_ps": 50000000},
      "ratio": 1.25, "extra_ps": 20000000})"));
  EXPECT_EQ(json["operations"][1]["extra_ps"], 0);
  EXPECT_EQ(json["transport"], nlohmann::ordered_json::parse(R"({"retransmitted": {"base": 0, "other": 5}})"));
}

// The sample's all-reduce takes 40 us of 50 where its reference has 20; the other has 10 us more, and no reference.
TEST(Comparison, HasThePathAndTheGapOfBoth) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path());
  const Comparison comparison = compare(RunReader(base.folder()), RunReader(other.path()));
  const auto json = comparison_json(comparison);
  EXPECT_EQ(json["critical_path"]["base"]["operation"], "grads <script> (all_reduce dp)");
  EXPECT_EQ(json["critical_path"]["base"]["time_ps"], 40'000'000);
  EXPECT_EQ(json["critical_path"]["other"]["time_ps"], 50'000'000);
  EXPECT_EQ(json["waterfall"]["unexplained_ps"],
            nlohmann::ordered_json::parse(R"({"base": 20000000, "other": null, "extra": null})"));
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("path of base: longest grads <script> (all_reduce dp), 40 us, 80.0 %\n"));
  const auto same = compare(RunReader(base.folder()), RunReader(base.folder()));
  EXPECT_EQ(comparison_json(same)["waterfall"]["gap_ps"],
            nlohmann::ordered_json::parse(R"({"base": 20000000, "other": 20000000, "extra": 0})"));
  EXPECT_THAT(comparison_table(same), HasSubstr("gap to the reference: +20 us -> +20 us\n"));
}

TEST(Comparison, TheGapSaysWhichPartsChanged) {
  Comparison comparison;
  comparison.reasons.base.waterfall.emplace().gap = microseconds(5);
  comparison.reasons.other.waterfall.emplace().gap = microseconds(30);
  comparison.reasons.base.waterfall->parts[static_cast<size_t>(GapCause::kWindow)] = microseconds(5);
  comparison.reasons.other.waterfall->parts[static_cast<size_t>(GapCause::kQueueingOthers)] = microseconds(30);
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("gap to the reference: +5 us -> +30 us\n"
                        "         +0 ps       +30 us       +30 us  queueing behind other jobs or the background\n"
                        "         +5 us        +0 ps        -5 us  window full\n"));
}

TEST(Comparison, ThePrintedTableSaysTheSame) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path());
  const std::string table = comparison_table(compare(RunReader(base.folder()), RunReader(other.path())));
  EXPECT_THAT(table, HasSubstr("emulated run: ok, completion 50 us"));
  EXPECT_THAT(table,
              HasSubstr("ratio 1.200\nrepetitions: not two or more of both, so that nothing tells a difference"));
  EXPECT_THAT(table, HasSubstr("  seed: 7 -> 8\n  transport.markings[0].a/b: (none) -> \"x\"\n"));
  EXPECT_THAT(table, HasSubstr("40 us        50 us   1.250        20 us  grads <script> (all_reduce dp)\n"));
  EXPECT_THAT(table, Not(HasSubstr("gemm"))) << "took as long";
  EXPECT_THAT(table, HasSubstr("  retransmitted: 0 -> 5\n"));
}

TEST(Comparison, ARunWithItselfDoesNotDiffer) {
  const SampleReport base;
  const Comparison comparison = compare(RunReader(base.folder()), RunReader(base.folder()));
  EXPECT_EQ(comparison.ratio(), 1.0);
  EXPECT_THAT(comparison.settings, IsEmpty());
  EXPECT_THAT(comparison.counters, IsEmpty());
  EXPECT_THAT(comparison_table(comparison), HasSubstr("the settings are the same\nall operations took as long\n"));
}

TEST(Comparison, ARunThatFailedHasNoCompletionTime) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path(), "failed");
  const Comparison comparison = compare(RunReader(base.folder()), RunReader(other.path()));
  EXPECT_EQ(comparison.verdict.other, "failed");
  EXPECT_FALSE(comparison.ratio());
  EXPECT_THAT(comparison_table(comparison), HasSubstr("ratio -\n"));
}

TEST(Comparison, TakesReferencesWhereNeitherHasMoreAndRefusesWhatIsOnOneSideOnly) {
  const SampleReport emulated;
  const TemporaryFolder alone;
  {
    RunRecorder recorder(alone.path());
    testing::begin_sample(recorder);
    testing::record_reference(recorder);
  }
  const Comparison comparison = compare(RunReader(alone.path()), RunReader(alone.path()));
  EXPECT_STREQ(comparison.side, "reference");
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("repetitions"))) << "virtual time does not vary";
  // 20 us of all-reduce in the reference.
  const auto all_reduce = std::ranges::find(comparison.operations, "all_reduce", &Comparison::Operation::kind);
  ASSERT_NE(all_reduce, comparison.operations.end());
  EXPECT_EQ(all_reduce->mean.base, microseconds(20));
  EXPECT_THAT([&] { compare(RunReader(emulated.folder()), RunReader(alone.path())); },
              ThrowsMessage<Error>(HasSubstr("have nothing to compare")));
}

}  // namespace
}  // namespace rankwire
