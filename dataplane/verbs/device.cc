#include "dataplane/verbs/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "dataplane/verbs/sysfs.h"

namespace rankwire {
namespace {

constexpr std::string_view kNetdev = "netdev ";

std::string listed(std::span<const VerbsDeviceInfo> devices) {
  std::string text;
  for (const VerbsDeviceInfo& device : devices) {
    text += (text.empty() ? "" : ", ") + device.name;
    if (!device.pci_address.empty()) text += " " + device.pci_address;
    for (const VerbsPortInfo& port : device.ports)
      if (!port.netdev.empty()) text += fmt::format(" (port {}: netdev {})", port.number, port.netdev);
  }
  return text;
}

std::string listed(const std::vector<VerbsGid>& gids) {
  std::string text;
  for (const VerbsGid& gid : gids)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", gid.index, to_string(gid.ip),
                        gid.type == GidType::kRoceV2 ? "" : " (not RoCEv2)");
  return text.empty() ? "none" : text;
}

bool is_of(GidFamily family, const IpAddress& ip) {
  return family == GidFamily::kAny || ip.is_ipv4() == (family == GidFamily::kIpv4);
}

bool has_interface(const VerbsPortInfo& port, std::string_view netdev) {
  return port.netdev == netdev || std::ranges::find(port.gids, netdev, &VerbsGid::netdev) != port.gids.end();
}

bool is_meant(const VerbsDeviceInfo& device, const std::string& text) {
  if (text.starts_with(kNetdev))
    return std::ranges::any_of(device.ports, [&](const VerbsPortInfo& port) {
      return has_interface(port, std::string_view(text).substr(kNetdev.size()));
    });
  return device.name == text || (!device.pci_address.empty() && device.pci_address == text);
}

const VerbsPortInfo& port_of(const VerbsDeviceInfo& device, const VerbsSelection& selection) {
  if (selection.device.starts_with(kNetdev))
    for (const VerbsPortInfo& port : device.ports)
      if (has_interface(port, std::string_view(selection.device).substr(kNetdev.size()))) return port;
  const auto port = std::ranges::find(device.ports, selection.port, &VerbsPortInfo::number);
  if (port == device.ports.end())
    fail_input("RDMA device {} has no port {}; it has {}", device.name, selection.port, device.ports.size());
  return *port;
}

const VerbsGid& gid_of(const VerbsDeviceInfo& device, const VerbsPortInfo& port, const VerbsSelection& selection) {
  if (selection.gid) {
    if (*selection.gid > kMaxGidIndex)
      fail_input("RDMA device {} port {}: a queue pair cannot use GID {}; it must be 0 to {}; its GIDs are {}",
                 device.name, port.number, *selection.gid, kMaxGidIndex, listed(port.gids));
    const auto gid = std::ranges::find(port.gids, *selection.gid, &VerbsGid::index);
    if (gid == port.gids.end() || gid->type != GidType::kRoceV2)
      fail_input("RDMA device {} port {} has no RoCEv2 GID {}; its GIDs are {}", device.name, port.number,
                 *selection.gid, listed(port.gids));
    return *gid;
  }
  const VerbsGid* chosen = nullptr;
  // An interface that is named, such as a VLAN's, stands for its own addresses.
  const std::string_view named = selection.device.starts_with(kNetdev)
                                     ? std::string_view(selection.device).substr(kNetdev.size())
                                     : std::string_view();
  for (const VerbsGid& gid : port.gids) {
    if (gid.index > kMaxGidIndex || gid.type != GidType::kRoceV2 || is_link_local(gid.ip) ||
        !is_of(selection.family, gid.ip))
      continue;
    if (!named.empty() && !gid.netdev.empty() && gid.netdev != named) continue;
    const bool better = chosen == nullptr || (gid.ip.is_ipv4() && !chosen->ip.is_ipv4());
    if (better) chosen = &gid;
  }
  if (chosen == nullptr)
    fail_input(
        "RDMA device {} port {} has no RoCEv2 GID with {} address that is not link-local among the first {}; its "
        "GIDs are {}; give {} an address, or choose one by gid",
        device.name, port.number,
        selection.family == GidFamily::kIpv4   ? "an IPv4"
        : selection.family == GidFamily::kIpv6 ? "an IPv6"
                                               : "an IP",
        kMaxGidIndex + 1, listed(port.gids), port.netdev.empty() ? "its interface" : port.netdev);
  return *chosen;
}

}  // namespace

VerbsPlace find_verbs_device(const VerbsSelection& selection, std::span<const VerbsDeviceInfo> devices) {
  const auto device =
      std::ranges::find_if(devices, [&](const VerbsDeviceInfo& d) { return is_meant(d, selection.device); });
  if (device == devices.end())
    fail_input("there is no RDMA device '{}'; {}", selection.device,
               devices.empty() ? verbs_absence() : "there are " + listed(devices));
  if (!device->obstacle.empty()) fail_input("RDMA device {} cannot be used: {}", device->name, device->obstacle);
  const VerbsPortInfo& port = port_of(*device, selection);
  if (!port.obstacle.empty())
    fail_input("RDMA device {} port {} cannot be used: {}", device->name, port.number, port.obstacle);
  return {*device, port, gid_of(*device, port, selection)};
}

VerbsPlace find_verbs_device(const VerbsSelection& selection) {
  return find_verbs_device(selection, verbs_devices());
}

std::vector<VerbsCounter> verbs_counters(const std::string& device, uint32_t port) {
  const VerbsSysfs sysfs;
  std::vector<VerbsCounter> counters = sysfs.counters(device, port);
  for (VerbsCounter& statistic : interface_statistics(sysfs.netdev(device, port)))
    counters.push_back(std::move(statistic));
  return counters;
}

std::vector<VerbsSetting> verbs_settings(const VerbsPlace& place) {
  const auto or_unknown = [](const std::string& text) { return text.empty() ? std::string("not known") : text; };
  std::vector<VerbsSetting> settings = {
      {"device", place.device.name},
      {"pci_address", or_unknown(place.device.pci_address)},
      {"driver", or_unknown(place.device.driver)},
      {"firmware", or_unknown(place.device.firmware)},
      {"port", std::to_string(place.port.number)},
      {"netdev", or_unknown(place.port.netdev)},
      {"state", place.port.state},
      {"link_layer", place.port.link_layer},
      {"active_mtu", std::to_string(place.port.active_mtu)},
      {"max_message", std::to_string(place.port.max_message)},
      {"speed_bits_per_second", std::to_string(place.port.speed.bits_per_second)},
      {"gid", fmt::format("{} {}", place.gid.index, to_string(place.gid.ip))},
      {"mac", to_string(place.gid.mac)},
  };
  if (place.gid.vlan) settings.push_back({"vlan", std::to_string(*place.gid.vlan)});
  return settings;
}

}  // namespace rankwire
