#include "emulator/nic_check/emulated_bench.h"

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "emulator/nic_check/emulated_nic.h"

namespace rankwire {
namespace {

constexpr Bandwidth kLine = Bandwidth(100'000'000'000);
constexpr size_t kFrames = 8191, kQueue = 8192;
constexpr MacAddress kPeerMac{{0x02, 0, 0xC6, 0x12, 0, 1}}, kNicMac{{0x02, 0, 0xC6, 0x12, 0, 2}};
constexpr Ipv4Address kPeerIp{0xC6120001}, kNicIp{0xC6120002};  // 198.18.0.0/15 is for such tests (RFC 2544)

// 4.096 us x 2^8 = 1.05 ms. An answer takes less than the 30 us of a window at line rate.
constexpr BenchLimits kLimits{.timeout_exponent = 8, .answer = microseconds(500), .quiet = microseconds(200)};

Nic peer_nic() {
  Nic nic;
  nic.id = NicId(0);
  nic.port = PortId(0);
  nic.mac = kPeerMac;
  nic.ip = kPeerIp;
  nic.prefix_length = 15;
  return nic;
}

}  // namespace

struct EmulatedBench::Parts {
  explicit Parts(NicMutant mutant)
      : pool(kFrames, FramePool::kDefaultCapacity, PoolUse::kOneThread),
        link(make_memory_link(pool, kQueue, "bench")),
        nic(*link.second, {.facts = {.name = "emulated", .mac = kNicMac, .ip = kNicIp, .mtu = 4096, .reads = 16},
                           .peer_mac = kPeerMac,
                           .line = kLine,
                           .mutant = mutant}),
        bench(nic, *link.first, clock, {.peer = peer_nic(), .line = kLine, .limits = kLimits}) {
    clock.start();
  }

  VirtualClock clock;
  FramePool pool;
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link;
  EmulatedNic nic;
  NicBench bench;
};

EmulatedBench::EmulatedBench(NicMutant mutant) : parts_(std::make_unique<Parts>(mutant)) {}
EmulatedBench::~EmulatedBench() = default;

NicBench& EmulatedBench::bench() {
  return parts_->bench;
}

}  // namespace rankwire
