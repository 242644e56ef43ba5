// The fidelity `astra` on the runs for which ASTRA-sim's CPU time is known.
#include <atomic>
#include <cstdio>

#include "tests/bench/bench.h"
#include "tests/simulator/astra_program.h"

namespace rankwire::bench {
namespace {

constexpr Bytes kGigabyte(1'000'000'000);

struct Run {
  const char* name;
  uint32_t npus;
  bool congestion_aware;
  double stated;  ///< CPU seconds of ASTRA-sim 2.0 on a machine with 2 cores: a figure on record, not measured here
};

constexpr Run kRings[] = {
    {"256 NPUs, unaware", 256, false, 0.48},   {"256 NPUs, aware", 256, true, 0.65},
    {"1024 NPUs, unaware", 1024, false, 13.2}, {"1024 NPUs, aware", 1024, true, 17.3},
    {"4096 NPUs, unaware", 4096, false, 259},
};

void print(const char* name, double seconds, double stated, const char* at_least = "") {
  std::printf("astra  %-45s %8.3f CPU s; ASTRA-sim, as stated: %s%g CPU s\n", name, seconds, at_least, stated);
  std::fflush(stdout);
}

double cpu_seconds_of(const AstraModel& model, const AstraProgram& program) {
  const double before = cpu_seconds();
  const AstraResult result = testing::run_program(model, program);
  if (result.verdict != AstraVerdict::kOk) std::printf("astra  FAILED: %s\n", result.reason.c_str());
  return cpu_seconds() - before;
}

testing::AstraProgramBuilder ready_at_once(uint32_t ranks, uint32_t collectives) {
  testing::AstraProgramBuilder builder(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    for (uint32_t n = 0; n < collectives; ++n) builder.collective(r, AstraCollective::kAllReduce, Bytes(1 << 20));
  }
  return builder;
}

/// As many computes and all-reduces as ASTRA-sim was given, one after the other.
testing::AstraProgramBuilder chains(uint32_t ranks, uint32_t nodes) {
  testing::AstraProgramBuilder builder(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    uint32_t last = builder.compute(r, microseconds(1));
    for (uint32_t n = 1; n < nodes; n += 2) {
      last = builder.collective(r, AstraCollective::kAllReduce, Bytes(1 << 20), {last});
      last = builder.compute(r, microseconds(1), {last});
    }
  }
  return builder;
}

}  // namespace

void astra_semantics(Dpdk&) {
  for (const Run& run : kRings) {
    AstraModel model = testing::one_dimension(AstraBlock::kRing, run.npus, 50, 500, {}, 4);
    model.congestion_aware = run.congestion_aware;
    auto builder = testing::one_collective(run.npus, AstraCollective::kAllReduce, kGigabyte);
    const AstraProgram& program = builder.build();
    char name[64];
    std::snprintf(name, sizeof name, "ring all-reduce 1 GB, %s", run.name);
    print(name, cpu_seconds_of(model, program), run.stated);
  }
  const AstraModel eight = testing::one_dimension(AstraBlock::kRing, 8, 50, 500, {}, 4);
  auto chain = chains(8, 100'000);
  print("8 NPUs x 100k nodes, compute and all-reduce", cpu_seconds_of(eight, chain.build()), 14.1);
  auto heap = ready_at_once(8, 10'000);
  print("8 NPUs, 10k all-reduces ready at once", cpu_seconds_of(eight, heap.build()), 166, "not done in ");
}

}  // namespace rankwire::bench
