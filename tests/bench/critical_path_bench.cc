// The critical path of a run of 1,024 ranks with 10,000 executions each, and of its reference, from their record.
#include <array>
#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/slack.h"
#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/bulk_reader.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/bench/bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

constexpr uint32_t kPathRanks = 1024, kNodesOfPath = 10'000, kMembers = 8;

/// In turns a rank computes and all-reduces, first with its neighbours, then with those that stand where it does among
/// theirs, so that lateness of one rank reaches all of them.
bool reduces(uint32_t node) {
  return node % 2 == 1;
}

uint32_t group_of(uint32_t rank, uint32_t node) {
  return node % 4 == 1 ? rank / kMembers : rank % (kPathRanks / kMembers) + kPathRanks / kMembers;
}

void write_nodes(RunRecorder& recorder) {
  std::vector<NodeInfo> nodes(kNodesOfPath);
  for (uint32_t rank = 0; rank < kPathRanks; ++rank) {
    for (uint32_t i = 0; i < kNodesOfPath; ++i) {
      NodeInfo& node = nodes[i] = {.rank = RankId(rank), .node = i, .id = i + 1, .job = JobId(0)};
      node.kind = reduces(i) ? "all_reduce" : "compute";
      node.name = fmt::format("layer{}.{}", i / 8, reduces(i) ? "grads" : "forward");
      if (!reduces(i)) continue;
      node.group = fmt::format("{}{}", i % 4 == 1 ? "tp" : "dp", group_of(rank, i));
      node.group_size = kMembers, node.bytes = Bytes(1 << 20), node.sequence = i / 4;
    }
    recorder.nodes(nodes);
  }
}

/// Computing takes 10 us and up to 2 us more, another rank longest each time; reducing 5 us from the last start.
void write_run(RunRecorder& recorder, Fidelity fidelity, uint32_t seed) {
  RunRecorder::Run run = recorder.begin({.fidelity = fidelity, .clock = "virtual", .ranks = kPathRanks, .seed = seed});
  std::vector<Time> now(kPathRanks);
  std::vector<OperationRecord> rows(kPathRanks);
  for (uint32_t node = 0; node < kNodesOfPath; ++node) {
    std::vector<Time> ready(2 * kPathRanks / kMembers);
    for (uint32_t rank = 0; rank < kPathRanks; ++rank) {
      if (reduces(node)) ready[group_of(rank, node)] = std::max(ready[group_of(rank, node)], now[rank]);
    }
    for (uint32_t rank = 0; rank < kPathRanks; ++rank) {
      const Time start = now[rank];
      const Duration jitter = nanoseconds((rank * 7919 + node * 104'729 + seed * 31) % 2000);
      now[rank] = reduces(node) ? ready[group_of(rank, node)] + microseconds(5) : start + microseconds(10) + jitter;
      rows[rank] = {.rank = RankId(rank), .node = node, .iteration = 0, .start = start, .end = now[rank]};
    }
    run.sink().operations(rows);
  }
  RunEnd end;
  for (const Time last : now) end.completion = std::max(end.completion, last - Time());
  run.end(end);
}

/// Prints what each step takes.
class Steps {
 public:
  void done(const char* step) {
    const double seconds = since(last_);
    std::printf("critical_path   %-44s %6.2f s\n", step, seconds);
    last_ = Clock::now();
  }
  double total() const { return since(begin_); }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

}  // namespace

void critical_path_large(Dpdk&) {
  const testing::TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.configuration("{}", "bench");
    write_nodes(recorder);
    write_run(recorder, Fidelity::kEmulated, 1);
    write_run(recorder, Fidelity::kReference, 2);
  }
  const double cpu = cpu_seconds();
  Steps steps;
  const RunReader record(folder.path());
  auto reading = std::async(std::launch::async, [&] {
    return read_executions(record.folder(), std::array{record.emulated()->run, record.reference()->run},
                           Executions::kMost);
  });
  const NodeMeetings meetings(record);
  steps.done("who meets whom");
  std::vector<RunExecutions> read = reading.get();
  steps.done("rows of both runs, meanwhile begun");
  auto ordering = std::async(std::launch::async, [&] { return Executions(std::move(read[1].rows), {}, meetings); });
  const Executions emulated(std::move(read[0].rows), {}, meetings);
  const Executions reference = ordering.get();
  steps.done("their order");
  const CriticalPath path = critical_path(record, emulated);
  const CriticalPath of_reference = critical_path(record, reference);
  steps.done("their paths");
  const Waterfall gap = waterfall(record, *record.emulated(), path, emulated, reference);
  steps.done("the gap along the path");
  std::printf("critical_path %u ranks x %u executions, of 2 runs: %zu and %zu steps, %.2f s, CPU %.2f s\n", kPathRanks,
              kNodesOfPath, path.steps.size(), of_reference.steps.size(), steps.total(), cpu_seconds() - cpu);
  slack_table(record, emulated);
  steps.done("and the slack of all executions");
}

}  // namespace rankwire::bench
