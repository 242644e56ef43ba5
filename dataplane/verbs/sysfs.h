// What the kernel shows of RDMA devices in its file systems.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/verbs/device.h"

namespace rankwire {

/// Reads below `root`, "" for this machine. What is missing there is missing in the answers: nothing throws.
class VerbsSysfs {
 public:
  explicit VerbsSysfs(std::string root = "") : root_(std::move(root)) {}

  std::vector<std::string> devices() const;  ///< names, sorted
  /// Without limits, and of the ports without MTU and longest message: those sysfs does not have.
  VerbsDeviceInfo device(const std::string& name) const;
  /// The network interface of the port; empty: not known.
  std::string netdev(const std::string& name, uint32_t port) const;
  /// "counters.NAME" and "hw_counters.NAME" of the port, then "device.NAME" of the device and "netdev.NAME" of
  /// its network interface, each sorted.
  std::vector<VerbsCounter> counters(const std::string& name, uint32_t port) const;

 private:
  std::string of_device(const std::string& name) const { return root_ + "/sys/class/infiniband/" + name; }
  VerbsPortInfo port(const std::string& directory, uint32_t number) const;
  std::string interface_of(const std::string& directory, uint32_t port) const;
  std::string soft_interface(const std::string& directory) const;
  std::vector<VerbsGid> gids(const std::string& directory) const;
  std::optional<uint16_t> vlan_of(const std::string& netdev) const;

  std::string root_;
};

/// The statistics of a network interface by the names of its driver, as `ethtool -S` prints them, sorted; empty where
/// it has none.
std::vector<VerbsCounter> interface_statistics(const std::string& netdev);

}  // namespace rankwire
