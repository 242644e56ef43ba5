#include "dataplane/verbs/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/pci_address.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

// "" when there is no such file or it cannot be read: an unused GID is one that cannot.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

// The first lines of the files in a directory that can be read and are not empty, by name. Opened from there: a table
// of GIDs has a thousand files, whose long way from the root takes longer than they do.
std::vector<std::pair<std::string, std::string>> lines_in(const std::string& directory) {
  std::vector<std::pair<std::string, std::string>> lines;
  const int place = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return lines;
  for (const std::string& name : names_in(directory)) {
    const int file = ::openat(place, name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    std::array<char, 256> text;
    const ssize_t length = ::read(file, text.data(), text.size());
    ::close(file);
    if (length <= 0) continue;
    std::string line(text.data(), static_cast<size_t>(length));
    line.erase(std::min(line.find('\n'), line.size()));
    if (!line.empty()) lines.emplace_back(name, line);
  }
  ::close(place);
  return lines;
}

// What a symbolic link leads to, by its last name.
std::string target_of(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? std::string() : target.filename().string();
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "fe80:0000:0000:0000:0000:00ff:fe00:0001".
IpAddress parse_gid(const std::string& text) {
  std::array<uint8_t, 16> bytes{};
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](unsigned char c) { return std::isxdigit(c); });
  if (digits.size() != 32) return {};
  for (size_t i = 0; i < bytes.size(); ++i)
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, bytes[i], 16);
  return IpAddress(bytes);
}

MacAddress parse_mac(const std::string& text) {
  MacAddress mac;
  for (size_t i = 0; i < mac.bytes.size() && 3 * i + 2 <= text.size(); ++i)
    std::from_chars(text.data() + 3 * i, text.data() + 3 * i + 2, mac.bytes[i], 16);
  return mac;
}

// "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)".
Bandwidth parse_rate(const std::string& text) {
  double gigabits = 0;
  return std::sscanf(text.c_str(), "%lf Gb/sec", &gigabits) == 1 ? Bandwidth(static_cast<int64_t>(gigabits * 1e9))
                                                                 : Bandwidth();
}

// "4: ACTIVE" becomes "active".
std::string parse_state(std::string text) {
  if (const size_t colon = text.find(": "); colon != std::string::npos) text.erase(0, colon + 2);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void add_counters(std::vector<VerbsCounter>& counters, const std::string& directory, const std::string& prefix) {
  for (const auto& [name, line] : lines_in(directory))
    if (const auto value = number<uint64_t>(line); value && name != "lifespan")
      counters.push_back({prefix + name, *value});
}

}  // namespace

std::vector<std::string> VerbsSysfs::devices() const {
  return names_in(root_ + "/sys/class/infiniband");
}

VerbsDeviceInfo VerbsSysfs::device(const std::string& name) const {
  const std::string directory = of_device(name);
  VerbsDeviceInfo device;
  device.name = name;
  device.firmware = first_line(directory + "/fw_ver");
  device.driver = target_of(directory + "/device/driver");
  if (const std::string parent = target_of(directory + "/device"); is_pci_address(parent)) device.pci_address = parent;
  if (!soft_interface(directory).empty()) device.driver = "rdma_rxe";
  for (const std::string& entry : names_in(directory + "/ports"))
    if (const auto n = number<uint32_t>(entry)) device.ports.push_back(port(directory, *n));
  std::ranges::sort(device.ports, {}, &VerbsPortInfo::number);
  return device;
}

VerbsPortInfo VerbsSysfs::port(const std::string& directory, uint32_t n) const {
  const std::string own = directory + "/ports/" + std::to_string(n);
  VerbsPortInfo port;
  port.number = n;
  port.state = parse_state(first_line(own + "/state"));
  port.link_layer = first_line(own + "/link_layer");
  port.speed = parse_rate(first_line(own + "/rate"));
  port.gids = gids(own);
  port.netdev = interface_of(directory, n);
  return port;
}

std::string VerbsSysfs::netdev(const std::string& name, uint32_t n) const {
  return interface_of(of_device(name), n);
}

std::string VerbsSysfs::interface_of(const std::string& directory, uint32_t n) const {
  const std::string first_gid = first_line(directory + "/ports/" + std::to_string(n) + "/gid_attrs/ndevs/0");
  if (!first_gid.empty()) return first_gid;
  // Without an address in use: the interface of the same device, if there is one.
  const std::vector<std::string> interfaces = names_in(directory + "/device/net");
  return interfaces.size() == 1 ? interfaces.front() : soft_interface(directory);
}

// Only soft-RoCE names the interface that it stands on in this way (drivers/infiniband/sw/rxe/rxe_verbs.c).
std::string VerbsSysfs::soft_interface(const std::string& directory) const {
  return first_line(directory + "/parent");
}

std::vector<VerbsGid> VerbsSysfs::gids(const std::string& directory) const {
  std::vector<VerbsGid> gids;
  // An entry that is not in use has no type.
  for (const auto& [entry, type] : lines_in(directory + "/gid_attrs/types")) {
    const auto index = number<uint32_t>(entry);
    if (!index) continue;
    const IpAddress ip = parse_gid(first_line(directory + "/gids/" + entry));
    if (ip.is_none()) continue;
    VerbsGid& gid = gids.emplace_back();
    gid.index = *index;
    gid.ip = ip;
    gid.type = type == "RoCE v2" ? GidType::kRoceV2 : type == "IB/RoCE v1" ? GidType::kRoceV1 : GidType::kInfiniBand;
    gid.netdev = first_line(directory + "/gid_attrs/ndevs/" + entry);
    gid.mac = parse_mac(first_line(root_ + "/sys/class/net/" + gid.netdev + "/address"));
    gid.vlan = vlan_of(gid.netdev);
  }
  std::ranges::sort(gids, {}, &VerbsGid::index);
  return gids;
}

// A line "eth0.100  VID: 100	 REORDER_HDR: 1 ...".
std::optional<uint16_t> VerbsSysfs::vlan_of(const std::string& netdev) const {
  if (netdev.empty()) return std::nullopt;
  const std::string line = first_line(root_ + "/proc/net/vlan/" + netdev);
  const size_t at = line.find("VID:");
  unsigned vlan = 0;
  if (at == std::string::npos || std::sscanf(line.c_str() + at, "VID: %u", &vlan) != 1) return std::nullopt;
  return static_cast<uint16_t>(vlan);
}

std::vector<VerbsCounter> VerbsSysfs::counters(const std::string& name, uint32_t port) const {
  const std::string own = of_device(name) + "/ports/" + std::to_string(port);
  std::vector<VerbsCounter> counters;
  add_counters(counters, own + "/counters", "counters.");
  add_counters(counters, own + "/hw_counters", "hw_counters.");
  add_counters(counters, of_device(name) + "/hw_counters", "device.");
  if (const std::string interface = netdev(name, port); !interface.empty())
    add_counters(counters, root_ + "/sys/class/net/" + interface + "/statistics", "netdev.");
  return counters;
}

}  // namespace rankwire
