// Runs that go on beside each other: the same record however many threads there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/assembly/run.h"
#include "emulator/record/database.h"
#include "emulator/record/reader.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using ::testing::UnorderedElementsAre;

/// Three jobs of two ranks each on two memory ports of 10 Gb/s. One is slowed down, and a cable fails.
class RunThreads : public ::testing::Test {
 protected:
  RunThreads() {
    for (int rank = 0; rank < 2; ++rank)
      traces_.add({testing::compute(1, "work").micros(50), testing::collective(2, "sum").after({1}).size(1 << 20)});
    std::ofstream(file()) << "jobs:\n"
                          << "  - {name: a, workload: {traces: TRACES, iterations: 2}}\n"
                          << "  - {name: b, workload: {traces: TRACES}, start: 100us}\n"
                          << "  - {name: c, workload: {traces: TRACES}, after: b}\n"
                          << "ports: {count: 2, device: memory, rate: 10Gbps}\n"
                          << "fabric: {topology: star, failures: [{a: p0, down: 200us, up: 300us}]}\n"
                          << "compute: {stragglers: [{ranks: [0], factor: 2}]}\n"
                          << "simulation: {fidelity: [flow, alpha_beta]}\n"
                          << "record: {messages: all, capture: 1MiB, fabric_interval: 10us}\n";
  }
  std::string file() const { return folder_ / "jobs.yaml"; }

  /// The folder of a run of it with so many threads.
  std::filesystem::path run(uint32_t threads, std::vector<std::string> settings, const RunControl& control) {
    for (int job = 0; job < 3; ++job)
      settings.push_back(fmt::format("jobs[{}].workload.traces={}", job, traces_.options.traces.front()));
    settings.push_back(fmt::format("simulation.threads={}", threads));
    const std::filesystem::path out = folder_ / fmt::format("out{}", ++runs_);
    PreparedRun prepared(resolve(file(), settings, RunKind::kTwin), {out});
    for (const CompletedRun& done : prepared.run(control))
      EXPECT_EQ(done.result.verdict, Verdict::kOk) << done.result.reason;
    return out;
  }
  std::filesystem::path run(uint32_t threads, const std::vector<std::string>& settings = {}) {
    return run(threads, settings, {stop_});
  }

  const TemporaryFolder folder_;
  testing::TraceSet traces_;
  std::atomic<bool> stop_{false};
  int runs_ = 0;
};

/// All rows of a record by table, of each run in the order in which they were written. Not when it was written, and
/// not the configuration.
std::map<std::string, std::vector<std::string>> rows_of(const std::filesystem::path& folder) {
  const Database database(folder / "run.sqlite", Database::Access::kRead);
  std::map<std::string, std::vector<std::string>> tables;
  Statement names = database.prepare(
      "SELECT name, sql LIKE '%WITHOUT ROWID%', sql LIKE '%run INTEGER NOT NULL%' FROM sqlite_master "
      "WHERE type='table' AND name<>'record'");
  while (names.step()) {
    const std::string name = names.text(0);  // borrowed by the statement that it is bound to
    std::vector<std::string>& rows = tables[name];
    std::vector<std::string> columns;
    Statement info = database.prepare("SELECT name FROM pragma_table_info(?)");
    info.bind(name);
    while (info.step()) columns.push_back(info.text(0));
    std::string query = fmt::format("SELECT * FROM {}", name);
    if (names.integer(1) == 0) query += names.integer(2) != 0 ? " ORDER BY run, rowid" : " ORDER BY rowid";
    Statement all = database.prepare(query);
    while (all.step()) {
      std::string& row = rows.emplace_back();
      for (size_t column = 0; column < columns.size(); ++column)
        row += fmt::format("{}={} ", columns[column], all.text(static_cast<int>(column)));
    }
  }
  return tables;
}

TEST_F(RunThreads, TheRecordIsTheSameHoweverManyThereAre) {
  // The second one reads its traces while it runs; the third has traffic beside the jobs.
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"jobs[0].workload.stream_above=0", "jobs[1].workload.stream_above=0", "jobs[2].workload.stream_above=0"},
      {"background=[{name: noise, pattern: pairs, from: [p0], to: [p1], size: 64KiB, rate: 1Gbps}]"}};
  for (const std::vector<std::string>& settings : variants) {
    const auto expected = rows_of(run(1, settings));
    EXPECT_EQ(expected.at("runs").size(), 3u);
    EXPECT_EQ(expected.at("jobs_alone").size(), 3u);
    for (const char* table : {"operations", "messages", "flows", "queue_samples", "shared_links", "latency"})
      EXPECT_FALSE(expected.at(table).empty()) << table;
    for (const uint32_t threads : {2u, 4u}) {
      const auto rows = rows_of(run(threads, settings));
      for (const auto& [table, of_table] : expected) EXPECT_EQ(rows.at(table), of_table) << table << " " << threads;
    }
  }
}

// In order, with jobs alone behind the models; the twin is the longest.
TEST_F(RunThreads, RunsStandInTheOrderOfTheConfiguration) {
  const RunReader record(run(3));
  std::vector<std::string> models;
  for (const RecordedRun& one : record.runs()) models.push_back(one.start.model);
  EXPECT_THAT(models, ElementsAre("", "flow", "alpha_beta"));
  EXPECT_EQ(record.runs()[0].start.fidelity, Fidelity::kTwin);
}

TEST_F(RunThreads, WhoLooksOnIsToldByAllThreads) {
  std::mutex mutex;
  std::vector<std::string> labels;
  std::set<std::string> at_work;
  size_t most = 0;
  run(4, {"simulation.ensemble=2"}, {stop_, [&](const WatchedRun& run) {
                                       EXPECT_LE(run.done(), run.operations);
                                       const std::lock_guard lock(mutex);
                                       labels.push_back(run.label);
                                       at_work.insert(run.label);
                                       most = std::max(most, at_work.size());
                                       return std::shared_ptr<void>(nullptr, [&, run](void*) {
                                         EXPECT_EQ(run.done(), run.operations) << run.label;
                                         const std::lock_guard on_removal(mutex);
                                         at_work.erase(run.label);
                                       });
                                     }});
  // Without failures for the jobs, and for what disturbs the run as a whole; the first member with turns at ports and
  // without.
  EXPECT_THAT(labels, UnorderedElementsAre("twin", "reference", "alpha_beta", "a alone", "b alone", "c alone",
                                           "without failures", "without failures", "ensemble 1 of 2", "ensemble 1 of 2",
                                           "ensemble 2 of 2"));
  EXPECT_LE(most, 4u);
  EXPECT_TRUE(at_work.empty());
}

// No trace says how long the collective took. What runs beside the model that cannot run ends, and is recorded.
TEST_F(RunThreads, AnErrorIsThrownWhenTheOthersHaveEnded) {
  for (const uint32_t threads : {1u, 4u}) {
    SCOPED_TRACE(threads);
    try {
      run(threads, {"simulation.fidelity=[flow, recorded]"});
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("simulation.fidelity: recorded: 'sum'"));
    }
    const RunReader record(folder_ / fmt::format("out{}", runs_));
    std::vector<std::string> ends;
    for (const RecordedRun& one : record.runs()) ends.push_back(one.start.model + " " + one.end.verdict);
    EXPECT_THAT(ends, ElementsAre(" ok", "flow ok", "recorded failed"));
  }
}

/// Throws at the beginning of the runs with these labels.
RunControl throwing_at(const std::atomic<bool>& stop, const std::set<std::string>& labels) {
  return {stop, [labels](const WatchedRun& run) {
            if (labels.contains(run.label)) throw std::runtime_error("no " + run.label);
            return std::shared_ptr<void>();
          }};
}

TEST_F(RunThreads, WhatThrowsLeavesTheRecordOfTheOthers) {
  std::map<std::string, std::vector<std::string>> expected;
  for (const uint32_t threads : {1u, 4u}) {
    SCOPED_TRACE(threads);
    EXPECT_THROW(run(threads, {}, throwing_at(stop_, {"twin", "alpha_beta"})), std::runtime_error);
    const std::filesystem::path out = folder_ / fmt::format("out{}", runs_);
    const RunReader record(out);
    std::vector<std::string> ends;
    for (const RecordedRun& one : record.runs())
      ends.push_back(fmt::format("{} {} {}", one.start.model, one.end.verdict, one.end.reason));
    EXPECT_THAT(ends, ElementsAre(" failed no twin", "flow ok ", "alpha_beta failed no alpha_beta"));
    EXPECT_EQ(record.failure(), "no twin");
    EXPECT_GT(record.execution_count(record.runs()[1]), 0u);
    auto rows = rows_of(out);
    if (threads == 1) {
      expected = rows;
    } else {
      EXPECT_EQ(rows, expected);
    }
  }
}

TEST_F(RunThreads, AJobWhoseRunAloneThrowsLeavesTheTimesOfTheOthers) {
  const auto expected = rows_of(run(1)).at("jobs_alone");
  ASSERT_EQ(expected.size(), 3u);
  for (const uint32_t threads : {1u, 4u}) {
    SCOPED_TRACE(threads);
    EXPECT_THROW(run(threads, {}, throwing_at(stop_, {"b alone"})), std::runtime_error);
    const std::filesystem::path out = folder_ / fmt::format("out{}", runs_);
    EXPECT_THAT(rows_of(out).at("jobs_alone"), ElementsAre(expected[0], expected[2]));
    const RunReader record(out);
    EXPECT_EQ(record.failure(), "no b alone");
    for (const RecordedRun& one : record.runs()) EXPECT_EQ(one.end.verdict, "ok");
  }
}

// What a job does alone and what the reference does with other small differences do not need each other.
TEST_F(RunThreads, AMemberOfTheEnsembleThatThrowsIsLeftOut) {
  for (const std::set<std::string>& labels :
       {std::set<std::string>{"ensemble 2 of 3"}, {"ensemble 2 of 3", "a alone"}}) {
    EXPECT_THROW(run(2, {"simulation.ensemble=3"}, throwing_at(stop_, labels)), std::runtime_error);
    const RunReader record(folder_ / fmt::format("out{}", runs_));
    EXPECT_EQ(record.ensemble().size(), 2u);
    EXPECT_EQ(record.failure(), "no ensemble 2 of 3") << "the first of them";
    EXPECT_EQ(record.alone(JobId(0)) == nullptr, labels.contains("a alone"));
    EXPECT_NE(record.alone(JobId(1)), nullptr);
  }
}

}  // namespace
}  // namespace rankwire
