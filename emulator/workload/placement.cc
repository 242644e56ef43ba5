#include "emulator/workload/placement.h"

#include <map>

#include "base/error.h"

namespace rankwire {
namespace {

MacAddress nth_mac(MacAddress first, uint64_t n) {
  uint64_t value = 0;
  for (uint8_t byte : first.bytes) value = value << 8 | byte;
  value += n;
  MacAddress mac;
  for (int i = 5; i >= 0; --i, value >>= 8) mac.bytes[i] = static_cast<uint8_t>(value);
  return mac;
}

Ipv4Address nth_ip(const PlacementOptions& options, uint32_t n) {
  const uint32_t mask = options.prefix_length == 0 ? 0 : ~uint32_t{0} << (32 - options.prefix_length);
  const uint64_t value = uint64_t{options.first_ip.value} + n;
  const uint32_t broadcast = options.first_ip.value | ~mask;
  if (value >= broadcast) {
    fail_input("addresses.ip: the pool {}/{} is too small for NIC {}; use a shorter prefix",
               to_string(options.first_ip), options.prefix_length, n);
  }
  return Ipv4Address{static_cast<uint32_t>(value)};
}

Place place_of(uint32_t rank, const PlacementOptions& o) {
  if (o.policy == PlacementPolicy::kExplicit) return o.places[rank];
  const bool block = o.policy == PlacementPolicy::kBlock;
  Place place;
  place.host = block ? rank / o.npus : rank % o.hosts;
  place.npu = block ? rank % o.npus : rank / o.hosts;
  place.nic = place.npu * o.nics / o.npus;
  place.port = PortId((place.host * o.nics + place.nic) % o.ports);
  return place;
}

}  // namespace

Placement place_ranks(uint32_t ranks, const PlacementOptions& options) {
  if (options.policy == PlacementPolicy::kExplicit) {
    if (options.places.size() != ranks) {
      fail_input("mapping.ranks: {} ranks are placed but the workload has {}", options.places.size(), ranks);
    }
  } else if (uint64_t{options.hosts} * options.npus < ranks) {
    fail_input("hosts: {} hosts of {} NPUs hold {} ranks but the workload has {}", options.hosts, options.npus,
               uint64_t{options.hosts} * options.npus, ranks);
  }

  Placement placement;
  std::map<std::pair<uint32_t, uint32_t>, NicId> known;  // (host, nic)
  for (uint32_t r = 0; r < ranks; ++r) {
    const Place place = place_of(r, options);
    auto [entry, added] = known.try_emplace({place.host, place.nic}, NicId(static_cast<uint32_t>(known.size())));
    if (added) {
      const uint32_t n = entry->second.value;
      placement.nics.push_back({.id = entry->second,
                                .port = place.port,
                                .mac = nth_mac(options.first_mac, n),
                                .ip = nth_ip(options, n),
                                .prefix_length = static_cast<uint8_t>(options.prefix_length)});
    } else if (placement.nics[entry->second.value].port != place.port) {
      fail_input("mapping.ranks: NIC {} of host {} stands behind two ports; a NIC has one", place.nic, place.host);
    }
    placement.ranks.push_back(place);
    placement.nic.push_back(entry->second);
  }
  return placement;
}

}  // namespace rankwire
