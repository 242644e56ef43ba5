// Where every rank stands: rank -> NPU -> host -> NIC -> port, and so which pairs meet only inside a host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/id.h"
#include "base/transport.h"

namespace rankwire {

/// One rank's place. `npu` and `nic` count within the host.
struct Place {
  uint32_t host = 0, npu = 0, nic = 0;
  PortId port;
};

enum class PlacementPolicy : uint8_t {
  kRoundRobin,  ///< rank r stands on host r mod hosts, its (r / hosts)-th NPU
  kBlock,       ///< ranks fill one host after the other
  kExplicit,    ///< as `places` says
};

/// Where NICs get their IP addresses: consecutive ones from `first` on, within its subnet.
struct AddressPool {
  IpAddress first;
  uint32_t prefix_length = 15;
  std::optional<uint16_t> vlan;
  IpAddress gateway;
};

struct PlacementOptions {
  PlacementPolicy policy = PlacementPolicy::kRoundRobin;
  uint32_t hosts = 1;
  uint32_t npus = 1;          ///< a host
  uint32_t nics = 1;          ///< a host; NPU i uses NIC i * nics / npus
  uint32_t ports = 1;         ///< NIC n of the run (host by host) stands behind port n mod ports
  std::vector<Place> places;  ///< kExplicit: by rank
  /// Which ports are meant, where not all are for ranks: the n-th of `ports` is rank_ports[n]. Empty: port n.
  std::vector<PortId> rank_ports;
  std::vector<PortId> further;  ///< ports of end points beyond the ranks, each a host of its own with one NIC
  std::vector<Place> guests;    ///< of end points behind those, which may share NICs with ranks
  /// Hosts whose ranks are on wires; absent: all are.
  std::optional<std::vector<uint32_t>> wired_hosts;
  AddressPool addresses;                                   ///< of all NICs but those behind a port that has its own
  std::vector<std::optional<AddressPool>> port_addresses;  ///< by port; may be shorter
  MacAddress first_mac;
};

struct Placement {
  std::vector<Place> ranks;  ///< by RankId; those of PlacementOptions::further and of its `guests` follow
  std::vector<NicId> nic;    ///< by RankId
  std::vector<Nic> nics;     ///< by NicId; those that have a rank
  std::vector<bool> wired;   ///< by RankId; empty: all are

  bool is_wired(RankId rank) const { return wired.empty() || wired[rank.value]; }
  /// Pairs behind one port can never meet through a device under test, and pairs in one host use its scale-up domain.
  Path path(RankId a, RankId b) const {
    const Place &x = ranks[a.value], &y = ranks[b.value];
    if (x.host == y.host || x.port == y.port) return Path::kLocal;
    return is_wired(a) && is_wired(b) ? Path::kWire : Path::kModelled;
  }
};

/// Throws Error(kInput) when the ranks do not fit into hosts x NPUs, or the NICs do not fit into an address pool.
Placement place_ranks(uint32_t ranks, const PlacementOptions& options);

}  // namespace rankwire
