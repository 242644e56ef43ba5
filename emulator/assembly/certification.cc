#include "emulator/assembly/certification.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock_check.h"
#include "base/error.h"
#include "emulator/assembly/run.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

constexpr uint32_t kRuns = 4;
constexpr Duration kLongest = milliseconds(400);  // of each in real time, and of the twin
constexpr uint32_t kCut = 256, kMostCut = kCut * kCut;
constexpr int64_t kMostPackets = 300'000;  // of the twin, which takes less than a second for them

/// So long the ports may send at their rates without more packets than the twin is to take.
Duration time_for(const RunConfig& config) {
  double rates = 0;
  for (const PortConfig& port : config.ports) rates += static_cast<double>(port.rate.bits_per_second);
  const double bits = static_cast<double>(kMostPackets) * 8 * config.transport.mtu.value_or(kLargestPathMtu);
  return std::min(kLongest, Duration(static_cast<int64_t>(bits / rates * 1e12)));
}

bool is_communication(const NodeInfo& node) {
  return node.kind != "compute" && node.kind != "host" && node.kind != "memory";
}

/// Communication that ended in the twin and in each run in real time. What computes takes as long in both, and would
/// hide the difference.
class Executions {
 public:
  explicit Executions(const RunReader& twin) {
    twin.for_each_operation([&](const OperationRow& row) {
      if (row.emulated && is_communication(row.node)) ends_[key(row)] = {.twin = *row.emulated};
    });
  }

  bool any() const { return !ends_.empty(); }

  void add(const RunReader& record) {
    ++runs_;
    record.for_each_operation([&](const OperationRow& row) {
      const auto known = ends_.find(key(row));
      if (known != ends_.end() && row.emulated) known->second.real.push_back(row.emulated->duration());
    });
  }
  /// Of what ended in all of them: until when it did in the twin, and how much longer each run took for it, all
  /// executions of all ranks added up.
  void compare(Certificate& certificate) const {
    double twin = 0;
    std::vector<double> real(runs_);
    for (const auto& [key, execution] : ends_) {
      if (execution.real.size() != runs_) continue;
      ++certificate.operations;
      certificate.time = std::max(certificate.time, execution.twin.end - Time());
      twin += static_cast<double>(execution.twin.duration().ps);
      for (size_t i = 0; i < runs_; ++i) real[i] += static_cast<double>(execution.real[i].ps);
    }
    if (twin <= 0) fail_run("no communication came to its end in the time of a measurement");
    for (const double time : real) certificate.errors.push_back(time / twin - 1);
  }

 private:
  struct Execution {
    OperationTimes twin;
    std::vector<Duration> real = {};  ///< of the runs in which it ended
  };

  /// Iterations have 14 bits, ranks 17.
  static uint64_t key(const OperationRow& row) {
    return uint64_t{row.iteration} << 49 | uint64_t{row.node.rank.value} << 32 | row.node.node;
  }

  std::unordered_map<uint64_t, Execution> ends_;
  size_t runs_ = 0;
};

/// How much longer than the typical packet the slow ones are under way; absent where none was timed.
std::optional<Duration> spread_of_delays(const RunReader& record) {
  for (const LatencyRow& row : record.latencies(*record.emulated()))
    if (row.kind == LatencyKind::kOneWay && !row.port.valid()) return row.p99 - row.p50;
  return std::nullopt;
}

void note_loop(const RunEnd& end, Certificate& certificate) {
  const TransportCounters& counters = end.counters;
  certificate.worst_stall = std::max(certificate.worst_stall, counters.worst_stall);
  certificate.slipped = std::max({certificate.slipped, counters.slipped, counters.pacing_slipped});
  if (!end.turns.empty()) certificate.worst_turn = std::max(certificate.worst_turn, end.turns.back().high);
}

/// Runs it and reads what came of it, which is an error unless it ended well or in time.
RunReader carried_out(const RunConfig& config, RunKind kind, const std::filesystem::path& folder,
                      const std::atomic<bool>& interrupted) {
  PreparedRun prepared(resolve(config, kind), {.out = folder, .standard = {}, .overwrite = true});
  const RunResult result = prepared.run({interrupted}).front().result;
  if (result.verdict != Verdict::kOk && !result.reason.starts_with("deadline of "))
    fail_run("{}", result.reason.substr(0, result.reason.find('\n')));
  return RunReader(folder);
}

/// What of the twin ended, the workload being cut no more than it takes for anything to end.
Executions ended_in_twin(const RunConfig& config, const std::filesystem::path& folder,
                         const std::atomic<bool>& interrupted, Certificate& certificate,
                         std::optional<Duration>& spread) {
  for (;; certificate.cut *= kCut) {
    const RunReader twin = carried_out(certified_run(config, time_for(config), certificate.cut), RunKind::kTwin,
                                       folder / "twin", interrupted);
    Executions executions(twin);
    if (executions.any() || certificate.cut == kMostCut) {
      spread = spread_of_delays(twin);
      return executions;
    }
  }
}

void measure_generator(const RunConfig& config, const std::filesystem::path& folder,
                       const std::atomic<bool>& interrupted, Certificate& certificate) {
  std::optional<Duration> ideal;
  Executions executions = ended_in_twin(config, folder, interrupted, certificate, ideal);
  std::vector<ClockReading> clocks{read_clocks()};
  for (uint32_t i = 1; i <= kRuns; ++i) {
    const RunReader record = carried_out(certified_run(config, kLongest, certificate.cut), RunKind::kEmulated,
                                         folder / fmt::format("run-{}", i), interrupted);
    clocks.push_back(read_clocks());
    executions.add(record);
    note_loop(record.emulated()->end, certificate);
    if (const auto real = spread_of_delays(record); real && ideal)
      certificate.jitter = std::max(certificate.jitter.value_or(Duration()), *real - *ideal);
  }
  executions.compare(certificate);
  if (const auto error = clock_error(clocks)) {
    certificate.clock_time = error->time;
    certificate.clock_slew_ppm = error->slew_ppm;
    certificate.clock_residual = error->residual;
  }
}

}  // namespace

RunConfig certified_run(const RunConfig& config, Duration time, uint32_t cut) {
  RunConfig small = config;
  const auto shrink = [&](WorkloadConfig& workload) {
    workload.bytes_scale.denominator *= cut, workload.compute_scale.denominator *= cut;
  };
  shrink(small.workload);
  for (JobConfig& job : small.jobs) shrink(job.workload);
  for (PortConfig& port : small.ports) {
    port.device = "memory", port.verbs.clear(), port.queues = 1;
    port.ip.reset(), port.vlan.reset(), port.gateway.reset();
    if (port.pfc == PfcChoice::kHardware) port.pfc = PfcChoice::kAuto;
  }
  small.impairments.clear();
  small.embedded_switch.loss_ppm = 0;
  if (small.fabric) small.fabric->failures.clear();
  small.limits.reset(), small.slo.reset();
  small.simulation = {.fidelity = {}};
  small.capture.reset(), small.fabric_interval.reset(), small.rate_interval.reset();
  small.device_counters.clear();
  small.run.repeat = 1, small.run.certify = CertifyChoice::kOff;
  small.record_operations = true;
  small.run.deadline = std::min(small.run.deadline, time);
  return small;
}

bool is_certified(const RunConfig& config) {
  if (config.run.certify != CertifyChoice::kAuto) return config.run.certify == CertifyChoice::kOn;
  const auto is_elsewhere = [](const PortConfig& port) { return port.is_rdma_device() || !port.on.empty(); };
  if (!config.limits || std::ranges::any_of(config.ports, is_elsewhere)) return false;
  return config.limits->ratio ||
         std::ranges::any_of(config.limits->busbw, [](const auto& rate) { return rate.has_value(); });
}

Certificate certify(const RunConfig& config, const std::filesystem::path& folder,
                    const std::atomic<bool>& interrupted) {
  Certificate certificate;
  try {
    if (std::ranges::any_of(config.ports, &PortConfig::is_rdma_device))
      fail_input("RDMA devices pace themselves: there is nothing of the generator to measure");
    std::filesystem::create_directories(folder);
    measure_generator(config, folder, interrupted, certificate);
  } catch (const std::exception& error) {
    certificate.failure = error.what();
  }
  return certificate;
}

}  // namespace rankwire
