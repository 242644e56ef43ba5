#include "emulator/report/dilation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

struct DilatedTimes {
  std::vector<Duration> on_wires, stretched;  ///< of the ensembles
  std::vector<Duration> twin = {};            ///< over what is on the wires and over the job's own network
};

/// Single runs of flow took 100 us and 120 us, whatever the ensembles say.
RunReader dilated_record(const std::filesystem::path& folder, const DilatedTimes& times) {
  {
    RunRecorder recorder(folder);
    testing::begin_sample(recorder, R"({"dilation":{"factor":8}})");
    testing::record_emulated(recorder, testing::sample_end(microseconds(101)));
    const auto record = [&](const char* model, Duration completion) {
      recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = model})
          .end(testing::sample_end(completion));
    };
    record("flow", microseconds(100)), record("flow, stretched", microseconds(120));
    if (!times.twin.empty()) record("twin", times.twin[0]), record("twin, stretched", times.twin[1]);
    recorder.ensemble(times.on_wires);
    recorder.ensemble_stretched(times.stretched);
  }
  return RunReader(folder);
}

const std::vector kOnWires = {microseconds(99), microseconds(100), microseconds(102)};

// 106 - 100; from 104 - 102 to 108 - 99.
TEST(DilationReport, ComparesMediansWithinTheSpreadsOfBoth) {
  const TemporaryFolder folder;
  const RunReader record =
      dilated_record(folder.path(), {kOnWires, {microseconds(104), microseconds(106), microseconds(108)}});
  EXPECT_EQ(dilation_json(record), nlohmann::ordered_json::parse(R"({"factor": 8, "predictions": [{"model": "flow",
    "on_wires_ps": 100000000, "stretched_ps": 106000000, "difference": 0.06, "difference_low": 0.02,
    "difference_high": 0.09, "runs_on_wires": 3, "runs_stretched": 3}], "decided_by": "flow", "matters": true})"));
  EXPECT_THAT(dilation_text(record), HasSubstr("it would take 106 us by flow instead of 100 us (+6.00 %, +2.00 .. "
                                               "+9.00 %: medians of 3 and 3 runs): what the device cannot stretch "
                                               "matters, by flow"));
}

// 102 - 100, and yet some of the runs over its own network are earlier than some over that of the wires.
TEST(DilationReport, WhatIsWithinTheSpreadsDoesNotMatter) {
  const TemporaryFolder folder;
  const RunReader record =
      dilated_record(folder.path(), {kOnWires, {microseconds(101), microseconds(102), microseconds(103)}});
  const nlohmann::ordered_json json = dilation_json(record);
  EXPECT_EQ(json["predictions"][0]["difference"], 0.02);
  EXPECT_EQ(json["predictions"][0]["difference_low"], -0.01);
  EXPECT_EQ(json["matters"], false);
  EXPECT_THAT(dilation_text(record), HasSubstr("does not matter, by flow, within whose bands the difference is"));
}

TEST(DilationReport, TheTwinDecides) {
  const TemporaryFolder folder;
  const RunReader record = dilated_record(folder.path(), {kOnWires,
                                                          {microseconds(104), microseconds(106), microseconds(108)},
                                                          {microseconds(1'000), microseconds(1'004)}});
  const nlohmann::ordered_json json = dilation_json(record);
  EXPECT_EQ(json["predictions"][1],
            nlohmann::ordered_json::parse(R"({"model": "twin", "on_wires_ps": 1000000000, "stretched_ps": 1004000000,
    "difference": 0.004, "difference_low": null, "difference_high": null, "runs_on_wires": 1, "runs_stretched": 1})"));
  EXPECT_EQ(json["decided_by"], "twin");
  EXPECT_EQ(json["matters"], false) << "flow's 6 % are listed beside it";
  EXPECT_THAT(dilation_text(record), HasSubstr("does not matter, by the twin"));
}

// One median alone is compared with nothing.
TEST(DilationReport, WithoutBothBandsItIsOfSingleRuns) {
  const TemporaryFolder folder;
  const nlohmann::ordered_json json = dilation_json(dilated_record(folder.path(), {kOnWires, {}}));
  EXPECT_EQ(json["predictions"], nlohmann::ordered_json::parse(R"([{"model": "flow", "on_wires_ps": 100000000,
    "stretched_ps": 120000000, "difference": 0.2, "difference_low": null, "difference_high": null, "runs_on_wires": 1,
    "runs_stretched": 1}])"));
  EXPECT_EQ(json["matters"], true);
}

}  // namespace
}  // namespace rankwire
