#include <array>
#include <cstdio>
#include <string_view>

#include "base/error.h"
#include "tests/bench/bench.h"

namespace rankwire::bench {
namespace {

struct Benchmark {
  std::string_view name;
  void (*run)(Dpdk&);
  bool only_by_name = false;  ///< takes more time or space than the others
};

constexpr std::array kBenchmarks = {
    Benchmark{"astra", astra_semantics},
    Benchmark{"critical_path", critical_path_large, true},
    Benchmark{"engine", engine_nodes},
    Benchmark{"fabric", fabric_hops},
    Benchmark{"inspect_large", inspect_large, true},
    Benchmark{"kineto", kineto_reading},
    Benchmark{"kineto_gigabyte", kineto_gigabyte, true},
    Benchmark{"live", live},
    Benchmark{"many_cores", many_cores},
    Benchmark{"pacing", pacing_precision},
    Benchmark{"run_chain", run_chain},
    Benchmark{"run_embedded", run_embedded},
    Benchmark{"run_spread", run_spread},
    Benchmark{"scale", scale, true},
    Benchmark{"simulate_large", simulate_large},
    Benchmark{"simulate_small", simulate_small},
    Benchmark{"simulate_transformer", simulate_transformer},
    Benchmark{"simulate_uneven", simulate_uneven},
    Benchmark{"switch", switch_forwarding},
    Benchmark{"trace", trace_reading},
    Benchmark{"transport_loop", transport_loop},
    Benchmark{"transport_tx", transport_tx},
    Benchmark{"twin_k16", twin_permutation},
    Benchmark{"twin_k8", twin_permutation_small},
    Benchmark{"workers", workers},
};

int run(std::string_view filter) {
  Dpdk dpdk;
  int matched = 0;
  for (const Benchmark& benchmark : kBenchmarks) {
    if (benchmark.only_by_name ? benchmark.name != filter : benchmark.name.find(filter) == std::string_view::npos)
      continue;
    ++matched;
    benchmark.run(dpdk);
  }
  if (matched > 0) return 0;
  std::fprintf(stderr, "no benchmark has '%.*s' in its name; there are:", static_cast<int>(filter.size()),
               filter.data());
  for (const Benchmark& benchmark : kBenchmarks) std::fprintf(stderr, " %s", benchmark.name.data());
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace
}  // namespace rankwire::bench

/// rankwire_bench [FILTER]: runs the benchmarks whose name contains FILTER; the longest only by their whole name.
int main(int argc, char** argv) {
  try {
    return rankwire::bench::run(argc > 1 ? argv[1] : "");
  } catch (const rankwire::Error& error) {
    std::fprintf(stderr, "rankwire_bench: %s\n", error.what());
    return 1;
  }
}
