// What a record holds when its writer dies or falls behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "emulator/record/ring_sink.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::vector<OperationRecord> rows(uint32_t first, uint32_t count) {
  std::vector<OperationRecord> rows(count);
  for (uint32_t i = 0; i < count; ++i) {
    rows[i] = {.rank = RankId(0), .node = first + i, .start = Time(first + i), .end = Time(first + i + 1)};
  }
  return rows;
}

uint32_t recorded_operations(const std::filesystem::path& folder) {
  uint32_t n = 0;
  RunReader(folder).for_each_operation([&](const OperationRow& row) { EXPECT_EQ(row.node.node, n++); });
  return n;
}

/// A child that records until it is killed; the parent hears from it through a pipe.
class RecordingChild {
 public:
  template <class Record>
  explicit RecordingChild(Record record) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    child_ = ::fork();
    if (child_ == 0) {
      record([&] { (void)!::write(ends[1], "x", 1); });
      while (true) ::pause();
    }
    ::close(ends[1]);
    said_ = ends[0];
  }
  ~RecordingChild() {
    kill();
    ::close(said_);
  }
  bool wait_until_it_says_so() const {
    char c;
    return ::read(said_, &c, 1) == 1;
  }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
  int said_ = -1;
};

TEST(Durability, FlushedRowsSurviveSigkill) {
  TemporaryFolder folder;
  RecordingChild child([&](auto say) {
    RunRecorder recorder(folder.path());
    recorder.configuration("{}", "0.1.0");
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    RecordSink& sink = run.sink();
    sink.operations(rows(0, 5000));
    recorder.flush();
    say();
    while (true) ::pause();
  });
  ASSERT_TRUE(child.wait_until_it_says_so());
  child.kill();

  EXPECT_EQ(recorded_operations(folder.path()), 5000u);
  const RunReader reader(folder.path());
  EXPECT_EQ(reader.version(), "0.1.0");
  const RecordedRun& run = *reader.emulated();
  EXPECT_FALSE(run.ended);
  EXPECT_EQ(run.end.verdict, "interrupted");
  EXPECT_THAT(run.end.reason, HasSubstr("5000 operations"));
}

TEST(Durability, RowsAreCommittedWithoutBeingAskedFor) {
  TemporaryFolder folder;
  RecordingChild child([&](auto say) {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    RecordSink& sink = run.sink();
    sink.operations(rows(0, 100));
    say();
    while (true) ::pause();
  });
  ASSERT_TRUE(child.wait_until_it_says_so());
  // The writer thread of the child commits by itself; the test's time limit is the only clock here.
  while (recorded_operations(folder.path()) < 100) std::this_thread::yield();
  child.kill();
  EXPECT_EQ(recorded_operations(folder.path()), 100u);
}

TEST(Durability, ARunWhoseRecorderGoesAwayReadsAsInterruptedWithAllItsRows) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 1}).sink().operations(rows(0, 10));
  }
  EXPECT_EQ(recorded_operations(folder.path()), 10u);
  EXPECT_EQ(RunReader(folder.path()).reference()->end.verdict, "interrupted");
}

// A ring of 4 takes 4 of 10 rows when nobody takes any out; 6 are dropped.
TEST(Durability, AFullRingDropsAndCounts) {
  RingSink sink({.operations = 4, .messages = 2, .when_full = WhenFull::kDrop});
  sink.operations(rows(0, 10));
  EXPECT_EQ(sink.operations_dropped(), 6u);
  std::vector<OperationRecord> out(10);
  ASSERT_EQ(sink.pop(std::span(out)), 4u);
  EXPECT_EQ(out[3].node, 3u);
  sink.messages(std::vector<MessageRecord>(5));
  EXPECT_EQ(sink.messages_dropped(), 3u);
}

TEST(Durability, WhatIsNotRecordedIsNotCountedAsDropped) {
  RingSink sink({.operations = 0, .messages = 0, .when_full = WhenFull::kDrop});
  sink.messages(std::vector<MessageRecord>(5));
  sink.operations(rows(0, 10));
  EXPECT_EQ(sink.messages_dropped(), 0u);
  EXPECT_EQ(sink.operations_dropped(), 0u);
}

// Every row is either in the record or in the count of dropped ones.
TEST(Durability, DroppedRowsAreStoredWithTheRun) {
  TemporaryFolder folder;
  constexpr uint32_t kRows = 50'000;
  {
    RunRecorder recorder(folder.path(), {.ring = 16});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 1});
    RecordSink& sink = run.sink();
    // More than 16 rows in one call cannot fit, however fast the writer is.
    sink.operations(rows(0, kRows));
    run.end({});
  }
  const RunReader reader(folder.path());
  const uint64_t dropped = reader.emulated()->loss.operations;
  EXPECT_GT(dropped, 0u);
  uint64_t stored = 0;
  reader.for_each_operation([&](const OperationRow&) { ++stored; });
  EXPECT_EQ(stored + dropped, kRows);
}

TEST(Durability, VirtualTimeWaitsForTheWriterAndLosesNothing) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.ring = 256});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 1});
    RecordSink& sink = run.sink();
    sink.operations(rows(0, 20'000));
    run.end({});
  }
  EXPECT_EQ(recorded_operations(folder.path()), 20'000u);
  EXPECT_EQ(RunReader(folder.path()).reference()->loss.operations, 0u);
}

TEST(Durability, AClosedSinkNeverBlocks) {
  RingSink sink({.operations = 2, .messages = 2, .when_full = WhenFull::kWait});
  sink.close();
  sink.operations(rows(0, 5));
  EXPECT_EQ(sink.operations_dropped(), 3u);
}

/// Two thousand samples of one queue; when `doubles`, the first hundred are told again, put together.
class TwoThousandSamples final : public LiveMeasurements {
 public:
  explicit TwoThousandSamples(bool doubles) : doubles_(doubles) {}

  std::optional<QueueUpdate> queue_update(size_t most) override {
    if (told_ == 2000) {
      if (!doubles_) return std::nullopt;
      doubles_ = false;
      return QueueUpdate{.anew = true, .interval = Duration(20), .ports = ports_, .rows = rows(100)};
    }
    const size_t part = std::min<size_t>(most, 500);
    told_ += part;
    return QueueUpdate{.interval = Duration(10), .ports = ports_, .rows = rows(part)};
  }

 private:
  std::vector<QueueSampleRow> rows(size_t count) {
    std::vector<QueueSampleRow> rows(count);
    for (QueueSampleRow& row : rows) row = {.time = Time(++time_), .drops = 1};
    return rows;
  }

  bool doubles_;
  size_t told_ = 0;
  int64_t time_ = 0;
  const std::vector<std::string> ports_{"s.p0"};
};

size_t recorded_samples(const std::filesystem::path& folder) {
  const RunReader reader(folder);
  const auto sampling = reader.queue_samples(*reader.emulated());
  return sampling ? sampling->rows.size() : 0;
}

TEST(Durability, SamplesOfQueuesSurviveSigkill) {
  for (const bool doubles : {false, true}) {
    TemporaryFolder folder;
    RecordingChild child([&](auto say) {
      TwoThousandSamples samples(doubles);
      RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
      RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
      const RunRecorder::Following following(run, {&samples});
      say();
      while (true) ::pause();
    });
    ASSERT_TRUE(child.wait_until_it_says_so());
    // As above, the test's time limit is the only clock.
    const size_t expected = doubles ? 100 : 2000;
    while (recorded_samples(folder.path()) != expected) std::this_thread::yield();
    child.kill();
    EXPECT_EQ(recorded_samples(folder.path()), expected);
    const RunReader reader(folder.path());
    EXPECT_EQ(reader.queue_samples(*reader.emulated())->interval, Duration(doubles ? 20 : 10));
  }
}

/// Two parts, of which the second makes the first void, and a third one.
class ThreeRates final : public LiveMeasurements {
 public:
  std::optional<RateUpdate> rate_update(size_t) override {
    const auto port = [](int64_t time) {
      return PortRateRow{.time = Time(time), .port = PortId(1), .tx = Bytes(100), .rx = Bytes(2)};
    };
    const AllowanceRow allowance{.time = Time(40),
                                 .connection = ConnectionId(7),
                                 .member = 1,
                                 .source = RankId(2),
                                 .destination = RankId(3),
                                 .rate = Bandwidth(1000),
                                 .lowest_rate = Bandwidth(900),
                                 .window = Bytes(4096),
                                 .smallest_window = {}};
    switch (++times_) {
      case 1:
        return RateUpdate{.rates = {.port_interval = Duration(10), .ports = {port(10), port(20)}}};
      case 2:
        return RateUpdate{.anew = true, .rates = {.port_interval = Duration(20), .ports = {port(20)}}};
      case 3:
        return RateUpdate{.rates = {.port_interval = Duration(20),
                                    .allowance_interval = Duration(40),
                                    .lost = 5,
                                    .ports = {port(40)},
                                    .allowances = {allowance}}};
    }
    return std::nullopt;
  }

 private:
  int times_ = 0;
};

TEST(Durability, RatesSurviveSigkill) {
  TemporaryFolder folder;
  RecordingChild child([&](auto say) {
    ThreeRates rates;
    RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    const RunRecorder::Following following(run, {nullptr, &rates});
    say();
    while (true) ::pause();
  });
  ASSERT_TRUE(child.wait_until_it_says_so());
  const auto recorded = [&] {
    const RunReader reader(folder.path());
    return reader.rates(*reader.emulated()).value_or(RateSampling());
  };
  while (recorded().allowances.empty()) std::this_thread::yield();
  child.kill();
  const RateSampling rates = recorded();
  EXPECT_EQ(std::tuple(rates.port_interval, rates.allowance_interval, rates.lost),
            std::tuple(Duration(20), Duration(40), 5u));
  ASSERT_EQ(rates.ports.size(), 2u);
  EXPECT_EQ(std::tuple(rates.ports[0].time, rates.ports[1].time), std::tuple(Time(20), Time(40)));
  EXPECT_EQ(std::tuple(rates.ports[1].port, rates.ports[1].tx, rates.ports[1].rx),
            std::tuple(PortId(1), Bytes(100), Bytes(2)));
  const AllowanceRow& allowance = rates.allowances.front();
  EXPECT_EQ(std::tuple(allowance.connection, allowance.member, allowance.source, allowance.destination),
            std::tuple(ConnectionId(7), 1, RankId(2), RankId(3)));
  EXPECT_EQ(allowance.window, Bytes(4096));
  EXPECT_FALSE(allowance.smallest_window.has_value());
}

/// Two storms, of which one ends, and frames that are dropped in the other.
class TwoStorms final : public LiveMeasurements {
 public:
  std::vector<StormUpdate> storm_update() override {
    StormRow first{.name = "s.p0", .priority = 3, .stuck = Time(1), .begin = Time(10)}, second = first;
    second.name = "s.p1", second.dropped = 5;
    switch (++times_) {
      case 1:
        return {{0, first}};
      case 2:
        second.dropped = 4;
        return {{1, second}};
      case 3:
        first.end = Time(20);
        return {{0, first}, {1, second}};
    }
    return {};
  }

 private:
  int times_ = 0;
};

std::vector<std::string> recorded_storms(const std::filesystem::path& folder) {
  const RunReader reader(folder);
  std::vector<std::string> storms;
  for (const StormRow& s : reader.storms(*reader.emulated()))
    storms.push_back(fmt::format("{} {} {} {} {} {}", s.name, s.priority, s.stuck.ps, s.begin.ps,
                                 s.end ? s.end->ps : -1, s.dropped));
  return storms;
}

const std::vector<std::string> kTwoStorms = {"s.p0 3 1 10 20 0", "s.p1 3 1 10 -1 5"};

TEST(Durability, PauseStormsSurviveSigkillWhileTheyLast) {
  TemporaryFolder folder;
  RecordingChild child([&](auto say) {
    TwoStorms storms;
    RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    const RunRecorder::Following following(run, {&storms});
    say();
    while (true) ::pause();
  });
  ASSERT_TRUE(child.wait_until_it_says_so());
  while (recorded_storms(folder.path()) != kTwoStorms) std::this_thread::yield();
  child.kill();
  EXPECT_EQ(recorded_storms(folder.path()), kTwoStorms);
}

TEST(Durability, TheEndReplacesStormsWrittenBefore) {
  TemporaryFolder folder;
  TwoStorms storms;
  RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
  {
    const RunRecorder::Following following(run, {&storms});
    while (recorded_storms(folder.path()) != kTwoStorms) std::this_thread::yield();
  }
  RunEnd end;
  end.storms = {{.name = "s.p1", .priority = 3, .stuck = Time(1), .begin = Time(10), .end = Time(30), .dropped = 6}};
  run.end(end);
  EXPECT_EQ(recorded_storms(folder.path()), std::vector<std::string>{"s.p1 3 1 10 30 6"});
}

// The samples of the run's end are all of them: what was written before is not there twice.
TEST(Durability, TheEndReplacesSamplesWrittenBefore) {
  TemporaryFolder folder;
  TwoThousandSamples samples(false);
  RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
  {
    const RunRecorder::Following following(run, {&samples});
    while (recorded_samples(folder.path()) < 2000) std::this_thread::yield();
  }
  RunEnd end;
  end.queue_samples = QueueSampling{.interval = Duration(10), .ports = {"s.p0"}, .rows = {{.time = Time(5)}}};
  run.end(end);
  EXPECT_EQ(recorded_samples(folder.path()), 1u);
}

// Two runs are asked in turn, and what the end of one replaces is its own.
TEST(Durability, TheEndOfARunLeavesWhatWasWrittenOfAnother) {
  TemporaryFolder folder;
  TwoThousandSamples samples(false), of_other(false);
  TwoStorms storms;
  RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
  RunRecorder::Run second = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 1});
  RunRecorder::Run third = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 1});
  const RunRecorder::Following following(run, {&samples}), second_following(second, {&of_other});
  const RunRecorder::Following third_following(third, {&storms});
  const auto samples_of = [&](size_t place) {
    const RunReader reader(folder.path());
    const auto sampling = reader.queue_samples(reader.runs()[place]);
    return sampling ? sampling->rows.size() : 0;
  };
  const auto storms_of = [&](size_t place) {
    const RunReader reader(folder.path());
    return reader.storms(reader.runs()[place]).size();
  };
  while (samples_of(0) < 2000 || samples_of(1) < 2000 || storms_of(2) < 2) std::this_thread::yield();
  RunEnd end;
  end.queue_samples = QueueSampling{.interval = Duration(10), .ports = {"s.p0"}, .rows = {{.time = Time(5)}}};
  second.end(end);
  EXPECT_EQ(samples_of(0), 2000u);
  EXPECT_EQ(samples_of(1), 1u);
  EXPECT_EQ(storms_of(2), 2u);
}

}  // namespace
}  // namespace rankwire
