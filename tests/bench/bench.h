// What the benchmarks share. Rates on a shared machine move by tens of percent from minute to minute, so a rate is the
// median of several short runs, and whatever is compared is run in turns.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <vector>

#include "base/units.h"
#include "dataplane/dpdk/environment.h"

namespace rankwire::bench {

constexpr int kRuns = 5;
constexpr std::chrono::milliseconds kRunTime{1000};

/// The one DPDK environment of the process, started by whoever needs it first.
class Dpdk {
 public:
  DpdkEnvironment& environment() {
    if (!environment_) environment_.emplace(DpdkOptions{.memory = Bytes(512 << 20), .devices = {}, .extra = {}});
    return *environment_;
  }

 private:
  std::optional<DpdkEnvironment> environment_;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

/// Calls `work`, which returns what it has done, for about `kRunTime`, and returns the sum a second.
template <class Work>
double rate_of(Work work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto end = begin;
  double done = 0;
  do {
    for (int i = 0; i < 256; ++i) done += static_cast<double>(work());
    end = Clock::now();
  } while (end - begin < kRunTime);
  return done / std::chrono::duration<double>(end - begin).count();
}

/// CPU time of the process: on a shared machine it moves less than the wall's.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void astra_semantics(Dpdk& dpdk);
void critical_path_large(Dpdk& dpdk);
void engine_nodes(Dpdk& dpdk);
void fabric_hops(Dpdk& dpdk);
void inspect_large(Dpdk& dpdk);
void kineto_gigabyte(Dpdk& dpdk);
void kineto_reading(Dpdk& dpdk);
void live(Dpdk& dpdk);
void many_cores(Dpdk& dpdk);
void pacing_precision(Dpdk& dpdk);
void run_chain(Dpdk& dpdk);
void run_embedded(Dpdk& dpdk);
void run_spread(Dpdk& dpdk);
void scale(Dpdk& dpdk);
void simulate_large(Dpdk& dpdk);
void simulate_small(Dpdk& dpdk);
void simulate_transformer(Dpdk& dpdk);
void simulate_uneven(Dpdk& dpdk);
void switch_forwarding(Dpdk& dpdk);
void trace_reading(Dpdk& dpdk);
void transport_tx(Dpdk& dpdk);
void transport_loop(Dpdk& dpdk);
void twin_permutation(Dpdk& dpdk);
void twin_permutation_small(Dpdk& dpdk);
void workers(Dpdk& dpdk);

}  // namespace rankwire::bench
