#include "emulator/assembly/verbs_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr const char* family_name(const IpAddress& ip) {
  return ip.is_ipv4() ? "IPv4" : "IPv6";
}

VerbsSelection selection_of(const PortConfig& port, const IpAddress& wanted) {
  const GidFamily family = wanted.is_ipv4() ? GidFamily::kIpv4 : GidFamily::kIpv6;
  return {
      .device = port.verbs, .port = port.verbs_port, .gid = port.gid, .family = port.gid ? GidFamily::kAny : family};
}

/// The addresses that NICs behind the port take in turn, that of the chosen GID first.
std::vector<VerbsGid> addresses_of(const VerbsPort& port, const PortConfig& config) {
  const VerbsGid& chosen = port.place.gid;
  std::vector<VerbsGid> gids{chosen};
  if (config.gid) return gids;
  for (const VerbsGid& gid : port.place.port.gids) {
    const bool alike = gid.type == chosen.type && gid.ip.is_ipv4() == chosen.ip.is_ipv4() &&
                       gid.netdev == chosen.netdev && gid.vlan == chosen.vlan;
    if (alike && gid.index != chosen.index && !is_link_local(gid.ip)) gids.push_back(gid);
  }
  return gids;
}

void warn_of_rate(Setup& setup, const VerbsPort& port) {
  const PortConfig& config = setup.config.ports[port.id.value];
  const Bandwidth speed = port.place.port.speed;
  if (speed.bits_per_second == 0 || speed == config.rate) return;
  setup.warnings.push_back(
      fmt::format("port '{}' has a rate of {:g} Gbps in the configuration, and {} runs at {:g} Gbps: the reference "
                  "counts with the former",
                  config.name, static_cast<double>(config.rate.bits_per_second) / 1e9, port.place.device.name,
                  static_cast<double>(speed.bits_per_second) / 1e9));
}

/// The configuration may call one device by several names.
void warn_of_same_place(Setup& setup, std::span<const VerbsPort> ports) {
  std::map<std::pair<std::string, uint32_t>, PortId> first;
  for (const VerbsPort& port : ports) {
    const auto [known, added] = first.try_emplace({port.place.device.name, port.place.port.number}, port.id);
    if (added) continue;
    setup.warnings.push_back(
        fmt::format("ports '{}' and '{}' are both port {} of {}: what they send each other stays within the NIC",
                    setup.config.ports[known->second.value].name, setup.config.ports[port.id.value].name,
                    port.place.port.number, port.place.device.name));
  }
}

/// Addresses of NICs behind different ports differ unless both are the same RDMA device's.
void check_addresses(const Setup& setup, std::span<const VerbsPort> ports) {
  const auto is_rdma = [&](const Nic& nic) { return setup.config.ports[nic.port.value].is_rdma_device(); };
  std::map<IpAddress, const Nic*> known;
  for (const Nic& nic : setup.placement.nics) {
    const std::string& name = setup.config.ports[nic.port.value].name;
    const IpAddress& device = ports.front().place.gid.ip;
    if (nic.ip.is_ipv4() != device.is_ipv4()) {
      fail_input(
          "{}: a NIC behind port '{}' has the {} address {}, and port '{}' has {}: choose 'gid' or addresses.ip "
          "so that all are of one IP version",
          setup.config.file, name, family_name(nic.ip), to_string(nic.ip),
          setup.config.ports[ports.front().id.value].name, to_string(device));
    }
    const auto [other, added] = known.try_emplace(nic.ip, &nic);
    if (added || (is_rdma(nic) && is_rdma(*other->second))) continue;
    fail_input(
        "{}: {} is the address of NICs behind port '{}' and behind port '{}'; change addresses.ip, whose "
        "addresses go to DPDK ports only",
        setup.config.file, to_string(nic.ip), setup.config.ports[other->second->port.value].name, name);
  }
}

}  // namespace

std::vector<VerbsPort> find_verbs_ports(const RunConfig& config, std::span<const VerbsDeviceInfo> devices) {
  std::vector<VerbsPort> ports;
  for (uint32_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    if (!port.is_rdma_device()) continue;
    try {
      ports.push_back(
          {PortId(p), port.name, find_verbs_device(selection_of(port, config.addresses.ip.first), devices)});
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: ports[{}].verbs: {}", config.file, p, error.what()));
    }
  }
  return ports;
}

uint32_t largest_path_mtu(std::span<const VerbsPort> ports) {
  uint32_t mtu = kLargestPathMtu;
  for (const VerbsPort& port : ports) mtu = std::min(mtu, port.place.port.active_mtu);
  return mtu;
}

void take_device_addresses(Setup& setup, std::span<const VerbsPort> ports) {
  if (ports.empty()) return;
  warn_of_same_place(setup, ports);
  std::map<std::pair<std::string, uint32_t>, size_t> taken;  // by device and its port
  for (const VerbsPort& port : ports) {
    warn_of_rate(setup, port);
    const std::vector<VerbsGid> gids = addresses_of(port, setup.config.ports[port.id.value]);
    size_t& next = taken[{port.place.device.name, port.place.port.number}];
    for (Nic& nic : setup.placement.nics) {
      if (nic.port != port.id) continue;
      const VerbsGid& gid = gids[next++ % gids.size()];
      nic.ip = gid.ip, nic.mac = gid.mac, nic.vlan = gid.vlan, nic.gateway = IpAddress();
    }
  }
  check_addresses(setup, ports);
  setup.plan.transport.nics = setup.placement.nics;
}

HardwareReading read_hardware(std::span<const VerbsPort> ports) {
  HardwareReading reading;
  if (ports.empty()) return reading;
  const std::vector<VerbsDeviceInfo> devices = verbs_devices();
  std::set<std::pair<std::string, uint32_t>> read;
  for (const VerbsPort& port : ports) {
    const VerbsPlace& place = port.place;
    if (!read.insert({place.device.name, place.port.number}).second) continue;
    for (VerbsCounter& counter : verbs_counters(place.device.name, place.port.number)) {
      reading.counters.push_back({port.id, std::move(counter)});
    }
    try {
      const VerbsPlace now =
          find_verbs_device({.device = place.device.name, .port = place.port.number, .gid = place.gid.index}, devices);
      for (VerbsSetting& setting : verbs_settings(now)) reading.settings.push_back({port.id, std::move(setting)});
    } catch (const Error& error) {
      reading.settings.push_back({port.id, {"state", error.what()}});
    }
  }
  return reading;
}

std::vector<HardwareCounterRow> counter_rows(const HardwareReading& before, const HardwareReading& after) {
  std::vector<HardwareCounterRow> rows;
  std::map<std::pair<PortId, std::string>, size_t> known;
  const auto row_of = [&](const HardwareReading::Counter& c) -> HardwareCounterRow& {
    const auto [entry, added] = known.try_emplace({c.port, c.counter.name}, rows.size());
    if (added) rows.push_back({.port = c.port, .name = c.counter.name});
    return rows[entry->second];
  };
  for (const auto& c : before.counters) row_of(c).before = c.counter.value;
  for (const auto& c : after.counters) row_of(c).after = c.counter.value;
  return rows;
}

std::vector<PortSettingRow> setting_rows(const HardwareReading& before, const HardwareReading& after) {
  std::vector<PortSettingRow> rows;
  std::map<std::pair<PortId, std::string>, size_t> known;
  const auto row_of = [&](const HardwareReading::Setting& s) -> PortSettingRow& {
    const auto [entry, added] = known.try_emplace({s.port, s.setting.name}, rows.size());
    if (added) rows.push_back({.port = s.port, .name = s.setting.name});
    return rows[entry->second];
  };
  for (const auto& s : before.settings) row_of(s).before = s.setting.value;
  for (const auto& s : after.settings) row_of(s).after = s.setting.value;
  return rows;
}

}  // namespace rankwire
