#include "emulator/nic_check/emulated_bench.h"

#include <algorithm>
#include <array>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "emulator/nic_check/emulated_nic.h"

namespace rankwire {
namespace {

constexpr Bandwidth kLine = Bandwidth(100'000'000'000);
constexpr uint32_t kQueuePairs = 1024;
constexpr size_t kFrames = 8191, kQueue = 8192;
constexpr MacAddress kPeerMac{{0x02, 0, 0xC6, 0x12, 0, 1}}, kNicMac{{0x02, 0, 0xC6, 0x12, 0, 2}};
constexpr Ipv4Address kPeerIp{0xC6120001}, kNicIp{0xC6120002};  // 198.18.0.0/15 is for such tests (RFC 2544)

// 4.096 us x 2^8 = 1.05 ms. An answer takes less than the 30 us of a window at line rate.
constexpr BenchLimits kLimits{.timeout_exponent = 8, .answer = microseconds(500), .quiet = microseconds(200)};

/// The address itself, or within 2001:db8::/96, which is for documents (RFC 3849).
IpAddress address_of(Ipv4Address ip, IpVersion version) {
  IpAddress address = ip;
  if (version == IpVersion::kIpv4) return address;
  std::fill_n(address.bytes.begin(), 12, uint8_t{0});
  std::ranges::copy(std::array<uint8_t, 4>{0x20, 0x01, 0x0D, 0xB8}, address.bytes.begin());
  return address;
}

Nic peer_nic(IpVersion version) {
  Nic nic;
  nic.id = NicId(0);
  nic.port = PortId(0);
  nic.mac = kPeerMac;
  nic.ip = address_of(kPeerIp, version);
  nic.prefix_length = version == IpVersion::kIpv4 ? 15 : 64;
  return nic;
}

}  // namespace

struct EmulatedBench::Parts {
  Parts(NicMutant mutant, IpVersion version, const BenchScale& scale, const EmulatedCapacity& capacity)
      : pool(kFrames, FramePool::kDefaultCapacity, PoolUse::kOneThread),
        link(make_memory_link(pool, kQueue, "bench")),
        nic(*link.second,
            {.facts = {.name = "emulated", .mac = kNicMac, .ip = address_of(kNicIp, version), .mtu = 4096, .reads = 16},
             .peer_mac = kPeerMac,
             .line = kLine,
             .region_bytes = region_bytes_for(scale),
             .queue_pairs = capacity.queue_pairs > 0 ? capacity.queue_pairs : std::max(kQueuePairs, scale.queue_pairs),
             .contexts = capacity.contexts,
             .mutant = mutant}),
        bench(nic, *link.first, clock, {.peer = peer_nic(version), .line = kLine, .limits = kLimits, .scale = scale}) {
    clock.start();
  }

  VirtualClock clock;
  FramePool pool;
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link;
  EmulatedNic nic;
  NicBench bench;
};

EmulatedBench::EmulatedBench(NicMutant mutant, IpVersion ip_version, const BenchScale& scale,
                             const EmulatedCapacity& capacity)
    : parts_(std::make_unique<Parts>(mutant, ip_version, scale, capacity)) {}
EmulatedBench::~EmulatedBench() = default;

NicBench& EmulatedBench::bench() {
  return parts_->bench;
}

}  // namespace rankwire
