// The ports of a run that are RDMA devices: where they are, what addresses they have, what they count.
#pragma once

#include <span>
#include <vector>

#include "dataplane/verbs/options.h"
#include "emulator/assembly/setup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Those with `verbs`, in their order; `devices` are those of this machine. Throws Error(kInput) naming the port, the
/// device and what is in the way, also for ports whose addresses are of two IP versions.
std::vector<VerbsPort> find_verbs_ports(const RunConfig& config, std::span<const VerbsDeviceInfo> devices);

/// The largest path MTU, bytes, that all of them carry, at most kLargestPathMtu.
uint32_t largest_path_mtu(std::span<const VerbsPort> ports);

/// Gives the NICs behind RDMA devices the addresses of these: where `gid` is `auto`, those that the chosen one's
/// interface has besides, in turn. Warns of rates that are not the devices', and of ports that are the same port of a
/// device. Throws Error(kInput) where a NIC behind another port has the same address, or one of another IP version.
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
