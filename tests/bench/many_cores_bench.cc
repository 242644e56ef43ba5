// What more cores than this machine has would reach: what a packet costs a core, what it asks of the memory that all
// cores share, and which of the two ends first.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/affinity.h"
#include "dataplane/dpdk/port.h"
#include "tests/bench/bench.h"
#include "tests/bench/transport_bench.h"

namespace rankwire::bench {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kFarMemory = size_t{256} << 20;  // more than the caches of a socket
/// Queue pairs whose state fits into a core's own cache, at 0.5 KiB each, and some that fit into no cache.
constexpr uint32_t kFew = 64, kMany = 131'072;
/// Cache lines of state that a packet needs of its queue pair: requester 2, headers 2, end, counters, message.
constexpr double kStateLines = 7;
/// A socket of today: 12 channels of DDR5-4800, of which copies reach some 80 %.
constexpr double kSocketBytes = 12 * 4.8e9 * 8 * 0.8;

struct alignas(kCacheLine) CacheLine {
  size_t next = 0;
};

/// How long a load takes whose line is in no cache, and whose address the load before it gives.
double miss_seconds() {
  std::vector<CacheLine> lines(kFarMemory / sizeof(CacheLine));
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (size_t i = 0; i < order.size(); ++i) lines[order[i]].next = order[(i + 1) % order.size()];
  size_t at = 0;
  const double rate = rate_of([&] {
    constexpr int kSteps = 64;
    for (int i = 0; i < kSteps; ++i) at = lines[at].next;
    return kSteps;
  });
  if (at == lines.size()) std::printf("\n");  // never, but the compiler cannot know
  return 1 / rate;
}

/// Bytes a second that cores read and write when each copies memory that no cache holds.
double copy_rate(const std::vector<uint32_t>& cores) {
  std::vector<double> rates(cores.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cores.size(); ++i) {
    threads.emplace_back([&, i] {
      const PinnedThread pinned(cores[i]);
      std::vector<uint8_t> from(kFarMemory / 4, 1), to(kFarMemory / 4, 2);
      constexpr size_t kPiece = 1 << 20;
      size_t at = 0;
      rates[i] = rate_of([&] {
        std::copy_n(from.begin() + static_cast<ptrdiff_t>(at), kPiece, to.begin() + static_cast<ptrdiff_t>(at));
        at = (at + kPiece) % from.size();
        return 2 * kPiece;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

/// Of a core that sends one packet of each queue pair in turn.
double rate_of_stream(FramePort& port, uint32_t connections) {
  const auto stream = stream_into_nothing(port, {.connections = connections, .turn = 1});
  for (int warm = 0; warm < 256; ++warm) stream->turn();
  stream->sent();
  const double rate = rate_of([&] {
    stream->turn();
    return stream->sent();
  });
  stream->expect_clean();
  return rate;
}

/// Two bounds: payload through memory, which a port's DMA reads, or writes for a core to read it once for the checksum;
/// and payload that stays in caches, where ports write into them (DDIO). State is read and written back in either.
void print_model(double packets, uint32_t mtu) {
  constexpr double kState = 2 * kStateLines * kCacheLine;
  const double through_memory = kSocketBytes / (kState + 3.0 * mtu), in_caches = kSocketBytes / kState;
  for (const uint32_t cores : {16u, 32u}) {
    const double by_cores = cores * packets;
    const auto terabits = [&](double rate) { return std::min(by_cores, rate) * mtu * 8 / 1e12; };
    const auto first = [&](double rate) { return by_cores < rate ? "cores" : "memory"; };
    std::printf(
        "many_cores  MTU %4u, %2u cores: %5.0f M packets/s by the cores; a socket's memory of %.0f GB/s carries %4.0f "
        "M/s "
        "with payload (%s first, %.2f Tbit/s), %4.0f M/s without (%s first, %.2f Tbit/s)\n",
        mtu, cores, by_cores / 1e6, kSocketBytes / 1e9, through_memory / 1e6, first(through_memory),
        terabits(through_memory), in_caches / 1e6, first(in_caches), terabits(in_caches));
  }
}

}  // namespace

void many_cores(Dpdk& dpdk) {
  const auto port = open_dpdk_port(dpdk.environment(), "net_null0", {.frames = 4095});
  std::vector<double> few, many, misses_found;
  for (int i = 0; i < kRuns; ++i) {
    few.push_back(rate_of_stream(*port, kFew));
    many.push_back(rate_of_stream(*port, kMany));
    misses_found.push_back(miss_seconds());
  }
  const double miss = median(misses_found);
  const double misses = std::max(0.0, 1 / median(many) - 1 / median(few)) / miss;
  std::printf(
      "many_cores  a packet of each queue pair in turn, MTU 1024: %.1f ns with %u queue pairs, %.1f ns with %u; a miss "
      "%.1f ns: %.2f misses a packet that nothing hides\n",
      1e9 / median(few), kFew, 1e9 / median(many), kMany, miss * 1e9, misses);
  std::fflush(stdout);
  const std::vector<uint32_t> cores = one_of_each_core(allowed_cpus());
  const double one = copy_rate({cores.front()}), all = copy_rate(cores);
  std::printf("many_cores  copying: %.1f GB/s read and written by one core, %.1f GB/s by %zu\n", one / 1e9, all / 1e9,
              cores.size());
  for (const uint32_t mtu : {1024u, 4096u}) print_model(median(many), mtu);
}

}  // namespace rankwire::bench
