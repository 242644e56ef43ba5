// A recorded job through the emulated NIC: it passes whatever was done to its packets, and planted faults are found.
#include "emulator/nic_check/replay.h"

#include <gmock/gmock.h>

#include <atomic>
#include <tuple>

#include "emulator/nic_check/catalogue.h"
#include "emulator/nic_check/emulated_bench.h"
#include "emulator/suite/suite.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using enum ReplayedAction;

constexpr uint32_t kMtu = 1024, kPackets = 6, kBytes = (kPackets - 1) * kMtu + 100;

/// Of two flows: on each the NIC sends a message and then receives one.
ReplayedJob exchange(std::vector<std::pair<uint32_t, ReplayedAction>> of_sent,
                     std::vector<std::pair<uint32_t, ReplayedAction>> of_received) {
  ReplayedJob job{.mtu = kMtu, .flows = 2};
  for (uint32_t flow = 0; flow < 2; ++flow) {
    job.messages.push_back({.flow = flow, .sent = true, .bytes = kBytes, .posted = Time(flow), .delivered = Time(10)});
  }
  for (uint32_t flow = 0; flow < 2; ++flow) {
    job.messages.push_back({.flow = flow, .bytes = kBytes, .posted = Time(10), .delivered = Time(20)});
  }
  job.messages[0].packets = std::move(of_sent);
  job.messages[2].packets = std::move(of_received);
  return job;
}

CaseOutcome replay(const ReplayedJob& job, NicMutant mutant = NicMutant::kNone, const BenchScale& scale = {}) {
  static const std::atomic<bool> kGoesOn{false};
  const testing::TemporaryFolder folder;
  EmulatedBench bench(mutant, IpVersion::kIpv4, scale);
  const SuiteResult suite = run_suite(nic_tests(replay_cases(job), &bench.bench()),
                                      {.name = "nic-check", .version = "test", .folder = folder.path()}, kGoesOn);
  return suite.cases.at(0).outcome;
}

double value_of(const CaseOutcome& outcome, const std::string& name) {
  for (const Measured& measured : outcome.measurements)
    if (measured.name == name) return measured.value;
  return -1;
}

class ReplayedActions : public ::testing::TestWithParam<std::tuple<ReplayedAction, uint32_t>> {};

// The first, a middle and the last packet of a message either way.
TEST_P(ReplayedActions, AreRepairedEitherWay) {
  const auto [action, packet] = GetParam();
  const CaseOutcome outcome = replay(exchange({{packet, action}}, {{packet, action}}));
  EXPECT_EQ(outcome.verdict, CaseVerdict::kPass) << outcome.reason;
  EXPECT_EQ(value_of(outcome, "messages that the NIC sent"), 2);
  EXPECT_EQ(value_of(outcome, "messages that it received"), 2);
  EXPECT_EQ(value_of(outcome, "impairments"), 2);
}

INSTANTIATE_TEST_SUITE_P(All, ReplayedActions,
                         ::testing::Combine(::testing::Values(kLose, kCorrupt, kDuplicate, kDelay, kMark, kNotify,
                                                              kLoseAnswer),
                                            ::testing::Values(0, 2, kPackets - 1)));

TEST(Replay, FindsANicThatHasNoTimeout) {
  const CaseOutcome outcome = replay(exchange({{kPackets - 1, kLose}}, {}), NicMutant::kNoTimeout);
  EXPECT_EQ(outcome.verdict, CaseVerdict::kFail);
  EXPECT_THAT(outcome.reason, HasSubstr("no completion"));
}

TEST(Replay, FindsANicThatTakesACorruptPacket) {
  const CaseOutcome outcome = replay(exchange({}, {{2, kCorrupt}}), NicMutant::kNoIcrcCheck);
  EXPECT_EQ(outcome.verdict, CaseVerdict::kFail);
  EXPECT_THAT(outcome.reason, HasSubstr("message 2: byte"));
}

// What the NIC receives lies where its own large messages come from, which are sent before and afterwards.
TEST(Replay, KeepsLargeMessagesApart) {
  constexpr uint32_t kLarge = (1 << 20) + kBytes;
  ReplayedJob job{.mtu = kMtu, .flows = 1};
  for (int i = 0; i < 3; ++i)
    job.messages.push_back({.sent = i != 1, .bytes = kLarge, .posted = Time(i), .delivered = Time(10)});
  const CaseOutcome outcome = replay(job, NicMutant::kNone, {.largest = 2 << 20});
  EXPECT_EQ(outcome.verdict, CaseVerdict::kPass) << outcome.reason;
}

// 40 messages of a queue pair wait for each other, and for no message of the peer's.
TEST(Replay, HasNoMoreUnderWayThanAQueueHolds) {
  ReplayedJob job{.mtu = kMtu, .flows = 1, .not_replayed = 3};
  for (int i = 0; i < 40; ++i)
    job.messages.push_back(
        {.sent = true, .bytes = i % 2 == 0 ? 0u : kBytes, .posted = Time(i), .delivered = Time(100)});
  const CaseOutcome outcome = replay(job);
  EXPECT_EQ(outcome.verdict, CaseVerdict::kPass) << outcome.reason;
  EXPECT_EQ(value_of(outcome, "messages that the NIC sent"), 40);
  ASSERT_EQ(outcome.anomalies.size(), 1u);
  EXPECT_THAT(outcome.anomalies.front(), HasSubstr("3 recorded impairments"));
}

}  // namespace
}  // namespace rankwire
