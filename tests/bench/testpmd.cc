#include "tests/bench/testpmd.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/bench.h"

namespace rankwire::bench {

std::optional<double> testpmd_tx_rate(uint32_t frame_bytes, Memory memory) {
  // The main lcore only prints; with one CPU both share it.
  const unsigned forwarding = std::thread::hardware_concurrency() > 1 ? 1 : 0;
  const std::string command = fmt::format(
      "timeout --signal=INT --kill-after=2 5 dpdk-testpmd --lcores 0@0,1@{} --no-pci {} --vdev=net_null0,size=64 -- "
      "--forward-mode=txonly --nb-cores=1 --txpkts={} --mbuf-size=4480 --stats-period 1 --auto-start "
      "--total-num-mbufs=16384 2>/dev/null </dev/null",
      forwarding, memory == Memory::kHugePages ? "--in-memory" : "--no-huge --no-shconf -m 512", frame_bytes);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
  if (!output) return std::nullopt;
  std::vector<double> rates;
  std::array<char, 512> line;
  while (std::fgets(line.data(), line.size(), output.get()) != nullptr) {
    const char* rate = std::strstr(line.data(), "Tx-pps:");
    if (rate == nullptr) continue;
    // Zero is before the first second is over.
    if (const double value = std::strtod(rate + std::strlen("Tx-pps:"), nullptr); value > 0) rates.push_back(value);
  }
  if (rates.empty()) return std::nullopt;
  return median(rates);
}

}  // namespace rankwire::bench
