// The reference at scale: CPU time from the loaded workload to the last rank's end, planning included, and the most
// memory that is resident meanwhile. Each case runs in a process of its own. The figures of ASTRA-sim beside them are
// stated ones, measured once on a machine with 2 cores (ASTRA-sim 2.0, analytical network, congestion-unaware).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "emulator/simulator/roofline.h"
#include "emulator/symmetry/folded_run.h"
#include "fabric/network.h"
#include "tests/bench/bench.h"
#include "tests/bench/no_record.h"
#include "tests/engine/workload_builder.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

constexpr Bandwidth kPortRate(400'000'000'000);
constexpr Bytes kGibibyte(1 << 30);

/// What is run, and where.
struct Case {
  Workload workload;
  uint32_t hosts = 0;            ///< 0: one a rank
  std::vector<Bandwidth> ports;  ///< empty: one of kPortRate a rank
  ScheduleOptions schedule;
};

std::vector<uint32_t> all(uint32_t ranks) {
  std::vector<uint32_t> members(ranks);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

void simulate(Case& c) {
  const auto ranks = static_cast<uint32_t>(c.workload.ranks.size());
  if (c.ports.empty()) c.ports.assign(ranks, kPortRate);
  const uint32_t hosts = c.hosts == 0 ? ranks : c.hosts;
  const auto ports = static_cast<uint32_t>(c.ports.size());
  const Placement placement = place_ranks(ranks, {.policy = PlacementPolicy::kBlock,
                                                  .hosts = hosts,
                                                  .npus = ranks / hosts,
                                                  .nics = ports / hosts,
                                                  .ports = ports,
                                                  .addresses = {.first = Ipv4Address{0xC6120001}}});
  const Plan plan = make_plan(c.workload, placement, c.schedule, 1);
  const Network network = star_network({.port_bandwidth = c.ports,
                                        .port_latency = nanoseconds(100),
                                        .switch_latency = nanoseconds(500),
                                        .framing = rocev2_framing(Bytes(4096)),
                                        .local_bandwidth = Bandwidth(3'600'000'000'000),
                                        .local_latency = nanoseconds(500)},
                                       plan.transport);
  const std::atomic<bool> go_on{false};
  const RunOptions options{.deadline = Duration::max()};
  if (const std::optional<Quotient> folded = quotient(c.workload, plan, network)) {
    FoldedRun run(*folded, {});
    if (run.run(options, go_on)) {
      NoRecord sink;
      run.tell(sink);
      std::printf("%12.6f ms %6u ranks ", static_cast<double>(run.result().total.ps) / 1e9,
                  folded->classes.ranks.classes());
      return;
    }
  }
  NetworkModel model(network);
  model.connect(model.prepare(plan.transport));
  NoRecord sink;
  Engine engine(c.workload, plan, {}, sink);
  VirtualClock clock;
  const RunResult result = run(engine, model, {}, clock, options, go_on);
  if (result.verdict != Verdict::kOk)
    std::printf("simulate      %s: %s\n", to_string(result.verdict), result.reason.c_str());
  std::printf("%12.6f ms %6u ranks ", static_cast<double>(result.total.ps) / 1e9, ranks);
}

/// Runs the case that `make` makes in a process of its own.
template <class Make>
void print_simulation(const char* what, const char* stated, Make make) {
  std::printf("simulate      %-52s", what);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Case c = make();
    const double begin = cpu_seconds();
    simulate(c);
    const double took = cpu_seconds() - begin;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf(" %9.3f s CPU %7.0f MiB   ASTRA-sim, stated: %s\n", took, static_cast<double>(usage.ru_maxrss) / 1024,
                stated);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) std::printf("  did not end by itself\n");
}

/// One all-reduce of a gigabyte among all ranks. Four channels are four rings of a quarter of the data: four messages
/// a member, a step.
Case one_all_reduce(uint32_t ranks) {
  testing::WorkloadBuilder builder(ranks);
  const GroupId world = builder.group("world", all(ranks));
  for (uint32_t r = 0; r < ranks; ++r) builder.collective(r, CollectiveKind::kAllReduce, world, kGibibyte.count);
  Case c;
  c.workload = builder.build();
  c.schedule.channels = 4;
  return c;
}

/// The same with one port 1 % slower and one rank 1 us late.
Case uneven_all_reduce() {
  constexpr uint32_t kRanks = 1024;
  testing::WorkloadBuilder builder(kRanks);
  const GroupId world = builder.group("world", all(kRanks));
  for (uint32_t r = 0; r < kRanks; ++r) {
    const uint32_t before = builder.compute(r, microseconds(r == 700 ? 11 : 10));
    builder.collective(r, CollectiveKind::kAllReduce, world, kGibibyte.count, {before});
  }
  Case c;
  c.workload = builder.build();
  c.schedule.channels = 4;
  c.ports.assign(kRanks, kPortRate);
  c.ports[100] = Bandwidth(kPortRate.bits_per_second / 100 * 99);
  return c;
}

Case long_chain() {
  constexpr uint32_t kRanks = 8, kNodes = 100'000;
  testing::WorkloadBuilder builder(kRanks);
  const GroupId world = builder.group("world", all(kRanks));
  for (uint32_t r = 0; r < kRanks; ++r) {
    uint32_t last = builder.compute(r, microseconds(1));
    for (uint32_t n = 2; n < kNodes; n += 2) {
      last = builder.collective(r, CollectiveKind::kAllReduce, world, 64 << 10, {last});
      last = builder.compute(r, microseconds(1), {last});
    }
  }
  Case c;
  c.workload = builder.build();
  return c;
}

Case many_at_once() {
  constexpr uint32_t kRanks = 8, kNodes = 10'000;
  testing::WorkloadBuilder builder(kRanks);
  const GroupId world = builder.group("world", all(kRanks));
  for (uint32_t r = 0; r < kRanks; ++r)
    for (uint32_t n = 0; n < kNodes; ++n) builder.collective(r, CollectiveKind::kAllReduce, world, 64 << 10);
  Case c;
  c.workload = builder.build();
  return c;
}

/// A transformer of 16 layers of GPT-3's width, by STAGE: tensor and pipeline parallel 8, data parallel 4.
Case transformer(const std::filesystem::path& archive) {
  const testing::TemporaryFolder folder;
  const std::string command = "tar xf '" + archive.string() + "' -C '" + folder.path().string() + "'";
  if (std::system(command.c_str()) != 0) fail_run("{}: cannot be unpacked", archive.string());
  const std::string prefix = folder / "gpt_256r_tp8pp8dp4/w";
  Warnings warnings;
  Case c;
  c.workload = load_workload({.traces = {prefix}, .groups_file = prefix + ".json", .element_size = Bytes(2)}, warnings);
  const ComputeDevice device{.peak_flops = 989'000'000'000'000, .memory_bandwidth = Bandwidth(26'800'000'000'000)};
  for (RankTrace& trace : c.workload.ranks)
    for (Node& node : trace.nodes)
      if (node.kind == NodeKind::kCompute) node.duration = roofline(node.operations, node.tensor, device).time;
  c.hosts = 32;
  return c;
}

}  // namespace

void simulate_small(Dpdk&) {
  print_simulation("ring all-reduce, 1 GiB, 4 channels, 256 ranks", "0.48 s, 36 MiB",
                   [] { return one_all_reduce(256); });
  print_simulation("ring all-reduce, 1 GiB, 4 channels, 1024 ranks", "13.2 s, 356 MiB",
                   [] { return one_all_reduce(1024); });
  print_simulation("8 ranks, 100k nodes each, comp -> all-reduce", "14.1 s, 982 MiB", long_chain);
  print_simulation("8 ranks, 10k rings of 64 KiB ready at once", "not done in 166 s", many_at_once);
}

void simulate_uneven(Dpdk&) {
  print_simulation("1024 ranks, one port 1 % slower, one rank 1 us late", "none", uneven_all_reduce);
}

void simulate_large(Dpdk&) {
  print_simulation("ring all-reduce, 1 GiB, 4 channels, 4096 ranks", "259 s, 5458 MiB",
                   [] { return one_all_reduce(4096); });
  print_simulation("ring all-reduce, 1 GiB, 4 channels, 16384 ranks", "none", [] { return one_all_reduce(16384); });
}

void simulate_transformer(Dpdk&) {
  const char* root = std::getenv("RANKWIRE_TEST_DATA");
  const std::filesystem::path archive =
      std::filesystem::path(root != nullptr ? root : RANKWIRE_TEST_DATA) / "traces/stage/gpt_256r_tp8pp8dp4.tar.xz";
  if (!std::filesystem::exists(archive)) {
    std::printf("simulate      skipped: no %s\n", archive.c_str());
    return;
  }
  print_simulation("256 ranks of a transformer (TP 8, PP 8, DP 4)", "none", [&] { return transformer(archive); });
}

}  // namespace rankwire::bench
