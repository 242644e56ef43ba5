#include "emulator/input/job_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "emulator/input/config.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

constexpr const char* kJobs =
    "jobs:\n"
    "  - {name: dense, workload: {traces: t}}\n"
    "  - {name: experts, workload: {traces: t}}\n"
    "background:\n"
    "  - {name: noise, pattern: incast, to: p1, size: 1KiB, rate: 1Gbps}\n";

class JobChoices : public ::testing::Test {
 protected:
  /// Two ports behind the jobs, or what there is instead of them, and in the eighth line of the file the keys.
  RunConfig load(const std::string& keys, const std::string& jobs = kJobs) {
    std::ofstream(file_) << jobs << "ports: {count: 2}\n"
                         << "seed: 3\n"
                         << keys << "\n";
    return load_config(file_, {});
  }
  std::string refusal(const std::string& keys, const std::string& jobs = kJobs) {
    try {
      load(keys, jobs);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const testing::TemporaryFolder folder_;
  const std::string file_ = folder_ / "run.yaml";
};

// dense 0, experts 1, and what is not a job behind them.
TEST_F(JobChoices, NamesAndNumbersAreTheSame) {
  for (const auto& [text, number] : {std::pair("dense", 0u), std::pair("experts", 1u), std::pair("noise", 2u),
                                     std::pair("1", 1u), std::pair("2", 2u)}) {
    const RunConfig config =
        load(fmt::format("impairments: [{{action: drop, job: {0}}}]\n"
                         "transport: {{congestion_control: {{exceptions: [{{job: {0}, algorithm: dcqcn}}]}}}}",
                         text));
    EXPECT_EQ(config.impairments.at(0).job->number, number) << text;
    EXPECT_EQ(config.transport.congestion.exceptions.at(0).job->number, number) << text;
  }
  EXPECT_FALSE(load("impairments: [{action: drop, job: any}]").impairments.at(0).job.has_value());
}

TEST_F(JobChoices, TheResolvedConfigurationSaysTheSame) {
  const std::string resolved =
      resolved_json(load("impairments: [{action: drop, job: experts}, {action: drop, job: 0}]"));
  EXPECT_THAT(resolved, HasSubstr("\"job\": \"experts\""));
  EXPECT_THAT(resolved, HasSubstr("\"job\": 0"));
  const std::string again = folder_ / "resolved.yaml";
  std::ofstream(again) << resolved;
  EXPECT_EQ(resolved_json(load_config(again, {})), resolved);
  EXPECT_EQ(load_config(again, {}).impairments.at(0).job->number, 1u);
}

TEST_F(JobChoices, AnUnknownNameIsRefusedWithTheNearestOrAll) {
  EXPECT_EQ(refusal("impairments: [{action: drop, job: expert}]"),
            file_ + ":8: impairments[0].job: 'expert' is not the name of a job; did you mean 'experts'?");
  EXPECT_EQ(refusal("transport: {congestion_control: {exceptions: [{job: storage, algorithm: dcqcn}]}}"),
            file_ +
                ":8: transport.congestion_control.exceptions[0].job: 'storage' is not the name of a job; the names "
                "are dense, experts, noise");
  EXPECT_EQ(refusal("impairments: [{action: drop, job: 128}]"),
            file_ + ":8: impairments[0].job: 128 is outside 0 .. 127");
}

TEST_F(JobChoices, OneWorkloadHasNoName) {
  const std::string one = "workload: {traces: t}\n\n\n\n\n";
  EXPECT_EQ(
      refusal("impairments: [{action: drop, job: dense}]", one),
      file_ + ":8: impairments[0].job: 'dense' is not the name of a job: the one 'workload' has none, and is job 0");
  EXPECT_EQ(load("impairments: [{action: drop, job: 0}]", one).impairments.at(0).job->number, 0u);
}

}  // namespace
}  // namespace rankwire
