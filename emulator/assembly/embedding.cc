#include "emulator/assembly/embedding.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>

#include "base/error.h"
#include "converters/node_writer.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/wire/frame.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/run.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr uint32_t kMostPorts = 16;
constexpr int64_t kMostFrameMemory = 384 << 20;    // which is touched within half of the time
constexpr int64_t kPlenty = 2'000'000'000'000;     // bit/s of the slowest port: more than a core can carry in all
constexpr int64_t kMostRate = 64'000'000'000'000;  // bit/s: that of a configuration
constexpr int64_t kMessage = 1 << 20;              // bytes, of which one tells when the second half begins
constexpr int64_t kMostSlices = 4096;              // that a message is cut into
constexpr uint32_t kIterations = 10'000;           // which takes longer than any measurement

/// Neighbours stand half of all ranks apart, so that what they send crosses a fabric.
std::vector<uint32_t> crossing_order(uint32_t ranks) {
  std::vector<uint32_t> order;
  const uint32_t half = (ranks + 1) / 2;
  for (uint32_t i = 0; i < half; ++i) {
    order.push_back(i);
    if (half + i < ranks) order.push_back(half + i);
  }
  return order;
}

/// Each rank sends to the next one in that order, and receives from the one before.
void write_traces(const std::string& prefix, uint32_t ranks, Bytes chunk) {
  const std::vector<uint32_t> ring = crossing_order(ranks);
  const Bytes share(std::min(kMessage, chunk.count * kMostSlices));
  for (uint32_t i = 0; i < ranks; ++i) {
    const uint32_t rank = ring[i], next = ring[(i + 1) % ranks], previous = ring[(i + ranks - 1) % ranks];
    NodeWriter nodes(trace_file(prefix, rank));
    nodes.send("load", rank, next, 0, share, {});
    nodes.receive("load", previous, rank, 0, share, {});
    nodes.close();
  }
}

Bandwidth raised(Bandwidth rate, int64_t factor) {
  const auto product = static_cast<__int128>(rate.bits_per_second) * factor;
  return Bandwidth(static_cast<int64_t>(std::min<__int128>(product, kMostRate)));
}

void raise(std::optional<Bandwidth>& rate, int64_t factor) {
  if (rate) rate = raised(*rate, factor);
}

void take_away(std::optional<Bandwidth>& limit) {
  if (limit) limit = std::max(*limit, Bandwidth(kPlenty));
}

/// Lines keep their proportions, so that what is oversubscribed stays so; queue pairs may send as fast as a line.
void raise_rates(RunConfig& config) {
  Bandwidth slowest = std::ranges::min(config.ports, {}, &PortConfig::rate).rate;
  if (config.fabric) {
    const FabricConfig& fabric = *config.fabric;
    slowest = std::min({slowest, fabric.link_rate.value_or(slowest), fabric.global_rate.value_or(slowest)});
    for (const LevelConfig& level : fabric.levels) slowest = std::min(slowest, level.rate.value_or(slowest));
  }
  const int64_t factor = (kPlenty + slowest.bits_per_second - 1) / slowest.bits_per_second;
  for (PortConfig& port : config.ports) port.rate = raised(port.rate, factor);
  take_away(config.transport.congestion.rate);
  take_away(config.transport.congestion.rp_max_rate);
  if (!config.fabric) return;
  raise(config.fabric->link_rate, factor);
  raise(config.fabric->global_rate, factor);
  for (LevelConfig& level : config.fabric->levels) raise(level.rate, factor);
}

/// Nothing is lost, slow or far away on purpose: what waits for that would be taken for what the machine cannot do.
void take_away_hindrances(RunConfig& config) {
  config.impairments.clear();
  config.device_counters.clear();
  const SwitchConfig usual;
  config.embedded_switch.loss_ppm = 0;
  config.embedded_switch.latency = std::min(config.embedded_switch.latency, usual.latency);
  config.embedded_switch.link_latency = std::min(config.embedded_switch.link_latency, usual.link_latency);
  for (PortConfig& port : config.ports) port.drain_rate.reset();
  config.transport.congestion.exceptions.clear();
  if (!config.fabric) return;
  FabricConfig& fabric = *config.fabric;
  fabric.failures.clear();
  fabric.link_latency.reset(), fabric.global_latency.reset();
  for (LevelConfig& level : fabric.levels) level.latency.reset();
}

/// The run of `config` whose ranks, one a port, do nothing but send.
RunConfig small_run(const RunConfig& config, const std::string& prefix, uint32_t ports, Duration time) {
  RunConfig small = config;
  const RunConfig defaults;
  small.workload = {.traces = {prefix}, .iterations = kIterations};
  small.jobs.clear();
  small.background.clear();
  small.limits.reset(), small.slo.reset();
  small.compute = defaults.compute;
  small.concurrency = defaults.concurrency;
  small.collectives = {.chunk = config.collectives.chunk};
  small.hosts = defaults.hosts;
  small.mapping = defaults.mapping;
  small.simulation = {.fidelity = {}};
  small.capture.reset();
  small.dilation = {};
  small.run = {.deadline = time, .stall_timeout = time, .cpu = config.run.cpu};
  small.ports.resize(ports);
  if (small.workers.cores.size() > ports) small.workers.cores.resize(ports);
  if (small.workers.count) small.workers.count = std::min(*small.workers.count, ports);
  take_away_hindrances(small);
  raise_rates(small);
  return small;
}

/// Of the pools that the run's ports take their frames from.
int64_t frame_memory(const RunConfig& config, const std::filesystem::path& folder) {
  Setup setup;
  prepare(setup, config, folder);
  return static_cast<int64_t>(frames_of_ports(setup)) * FramePool::kDefaultCapacity;
}

/// Without the ports that only the model has.
RunConfig on_wires_alone(RunConfig config) {
  if (!config.hybrid) return config;
  const size_t ports = config.ports.size();
  std::erase_if(config.ports, [](const PortConfig& port) { return port.modelled; });
  if (config.ports.size() < 2) fail_input("of the ports {} are on wires, and traffic needs two", config.ports.size());
  if (config.fabric && config.ports.size() < ports)
    fail_input("of the hosts of the fabric only {} are on wires", config.ports.size());
  config.hybrid.reset();
  return config;
}

/// A small run with as many ports as there is room for. Throws Error where that is none.
RunConfig fitting_run(const RunConfig& config, const std::filesystem::path& folder, Duration time) {
  auto ports = static_cast<uint32_t>(config.ports.size());
  if (!config.fabric) ports = std::min(ports, kMostPorts);
  for (;; ports = std::max(2u, ports / 2)) {
    const std::string prefix = (folder / fmt::format("load-{}", ports)).string();
    write_traces(prefix, ports, config.collectives.chunk);
    RunConfig small = small_run(config, prefix, ports, time);
    const int64_t memory = frame_memory(small, folder);
    if (memory <= kMostFrameMemory) return small;
    if (config.fabric || ports == 2) {
      fail_input("the frames of {} ports take {} MiB, and a measurement may take {}", ports, memory >> 20,
                 kMostFrameMemory >> 20);
    }
  }
}

/// EmbeddedTraffic::second_half, by the messages' ends; 1 where a rank had too few.
double second_half_of(const RunReader& record, const RecordedRun& run, uint32_t ranks) {
  struct Ends {
    uint64_t all = 0, late = 0;
    Time last;
  };
  const Time half = Time() + Duration(record.last_end(run).ps / 2);
  std::vector<Ends> ends(ranks);
  record.for_each_by_start(run, Duration(), [&](const NodeInfo& node, uint32_t, OperationTimes times) {
    if (node.kind != "send") return;
    Ends& rank = ends[node.rank.value];
    ++rank.all, rank.last = times.end;
    if (times.end >= half) ++rank.late;
  });
  double all = 0, late = 0;
  for (const Ends& rank : ends) {
    if (rank.late < 2) return 1;
    all += static_cast<double>(rank.all) / static_cast<double>(rank.last.ps);
    late += static_cast<double>(rank.late) / static_cast<double>((rank.last - half).ps);
  }
  return std::min(late / all, 2.0);  // all of it in half of the time
}

/// Written by a child, read by its parent.
struct Told {
  EmbeddedTraffic traffic;
  std::array<char, 1024> failure{"it ended without a word"};

  void say(std::string_view text) {
    failure.fill('\0');
    std::ranges::copy(text.substr(0, text.find('\n')).substr(0, failure.size() - 1), failure.begin());
  }
};
static_assert(std::is_trivially_copyable_v<Told>);

/// Runs it and takes from its record what it carried.
void carry(const RunConfig& config, const std::filesystem::path& folder, const std::atomic<bool>& interrupted,
           Told& told) {
  PreparedRun prepared(resolve(config, RunKind::kEmulated), {.out = folder, .standard = {}, .overwrite = true});
  const RunResult result = prepared.run({interrupted}).front().result;
  const RunReader record(folder);
  const RecordedRun& run = *record.emulated();
  const TransportCounters& counters = run.end.counters;
  told.traffic = {
      .time = result.total,
      .data_packets = data_packets_once(counters, config.transport.verb),
      .retransmitted = counters.retransmitted,
      .timeouts = counters.timeouts,
      .wire = Bytes(static_cast<int64_t>(counters.bytes_tx + uint64_t{kLineOverhead} * counters.packets_tx)),
      .second_half = second_half_of(record, run, static_cast<uint32_t>(config.ports.size()))};
  // There is more to send than time.
  const bool in_time = result.reason.starts_with("deadline of ");
  told.say(!in_time ? result.reason : told.traffic.data_packets == 0 ? "nothing was sent in time" : "");
}

/// Memory that a child shares with its parent.
class SharedTold {
 public:
  SharedTold() : memory_(::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) fail_run("no memory to share with a process: {}", std::strerror(errno));
    new (memory_) Told();
  }
  ~SharedTold() { ::munmap(memory_, sizeof(Told)); }
  SharedTold(const SharedTold&) = delete;
  SharedTold& operator=(const SharedTold&) = delete;
  Told& operator*() { return *static_cast<Told*>(memory_); }
  Told* operator->() { return &**this; }

 private:
  void* const memory_;
};

/// Runs it in a child, which ends with this process.
class Measurement {
 public:
  Measurement(const RunConfig& config, const std::filesystem::path& folder, const std::atomic<bool>& interrupted)
      : core_(config.embedded_switch.core), interrupted_(interrupted) {
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ < 0) fail_run("no process to measure in: {}", std::strerror(errno));
    if (child_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    try {
      carry(config, folder, interrupted, *told_);
    } catch (const std::exception& error) {
      told_->say(error.what());
    }
    ::_exit(0);  // whatever else the parent has is not the child's to end
  }
  ~Measurement() { end(); }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  /// Waits until the child ends or `deadline`, when it is killed.
  EmbeddedRate rate(SteadyTime deadline, Duration most) {
    constexpr std::chrono::milliseconds kLook(5);
    std::string failure;
    while (failure.empty() && !has_ended()) {
      if (std::chrono::steady_clock::now() > deadline)
        failure = fmt::format("not done after {:g} s, set-up included", static_cast<double>(most.ps) / 1e12);
      if (interrupted_) failure = "stopped by a signal";
      std::this_thread::sleep_for(kLook);
    }
    end();
    if (failure.empty() && WIFSIGNALED(status_)) failure = fmt::format("ended by signal {}", WTERMSIG(status_));
    if (failure.empty()) failure = told_->failure.data();
    return {core_, told_->traffic, failure};
  }

 private:
  bool has_ended() {
    if (::waitpid(child_, &status_, WNOHANG) == 0) return false;
    child_ = 0;
    return true;
  }
  void end() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, &status_, 0);
    child_ = 0;
  }

  const SwitchCore core_;
  const std::atomic<bool>& interrupted_;
  SharedTold told_;
  pid_t child_ = 0;  // 0: it has ended
  int status_ = 0;
};

bool rates_are_in_a_file(const RunConfig& config) {
  return config.fabric && (config.fabric->topology == TopologyName::kInfragraph ||
                           config.fabric->topology == TopologyName::kAstraNetwork);
}

}  // namespace

double EmbeddedTraffic::packets_per_second() const {
  return static_cast<double>(data_packets) / (static_cast<double>(time.ps) * 1e-12) * second_half;
}

double EmbeddedTraffic::wire_bits_per_second() const {
  return static_cast<double>(wire.count) * 8 / (static_cast<double>(time.ps) * 1e-12) * second_half;
}

bool runs_embedded(const RunConfig& config) {
  return !config.ports.empty() && config.ports.front().embedded();
}

Embedding measure_embedding(const RunConfig& config, const std::filesystem::path& folder, const EmbeddingTime& time,
                            const std::atomic<bool>& interrupted) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(time.most.ps / 1000);
  Embedding embedding{.mtu = config.transport.mtu.value_or(kLargestPathMtu)};
  try {
    if (rates_are_in_a_file(config)) fail_input("the rates of the fabric's cables are in a file");
    std::vector<SwitchCore> cores{config.embedded_switch.core};
    if (cores.front() != SwitchCore::kShared) cores.push_back(SwitchCore::kShared);
    const Duration share(time.measured.ps / static_cast<int64_t>(cores.size()));
    std::filesystem::create_directories(folder);
    RunConfig small = fitting_run(on_wires_alone(config), folder, share);
    embedding.ports = static_cast<uint32_t>(small.ports.size());
    for (const SwitchCore core : cores) {
      small.embedded_switch.core = core;
      embedding.rates.push_back(Measurement(small, folder / "run", interrupted).rate(deadline, time.most));
    }
  } catch (const std::exception& error) {
    embedding.failure = error.what();
  }
  return embedding;
}

uint64_t data_packets_once(const TransportCounters& counters, VerbName verb) {
  return verb == VerbName::kRead ? counters.data_packets_tx : counters.data_packets_tx - counters.retransmitted;
}

double rates_of_ports(const RunConfig& config) {
  double sum = 0;
  for (const PortConfig& port : config.ports)
    if (!port.modelled) sum += static_cast<double>(port.rate.bits_per_second);
  return sum / config.dilation.factor;
}

uint32_t ports_within(const RunConfig& config, double bits_per_second) {
  std::vector<int64_t> rates;
  for (const PortConfig& port : config.ports)
    if (!port.modelled) rates.push_back(port.rate.bits_per_second / config.dilation.factor);
  std::ranges::sort(rates, std::greater<>());
  uint32_t ports = 0;
  for (const int64_t rate : rates) {
    bits_per_second -= static_cast<double>(rate);
    if (bits_per_second < 0) break;
    ++ports;
  }
  return ports;
}

}  // namespace rankwire
