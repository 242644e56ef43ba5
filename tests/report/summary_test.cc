#include "emulator/report/summary.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <span>

#include "emulator/report/assessment.h"
#include "emulator/report/summary_table.h"
#include "tests/report/sample_record.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
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

// The bound is 1 % of 50 us: 500 ns lost is still "ok", a picosecond more is not.
TEST(Fidelity, IsLimitedByLostLineTimeAboveOnePercent) {
  for (const auto& [slipped, expected] :
       {std::pair{nanoseconds(500), "ok"}, std::pair{nanoseconds(500) + Duration(1), "generator_limited"}}) {
    TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      RunEnd end = testing::sample_end(microseconds(50));
      end.counters.slipped = slipped;
      testing::record_emulated(recorder, end);
    }
    EXPECT_EQ(summary_of(folder.path())["fidelity"], expected) << slipped.ps;
  }
}

// The same bound for what a paced queue pair lost, and the reason says which it was.
TEST(Fidelity, IsLimitedByLostPacingAboveOnePercent) {
  for (const Duration slipped : {nanoseconds(500), nanoseconds(501)}) {
    TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      RunEnd end = testing::sample_end(microseconds(50));
      end.counters.pacing_slipped = slipped;
      testing::record_emulated(recorder, end);
    }
    const auto json = summary_of(folder.path());
    EXPECT_EQ(json["generator"]["pacing_slipped_ps"], slipped.ps);
    const bool limited = slipped > nanoseconds(500);
    EXPECT_EQ(json["fidelity"], limited ? "generator_limited" : "ok");
    ASSERT_EQ(json["fidelity_reasons"].size(), limited ? 1u : 0u);
    if (!limited) continue;
    EXPECT_EQ(json["fidelity_reasons"][0],
              "a queue pair that congestion control paces lost 501 ns of its schedule for good, more than 1 % of the "
              "completion time 50 us");
  }
}

TEST(Fidelity, IsLimitedByFramesThatTheGeneratorMissedOrMessagesThatItRefused) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunEnd end = testing::sample_end(microseconds(50));
    end.ports = {{.port = PortId(0), .name = "p0"}, {.port = PortId(1), .name = "p1", .rx_missed = 9}};
    end.counters.post_refused = 2;
    testing::record_emulated(recorder, end);
  }
  const RunReader record(folder.path());
  const FidelityAssessment assessment = assess_fidelity(record);
  EXPECT_EQ(assessment.fidelity, "generator_limited");
  EXPECT_THAT(assessment.reasons, ElementsAre(HasSubstr("2 messages"), HasSubstr("p1 missed 9")));
  EXPECT_THAT(summary_table(record), HasSubstr("generator_limited"));
}

TEST(Fidelity, NamesThePortThatLostMostAndItsWorker) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunEnd end = testing::sample_end(microseconds(50));
    end.ports = {{.port = PortId(0), .name = "p0", .slipped = microseconds(2), .worker = 0},
                 {.port = PortId(1), .name = "p1", .slipped = microseconds(3), .worker = 1},
                 {.port = PortId(2), .name = "p2", .rx_missed = 4, .worker = 1}};
    end.counters.slipped = microseconds(3);
    testing::record_emulated(recorder, end);
  }
  const RunReader record(folder.path());
  EXPECT_THAT(assess_fidelity(record).reasons, ElementsAre(HasSubstr("port p1 (worker 1) lost 3 us of line time"),
                                                           HasSubstr("port p2 (worker 1) missed 4 frames")));
}

/// One message a run, from 0 to `end`.
void record_message(RunRecorder& recorder, const RunStart& start, Duration end, const RunEnd& run_end) {
  RunRecorder::Run run = recorder.begin(start);
  RecordSink& sink = run.sink();
  MessageId id;
  id.group = MessageId::kPointToPoint;
  id.destination = 1;
  const Time last = Time() + end;
  sink.messages(std::vector<MessageRecord>{{.id = id, .at_source = true, .first = Time(0), .last = last},
                                           {.id = id, .first = Time(0), .last = last}});
  run.end(run_end);
}

/// The reasons of a run of 50 us, with a message that takes `message` and these turns of the loop, beside a reference
/// of 30 us whose message takes 3 us.
std::vector<std::string> reasons_with(Duration message, const std::vector<Histogram::Bucket>& turns,
                                      RunEnd end = testing::sample_end(microseconds(50))) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    const RunEnd reference = testing::sample_end(microseconds(30));
    end.turns = turns;
    record_message(recorder, {.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2}, message, end);
    record_message(recorder, {.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2}, microseconds(3),
                   reference);
  }
  const RunReader record(folder.path());
  EXPECT_EQ(summary(record)["generator"]["turn_ps"].is_null(), turns.empty());
  return assess_fidelity(record).reasons;
}

// A message may wait for three turns of the loop: what exceeds the reference's 3 us by no more is the loop's own.
TEST(Fidelity, IsLimitedByTurnsOfTheLoopThatAreAsLongAsTheGap) {
  const std::vector<Histogram::Bucket> turns{{.low = microseconds(1), .high = microseconds(1), .count = 50}};
  EXPECT_THAT(
      reasons_with(microseconds(6), turns),
      ElementsAre("a message takes 3 us longer than in the reference (6 us instead of 3 us, P50), and a turn of "
                  "the loop takes 1 us: up to 3 turns of each message are the generator's own"));
  EXPECT_THAT(reasons_with(microseconds(6) + nanoseconds(1), turns), IsEmpty());
  EXPECT_THAT(reasons_with(microseconds(6), {}), IsEmpty()) << "virtual time has no turns";
  // A gap of a twentieth of the message's time or less is none.
  EXPECT_THAT(reasons_with(nanoseconds(3150), turns), IsEmpty());
}

// The run is 20 us longer than the reference; 10 us of it passed in a turn that is longer than a message takes.
TEST(Fidelity, IsLimitedByALoopThatStoodStill) {
  const auto with = [](Duration still) {
    return std::vector<Histogram::Bucket>{{.low = nanoseconds(100), .high = nanoseconds(100), .count = 400},
                                          {.low = still, .high = still, .count = 1}};
  };
  EXPECT_THAT(reasons_with(microseconds(20), with(microseconds(10))),
              ElementsAre("10 us passed in turns of the loop that took longer than a message does in the reference (3 "
                          "us): at least half of the 20 us by which the run is longer"));
  EXPECT_THAT(reasons_with(microseconds(20), with(nanoseconds(9'999))), IsEmpty());
  // What its deadline cut off takes longer than that still; what failed otherwise ended for reasons of its own.
  RunEnd cut = testing::sample_end(microseconds(50));
  cut.verdict = "failed";
  cut.reason = "deadline of 5e-05 s passed";
  EXPECT_THAT(reasons_with(microseconds(20), with(microseconds(10)), cut), SizeIs(1));
  EXPECT_THAT(reasons_with(microseconds(20), with(nanoseconds(9'999)), cut), IsEmpty());
  cut.reason = "rank 0 to rank 1: the retry counter is exceeded";
  EXPECT_THAT(reasons_with(microseconds(20), with(microseconds(10)), cut), IsEmpty());
}

// 10 us of 100 passed in turns of 5 us; the messages take 1 us in the reference, of which ten are longer, or 400 ns.
TEST(Fidelity, IsLimitedByALoopThatLetTheBackgroundWait) {
  const auto reasons_of = [](Duration message) {
    TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      const BackgroundInfo entry{.job = JobId(1), .name = "probe", .pattern = "pairs", .flows = 1, .mean = Bytes(64)};
      recorder.background(std::span(&entry, 1), RankId(2), std::vector<std::string>{"host 2"});
      RunEnd end = testing::sample_end(microseconds(100));
      end.turns = {{.low = nanoseconds(100), .high = nanoseconds(100), .count = 900},
                   {.low = microseconds(5), .high = microseconds(5), .count = 2}};
      record_message(recorder, {.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2}, microseconds(3), end);
      end.turns.clear();
      end.background = {{.completion = {.count = 7, .p50 = message}}};
      record_message(recorder, {.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2}, microseconds(3),
                     end);
    }
    return assess_fidelity(RunReader(folder.path())).reasons;
  };
  EXPECT_THAT(reasons_of(microseconds(1)), IsEmpty());
  EXPECT_THAT(reasons_of(nanoseconds(400)),
              ElementsAre("10 us of 100 us passed in turns of the loop that took longer than 10 messages of the "
                          "background do in the reference (400 ns each, P50)"));
}

TEST(Fidelity, IsLimitedWhereTheLoopStoodStillUntilTheRunWasStopped) {
  const auto reasons_of = [](const char* kind) {
    RunEnd end = testing::sample_end(microseconds(50));
    end.verdict = "stalled";
    end.stall.emplace().kind = kind;
    return reasons_with(microseconds(6), {}, end);
  };
  EXPECT_THAT(reasons_of("generator_starvation"), ElementsAre("the loop itself stood still when the run was stopped"));
  EXPECT_THAT(reasons_of("dead_peer"), IsEmpty());
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
    end.reason = "deadline of 5 us passed";
    testing::record_emulated(recorder, end);
    testing::record_reference(recorder);
  }
  EXPECT_TRUE(summary_of(folder.path())["ratio"].is_null());
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
  EXPECT_THAT(text, HasSubstr("\n  rank 4 waits\n  and 15 more, in report.html\nfidelity"));
}

}  // namespace
}  // namespace rankwire
