// Records of a few executions, whose chain of waiting is known.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire::testing {

/// Times are microseconds.
class PathRecord {
 public:
  struct Ran {
    int64_t start, end;
    std::optional<int64_t> reference_start = {}, reference_end = {};  ///< as `start` and `end` where absent
    uint32_t iteration = 0;
  };

  uint32_t compute(uint32_t rank, const std::string& name) {
    return add({.rank = RankId(rank), .name = name, .kind = "compute"});
  }
  /// The members of one group are those ranks that have a node of that name.
  uint32_t collective(uint32_t rank, const std::string& kind, RankId root = {}) {
    return add({.rank = RankId(rank), .name = kind, .kind = kind, .group = "g", .group_size = 2, .peer = root});
  }
  uint32_t send(uint32_t rank, uint32_t peer) {
    return add({.rank = RankId(rank), .name = "send", .kind = "send", .group_size = 2, .peer = RankId(peer)});
  }
  uint32_t receive(uint32_t rank, uint32_t peer) {
    return add({.rank = RankId(rank), .name = "receive", .kind = "receive", .group_size = 2, .peer = RankId(peer)});
  }
  void ran(uint32_t rank, uint32_t node, const Ran& times) {
    const auto row = [&](int64_t start, int64_t end) {
      return OperationRecord{
          .rank = RankId(rank), .node = node, .iteration = times.iteration, .start = at(start), .end = at(end)};
    };
    emulated_.push_back(row(times.start, times.end));
    reference_.push_back(row(times.reference_start.value_or(times.start), times.reference_end.value_or(times.end)));
  }
  void caused(uint32_t rank, uint32_t node, ConnectionId connection, const TimeByCause& causes) {
    causes_.push_back({.rank = RankId(rank), .node = node, .iteration = 0, .connection = connection, .causes = causes});
  }
  /// Round trips of the packets of a port of the emulated run, or of all ports of which nothing else is said.
  void round_trips(int64_t shortest, int64_t mean, PortId port = {}) {
    LatencyRow& row = latencies_.emplace_back();
    row.port = port, row.count = 10, row.min = microseconds(shortest), row.mean = microseconds(mean);
  }
  /// A message of the reference, of which a packet takes so long one way.
  void models_path(int64_t takes) {
    MessageRecord half{.id = {}, .bytes = Bytes(1), .at_source = true, .first = at(0), .last = at(1 + takes)};
    half.id.destination = 1;
    messages_.push_back(half);
    half.at_source = false, half.last = at(1);
    messages_.push_back(half);
  }
  /// Another connection of the emulated run, with the number that follows. Every rank stands behind a port of its own.
  ConnectionId connection(uint32_t source, uint32_t destination, JobId of_job = JobId(0), Duration on_line = {}) {
    FlowRow& flow = flows_.emplace_back(flow_of(static_cast<uint32_t>(2 + flows_.size()), source, destination));
    flow.connection.job = of_job;
    flow.counters.causes.emplace()[Cause::kTransmitting] = on_line;
    return flow.connection.id;
  }
  std::vector<JobInfo> jobs;
  std::vector<BackgroundInfo> background;
  std::vector<PortCounters> ports;  ///< of the emulated run
  std::vector<ConnectionCables> cables;

  RunReader reader() {
    RunRecorder recorder(folder_.path(), {.causes = true, .ring = 1 << 10});
    recorder.configuration("{}", "0.1.0");
    if (!jobs.empty()) recorder.jobs(jobs);
    if (!background.empty()) recorder.background(background, RankId(4), {});
    recorder.connection_cables(cables);
    recorder.nodes(nodes_);
    end(recorder, {.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 4}, emulated_);
    end(recorder, {.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 4, .model = "flow"}, reference_);
    return RunReader(folder_.path());
  }
  static Time at(int64_t microsecond) { return Time(microseconds(microsecond).ps); }

  JobId job = JobId(0);   ///< of the nodes that are added next
  uint32_t sequence = 0;  ///< likewise: nodes of another one do not meet

 private:
  uint32_t add(NodeInfo node) {
    node.node = next_[node.rank]++, node.id = node.node, node.job = job, node.sequence = sequence;
    nodes_.push_back(node);
    return node.node;
  }
  void end(RunRecorder& recorder, const RunStart& start, const std::vector<OperationRecord>& rows) {
    RunRecorder::Run run = recorder.begin(start);
    run.sink().operations(rows);
    const bool emulated = start.fidelity == Fidelity::kEmulated;
    if (emulated) run.sink().causes(causes_);
    RunEnd end;
    for (const OperationRecord& row : rows) end.completion = std::max(end.completion, row.end - Time());
    for (uint32_t id = 0; emulated && id < 2; ++id) end.flows.push_back(flow_of(id, id, 1 - id));
    if (emulated) end.flows.insert(end.flows.end(), flows_.begin(), flows_.end()), end.latencies = latencies_;
    if (emulated) end.ports = ports;
    for (uint32_t r = 0; r < 4; ++r)
      end.rank_nics.push_back({.nic = NicId(r), .port = PortId(r), .mac = {}, .ip = {}, .host = r});
    if (!emulated) run.sink().messages(messages_);
    run.end(end);
  }

  static FlowRow flow_of(uint32_t id, uint32_t source, uint32_t destination) {
    FlowRow flow;
    flow.connection.id = flow.counters.connection = ConnectionId(id);
    flow.connection.source = RankId(source), flow.connection.destination = RankId(destination);
    flow.connection.job = JobId(0);
    flow.counters.causes.emplace();
    return flow;
  }

  std::map<RankId, uint32_t> next_;
  std::vector<NodeInfo> nodes_;
  std::vector<OperationRecord> emulated_, reference_;
  std::vector<CauseRecord> causes_;
  std::vector<FlowRow> flows_;
  std::vector<LatencyRow> latencies_;
  std::vector<MessageRecord> messages_;
  TemporaryFolder folder_;
};

/// Of the emulated run: "1 compute 0..30", rank, name and microseconds, after "+5 " where 5 us passed before.
inline std::vector<std::string> path_of(PathRecord& written) {
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  const auto executions = Executions::read(record, *record.emulated(), meetings);
  const CriticalPath path = critical_path(record, *executions);
  std::vector<std::string> steps;
  for (const CriticalStep& step : path.steps) {
    const auto us = [](Duration d) { return d.ps / 1'000'000; };
    steps.push_back((step.before > Duration() ? fmt::format("+{} ", us(step.before)) : "") +
                    fmt::format("{} {} {}..{}", step.node.rank.value, step.node.name, us(step.from - Time()),
                                us(step.to - Time())));
  }
  return steps;
}

}  // namespace rankwire::testing
