#include "emulator/workload/placement.h"

#include <algorithm>
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

/// The bits of an address behind its prefix, as far as they fit into 64.
uint64_t host_mask(const AddressPool& pool) {
  const uint32_t host_bits = (pool.first.is_ipv4() ? 32 : 128) - pool.prefix_length;
  return host_bits >= 64 ? UINT64_MAX : (uint64_t{1} << host_bits) - 1;
}

/// `port`: whose own pool it is; invalid: that of all.
IpAddress nth_ip(const AddressPool& pool, uint32_t n, PortId port) {
  uint64_t low = 0;
  for (size_t i = 8; i < 16; ++i) low = low << 8 | pool.first.bytes[i];
  const uint64_t mask = host_mask(pool);
  // The last address of an IPv4 subnet is its broadcast address; neither a subnet of two (RFC 3021) nor IPv6 has one.
  const uint64_t last = pool.first.is_ipv4() && mask > 1 ? mask - 1 : mask;
  if (n > last - std::min(low & mask, last)) {
    fail_input("{}: the addresses of {}/{} are too few for NIC {} of them; use a shorter prefix",
               port.valid() ? fmt::format("ports[{}].ip", port.value) : "addresses.ip", to_string(pool.first),
               pool.prefix_length, n);
  }
  IpAddress result = pool.first;
  low += n;
  for (size_t i = 15; i >= 8; --i, low >>= 8) result.bytes[i] = static_cast<uint8_t>(low);
  return result;
}

/// Gives addresses to NICs in the order of their numbers.
class AddressPlan {
 public:
  explicit AddressPlan(const PlacementOptions& options)
      : options_(options), used_of_port_(options.port_addresses.size(), 0) {}

  Nic next(NicId id, PortId port) {
    const bool own = port.value < options_.port_addresses.size() && options_.port_addresses[port.value];
    const AddressPool& pool = own ? *options_.port_addresses[port.value] : options_.addresses;
    uint32_t& used = own ? used_of_port_[port.value] : used_;
    return {.id = id,
            .port = port,
            .mac = nth_mac(options_.first_mac, id.value),
            .ip = nth_ip(pool, used++, own ? port : PortId::invalid()),
            .prefix_length = static_cast<uint8_t>(pool.prefix_length),
            .vlan = pool.vlan,
            .gateway = pool.gateway};
  }

 private:
  const PlacementOptions& options_;
  uint32_t used_ = 0;
  std::vector<uint32_t> used_of_port_;
};

Place place_of(uint32_t rank, const PlacementOptions& o) {
  if (o.policy == PlacementPolicy::kExplicit) return o.places[rank];
  const bool block = o.policy == PlacementPolicy::kBlock;
  Place place;
  place.host = block ? rank / o.npus : rank % o.hosts;
  place.npu = block ? rank % o.npus : rank / o.hosts;
  place.nic = place.npu * o.nics / o.npus;
  const uint32_t port = (place.host * o.nics + place.nic) % o.ports;
  place.port = o.rank_ports.empty() ? PortId(port) : o.rank_ports[port];
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
  AddressPlan addresses(options);
  std::map<std::pair<uint32_t, uint32_t>, NicId> known;  // (host, nic)
  uint32_t hosts = 0;
  const auto add = [&](const Place& place) {
    hosts = std::max(hosts, place.host + 1);
    auto [entry, added] = known.try_emplace({place.host, place.nic}, NicId(static_cast<uint32_t>(known.size())));
    if (added) {
      placement.nics.push_back(addresses.next(entry->second, place.port));
    } else if (placement.nics[entry->second.value].port != place.port) {
      fail_input("mapping.ranks: NIC {} of host {} stands behind two ports; a NIC has one", place.nic, place.host);
    }
    placement.ranks.push_back(place);
    placement.nic.push_back(entry->second);
    if (options.wired_hosts)
      placement.wired.push_back(std::ranges::find(*options.wired_hosts, place.host) != options.wired_hosts->end());
  };
  for (uint32_t r = 0; r < ranks; ++r) add(place_of(r, options));
  for (const PortId port : options.further) add({.host = hosts, .npu = 0, .nic = 0, .port = port});
  for (const Place& place : options.guests) add(place);
  return placement;
}

}  // namespace rankwire
