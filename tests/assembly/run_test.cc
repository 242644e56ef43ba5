// A run without the command line: resolve, prepare, run.
#include "emulator/assembly/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/record/reader.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using ::testing::UnorderedElementsAre;

/// Rank 0 computes 10 us, rank 1 30 us; then both reduce 4 MiB, cut into nothing but halves. 10 Gb/s.
class SmallRun : public ::testing::Test {
 protected:
  SmallRun() {
    for (const uint64_t micros : {10, 30}) {
      traces_.add({testing::compute(1, "work").micros(micros), testing::collective(2, "sum").after({1}).size(4 << 20)});
    }
    std::ofstream(file()) << "workload: {traces: " << traces_.options.traces.front() << "}\n"
                          << "hosts: {count: 2, npus: 1}\n"
                          << "ports: {count: 2, device: memory, rate: 10Gbps}\n"
                          << "collectives: {chunk: 2147483647B, algorithms: {all_reduce: ring}}\n"
                          << "simulation: {fidelity: [alpha_beta, flow]}\n";
  }
  std::string file() const { return folder_ / "small.yaml"; }
  ResolvedRun resolved(RunKind kind) const { return resolve(file(), settings_, kind); }
  std::filesystem::path out() const { return folder_ / "out"; }

  // Each rank sends two messages of 2 MiB, one after the other: 512 packets of 4096 + 82 bytes and 20 more in the first
  // and last, 800 ps a byte; 1.2 us of switch and cables; and the switch stores the first packet before it sends it.
  static constexpr int64_t kMessage = (512 * 4178 + 20) * 800 + 1'200'000 + 4194 * 800;
  static constexpr Duration kFormula{30'000'000 + 2 * kMessage};

  const TemporaryFolder folder_;
  testing::TraceSet traces_;
  const std::vector<std::string> settings_;
  std::atomic<bool> stop_{false};
};

/// The text of the error that `act` throws, or "".
template <class Act>
std::string refusal(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_F(SmallRun, TakesThreeCallsAndPrintsNothing) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const ResolvedRun resolved = resolve(file(), settings_, RunKind::kTwin);
  PreparedRun prepared(resolved, {out()});
  const std::vector<CompletedRun> runs = prepared.run({stop_});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");

  ASSERT_EQ(runs.size(), 3u);
  EXPECT_TRUE(all_ok(runs));
  EXPECT_EQ(runs[0].fidelity, Fidelity::kTwin);
  std::vector<std::string> models;
  for (const CompletedRun& run : runs) models.push_back(run.model);
  EXPECT_THAT(models, ElementsAre("", "alpha_beta", "flow"));

  const RunReader record(out());
  ASSERT_EQ(record.runs().size(), 3u);
  const RecordedRun& twin = record.runs()[0];
  const RecordedRun& formula = record.runs()[1];
  const RecordedRun& flow = record.runs()[2];
  EXPECT_EQ(formula.end.completion, kFormula);
  // They add acknowledgements, 1.2 us, and packets' ends.
  EXPECT_NEAR(static_cast<double>(flow.end.completion.ps), static_cast<double>(kFormula.ps), 0.01 * kFormula.ps);
  EXPECT_NEAR(static_cast<double>(twin.end.completion.ps), static_cast<double>(kFormula.ps), 0.02 * kFormula.ps);
  EXPECT_EQ(twin.end.counters.messages_delivered, 4u);
  for (const RecordedRun& run : record.runs()) {
    const std::vector<ComputeTimeRow> computed = record.compute_times(run);
    ASSERT_EQ(computed.size(), 2u);
    EXPECT_EQ(computed[0].time, Duration(10'000'000));
    EXPECT_EQ(computed[1].time, Duration(30'000'000));
  }
}

TEST_F(SmallRun, WhoLooksOnIsToldOfEveryRun) {
  std::mutex mutex;  // of runs beside each other
  std::vector<std::string> began;
  std::vector<uint64_t> ended;
  PreparedRun prepared(resolved(RunKind::kModels), {out()});
  prepared.run({stop_, [&](const WatchedRun& run) {
                  const std::lock_guard lock(mutex);
                  began.push_back(run.label);
                  EXPECT_EQ(run.operations, 4u);  // two of each rank
                  return std::shared_ptr<void>(nullptr, [&, done = run.done](void*) {
                    const std::lock_guard at_end(mutex);
                    ended.push_back(done());
                  });
                }});
  EXPECT_THAT(began, UnorderedElementsAre("alpha_beta", "reference"));
  EXPECT_THAT(ended, ElementsAre(4u, 4u));
}

TEST_F(SmallRun, AnInterruptIsAResult) {
  stop_ = true;
  PreparedRun prepared(resolved(RunKind::kModels), {out()});
  const std::vector<CompletedRun> runs = prepared.run({stop_});
  EXPECT_FALSE(all_ok(runs));
  EXPECT_EQ(runs.at(0).result.verdict, Verdict::kInterrupted);
  EXPECT_EQ(RunReader(out()).runs().at(0).end.verdict, "interrupted");
}

TEST_F(SmallRun, AnInterruptOfWhatFollowsLeavesTheRunsAsTheyAre) {
  const std::vector<std::string> settings{"simulation.fidelity=[flow]", "simulation.ensemble=3",
                                          "simulation.threads=1"};
  PreparedRun prepared(resolve(file(), settings, RunKind::kModels), {out()});
  const std::vector<CompletedRun> runs = prepared.run({stop_, [&](const WatchedRun& run) {
                                                         if (run.label == "ensemble 2 of 3") stop_ = true;
                                                         return nullptr;
                                                       }});
  EXPECT_TRUE(all_ok(runs));
  const RunReader record(out());
  EXPECT_EQ(record.runs().at(0).end.verdict, "ok");
  EXPECT_EQ(record.ensemble().size(), 1u);
  EXPECT_EQ(record.failure(), "");
  EXPECT_THAT(record.interruption(), HasSubstr("stopped by a signal before all that follows from the runs had ended"));
  EXPECT_THAT(record.interruption(), HasSubstr("the reference's band is of 1 of 3 members"));
}

// Models do not run once the emulated run has thrown; an exception of any kind is told.
TEST_F(SmallRun, AnEmulatedRunThatThrowsIsRecordedAsFailed) {
  PreparedRun prepared(resolved(RunKind::kEmulated), {out()});
  const RunControl control{stop_, [](const WatchedRun& run) {
                             throw std::runtime_error("nobody looks at " + run.label);
                             return std::shared_ptr<void>();
                           }};
  EXPECT_THROW(prepared.run(control), std::runtime_error);
  EXPECT_TRUE(prepared.has_begun());
  EXPECT_TRUE(prepared.tells_failure());
  const RunReader record(out());
  ASSERT_EQ(record.runs().size(), 1u);
  EXPECT_EQ(record.runs()[0].end.verdict, "failed");
  EXPECT_EQ(record.runs()[0].end.reason, "nobody looks at emulated");
  EXPECT_EQ(record.failure(), "nobody looks at emulated");
}

/// Packets in a capture: its blocks of type 6.
size_t packets_in(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  size_t packets = 0;
  std::array<uint32_t, 2> head{};  // type, and length with the head
  while (stream.read(reinterpret_cast<char*>(head.data()), sizeof head) && head[1] >= sizeof head) {
    packets += head[0] == 6;
    stream.ignore(head[1] - sizeof head);
  }
  return packets;
}

// Nobody is resolved where all questions are lost, which the capture shows; the models know nothing of that.
TEST_F(SmallRun, ATwinThatCannotConnectLeavesItsCaptureAndTheModels) {
  const std::vector<std::string> settings{"switch.loss=100%", "transport.neighbours=resolve",
                                          "transport.resolve_interval=1ms", "transport.resolve_deadline=2ms",
                                          "record.capture=64KiB"};
  PreparedRun prepared(resolve(file(), settings, RunKind::kTwin), {out()});
  const std::vector<CompletedRun> runs = prepared.run({stop_});
  EXPECT_EQ(runs.front().result.verdict, Verdict::kFailed);
  EXPECT_THAT(runs.front().result.reason, HasSubstr("2 of 2 connections failed"));
  EXPECT_GT(packets_in(out() / "capture.pcapng"), 0u);
  const RunReader record(out());
  std::vector<std::string> ends;
  for (const RecordedRun& run : record.runs()) ends.push_back(run.start.model + " " + run.end.verdict);
  EXPECT_THAT(ends, ElementsAre(" failed", "alpha_beta ok", "flow ok"));
  EXPECT_THAT(record.runs()[0].end.reason, HasSubstr("no answer to ARP"));
}

TEST_F(SmallRun, RunsOnceInAFolderOfItsOwn) {
  PreparedRun prepared(resolved(RunKind::kModels), {out()});
  EXPECT_THAT(refusal([&] { PreparedRun(resolved(RunKind::kModels), {out()}); }), HasSubstr("another rankwire"));
  prepared.run({stop_});
  EXPECT_THAT(refusal([&] { prepared.run({stop_}); }), HasSubstr("has been run already"));
}

TEST_F(SmallRun, WhatNeedsPortsSaysSo) {
  RunConfig config;
  config.file = "none.yaml";
  EXPECT_EQ(refusal([&] { resolve(config, RunKind::kModels); }), "");
  EXPECT_THAT(refusal([&] { resolve(config, RunKind::kTwin); }), HasSubstr("none.yaml: the twin needs 'ports'"));
  EXPECT_THAT(refusal([&] { resolve(config, RunKind::kEmulated); }),
              HasSubstr("none.yaml: an emulated run needs 'ports'"));
}

/// The label of each run that began.
RunControl watched_by(const std::atomic<bool>& stop, std::vector<std::string>& labels) {
  return {stop, [&labels](const WatchedRun& run) {
            labels.push_back(run.label);
            return nullptr;
          }};
}

TEST_F(SmallRun, IsEmulatedAsOftenAsItIsRepeated) {
  const std::vector<std::string> settings{"run.repeat=3", "ports.rate=1Gbps", "simulation.fidelity=[flow]",
                                          "simulation.ensemble=off"};
  PreparedRun prepared(resolve(file(), settings, RunKind::kEmulated), {out()});
  std::vector<std::string> labels;
  const std::vector<CompletedRun> runs = prepared.run(watched_by(stop_, labels));
  EXPECT_THAT(labels, ElementsAre("emulated 1 of 3", "emulated 2 of 3", "emulated 3 of 3", "reference"));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_TRUE(all_ok(runs));
  const RunReader record(out());
  ASSERT_EQ(record.repetitions().size(), 3u);
  EXPECT_EQ(record.runs().size(), 2u);
  for (uint32_t i = 0; i < 3; ++i) {
    const RecordedRun& run = record.repetitions()[i];
    EXPECT_EQ(run.start.repetition.number, i + 1);
    EXPECT_EQ(run.start.repetition.planned, 3u);
    EXPECT_EQ(run.end.completion, *std::ranges::max_element(run.end.per_rank));
    // Two computations and two all-reduces, each with operations of its own.
    EXPECT_EQ(record.execution_count(run), 4u);
    EXPECT_EQ(run.end.counters.messages_delivered, 4u);
  }
}

TEST_F(SmallRun, IsNotRepeatedInVirtualTime) {
  const std::vector<std::string> settings{"run.repeat=3"};
  PreparedRun prepared(resolve(file(), settings, RunKind::kTwin), {out()});
  EXPECT_EQ(prepared.run({stop_}).size(), 3u);
  EXPECT_TRUE(RunReader(out()).repetitions().empty());
}

// 4 MiB a rank at 10 Mbit/s take 3.4 s, of which 50 ms are allowed.
TEST_F(SmallRun, RepetitionsShareTheDeadline) {
  const std::vector<std::string> settings{"run.repeat=5", "ports.rate=10Mbps", "run.deadline=50ms",
                                          "simulation.fidelity=[flow]"};
  PreparedRun prepared(resolve(file(), settings, RunKind::kEmulated), {out()});
  std::vector<std::string> labels;
  const std::vector<CompletedRun> runs = prepared.run(watched_by(stop_, labels));
  EXPECT_EQ(labels.front(), "emulated 1 of 5");
  EXPECT_EQ(labels.size(), 2u) << "the second would have no time left";
  EXPECT_EQ(runs.front().result.reason, "deadline of 0.05 s passed");
  EXPECT_EQ(RunReader(out()).repetitions().size(), 1u);
}

TEST_F(SmallRun, AnInterruptIsOfAllRepetitions) {
  const std::vector<std::string> settings{"run.repeat=5", "simulation.fidelity=[flow]"};
  PreparedRun prepared(resolve(file(), settings, RunKind::kEmulated), {out()});
  uint32_t begun = 0;
  prepared.run({stop_, [&](const WatchedRun&) {
                  if (++begun == 2) stop_ = true;
                  return nullptr;
                }});
  const RunReader record(out());
  ASSERT_EQ(record.repetitions().size(), 2u);
  EXPECT_EQ(record.repetitions()[0].end.verdict, "ok");
  EXPECT_EQ(record.repetitions()[1].end.verdict, "interrupted");
  EXPECT_EQ(record.shown(), 1u);
}

}  // namespace
}  // namespace rankwire
