// Several jobs in one run: the reference, the twin, and what the record says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/assembly/run.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/record/reader.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Two memory ports of 10 Gb/s, and traces of two ranks that reduce 4 MiB, cut into nothing but halves.
class JobsRun : public ::testing::Test {
 protected:
  JobsRun() {
    for (int rank = 0; rank < 2; ++rank) traces_.add({testing::collective(1, "sum").size(4 << 20)});
  }

  /// `text` with TRACES for the traces' prefix, before the keys that all runs have.
  std::string file(std::string text) {
    for (size_t at = 0; (at = text.find("TRACES", at)) != std::string::npos;)
      text.replace(at, 6, traces_.options.traces.front());
    const std::string path = folder_ / fmt::format("run{}.yaml", files_++);
    std::ofstream(path) << text << "ports: {count: 2, device: memory, rate: 10Gbps}\n"
                        << "collectives: {chunk: 2147483647B, algorithms: {all_reduce: ring}}\n";
    return path;
  }
  std::vector<CompletedRun> run(const std::string& text, RunKind kind = RunKind::kModels,
                                const std::vector<std::string>& settings = {}) {
    out_ = folder_ / fmt::format("out{}", files_);
    PreparedRun prepared(resolve(file(text), settings, kind), {out_});
    warnings_ = prepared.setup().warnings;
    std::vector<CompletedRun> runs = prepared.run({stop_});
    for (const CompletedRun& done : runs) EXPECT_EQ(done.result.verdict, Verdict::kOk) << done.result.reason;
    return runs;
  }
  RunReader record() const { return RunReader(out_); }

  // A message of 2 MiB: 512 packets of 4096 + 82 bytes and 20 more in the first and last. At 800 ps a byte.
  static constexpr int64_t kLine = (512 * 4178 + 20) * 800;
  // 1.2 us of switch and cables, and the switch stores the first packet before it sends it.
  static constexpr int64_t kWay = 1'200'000 + 4194 * 800;
  // An operation ends with the acknowledgement of its last message.
  static constexpr int64_t kAcknowledgement = 1'200'000;
  /// Two messages, one after the other, and once as much line time each where two jobs share the ports.
  static constexpr Duration kAlone{2 * (kLine + kWay) + kAcknowledgement};
  static constexpr Duration kHalved{2 * (2 * kLine + kWay) + kAcknowledgement};

  const TemporaryFolder folder_;
  testing::TraceSet traces_;
  std::atomic<bool> stop_{false};
  std::filesystem::path out_;
  Warnings warnings_;
  int files_ = 0;
};

constexpr const char* kTwoAlike =
    "jobs:\n  - {name: a, workload: {traces: TRACES}}\n  - {name: b, workload: {traces: TRACES}}\n";

// A list of one job is the run without a list, to the picosecond, in the reference and in the twin.
TEST_F(JobsRun, OneJobIsTheWorkload) {
  const auto alone = run("workload: {traces: TRACES, iterations: 2}\n", RunKind::kTwin);
  const auto listed = run("jobs: [{name: a, workload: {traces: TRACES, iterations: 2}}]\n", RunKind::kTwin);
  ASSERT_EQ(alone.size(), 2u);
  ASSERT_EQ(listed.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(alone[i].result.total, listed[i].result.total);
    EXPECT_EQ(listed[i].result.jobs.at(0).completion(), record().runs()[i].end.completion);
  }
  EXPECT_EQ(record().reference()->end.completion, kAlone * 2);
  ASSERT_NE(record().alone(JobId(0)), nullptr);
  EXPECT_EQ(record().alone(JobId(0))->completion, kAlone * 2);
}

// Both jobs' rings send over the same two ports, both messages of a step at half the rate: a message takes its line
// time twice, and the rest of its way as if alone.
TEST_F(JobsRun, TwoAlikeHaveHalfOfTheirPorts) {
  run(kTwoAlike, RunKind::kTwin);
  const RunReader reader = record();
  ASSERT_EQ(reader.jobs().size(), 2u);
  EXPECT_EQ(reader.jobs()[1].name, "b");
  EXPECT_EQ(reader.jobs()[1].first_rank, 2u);
  for (const JobSpan& span : reader.reference()->end.jobs) EXPECT_EQ(span.completion(), kHalved);
  for (uint32_t job = 0; job < 2; ++job) {
    ASSERT_NE(reader.alone(JobId(job)), nullptr);
    EXPECT_EQ(reader.alone(JobId(job))->completion, kAlone);
    EXPECT_EQ(reader.alone(JobId(job))->model, "flow");
  }
  ASSERT_EQ(reader.emulated()->end.jobs.size(), 2u);
  for (const JobSpan& span : reader.emulated()->end.jobs) {
    const double ratio = static_cast<double>(span.completion()->ps) / static_cast<double>(kHalved.ps);
    EXPECT_NEAR(ratio, 1, 0.03);
  }
}

// Each job's two messages a port go over the port's two directions, at half the rate as long as the other's do: all
// time and all bytes there are shared. In a run of one at work nothing is.
TEST_F(JobsRun, WhoSharesLinksIsTold) {
  run(kTwoAlike);
  const std::vector<SharedLinkRow> rows = record().shared_links(*record().reference());
  ASSERT_EQ(rows.size(), 2u * 2 * 2) << "ports, directions, jobs";
  for (const SharedLinkRow& row : rows) {
    EXPECT_NE(row.job, row.other);
    EXPECT_EQ(row.time, Duration(2 * 2 * kLine));
    EXPECT_EQ(row.shared, row.time);
    EXPECT_EQ(row.bytes, Bytes(2 * (512 * 4178 + 20)));
    EXPECT_EQ(row.shared_bytes, row.bytes);
  }
  run(kTwoAlike, RunKind::kModels, {"jobs[1].idle=on"});
  EXPECT_TRUE(record().shared_links(*record().reference()).empty());
}

// What runs beside the jobs takes a part of their ports, and is no job.
TEST_F(JobsRun, TheBackgroundSharesWithNobody) {
  run(kTwoAlike, RunKind::kModels,
      {"background=[{name: noise, pattern: pairs, from: [p0], to: [p1], size: 64KiB, rate: 1Gbps}]"});
  const RunReader reader = record();
  EXPECT_GT(*reader.reference()->end.jobs[0].completion(), kHalved);
  const std::vector<SharedLinkRow> rows = reader.shared_links(*reader.reference());
  ASSERT_EQ(rows.size(), 2u * 2 * 2) << "ports, directions, jobs";
  for (const SharedLinkRow& row : rows) {
    EXPECT_LT(row.job, JobId(2));
    EXPECT_LT(row.other, JobId(2));
    EXPECT_EQ(row.bytes, Bytes(2 * (512 * 4178 + 20)));
  }
}

// Two jobs on ports of their own have no company: each takes its time alone, to the picosecond. So they do behind
// leaves of their own, whose cables they do not need.
TEST_F(JobsRun, JobsOnPortsOfTheirOwnShareNothing) {
  const std::vector<std::string> star = {"ports.count=4", "hosts.count=4"};
  std::vector<std::string> leaves = star;
  leaves.push_back("fabric={topology: leaf_spine, leaves: 2, spines: 1}");
  for (const std::vector<std::string>& settings : {star, leaves}) {
    SCOPED_TRACE(settings.back());
    run("jobs:\n  - {name: a, workload: {traces: TRACES}, hosts: [0, 1]}\n"
        "  - {name: b, workload: {traces: TRACES}, hosts: [2, 3]}\n",
        RunKind::kModels, settings);
    const RunReader reader = record();
    EXPECT_TRUE(reader.shared_links(*reader.reference()).empty());
    for (uint32_t job = 0; job < 2; ++job) {
      ASSERT_NE(reader.alone(JobId(job)), nullptr);
      EXPECT_EQ(reader.alone(JobId(job))->completion, kAlone);
      EXPECT_EQ(reader.reference()->end.jobs[job].completion(), kAlone) << "interference factor 1";
    }
  }
}

// b begins at the end of a, c 1 us after that of b.
TEST_F(JobsRun, JobsFollowEachOtherToThePicosecond) {
  const auto runs = run(
      "jobs:\n  - {name: c, workload: {traces: TRACES}, after: b, start: 1us}\n"
      "  - {name: a, workload: {traces: TRACES, iterations: 2}}\n  - {name: b, workload: {traces: TRACES}, after: a}\n",
      RunKind::kTwin);
  for (const CompletedRun& done : runs) {
    const std::vector<JobSpan>& jobs = done.result.jobs;
    ASSERT_EQ(jobs.size(), 3u);
    EXPECT_EQ(jobs[1].begin, Time(0));
    EXPECT_EQ(jobs[2].begin, jobs[1].end);
    EXPECT_EQ(jobs[0].begin, *jobs[2].end + microseconds(1));
    EXPECT_GT(*jobs[2].completion(), Duration(0));
  }
  // Nobody is at work beside them: each takes its time alone.
  const RunReader reader = record();
  for (const auto& [job, times] : {std::pair(0u, 1), std::pair(1u, 2), std::pair(2u, 1)}) {
    EXPECT_EQ(reader.reference()->end.jobs[job].completion(), kAlone * times);
    EXPECT_EQ(reader.alone(JobId(job))->completion, kAlone * times);
  }
  EXPECT_EQ(reader.jobs()[0].after, JobId(2));
  // The first operation of the job that follows begins when that does, too.
  Time first = Time::never();
  reader.for_each_operation([&](const OperationRow& row) {
    if (row.node.job == JobId(2)) first = std::min(first, row.reference->start);
  });
  EXPECT_EQ(first, *reader.reference()->end.jobs[2].begin);
}

// An idle job has its places and connections, and the run is that of the other alone: 2 ranks send 2 messages of 2 MiB.
TEST_F(JobsRun, AnIdleJobDoesNothing) {
  const auto runs = run(kTwoAlike, RunKind::kTwin, {"jobs[0].idle=on"});
  for (const CompletedRun& done : runs) {
    ASSERT_EQ(done.result.jobs.size(), 2u);
    EXPECT_FALSE(done.result.jobs[0].begin.has_value());
    EXPECT_EQ(done.result.jobs[1].begin, Time(0));
  }
  const RunReader reader = record();
  EXPECT_EQ(reader.reference()->end.jobs[1].completion(), kAlone);
  EXPECT_EQ(reader.alone(JobId(0)), nullptr);
  ASSERT_NE(reader.alone(JobId(1)), nullptr);
  EXPECT_EQ(reader.alone(JobId(1))->completion, kAlone);
  for (const RecordedRun* side : {reader.emulated(), reader.reference()}) {
    EXPECT_EQ(side->end.messages, 4u);
    EXPECT_EQ(side->end.bytes, Bytes(4 << 21));
    EXPECT_EQ(side->end.counters.messages_delivered, 4u);
  }
  // Its connections are there, and carried nothing.
  uint64_t flows[2] = {}, messages[2] = {};
  reader.for_each_flow(*reader.emulated(), [&](const RecordedFlow& row) {
    ++flows[row.flow.connection.job.value];
    messages[row.flow.connection.job.value] += row.flow.counters.messages;
  });
  EXPECT_EQ(flows[0], flows[1]);
  EXPECT_EQ(messages[0], 0u);
  EXPECT_EQ(messages[1], 4u);
}

TEST_F(JobsRun, AJobBeginsAtItsTime) {
  const auto runs = run("jobs: [{name: a, workload: {traces: TRACES}, start: 5ms}]\n");
  EXPECT_EQ(runs.at(0).result.jobs.at(0).begin, Time() + milliseconds(5));
  EXPECT_EQ(runs.at(0).result.jobs.at(0).completion(), kAlone);
}

// 64 jobs of 16 ranks on two ports: each port sends for 512 ranks.
TEST_F(JobsRun, SixtyFourJobsOfSixteenRanks) {
  std::string text = "jobs:\n";
  for (int job = 0; job < 64; ++job) {
    text += fmt::format(
        "  - {{name: j{}, workload: {{generate: {{layers: 1, hidden: 64, sequence: 16, vocabulary: 64, micro_batches: "
        "1, "
        "tensor_parallel: 4, data_parallel: 4}}}}}}\n",
        job);
  }
  const auto runs = run(text, RunKind::kModels, {"record.messages=none"});
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].result.jobs.size(), 64u);
  const RunReader reader = record();
  EXPECT_EQ(reader.reference()->start.ranks, 1024u);
  for (uint32_t job = 0; job < 64; ++job) {
    ASSERT_NE(reader.alone(JobId(job)), nullptr);
    EXPECT_GT(*reader.reference()->end.jobs[job].completion(), reader.alone(JobId(job))->completion);
  }
  const nlohmann::json config = nlohmann::json::parse(reader.config());
  EXPECT_EQ(config["jobs"].size(), 64u);
  EXPECT_FALSE(config.contains("workload"));
}

// Halves of the data on two channels in one job alone.
TEST_F(JobsRun, AJobMayHaveItsOwnCollectives) {
  run("jobs:\n  - {name: a, workload: {traces: TRACES}}\n"
      "  - {name: b, workload: {traces: TRACES}, collectives: {channels: 2, algorithms: {all_reduce: direct}}}\n");
  uint32_t channels[2] = {};
  const RunReader reader = record();
  reader.for_each_flow(*reader.reference(), [&](const RecordedFlow& row) {
    uint32_t& most = channels[row.flow.connection.job.value];
    most = std::max(most, row.flow.connection.channel + 1u);
  });
  EXPECT_THAT(channels, ElementsAre(1, 2));
}

// Elements of 64 bytes do not fit 32, and of 2 MiB in single bytes there are more slices than the 8192 that an id can
// name. The line is that of the job where the key is the job's.
TEST_F(JobsRun, AChunkThatDoesNotGoIsRefusedWhereItIsWritten) {
  const auto refusal = [&](const std::string& job, const std::vector<std::string>& settings = {}) -> std::string {
    try {
      run("jobs:\n  - {name: a, workload: {traces: TRACES}}\n  - {name: b, workload: {traces: TRACES" + job + "}\n",
          RunKind::kModels, settings);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(", element_size: 64B}, collectives: {chunk: 32B}"),
              HasSubstr(".yaml:3: jobs[1].collectives.chunk: must be from one element (64 bytes) to 2147483647 bytes, "
                        "not 32"));
  EXPECT_THAT(refusal("}, collectives: {chunk: 1B}"),
              HasSubstr(".yaml:3: jobs[1].collectives.chunk: all_reduce: a step of 2097152 bytes needs 2097152 slices "
                        "of 1 bytes, but at most 8192 can be named: use a larger chunk"));
  EXPECT_THAT(refusal("}", {"collectives.chunk=1B"}),
              HasSubstr("--set collectives.chunk=1B: collectives.chunk: all_reduce: a step of 2097152 bytes"));
  EXPECT_THAT(refusal("}, collectives: {channels: 17, algorithms: {all_reduce: double_binary_tree}}"),
              HasSubstr(".yaml:3: jobs[1].collectives.channels: must be at most 16 where"));
}

// Four ranks have a NIC each, and of four addresses that a prefix of 30 leaves the first and the last are not a host's.
TEST_F(JobsRun, AddressesThatAreTooFewAreToldWithTheirPlace) {
  try {
    run(kTwoAlike, RunKind::kModels, {"ports.count=4", "jobs[1].hosts=[2, 3]", "addresses.ip=198.18.0.1/30"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--set addresses.ip=198.18.0.1/30: addresses.ip: the addresses of 198.18.0.1/30 are too few for NIC 2 "
                 "of them; use a shorter prefix");
  }
}

// Everything of both jobs passes the cable of p0, which carries nothing for a millisecond.
TEST_F(JobsRun, EachSaysWhatItLostByAFailure) {
  const std::string star = std::string(kTwoAlike) + "fabric: {topology: star";
  run(star + "}\n");
  const Duration whole = *record().reference()->end.jobs[1].completion();
  ASSERT_EQ(record().alone(JobId(1))->unharmed, std::nullopt);
  run(star + ", failures: [{a: p0, down: 2ms, up: 3ms}]}\n");
  const RunReader reader = record();
  for (uint32_t job = 0; job < 2; ++job) {
    EXPECT_EQ(reader.alone(JobId(job))->unharmed, whole);
    EXPECT_EQ(reader.reference()->end.jobs[job].completion(), whole + milliseconds(1));
  }
}

// A job that is the only one says so, too; a model without cables does not.
TEST_F(JobsRun, OneJobSaysWhatItLostWhereTheModelKnowsCables) {
  const std::string star =
      "jobs: [{name: a, workload: {traces: TRACES}}]\nfabric: {topology: star, failures: [{a: p0, up: 1ms}]}\n";
  run(star);
  const RunReader flow = record();
  EXPECT_EQ(*flow.reference()->end.jobs[0].completion(), *flow.alone(JobId(0))->unharmed + milliseconds(1));
  run(star + "simulation: {fidelity: alpha_beta}\n");
  EXPECT_EQ(record().alone(JobId(0))->unharmed, std::nullopt);
}

// The iterations and sizes of each job count in what is planned: a sends 2 x 2 messages of 2 MiB in 3 iterations, b
// in 1.
TEST_F(JobsRun, TrafficIsThatOfAllJobs) {
  run("jobs:\n  - {name: a, workload: {traces: TRACES, iterations: 3}}\n  - {name: b, workload: {traces: TRACES}}\n");
  const RunReader reader = record();
  const RunEnd& end = reader.reference()->end;
  EXPECT_EQ(end.messages, 4u * 4);
  EXPECT_EQ(end.bytes, Bytes(4 * 4 * (int64_t{2} << 20)));
  EXPECT_EQ(end.counters.messages_delivered, 16u);
}

TEST_F(JobsRun, AnImpairmentOfAJobIsOfThatJobAlone) {
  run(kTwoAlike, RunKind::kTwin, {"impairments=[{action: drop, job: 1, every: 50}]"});
  uint64_t again[2] = {};
  const RunReader reader = record();
  reader.for_each_flow(*reader.emulated(), [&](const RecordedFlow& row) {
    again[row.flow.connection.job.value] += row.flow.counters.retransmitted;
  });
  EXPECT_EQ(again[0], 0u);
  EXPECT_GT(again[1], 0u);
  const std::vector<ImpairmentRow> events = reader.impairments(*reader.emulated());
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.front().message, HasSubstr("job b group"));
  const Connection& of_first = events.front().connection;
  EXPECT_GE(of_first.source.value, 2u) << "counted within the run";
  EXPECT_THAT(events.front().message,
              HasSubstr(fmt::format("rank {} -> {}", of_first.source.value - 2, of_first.destination.value - 2)))
      << "counted within the job";
}

// DSCP 40 is priority 5 and DSCP 26, the others', priority 3: frames of both jobs wait at the outputs of the switch.
TEST_F(JobsRun, AJobMayHaveItsOwnMarking) {
  run("jobs:\n  - {name: a, workload: {traces: TRACES}, transport: {dscp: 40}}\n"
      "  - {name: b, workload: {traces: TRACES}}\n",
      RunKind::kTwin, {"fabric={topology: star}", "record.fabric_interval=10us"});
  const RunReader reader = record();
  const std::optional<QueueSampling> samples = reader.queue_samples(*reader.emulated());
  ASSERT_TRUE(samples.has_value());
  std::set<uint32_t> waiting;
  for (const QueueSampleRow& row : samples->rows)
    if (row.length > Bytes(0)) waiting.insert(row.priority);
  EXPECT_THAT(waiting, ElementsAre(3, 5));
}

// Two jobs on ports of their own: a sends both messages of its ranks at 1 Gb/s, a tenth of the line, b as fast as the
// line goes. An exception goes before what a job says.
TEST_F(JobsRun, AJobMayHaveItsOwnCongestionControl) {
  const std::string text =
      "jobs:\n  - {name: a, workload: {traces: TRACES}, hosts: [0, 1],\n"
      "     transport: {congestion_control: {algorithm: static, rate: 1Gbps}}}\n"
      "  - {name: b, workload: {traces: TRACES}, hosts: [2, 3]}\n";
  std::vector<std::string> settings = {"ports.count=4", "hosts.count=4"};
  const auto time_of = [&](uint32_t job) {
    return static_cast<double>(record().emulated()->end.jobs.at(job).completion()->ps);
  };
  run(text, RunKind::kTwin, settings);
  EXPECT_NEAR(time_of(0) / static_cast<double>(2 * 10 * kLine), 1, 0.01);
  EXPECT_NEAR(time_of(1) / static_cast<double>(kAlone.ps), 1, 0.03);
  settings.emplace_back("transport.congestion_control.exceptions=[{job: a, algorithm: none}]");
  run(text, RunKind::kTwin, settings);
  EXPECT_NEAR(time_of(0) / static_cast<double>(kAlone.ps), 1, 0.03);
}

// Of the run only the receivers' part: DCQCN in one job has marks answered, at the time that the run's preset has. Each
// preset scales with the line of 10 Gb/s, of which HPCC's additive increase is 1 / 5000.
TEST_F(JobsRun, ParametersOfJobsAreTheirOwn) {
  PreparedRun prepared(
      resolve(
          file("jobs:\n  - {name: a, workload: {traces: TRACES}, transport: {congestion_control: {algorithm: dcqcn, "
               "preset: hpcc}}}\n  - {name: b, workload: {traces: TRACES}, transport: {congestion_control: "
               "{algorithm: swift, swift_beta: 70%}}}\n"),
          {}, RunKind::kTwin),
      {folder_ / "out"});
  const RoceOptions options = roce_options(prepared.setup());
  EXPECT_EQ(options.congestion.algorithm, CongestionAlgorithm::kNone);
  EXPECT_TRUE(options.congestion.notifies);
  EXPECT_EQ(options.congestion.notification.min_time_between_cnps, microseconds(4));
  ASSERT_EQ(options.congestion_exceptions.size(), 2u);
  const CongestionException &a = options.congestion_exceptions[0], &b = options.congestion_exceptions[1];
  EXPECT_EQ(a.job, JobId(0));
  EXPECT_FALSE(a.group.valid());
  EXPECT_EQ(a.options.algorithm, CongestionAlgorithm::kDcqcn);
  EXPECT_EQ(a.options.dcqcn.ai_rate, Bandwidth(2'000'000));
  EXPECT_EQ(b.job, JobId(1));
  EXPECT_EQ(b.options.algorithm, CongestionAlgorithm::kSwift);
  EXPECT_EQ(b.options.swift.beta.numerator, 700'000);
  EXPECT_EQ(b.options.swift.beta.denominator, 1'000'000);
}

TEST_F(JobsRun, APriorityThatWouldHaveToBePausedIsRefused) {
  try {
    run("jobs:\n  - {name: a, workload: {traces: TRACES}, transport: {dscp: 40}}\n"
        "  - {name: b, workload: {traces: TRACES}}\n",
        RunKind::kTwin, {"fabric={topology: star, lossless: [3]}"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(":2: jobs[0].transport: its data has another priority"));
  }
}

}  // namespace
}  // namespace rankwire
