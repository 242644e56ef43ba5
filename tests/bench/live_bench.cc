// What it costs the loop that somebody looks on: the whole loop of a run and that of the transport alone, each with and
// without, and what a publication takes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "dataplane/dpdk/port.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/live_run.h"
#include "emulator/assembly/real_time_transports.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/engine/live_observer.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "tests/assembly/tiny_run.h"
#include "tests/bench/bench.h"
#include "tests/bench/embedded_run.h"
#include "tests/bench/transport_bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

using Seconds = std::chrono::duration<double>;

/// A loop on a link of its own.
struct TalliedLoop {
  TalliedLoop(Dpdk& dpdk, const char* name, Load load)
      : link(make_ring_link(dpdk.environment(), name, {.queue_frames = 1024, .frames = 2047})),
        loop(*link.first, *link.second, load) {}

  /// Data packets a second of CPU time.
  double rate() {
    constexpr int kTurns = 512;
    loop.source->sent();
    const double begin = cpu_seconds();
    for (int i = 0; i < kTurns; ++i) loop.source->turn(), loop.destination->turn();
    const double end = cpu_seconds();
    return static_cast<double>(loop.source->sent()) / (end - begin);
  }

  decltype(make_ring_link(std::declval<DpdkEnvironment&>(), "", {})) link;
  Loop loop;
};

/// In slices of some milliseconds, in turns, so that what else the machine does meets both; and each is made first as
/// often as the other, since where a transport's memory lies matters more than what is looked for.
void print_tally(Dpdk& dpdk, uint32_t mtu) {
  constexpr int kRounds = 6, kSlices = 100;
  std::array<PortTally, 2> tally;
  std::vector<double> without, with, ratios;
  for (int round = 0; round < kRounds; ++round) {
    const bool tallied_first = round % 2 != 0;
    const auto make = [&](bool tallied) {
      const std::string name = fmt::format("live{}{}{}", mtu, round, tallied ? "t" : "p");
      return std::make_unique<TalliedLoop>(
          dpdk, name.c_str(),
          Load{.mtu = mtu, .connections = 64, .tally = tallied ? std::span(tally) : std::span<PortTally>()});
    };
    const std::unique_ptr<TalliedLoop> first = make(tallied_first), second = make(!tallied_first);
    TalliedLoop& plain = tallied_first ? *second : *first;
    TalliedLoop& looked_at = tallied_first ? *first : *second;
    std::vector<double> of_slices;
    for (int i = 0; i < kSlices; ++i) {
      if (i % 2 == 0) without.push_back(plain.rate());
      with.push_back(looked_at.rate());
      if (i % 2 != 0) without.push_back(plain.rate());
      of_slices.push_back(with.back() / without.back());
    }
    plain.loop.source->expect_clean();
    looked_at.loop.source->expect_clean();
    ratios.push_back(median(of_slices));
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  double sum = 0;
  for (const double ratio : ratios) sum += ratio;
  std::printf(
      "live  MTU %4u, one port a transport: %6.2f M data packets/s, tallied %6.2f M/s; ratio %.4f (%.4f .. "
      "%.4f)\n",
      mtu, median(without) / 1e6, median(with) / 1e6, sum / kRounds, least, most);
  std::fflush(stdout);
}

class NoRows final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
};

/// Of a worker with so many ports: what it does four times a second, and in every turn.
void print_publication(uint32_t ports) {
  const Workload workload;
  const Plan plan;
  NoRows sink;
  const Engine engine(workload, plan, {}, sink);
  NetworkModel transport(Network{});
  LiveFeed feed("bench", std::vector<std::string>(ports), {{"bench", 1}}, 0, 1);
  LiveObserver observer(feed, 0, engine, transport, {});
  const auto mean = [](int times, auto work) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work(i);
    return Seconds(std::chrono::steady_clock::now() - begin).count() / times;
  };
  const double publication = mean(20'000, [&](int i) { observer.publish(Time(i)); });
  const double look = mean(20'000'000, [&](int i) {
    observer.look(Time(i));
    asm volatile("" ::: "memory");
  });
  const double a_second = publication / (static_cast<double>(LiveObserver::kInterval.ps) * 1e-12);
  std::printf(
      "live  %4u ports: a publication takes %.2f us, which is %.5f %% of the loop's time; a turn's look at the "
      "time "
      "%.2f ns\n",
      ports, publication * 1e6, a_second * 100, look * 1e9);
  std::fflush(stdout);
}

/// A training step on 8 ranks and 4 ports, all of whose groups cross the switch.
RunConfig step() {
  RunConfig config;
  config.workload.generate = {.transformer = {.layers = 4,
                                              .hidden = 512,
                                              .sequence = 256,
                                              .micro_batches = 4,
                                              .tensor_parallel = 2,
                                              .pipeline_parallel = 1,
                                              .data_parallel = 4}};
  config.hosts = {.count = 4, .npus = 2, .nics = 1};
  config.ports = memory_ports(4);
  return config;
}

/// CPU time of the loop: engine, transport and embedded switch, in virtual time, so that each run does the same.
double loop_seconds(const Setup& setup, bool looked_at) {
  const std::shared_ptr<LiveFeed> feed = looked_at ? live_feed(setup, "bench", 1) : nullptr;
  const std::unique_ptr<Testbed> testbed = make_memory_testbed(setup);
  RoceOptions options = roce_options(setup);
  if (looked_at) options.tally = feed->tally(0);
  const std::unique_ptr<Transport> transport =
      with_interconnect(setup, make_roce_transport(options, *testbed, nullptr));
  if (!transport->connect(transport->prepare(setup.plan.transport)).empty()) fail_run("connections failed");
  NoRows sink;
  Engine engine(setup.workload, setup.plan, engine_options(setup.config), sink);
  const std::vector<LiveObserver::Route> routes = live_routes_of(setup, feed.get());
  std::optional<LiveObserver> observer;
  if (looked_at) observer.emplace(*feed, 0, engine, *transport, routes);
  Crew crew({{.engine = &engine,
              .transport = transport.get(),
              .live = observer ? &*observer : nullptr,
              .devices = testbed->devices()}});
  VirtualClock clock;
  const std::atomic<bool> go_on{false};
  const double begin = cpu_seconds();
  const RunResult result = crew.run([](ConnectionId) { return ""; }, clock, run_options(setup.config), go_on);
  const double took = cpu_seconds() - begin;
  if (result.verdict != Verdict::kOk) fail_run("the run: {}", result.reason);
  return took;
}

void print_whole_loop() {
  constexpr int kPairs = 40;
  const testing::TemporaryFolder folder;
  Setup setup;
  prepare(setup, step(), folder.path());
  // What else the machine does only adds to them: the least of many is what the loop takes.
  double without = 1e9, with = 1e9;
  std::vector<double> ratios;
  for (int i = 0; i < kPairs; ++i) {
    const bool first = i % 2 != 0;
    const double one = loop_seconds(setup, first), other = loop_seconds(setup, !first);
    without = std::min(without, first ? other : one);
    with = std::min(with, first ? one : other);
    ratios.push_back(first ? one / other : other / one);
  }
  std::ranges::sort(ratios);
  std::printf(
      "live  engine, transport and embedded switch: %.2f ms of CPU time at least, looked at %.2f ms; ratio %.4f (of "
      "pairs "
      "%.4f .. %.4f in the middle half)\n",
      without * 1e3, with * 1e3, with / without, ratios[kPairs / 4], ratios[3 * kPairs / 4]);
  std::fflush(stdout);
}

/// The program's runs in real time, in turns.
void print_runs() {
  constexpr int kPairs = 12;
  const testing::TemporaryFolder folder;
  std::vector<double> without, with, ratios;
  for (int i = 0; i < kPairs; ++i) {
    const bool first = i % 2 != 0;
    const double one = run_rate(folder, {.mtu = 1024, .core = "shared", .live = first});
    const double other = run_rate(folder, {.mtu = 1024, .core = "shared", .live = !first});
    without.push_back(first ? other : one);
    with.push_back(first ? one : other);
    ratios.push_back(with.back() / without.back());
  }
  std::ranges::sort(ratios);
  std::printf(
      "live  runs on the embedded switch, MTU 1024: %.2f M data packets/s, with --live %.2f M/s; ratio %.4f (of pairs "
      "%.4f .. %.4f in the middle half)\n",
      median(without) / 1e6, median(with) / 1e6, median(ratios), ratios[kPairs / 4], ratios[3 * kPairs / 4]);
  std::fflush(stdout);
}

}  // namespace

void live(Dpdk& dpdk) {
  print_runs();
  print_whole_loop();
  for (const uint32_t mtu : {1024u, 4096u}) print_tally(dpdk, mtu);
  for (const uint32_t ports : {4u, 1024u}) print_publication(ports);
}

}  // namespace rankwire::bench
