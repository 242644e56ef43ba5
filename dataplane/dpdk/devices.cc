#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/pci_address.h"
#include "dataplane/dpdk/environment.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

/// The last part of what the link points to; empty when there is no link.
std::string link_target(const fs::path& link) {
  std::error_code none;
  return fs::read_symlink(link, none).filename().string();
}

std::string first_entry(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) return entry.path().filename().string();
  return {};
}

/// NVIDIA's drivers share the device with DPDK (bifurcated); the others hand it over to user space.
bool usable_with(const std::string& driver) {
  constexpr std::array kDrivers = {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core"};
  return std::find(kDrivers.begin(), kDrivers.end(), driver) != kDrivers.end();
}

std::string vfio_obstacle(const std::string& address, const fs::path& device, const fs::path& dev) {
  const std::string group = link_target(device / "iommu_group");
  if (group.empty()) {
    return fmt::format("PCI device {} is in no IOMMU group: switch the IOMMU on, in the firmware and the kernel",
                       address);
  }
  for (const std::string& name : {group, "noiommu-" + group}) {
    if (::access((dev / "vfio" / name).c_str(), R_OK | W_OK) == 0) return {};
  }
  return fmt::format("PCI device {} needs read and write permission on {}", address, (dev / "vfio" / group).string());
}

}  // namespace

std::string pci_obstacle(const std::string& address, const fs::path& sysfs, const fs::path& dev) {
  const std::string name = full_pci_address(address);
  const fs::path device = sysfs / "bus/pci/devices" / name;
  if (!fs::exists(device))
    return fmt::format("there is no PCI device {}; `rankwire devices` lists what there is", name);
  const std::string driver = link_target(device / "driver");
  if (!usable_with(driver)) {
    const std::string interface = first_entry(device / "net");
    return fmt::format("PCI device {} {}{}; give it to DPDK with: dpdk-devbind.py -b vfio-pci {}", name,
                       driver.empty() ? "has no driver" : "is bound to the kernel driver " + driver,
                       interface.empty() ? "" : " as interface " + interface, name);
  }
  return driver == "vfio-pci" ? vfio_obstacle(name, device, dev) : std::string();
}

std::vector<PciNetworkDevice> pci_network_devices(const fs::path& sysfs, const fs::path& dev) {
  std::vector<PciNetworkDevice> devices;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sysfs / "bus/pci/devices", none)) {
    std::string kind;
    std::ifstream(entry.path() / "class") >> kind;
    // PCI Code and ID Assignment Specification: base class 02 is network, 0200 Ethernet, 0207 InfiniBand.
    if (!kind.starts_with("0x0200") && !kind.starts_with("0x0207")) continue;
    const std::string address = entry.path().filename().string();
    devices.push_back({address, link_target(entry.path() / "driver"), first_entry(entry.path() / "net"),
                       pci_obstacle(address, sysfs, dev)});
  }
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return devices;
}

}  // namespace rankwire
