// Two records side by side.
#include "emulator/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/record/database.h"
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

Comparison compare_two(const std::filesystem::path& base, const std::filesystem::path& other) {
  return compare(read_records({base}), read_records({other}));
}

/// The sample, emulated in a time of its own: the all-reduce is what changes.
void write_taking(const std::filesystem::path& folder, int64_t microseconds_taken, const char* configuration = "{}") {
  RunRecorder recorder(folder);
  testing::begin_sample(recorder, configuration);
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2, .seed = 7});
  RecordSink& sink = run.sink();
  sink.operations(testing::sample_operations(microseconds_taken));
  run.end(testing::sample_end(microseconds(microseconds_taken)));
}

TEST(Comparison, HasSettingsTimesAndCountersThatDiffer) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path());
  const auto json = comparison_json(compare_two(base.folder(), other.path()));
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
  const Comparison comparison = compare_two(base.folder(), other.path());
  const auto json = comparison_json(comparison);
  EXPECT_EQ(json["critical_path"]["base"]["operation"], "grads <script> (all_reduce dp)");
  EXPECT_EQ(json["critical_path"]["base"]["time_ps"], 40'000'000);
  EXPECT_EQ(json["critical_path"]["other"]["time_ps"], 50'000'000);
  EXPECT_EQ(json["waterfall"]["unexplained_ps"],
            nlohmann::ordered_json::parse(R"({"base": 20000000, "other": null, "extra": null})"));
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("path of base: longest grads <script> (all_reduce dp), 40 us, 80.0 %\n"));
  const auto same = compare_two(base.folder(), base.folder());
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

TEST(Comparison, TheGapSaysThatItIsOfAnotherReference) {
  Comparison comparison;
  comparison.reasons.base.waterfall.emplace().gap = microseconds(5);
  comparison.reasons.other.waterfall.emplace().gap = microseconds(30);
  comparison.reasons.base.reference = comparison.reasons.other.reference = "flow";
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("references differ")));
  comparison.reasons.other.reference = kMedianOfFlow;
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("gap to the reference: +5 us -> +30 us\n"
                        "  the references differ, and so do the gaps for that: the single run of flow, of perfect "
                        "symmetry -> the member of flow at the median of its band\n"));
  EXPECT_EQ(comparison_json(comparison)["reference_model"],
            nlohmann::ordered_json::parse(R"({"base": "flow", "other": "flow, median"})"));
}

// A configuration with one limit has "none" for the others, and one without limits has nothing.
TEST(Comparison, ASettingThatIsNoneIsLikeOneThatIsNotThere) {
  const TemporaryFolder base, other;
  write_taking(base.path(), 50, R"({"seed": 7})");
  write_taking(other.path(), 50,
               R"({"seed": 7, "limits": {"ratio": 1.5, "timeouts": "none", "busbw": {"all": "none"}}})");
  const auto json = comparison_json(compare_two(base.path(), other.path()));
  EXPECT_EQ(json["settings"],
            nlohmann::ordered_json::parse(R"([{"key": "limits.ratio", "base": null, "other": 1.5}])"));
}

TEST(Comparison, ThePrintedTableSaysTheSame) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path());
  const std::string table = comparison_table(compare_two(base.folder(), other.path()));
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
  const Comparison comparison = compare_two(base.folder(), base.folder());
  EXPECT_EQ(comparison.ratio(), 1.0);
  EXPECT_THAT(comparison.settings, IsEmpty());
  EXPECT_THAT(comparison.counters, IsEmpty());
  EXPECT_THAT(comparison_table(comparison), HasSubstr("the settings are the same\nall operations took as long\n"));
}

TEST(Comparison, ARunThatFailedHasNoCompletionTime) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path(), "failed");
  const Comparison comparison = compare_two(base.folder(), other.path());
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
  const Comparison comparison = compare_two(alone.path(), alone.path());
  EXPECT_STREQ(comparison.side, "reference");
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("repetitions"))) << "virtual time does not vary";
  // 20 us of all-reduce in the reference.
  const auto all_reduce = std::ranges::find(comparison.operations, "all_reduce", &Comparison::Operation::kind);
  ASSERT_NE(all_reduce, comparison.operations.end());
  EXPECT_EQ(all_reduce->mean.base, microseconds(20));
  EXPECT_THAT([&] { compare_two(emulated.folder(), alone.path()); },
              ThrowsMessage<Error>(HasSubstr("have nothing to compare")));
}

// Of three the second longest stands for all; the times of all are compared. Three and four without overlap: one order
// of C(7, 3) = 35 at either end, so p = 2 / 35.
TEST(Comparison, OfSeveralRunsTheMedianStandsForAll) {
  const TemporaryFolder folder;
  RunRecords bases, others;
  for (const int64_t time : {52, 50, 51}) {
    write_taking(folder / std::to_string(time), time, R"({"name": "any", "mtu": 1024, "seed": 1})");
    bases.emplace_back(folder / std::to_string(time));
  }
  for (const int64_t time : {64, 61, 63, 62}) {
    write_taking(folder / std::to_string(time), time, time == 61 ? R"({"mtu": 4096})" : R"({"mtu": 1024})");
    others.emplace_back(folder / std::to_string(time));
  }
  const Comparison comparison = compare(bases, others);
  EXPECT_EQ(comparison.completion.base, microseconds(51));
  EXPECT_EQ(comparison.completion.other, microseconds(62));
  EXPECT_EQ(comparison.folder.base, (folder / "51").string());
  ASSERT_TRUE(comparison.repeated);
  EXPECT_EQ(comparison.repeated->base.times, 3u);
  EXPECT_NEAR(comparison.repeated->test.p, 2.0 / 35, 1e-9);
  EXPECT_THAT(comparison.mixed.base, IsEmpty());
  EXPECT_EQ(comparison.mixed.other, std::vector<std::string>{"mtu"});
  const std::string table = comparison_table(comparison);
  EXPECT_THAT(table, HasSubstr("51 (the median of 3 runs), emulated run: ok"));
  EXPECT_THAT(table, HasSubstr("its runs differ in mtu\n"));
}

TEST(Comparison, TakesNoRecordThatNoRunCanHaveWritten) {
  const SampleReport base;
  const TemporaryFolder other;
  write_slower(other.path());
  Database(other.path() / "run.sqlite", Database::Access::kCreate).execute("UPDATE operations SET rank=-1");
  EXPECT_THAT(
      [&] {
        read_records({base.folder(), other.path()});
      },
      ThrowsMessage<Error>(HasSubstr("table operations, row with rowid 1: rank is -1")));
}

TEST(Comparison, SaysThatWorkloadsDiffer) {
  const SampleReport base;
  const TemporaryFolder folder;
  const auto write = [&](const char* name, uint32_t ranks, const std::vector<NodeInfo>& nodes,
                         const std::vector<OperationRecord>& operations, const std::string& verdict = "ok") {
    RunRecorder recorder(folder / name);
    recorder.configuration("{}", "0.1.0", {});
    recorder.nodes(nodes);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = ranks});
    RecordSink& sink = run.sink();
    sink.operations(operations);
    RunEnd end = testing::sample_end(microseconds(50));
    end.verdict = verdict;
    run.end(end);
  };
  const auto difference = [&](const char* name) {
    return compare_two(base.folder(), folder / name).unlike.value_or("none");
  };
  const std::vector nodes = {testing::sample_node(0, 0, "gemm, \"big\"", "compute"),
                             testing::sample_node(0, 1, "grads <script>", "all_reduce"),
                             testing::sample_node(1, 0, "gemm, \"big\"", "compute"),
                             testing::sample_node(1, 1, "grads <script>", "all_reduce")};
  const std::vector<OperationRecord> operations = testing::sample_operations(50);

  write("same", 2, nodes, operations);
  EXPECT_EQ(difference("same"), "none");
  write("more", 4, nodes, operations);
  EXPECT_EQ(difference("more"), "2 and 4 ranks");
  auto larger = nodes;
  larger[3].bytes = Bytes(2'000'000);
  write("larger", 2, larger, operations);
  EXPECT_EQ(difference("larger"), "grads <script> (all_reduce dp) moves 976.6 KiB and 976.6 KiB to 1.907 MiB");
  const std::vector fewer(operations.begin(), operations.end() - 1);
  write("fewer", 2, nodes, fewer);
  EXPECT_EQ(difference("fewer"), "grads <script> (all_reduce dp) is executed 2 and 1 times");
  write("failed", 2, nodes, fewer, "failed");
  EXPECT_EQ(difference("failed"), "none") << "it did not come to all";
  auto renamed = nodes;
  renamed[1].name = renamed[3].name = "others";
  write("renamed", 2, renamed, operations);
  EXPECT_EQ(difference("renamed"), "grads <script> (all_reduce dp) is in the first alone");
}

}  // namespace
}  // namespace rankwire
