#include "emulator/report/summary.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/summary_table.h"
#include "tests/report/sample_record.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;

nlohmann::ordered_json summary_of(const std::filesystem::path& folder) {
  return summary(RunReader(folder));
}

TEST(Summary, HasTheFieldsThatScriptsRelyOn) {
  TemporaryFolder folder;
  testing::write_sample(folder.path());
  const auto json = summary_of(folder.path());
  EXPECT_EQ(json["rankwire"]["version"], "0.1.0");
  EXPECT_EQ(json["config"]["seed"], 7);
  EXPECT_EQ(json["verdict"], "ok");
  EXPECT_EQ(json["reason"], "");
  EXPECT_EQ(json["fidelity"], "ok");
  EXPECT_EQ(json["bytes_wire"], 1'500'000);
  EXPECT_EQ(json["bytes_local"], 500'000);
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["messages"], 4);
  EXPECT_EQ(json["bytes"], 2'000'000);
  EXPECT_EQ(json["emulated"]["completion_time_ps"], 50'000'000);
  EXPECT_EQ(json["emulated"]["per_rank_ps"], (nlohmann::json{49'999'000, 50'000'000}));
  EXPECT_EQ(json["reference"]["completion_time_ps"], 30'000'000);
  EXPECT_DOUBLE_EQ(json["ratio"], 50.0 / 30.0);
  for (const char* name :
       {"packets_tx", "packets_rx", "retransmitted", "naks", "timeouts", "icrc_errors", "ecn_ce_rx", "cnp_tx", "cnp_rx",
        "pause_rx", "messages_delivered", "messages_duplicated", "messages_lost", "payload_errors"}) {
    EXPECT_TRUE(json["transport"][name].is_number_unsigned()) << name;
  }
  EXPECT_EQ(json["transport"]["packets_tx"], 1000);
  EXPECT_EQ(json["generator"]["worst_stall_ps"], 20'000);
  EXPECT_EQ(json["generator"]["stalls"], 3);
  EXPECT_EQ(json["generator"]["core_busy"], nlohmann::json{0.5});
}

// Of the two ranks the second is the only aggregator.
TEST(Summary, CallsAggregatorsByName) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder, R"({"collectives":{"aggregators":[{"name":"spine"}]}})");
    RunEnd end = testing::sample_end(microseconds(50));
    end.failures = {{.connection = {.source = RankId(0), .destination = RankId(1)}, .operation = "grads"}};
    testing::record_emulated(recorder, end);
  }
  const RunReader record(folder.path());
  EXPECT_EQ(summary(record)["aggregators"], nlohmann::ordered_json::parse(R"([{"rank": 1, "name": "spine"}])"));
  EXPECT_THAT(summary_table(record), HasSubstr("  rank 0 to spine, grads: "));
}

TEST(Summary, AbsentValuesAreNull) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::record_reference(recorder);
  }
  const auto json = summary_of(folder.path());
  EXPECT_EQ(json["verdict"], "ok");
  EXPECT_TRUE(json["config"].is_null());
  EXPECT_TRUE(json["emulated"]["completion_time_ps"].is_null());
  EXPECT_TRUE(json["emulated"]["per_rank_ps"].is_null());
  EXPECT_TRUE(json["ratio"].is_null());
  EXPECT_TRUE(json["transport"]["messages_lost"].is_null());
  EXPECT_TRUE(json["generator"]["core_busy"].is_null());
  EXPECT_EQ(json["messages"], 4) << "the reference stands for the record";
}

TEST(Summary, ARunWithoutAnEndIsInterrupted) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2}).sink().operations(testing::sample_operations(50));
  }
  const auto json = summary_of(folder.path());
  EXPECT_EQ(json["verdict"], "interrupted");
  EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr("4 operations"));
  EXPECT_EQ(json["fidelity"], "unknown");
  EXPECT_TRUE(json["messages"].is_null());
  EXPECT_TRUE(json["emulated"]["completion_time_ps"].is_null());
  const std::string text = summary_table(RunReader(folder.path()));
  EXPECT_THAT(text, HasSubstr("fidelity      unknown: the emulated run has no end, so what its generator counted is "
                              "not in the record\n"));
  EXPECT_THAT(text, Not(HasSubstr("ok: ")));
}

// Whoever writes holds the folder.
TEST(Summary, ARunAtWorkHasNoFidelityYet) {
  TemporaryFolder folder;
  const int held = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  RunRecorder recorder(folder.path());
  recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2});
  recorder.flush();
  EXPECT_THAT(summary_table(RunReader(folder.path())),
              HasSubstr("fidelity      unknown: the twin run is still at work, so"));
  ::close(held);
}

TEST(Summary, TheEmulatedVerdictComesBeforeTheReferences) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunEnd end = testing::sample_end(microseconds(50));
    end.verdict = "stalled";
    end.reason = "rank 1 waits for \"grads\"";
    testing::record_emulated(recorder, end);
    testing::record_reference(recorder);
  }
  const auto json = summary_of(folder.path());
  EXPECT_EQ(json["verdict"], "stalled");
  EXPECT_EQ(json["reason"], "rank 1 waits for \"grads\"");
}

TEST(Summary, RowsThatTheRecordLacksAreWarnedOf) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.ring = 2});
    recorder.warning("from the set-up");
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    RecordSink& sink = run.sink();
    sink.operations(std::vector<OperationRecord>(1000, testing::sample_operation(0, 0, Time(0), Time(1))));
    run.end({});
  }
  const auto json = summary_of(folder.path());
  EXPECT_EQ(json["warnings"][0], "from the set-up");
  EXPECT_THAT(json["warnings"][1].get<std::string>(),
              HasSubstr("operations of the emulated run are not in the record"));
  EXPECT_GT(json["record"]["operations_dropped"], 0);
}

TEST(Summary, ThePrintedTableSaysWhatHappened) {
  TemporaryFolder folder;
  testing::write_sample(folder.path());
  const std::string text = summary_table(RunReader(folder.path()));
  EXPECT_THAT(text, HasSubstr("50 us emulated, 30 us reference, ratio 1.667"));
  // 1.5 of 2 MB are on the wire.
  EXPECT_THAT(text, HasSubstr("(75.0 %)"));
  // The all-reduce takes 40 us for 20 us on both ranks; compute takes its 10 us on both sides.
  EXPECT_THAT(
      text, HasSubstr("    +20 us      40 us      20 us    2.000      0         0  grads <script> (all_reduce dp)\n"));
  const size_t table = text.find("worst rank of each");
  EXPECT_EQ(text.find("grads", table), text.rfind("grads")) << "one line, that of the worst rank";
  EXPECT_THAT(text, Not(HasSubstr("gemm")));
  EXPECT_THAT(text, HasSubstr("report.html"));
}

TEST(Summary, ThePrintedTableSaysSoWhenNothingDeviates) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    run.sink().operations(testing::sample_operations(30));
    run.end(testing::sample_end(microseconds(30)));
    testing::record_reference(recorder);
  }
  const std::string text = summary_table(RunReader(folder.path()));
  EXPECT_THAT(text, HasSubstr("ratio 1.000"));
  EXPECT_THAT(text, HasSubstr("deviations    none"));
}

TEST(Summary, ThePrintedTableOfAReferenceListsTheLongestOperations) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    testing::record_reference(recorder);
  }
  const std::string text = summary_table(RunReader(folder.path()));
  EXPECT_THAT(text, HasSubstr("completion    30 us reference\n"));
  EXPECT_THAT(text, HasSubstr("     20 us      0         0  grads <script> (all_reduce dp)\n"));
  EXPECT_THAT(text, Not(HasSubstr(" ratio")));
}

TEST(Summary, ARunThatStoppedHasNoCompletionToCompare) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    RunEnd end = testing::sample_end(microseconds(5));
    end.verdict = "failed";
    end.reason = "on machine 'b': deadline of 5 us passed";
    testing::record_emulated(recorder, end);
    testing::record_reference(recorder);
  }
  EXPECT_TRUE(summary_of(folder.path())["ratio"].is_null());
  EXPECT_EQ(summary_of(folder.path())["reason_code"], "deadline") << "whichever machine noticed it";
  EXPECT_THAT(summary_table(RunReader(folder.path())), HasSubstr("failed after 5 us emulated, 30 us reference\n"));
}

TEST(Summary, ThePrintedReasonIsIndentedAndBounded) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunEnd end = testing::sample_end(microseconds(5));
    end.verdict = "stalled";
    end.reason = "nothing moves";
    for (int rank = 0; rank < 20; ++rank) end.reason += fmt::format("\nrank {} waits", rank);
    testing::record_emulated(recorder, end);
  }
  const std::string text = summary_table(RunReader(folder.path()));
  EXPECT_THAT(text, StartsWith("verdict       stalled: nothing moves\nwaiting\n  rank 0 waits\n"));
  // 5 of the 20 ranks are printed.
  EXPECT_THAT(text, HasSubstr("\n  rank 4 waits\n  and 15 more, in report.html\ncompletion"));
}

/// Lines before that of the completion time, which is the first that is no diagnosis.
std::vector<std::string> diagnosis_lines(const std::string& table) {
  std::vector<std::string> lines;
  std::istringstream text(table.substr(0, table.find("completion ")));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// With so many broken connections and waiting ranks, at a peer that is dead.
RunEnd broken_end(int failures, int waiting) {
  RunEnd end = testing::sample_end(microseconds(5));
  end.verdict = "failed", end.reason = "messages failed";
  for (int rank = 0; rank < waiting; ++rank) end.reason += fmt::format("\nrank {} waits", rank);
  for (int i = 0; i < failures; ++i) {
    FailureRow& row = end.failures.emplace_back();
    row.connection.source = RankId(0), row.connection.destination = RankId(1);
    row.operation = "grads", row.message = "message 0", row.reason = "retry count exceeded";
  }
  end.stall = StallRow{.kind = "dead_peer", .culprit = RankId(1), .chain = {}, .waits = {}};
  return end;
}

// Verdict, stuck, found (connections failed), 6 lines of waiting and 4 of failed connections are 13 (one finding).
TEST(Summary, TheDiagnosisOfABadRunTakesTenLinesAndNamesTheFilesOfTheRest) {
  const auto lines = diagnosis_lines(testing::SampleReport(broken_end(4, 20)).table());
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_THAT(lines[0], StartsWith("verdict       failed: messages failed"));
  EXPECT_THAT(lines[1], StartsWith("stuck         dead_peer: rank 1"));
  EXPECT_THAT(lines[2], HasSubstr("4 connections failed"));
  EXPECT_EQ(lines[3], "waiting");
  EXPECT_EQ(lines[8], "  rank 4 waits");
  EXPECT_EQ(lines[9], "more of       waiting: stalls.json, failed connections: summary.json; all of it: report.html");
}

// Verdict, stuck, found, waiting with 2 ranks, and 4 lines of failed connections: ten, for which there is room.
TEST(Summary, TheDiagnosisIsWholeWhereItFits) {
  const auto lines = diagnosis_lines(testing::SampleReport(broken_end(3, 2)).table());
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[5], "  rank 1 waits");
  EXPECT_EQ(lines[6], "failed connections, the first message of each");
}

// Four ranks wait: of ten lines the last two would be a title without its list, and what is left.
TEST(Summary, NoTitleOfTheDiagnosisStandsAlone) {
  const auto lines = diagnosis_lines(testing::SampleReport(broken_end(3, 4)).table());
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[7], "  rank 3 waits");
  EXPECT_EQ(lines[8], "more of       failed connections: summary.json; all of it: report.html");
}

}  // namespace
}  // namespace rankwire
