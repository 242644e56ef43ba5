#include "emulator/report/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/assessment.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// The sample, 50 us emulated and 30 us in the reference, with limits.
class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() : end_(testing::sample_end(microseconds(50))) {}

  RunReader record(const std::vector<LimitInfo>& limits) {
    {
      RunRecorder recorder(folder_.path());
      testing::begin_sample(recorder);
      recorder.limits(limits);
      testing::record_emulated(recorder, end_);
      testing::record_reference(recorder);
    }
    return RunReader(folder_.path());
  }
  /// 1000 packets, of which `arrived` did.
  void add_flow(uint64_t arrived) {
    FlowRow& flow = end_.flows.emplace_back();
    flow.connection.id = flow.counters.connection = ConnectionId(0);
    flow.connection.source = RankId(0), flow.connection.destination = RankId(1);
    flow.connection.path = Path::kWire;
    flow.counters.packets = 1000, flow.counters.arrived = arrived;
  }

  RunEnd end_;
  TemporaryFolder folder_;
};

TEST_F(LimitsTest, ARunThatKeepsThemIsOk) {
  const RunReader kept = record({{"ratio", 1.7}, {"timeouts", 0}});
  EXPECT_EQ(verdict_of(kept).verdict, "ok");
  const auto results = limit_results(kept);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].is_kept);
  EXPECT_EQ(results[0].text, "limits.ratio: 1.666667, at most 1.7");
}

TEST_F(LimitsTest, ARunThatBreaksOneHasFailed) {
  const RecordVerdict verdict = verdict_of(record({{"timeouts", 5}, {"ratio", 1.5}}));
  EXPECT_EQ(verdict.verdict, "failed");
  EXPECT_EQ(verdict.code, "limit_exceeded");
  EXPECT_EQ(verdict.reason, "limits.ratio: 1.666667 is above 1.5");
  EXPECT_FALSE(verdict.passes());
}

// The gap is 20 us, of which 19.7 us are above the limit. Half of it and more is the generator's, or less than that.
TEST_F(LimitsTest, WhatIsMostlyTheGeneratorsFailsNoDevice) {
  end_.counters.slipped = microseconds(11);
  const RecordVerdict unclear = verdict_of(record({{"ratio", 1.01}}));
  EXPECT_EQ(unclear.verdict, "inconclusive");
  EXPECT_EQ(unclear.reason,
            "limits.ratio: 1.666667 is above 1.01, by 19.7 us, of which lateness of the generator may explain 11 us, "
            "and that is most of the gap");
  EXPECT_EQ(verdict_of(record({{"ratio", 1.5}})).reason,
            "limits.ratio: 1.666667 is above 1.5, by 5 us, which lateness of the generator may explain");
  EXPECT_EQ(verdict_of(record({{"ratio", 0.9}})).verdict, "failed") << "below the reference";
  end_.counters.slipped = microseconds(9);
  EXPECT_EQ(verdict_of(record({{"ratio", 1.01}})).verdict, "failed") << "11 us are the device's";
}

// Of a loop that turned for 1 us at a time.
TEST_F(LimitsTest, WithoutAnythingOnWiresTheGapIsTheLoops) {
  end_.turns = {{.low = microseconds(1), .high = microseconds(1), .count = 50}};
  EXPECT_EQ(verdict_of(record({{"ratio", 1.01}})).verdict, "failed");
  end_.counters = {};
  EXPECT_EQ(verdict_of(record({{"ratio", 1.01}})).verdict, "failed") << "bytes were to go over wires";
  end_.messages = 0, end_.bytes = end_.bytes_wire = end_.bytes_local = Bytes();
  const RunReader off = record({{"ratio", 1.01}});
  EXPECT_EQ(verdict_of(off).verdict, "inconclusive");
  EXPECT_EQ(verdict_of(off).reason,
            "limits.ratio: 1.666667 is above 1.01, by 19.7 us, which lateness of the generator may explain");
  EXPECT_THAT(explain_fidelity(off), HasSubstr("nothing was on a wire"));
  end_.turns.clear();
  EXPECT_EQ(verdict_of(record({{"ratio", 1.01}})).verdict, "failed") << "virtual time has no lateness";
}

// Both ranks all-reduce 1 MB in 40 us: algbw 200 Gbit/s, and busbw the same, since 2 (n - 1) / n = 1 for two.
TEST_F(LimitsTest, BandwidthIsALowerLimit) {
  const auto results = limit_results(record({{"busbw.all_reduce", 199e9}, {"busbw.all_reduce", 201e9}}));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].is_kept);
  EXPECT_NEAR(*results[0].value, 200e9, 1e3);
  EXPECT_FALSE(results[1].is_kept);
  EXPECT_THAT(results[1].text, HasSubstr("limits.busbw.all_reduce: 200"));
  EXPECT_THAT(results[1].text, HasSubstr("Gbit/s is below 201"));
}

TEST_F(LimitsTest, WhatWasNotMeasuredIsNotKept) {
  const RecordVerdict verdict = verdict_of(record({{"busbw.gather", 1e9}}));
  EXPECT_EQ(verdict.verdict, "failed");
  EXPECT_EQ(verdict.reason, "limits.busbw.gather: the run has no such figure");
}

TEST_F(LimitsTest, LossesAndTimeOutsDegradeWhatHasNoLimits) {
  add_flow(990);
  end_.counters.timeouts = 3;
  const RecordVerdict verdict = verdict_of(record({}));
  EXPECT_EQ(verdict.verdict, "degraded");
  EXPECT_EQ(verdict.code, "degraded");
  EXPECT_EQ(verdict.reason, "10 of 1000 data packets lost, 3 time-outs");
  EXPECT_TRUE(verdict.passes());
}

// Whoever reads that a limit is broken is to know what else is wrong.
TEST_F(LimitsTest, TheVerdictNamesAllThatSpeaks) {
  add_flow(990);
  const RecordVerdict verdict = verdict_of(record({{"ratio", 1.5}}));
  EXPECT_EQ(verdict.verdict, "failed");
  EXPECT_EQ(verdict.code, "limit_exceeded");
  EXPECT_EQ(verdict.reason, "limits.ratio: 1.666667 is above 1.5; 10 of 1000 data packets lost");
}

TEST_F(LimitsTest, OfAReferenceAloneAreNotJudgedAndThatIsSaid) {
  {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    recorder.limits(std::vector<LimitInfo>{{"ratio", 1.5}, {"ttft_p99", 1e12}});
    testing::record_reference(recorder);
  }
  const RunReader reader(folder_.path());
  const std::string text = "limits.ratio: not judged, since nothing was emulated (simulate --twin, or run)";
  EXPECT_THAT(summary_table(reader), HasSubstr("limits        " + text + "\n"));
  EXPECT_EQ(summary(reader)["warnings"].back(), text);
  EXPECT_EQ(unjudged_limits_text(record({{"ratio", 1.5}})), "");
}

// 10 of 1000 are 10,000 of a million.
TEST_F(LimitsTest, ALimitSaysWhatIsTooMuch) {
  add_flow(990);
  EXPECT_EQ(verdict_of(record({{"loss_ppm", 10'000}})).verdict, "ok");
  EXPECT_EQ(verdict_of(record({{"loss_ppm", 9'999}})).verdict, "failed");
  EXPECT_EQ(verdict_of(record({{"timeouts", 10}})).verdict, "degraded") << "nothing is said of losses";
}

TEST_F(LimitsTest, AreInTheSummaryAndOnThePage) {
  record({{"ratio", 1.5}});
  const auto json = summary(RunReader(folder_.path()));
  EXPECT_EQ(json["limits"], nlohmann::ordered_json::parse(R"([{"name": "ratio", "limit": 1.5,
    "value": 1.6666666666666667, "low": null, "high": null, "is_kept": false, "text": "limits.ratio: 1.666667 is above 1.5"}])"));
  EXPECT_EQ(json["verdict"], "failed");
  // Once: what the verdict says is not said again.
  const std::string printed = summary_table(RunReader(folder_.path()));
  EXPECT_THAT(printed, HasSubstr("verdict       failed: limits.ratio: 1.666667 is above 1.5\n"));
  EXPECT_EQ(printed.find("limits.ratio"), printed.rfind("limits.ratio"));
  write_report(folder_.path());
  EXPECT_THAT(testing::file_text(folder_.path() / "report.html"), HasSubstr("limits.ratio: 1.666667 is above 1.5"));
}

// What a reference alone has of them is requests (requests_test.cc).
TEST_F(LimitsTest, AreOfTheEmulatedSide) {
  {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    recorder.limits(std::vector<LimitInfo>{{"ratio", 0.5}});
    testing::record_reference(recorder);
  }
  const RunReader record(folder_.path());
  EXPECT_TRUE(limit_results(record).empty());
  EXPECT_EQ(verdict_of(record).verdict, "ok");
}

}  // namespace
}  // namespace rankwire
