#include "emulator/bmwg/bench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "emulator/bmwg/catalogue.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A bench whose runs leave the summary that is wanted.
class BmwgBenchTest : public ::testing::Test {
 protected:
  BmwgBench bench(std::chrono::milliseconds allowed = std::chrono::minutes(5)) {
    return BmwgBench(suite_, base_, runner_, context_, {}, allowed);
  }

  const testing::TemporaryFolder folder_;
  std::string summary_ = R"({"verdict": "ok", "reason": "", "fidelity": "ok"})";
  const BmwgRunner runner_ = [this](const BmwgRun& run) {
    std::filesystem::create_directories(run.folder);
    std::ofstream(run.folder / "summary.json") << summary_;
    return std::string();
  };
  const BmwgSuite suite_{};
  const RunConfig base_{};
  const std::atomic<bool> interrupted_{false};
  const CaseContext context_{folder_.path(), interrupted_};
};

TEST_F(BmwgBenchTest, ARunThatStallsIsAResultForWhoeverAsksForIt) {
  summary_ = R"({"verdict": "stalled", "reason": "no progress for 5 s\nrank 0 waits", "fidelity": "ok"})";
  EXPECT_FALSE(bench().attempt("circle", {}, seconds(1)).ended_well());
  EXPECT_THAT([&] { bench().measure("circle", {}, seconds(1)); },
              ThrowsMessage<Error>("circle: stalled: no progress for 5 s"));
}

TEST_F(BmwgBenchTest, NothingIsSaidOfADeviceWhereTheGeneratorWasTooSlow) {
  summary_ = R"({"verdict": "failed", "reason": "deadline of 30 s passed", "fidelity": "generator_limited"})";
  EXPECT_THAT([&] { bench().measure("a", {}, seconds(1)); },
              ThrowsMessage<BmwgUndecided>(HasSubstr("deadline of 30 s passed, and the generator may")));
}

// Of packets of 4096 B and headers of 100 B: two of them, and 65536 x 4196 / 2.
TEST_F(BmwgBenchTest, ThresholdsThatNoTrafficOfTheTestReachesAreRefused) {
  const auto tests = bmwg_catalogue();
  const BmwgTest& test = *std::ranges::find(tests, std::string_view("T3.ecn"), &BmwgTest::id);
  const auto check = [&](const std::string& thresholds) {
    const Origin origin{.place = "suite.yaml:4"};
    BmwgSuite suite;
    suite.overrides.push_back({"T3.*", read_yaml_text("thresholds: " + thresholds, {}), {}, origin});
    check_sizes(test, suite, bench());
  };
  check("[8392B, 137494528B]");
  EXPECT_THAT([&] { check("[100KB, 8391B]"); },
              ThrowsMessage<Error>(HasSubstr("thresholds: 8391B of T3.ecn: with packets of 4196 B it takes 8392 B")));
  EXPECT_THAT([&] { check("137494529B"); }, ThrowsMessage<Error>(HasSubstr("it takes 137494528 B or less")));
}

// Calls that all warmed up, or of which the record has no end.
TEST_F(BmwgBenchTest, NoCallThatEndsIsAnErrorUnlessTheGeneratorWasTooSlow) {
  const auto call = [&](const char* fidelity) {
    summary_ = fmt::format(
        R"({{"verdict": "ok", "reason": "", "fidelity": "{}", "collective": {{"sizes": [{{"emulated": null}}]}}}})",
        fidelity);
    bench().measure("n4", {}, seconds(1)).only_size();
  };
  EXPECT_THAT([&] { call("ok"); }, ThrowsMessage<Error>("n4: no call came to its end"));
  EXPECT_THAT([&] { call("generator_limited"); }, ThrowsMessage<BmwgUndecided>(HasSubstr("n4: no call came to its")));
}

TEST_F(BmwgBenchTest, WhatTheBackgroundDidNotCarryCountsNothing) {
  summary_ = R"({"verdict": "ok", "reason": "", "fidelity": "ok", "background": [
      {"name": "silent", "emulated": null},
      {"name": "slow", "emulated": {"messages_failed": 3, "delivered_bps": null}}]})";
  const BmwgMeasurement run = bench().measure("storm", {}, seconds(1));
  EXPECT_EQ(run.carried("slow", "messages_failed"), 3);
  EXPECT_EQ(run.carried("slow", "delivered_bps"), 0);
  EXPECT_EQ(run.carried("silent", "delivered_bps"), 0);
}

TEST(BmwgOutcomes, SayWhyATestFailsWhereItsBoundsDoNot) {
  BmwgOutcome outcome;
  outcome.because("nothing was marked, up to 400 kB under way");
  outcome.add(measured("first marked at", NAN, "kB", 100));
  const CaseOutcome found = std::move(outcome).finish();
  EXPECT_EQ(found.verdict, CaseVerdict::kFail);
  EXPECT_EQ(found.reason, "nothing was marked, up to 400 kB under way");
}

// Such as the fairness of links on which nothing was counted.
TEST(BmwgOutcomes, ThatLackAValueAreNoPass) {
  BmwgOutcome outcome;
  outcome.add(measured("out-of-order rate", 0, ""));
  outcome.add(measured("JFI", NAN, "", {}, {}, "4 queue pairs"));
  const CaseOutcome found = std::move(outcome).finish();
  EXPECT_EQ(found.verdict, CaseVerdict::kInconclusive);
  EXPECT_EQ(found.reason, "JFI of 4 queue pairs has no value: there was nothing to take it from");
}

TEST_F(BmwgBenchTest, ATestWhoseTimeIsOverKeepsWhatItHasMeasured) {
  const BmwgTest test{.id = "T9.x",
                      .title = "",
                      .stimulus = "",
                      .expectation = "",
                      .source = "",
                      .needs = "",
                      .parameters = {},
                      .lacks = nullptr,
                      .seconds = nullptr,
                      .run = [](BmwgBench& bench, const BmwgParameters&, BmwgOutcome& outcome) {
                        outcome.add(measured("throughput", 7, "Gbit/s"));
                        bench.measure("second", {}, seconds(1));
                      }};
  const BmwgParameters none({}, true);
  BmwgBench over = bench(std::chrono::milliseconds(0)), in_time = bench();
  const CaseOutcome outcome = carry_out(test, over, none);
  EXPECT_EQ(outcome.verdict, CaseVerdict::kInconclusive);
  EXPECT_THAT(outcome.reason, HasSubstr("ended before second"));
  ASSERT_EQ(outcome.measurements.size(), 1u);
  EXPECT_EQ(carry_out(test, in_time, none).verdict, CaseVerdict::kPass);
}

}  // namespace
}  // namespace rankwire
