// Nodes a second through the engine: taken from their source, run, completed, in virtual time on one core.
#include <atomic>
#include <cstdio>

#include "base/clock.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/bench/bench.h"
#include "tests/bench/no_record.h"
#include "tests/engine/workload_builder.h"

namespace rankwire::bench {
namespace {

constexpr uint32_t kChainRanks = 8;
constexpr uint32_t kChainNodes = 20'000;  // a rank

Workload chain_of_computes() {
  testing::WorkloadBuilder builder(kChainRanks);
  for (uint32_t r = 0; r < kChainRanks; ++r) {
    uint32_t last = builder.compute(r, microseconds(1));
    for (uint32_t n = 1; n < kChainNodes; ++n) last = builder.compute(r, microseconds(1), {last});
  }
  return builder.build();
}

Workload chain_with_all_reduces() {
  testing::WorkloadBuilder builder(kChainRanks);
  const GroupId world = builder.group("world", {0, 1, 2, 3, 4, 5, 6, 7});
  for (uint32_t r = 0; r < kChainRanks; ++r) {
    uint32_t last = builder.compute(r, microseconds(1));
    for (uint32_t n = 2; n < kChainNodes; n += 2) {
      last = builder.collective(r, CollectiveKind::kAllReduce, world, 64 << 10, {last});
      last = builder.compute(r, microseconds(1), {last});
    }
  }
  return builder.build();
}

/// Nodes a second of the loop alone; reading, planning and building are not in it.
double nodes_a_second(const Workload& workload) {
  const Placement placement = place_ranks(
      kChainRanks, {.hosts = kChainRanks, .ports = kChainRanks, .addresses = {.first = Ipv4Address{0xC6120001}}});
  const Plan plan = make_plan(workload, placement, {}, 1);
  const Bandwidth rate(100'000'000'000);
  NetworkModel model(star_network({.port_bandwidth = std::vector<Bandwidth>(kChainRanks, rate),
                                   .framing = rocev2_framing(Bytes(4096)),
                                   .local_bandwidth = rate},
                                  plan.transport));
  model.connect(model.prepare(plan.transport));
  NoRecord sink;
  Engine engine(workload, plan, {}, sink);
  VirtualClock clock;
  const std::atomic<bool> go_on{false};
  const auto begin = std::chrono::steady_clock::now();
  run(engine, model, {}, clock, {.deadline = Duration::max()}, go_on);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(engine.nodes_completed()) / took.count();
}

void print_executions(const char* what, const Workload& workload) {
  std::vector<double> rates;
  for (int i = 0; i < kRuns; ++i) rates.push_back(nodes_a_second(workload));
  std::printf("engine        %-44s %8.2f M nodes/s\n", what, median(rates) / 1e6);
}

}  // namespace

void engine_nodes(Dpdk&) {
  print_executions("8 ranks, chains of computes", chain_of_computes());
  print_executions("8 ranks, compute -> 64 KiB ring all-reduce", chain_with_all_reduces());
}

}  // namespace rankwire::bench
