// When the generator, not the device under test, is said to have set the pace.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/summary.h"
#include "emulator/report/summary_table.h"
#include "tests/report/sample_record.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TemporaryFolder;

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
    EXPECT_EQ(summary(RunReader(folder.path()))["fidelity"], expected) << slipped.ps;
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
    const auto json = summary(RunReader(folder.path()));
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

// 1.569 ms are more than the 651 ns in which operations ended, and less than 1 % of the 670 ms until the last progress
// (6.7 ms). Of 1 ms it is 10 us.
TEST(Fidelity, OfARunThatFailedIsOfTheTimeUntilItsLastProgress) {
  for (const auto& [progress, slipped, expected] :
       {std::tuple{milliseconds(670), microseconds(1569), "ok"},
        std::tuple{milliseconds(1), nanoseconds(10100), "generator_limited"}}) {
    RunEnd end = testing::sample_end(nanoseconds(651));
    end.verdict = "failed", end.reason = "1 messages failed";
    end.counters.slipped = slipped;
    end.stall = StallRow{.kind = "dead_peer", .last_progress = Time() + progress, .chain = {}, .waits = {}};
    const testing::SampleReport report(end);
    EXPECT_EQ(report.summary()["fidelity"], expected);
    EXPECT_THAT(report.table(), HasSubstr(fmt::format("completion    failed after {} emulated",
                                                      progress == milliseconds(1) ? "1 ms" : "670 ms")));
    EXPECT_EQ(report.summary()["emulated"]["completion_time_ps"], progress.ps) << "one time everywhere";
    EXPECT_THAT(report.page(), HasSubstr(progress == milliseconds(1) ? ">1 ms<" : ">670 ms<"));
    if (slipped == nanoseconds(10100)) {
      EXPECT_THAT(report.table(),
                  HasSubstr("lost 10.1 us of line time for good, more than 1 % of the time until the last "
                            "progress, 1 ms\n"));
    }
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

// Ten messages take 30 us in the reference. What failed or stalled has no completion time that could say so.
TEST(Fidelity, IsLimitedByALoopThatStoodStillInARunThatEndedEarly) {
  const auto with = [](Duration turn) {
    return std::vector<Histogram::Bucket>{{.low = nanoseconds(100), .high = nanoseconds(100), .count = 400},
                                          {.low = turn, .high = turn, .count = 2}};
  };
  RunEnd end = testing::sample_end(microseconds(100));
  for (const char* verdict : {"stalled", "failed"}) {
    end.verdict = verdict;
    EXPECT_THAT(reasons_with(microseconds(20), with(microseconds(31)), end),
                ElementsAre(fmt::format("the run is {}, and half of the loop's time passed in turns of 31 us or more, "
                                        "longer than 10 messages take in the reference (3 us each, P50)",
                                        verdict)));
    EXPECT_THAT(reasons_with(microseconds(20), with(microseconds(30)), end), IsEmpty());
    // 40 of 71 us passed in short turns.
    std::vector<Histogram::Bucket> once = with(microseconds(31));
    once.back().count = 1;
    EXPECT_THAT(reasons_with(microseconds(20), once, end), IsEmpty());
  }
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

}  // namespace
}  // namespace rankwire
