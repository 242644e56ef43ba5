// What machines say of their parts, together.
#include "emulator/assembly/machine_report.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace rankwire {
namespace {

MachineReport report(Verdict verdict, std::string reason, Duration completion) {
  return {.verdict = verdict,
          .reason = std::move(reason),
          .waiting = {"rank 0 waits"},
          .total = completion + microseconds(1),
          .completion = completion,
          .messages = {.sent = 5, .delivered = 3, .failed = 1, .duplicated = 2, .payload_errors = 4}};
}

TEST(MachineReport, SurvivesItsWayToTheLeader) {
  const MachineReport got = machine_report(bytes_of(report(Verdict::kStalled, "no \"progress\"", microseconds(7))));
  EXPECT_EQ(got.verdict, Verdict::kStalled);
  EXPECT_EQ(got.reason, "no \"progress\"");
  EXPECT_EQ(got.waiting, std::vector<std::string>{"rank 0 waits"});
  EXPECT_EQ(got.total, microseconds(8));
  EXPECT_EQ(got.completion, microseconds(7));
  EXPECT_EQ(got.messages.sent, 5u);
  EXPECT_EQ(got.messages.delivered, 3u);
  EXPECT_EQ(got.messages.failed, 1u);
  EXPECT_EQ(got.messages.duplicated, 2u);
  EXPECT_EQ(got.messages.payload_errors, 4u);
  EXPECT_FALSE(got.source);
  MachineReport with_clock;
  with_clock.source = SourceReading{.own = 1'000'000'007, .source = 1'700'000'000'123'456'789, .half = 12};
  EXPECT_EQ(machine_report(bytes_of(with_clock)).source, with_clock.source);
}

const std::vector<std::string> kMachines{"a", "b"};

TEST(MachineReport, TogetherTheyAreARun) {
  const std::vector<std::optional<MachineReport>> reports{report(Verdict::kOk, "", microseconds(7)),
                                                          report(Verdict::kOk, "", microseconds(9))};
  const RunResult result = joined_result(kMachines, reports);
  EXPECT_EQ(result.verdict, Verdict::kOk);
  EXPECT_EQ(result.total, microseconds(10));
  EXPECT_EQ(joined_messages(reports).sent, 10u);
  EXPECT_EQ(joined_completion(reports), microseconds(9));
}

TEST(MachineReport, OneThatHasGoneIsTheReason) {
  const std::vector<std::optional<MachineReport>> reports{report(Verdict::kFailed, "a message failed", microseconds(7)),
                                                          std::nullopt};
  const RunResult result = joined_result(kMachines, reports);
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.reason, "machine 'b' has gone; a message failed");
}

}  // namespace
}  // namespace rankwire
