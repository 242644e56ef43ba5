// The ports of a run that are RDMA devices: where they are, what addresses they have, what they count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/verbs/options.h"
#include "emulator/assembly/setup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Those with `verbs`, in their order; `devices` are those of this machine, which with a name has its own ports alone
/// (`on`). Throws Error(kInput) naming the port, the device and what is in the way.
std::vector<VerbsPort> find_verbs_ports(const RunConfig& config, std::span<const VerbsDeviceInfo> devices,
                                        const std::string& machine = {});

/// The largest path MTU, bytes, that all of them carry, at most kLargestPathMtu.
uint32_t largest_path_mtu(std::span<const VerbsPort> ports);

/// What all machines of a run know of a port that is an RDMA device of one of them.
struct VerbsAddresses {
  struct Address {
    IpAddress ip;
    MacAddress mac;
    std::optional<uint16_t> vlan;
  };
  PortId port;
  std::string host = {};  ///< what the system calls the machine, which may be there several times; empty: this one
  std::string device;     ///< "mlx5_0", of that machine
  uint32_t number = 1;    ///< of its port
  Bandwidth speed;        ///< 0: not known
  std::vector<Address> addresses;  ///< that NICs behind the port take in turn; not empty
};

/// That of the chosen GID first; where `gid` is `auto`, then those that its interface has besides.
VerbsAddresses addresses_of(const VerbsPort& port, const RunConfig& config);

/// Gives the NICs behind RDMA devices the addresses of these; `ports` are all of the run. Warns of rates that are not
/// the devices', and of ports that are the same port of a device. Throws Error(kInput) where a NIC behind another port
/// has the same address, unless both are RDMA devices of one machine, or one of another IP version.
void take_device_addresses(Setup& setup, std::span<const VerbsAddresses> ports);
/// The same of a run whose devices are all on this machine.
void take_device_addresses(Setup& setup, std::span<const VerbsPort> ports);

/// What ports say of their hardware at one time.
struct HardwareReading {
  struct Counter {
    PortId port;
    VerbsCounter counter;
  };
  struct Setting {
    PortId port;
    VerbsSetting setting;
  };
  std::vector<Counter> counters;
  std::vector<Setting> settings;
};

/// Of ports of the run that are the same port of a device the first speaks for all. One that is gone or unusable
/// meanwhile says so in its setting `state`.
HardwareReading read_hardware(std::span<const VerbsPort> ports);

/// Joined by port and name; what only one of the readings has counts as 0, or as an empty text, in the other.
std::vector<HardwareCounterRow> counter_rows(const HardwareReading& before, const HardwareReading& after);
std::vector<PortSettingRow> setting_rows(const HardwareReading& before, const HardwareReading& after);

}  // namespace rankwire
