// RDMA devices of this machine as plain data: what they are, whether they can be used, and what they count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/units.h"

namespace rankwire {

enum class GidType : uint8_t { kInfiniBand, kRoceV1, kRoceV2 };

/// An address of a port: an entry of its GID table.
struct VerbsGid {
  uint32_t index = 0;
  IpAddress ip;
  GidType type = GidType::kRoceV2;
  std::string netdev;            ///< the interface that has the address; empty: not known
  MacAddress mac;                ///< of `netdev`
  std::optional<uint16_t> vlan;  ///< of `netdev`, 1 .. 4094
};

/// Above which a queue pair cannot name a GID (ibv_global_route.sgid_index has 8 bits).
constexpr uint32_t kMaxGidIndex = 255;

struct VerbsPortInfo {
  uint32_t number = 1;
  std::string state;           ///< "active", "down", ...
  std::string link_layer;      ///< "Ethernet" or "InfiniBand"
  std::string netdev;          ///< its network interface; empty: not known
  uint32_t active_mtu = 0;     ///< path MTU in bytes, 256 .. 4096
  Bandwidth speed;             ///< 0: not known
  uint64_t max_message = 0;    ///< bytes of one work request (port_attr.max_msg_sz)
  std::vector<VerbsGid> gids;  ///< those in use, by index
  std::string obstacle;        ///< why RoCEv2 cannot use it, and what to do; empty: it can
};

/// What a device has at most (ibv_query_device).
struct VerbsLimits {
  uint32_t queue_pairs = 0;
  uint32_t work_requests = 0;                       ///< of a queue
  uint32_t completion_queues = 0, completions = 0;  ///< and entries of each
  uint32_t regions = 0;
  uint64_t region_bytes = 0;
  uint32_t shared_receive_queues = 0, shared_receives = 0;  ///< and work requests of each
  uint32_t initiated_reads = 0;                             ///< that a queue pair has outstanding (max_qp_init_rd_atom)
  uint32_t answered_reads = 0;                              ///< that it remembers (max_qp_rd_atom)
};

struct VerbsDeviceInfo {
  std::string name;         ///< "mlx5_0"
  std::string pci_address;  ///< "0000:c1:00.0"; empty: not a PCI device
  std::string driver;       ///< "mlx5_core", "rdma_rxe"; empty: not known
  std::string firmware;
  VerbsLimits limits;
  std::vector<VerbsPortInfo> ports;
  std::string obstacle;  ///< why it cannot be used, and what to do; empty: it can, through ports without obstacle
};

/// The RDMA devices that the kernel or libibverbs know of, by name. Never throws for a device that is missing or not
/// usable.
std::vector<VerbsDeviceInfo> verbs_devices();

/// Why `verbs_devices()` is empty, and what to do.
std::string verbs_absence();

enum class GidFamily : uint8_t { kAny, kIpv4, kIpv6 };

/// What a configuration says of a port.
struct VerbsSelection {
  std::string device;                  ///< "mlx5_0", "netdev eth2" or "0000:c1:00.0"
  uint32_t port = 1;                   ///< with "netdev", that of the interface where it is known
  std::optional<uint32_t> gid;         ///< absent: the first RoCEv2 GID of `family` that is not link-local
  GidFamily family = GidFamily::kAny;  ///< kAny: IPv4 before IPv6
};

/// A usable port and the address that it is used with.
struct VerbsPlace {
  VerbsDeviceInfo device;
  VerbsPortInfo port;
  VerbsGid gid;
};

/// Throws Error(kInput) that says what there is instead, or what is in the way.
VerbsPlace find_verbs_device(const VerbsSelection& selection, std::span<const VerbsDeviceInfo> devices);
/// The same among `verbs_devices()`.
VerbsPlace find_verbs_device(const VerbsSelection& selection);

/// A number that a device counts, or a setting of it.
struct VerbsCounter {
  std::string name;  ///< "hw_counters.out_of_sequence", "counters.port_xmit_data", "ethtool.rx_prio3_pause", ...
  uint64_t value = 0;
};
struct VerbsSetting {
  std::string name;  ///< "firmware", "driver", "active_mtu", "speed", "gid", ...
  std::string value;
};

/// What sysfs shows of the port (`counters`, `hw_counters`, of the device also) and of its network interface
/// (`netdev`), and the statistics of the driver of that interface (`ethtool`), in this order, each by name. Empty where
/// there are none.
std::vector<VerbsCounter> verbs_counters(const std::string& device, uint32_t port);
std::vector<VerbsSetting> verbs_settings(const VerbsPlace& place);

}  // namespace rankwire
