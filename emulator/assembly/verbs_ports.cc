#include "emulator/assembly/verbs_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
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

/// A port of a device. Processes on one machine may share it.
using DevicePort = std::tuple<std::string, std::string, uint32_t>;

DevicePort device_port(const VerbsAddresses& port) {
  return {port.host, port.device, port.number};
}

void warn_of_rate(Setup& setup, const VerbsAddresses& port) {
  const PortConfig& config = setup.config.ports[port.port.value];
  const Bandwidth speed = port.speed;
  if (speed.bits_per_second == 0 || speed == config.rate) return;
  setup.warnings.push_back(
      fmt::format("port '{}' has a rate of {:g} Gbps in the configuration, and {} runs at {:g} Gbps: the reference "
                  "counts with the former",
                  config.name, static_cast<double>(config.rate.bits_per_second) / 1e9, port.device,
                  static_cast<double>(speed.bits_per_second) / 1e9));
}

/// The configuration may call one device by several names.
void warn_of_same_place(Setup& setup, std::span<const VerbsAddresses> ports) {
  std::map<DevicePort, PortId> first;
  for (const VerbsAddresses& port : ports) {
    const auto [known, added] = first.try_emplace(device_port(port), port.port);
    if (added) continue;
    setup.warnings.push_back(
        fmt::format("ports '{}' and '{}' are both port {} of {}: what they send each other stays within the NIC",
                    setup.config.ports[known->second.value].name, setup.config.ports[port.port.value].name, port.number,
                    port.device));
  }
}

/// By PortId; null: of ports that are no RDMA devices.
std::vector<const VerbsAddresses*> by_port(const Setup& setup, std::span<const VerbsAddresses> ports) {
  std::vector<const VerbsAddresses*> of_ports(setup.config.ports.size());
  for (const VerbsAddresses& port : ports) of_ports[port.port.value] = &port;
  return of_ports;
}

[[noreturn]] void fail_same_address(const Setup& setup, const Nic& one, const Nic& other) {
  const PortConfig &first = setup.config.ports[one.port.value], &second = setup.config.ports[other.port.value];
  if (first.is_rdma_device() && second.is_rdma_device())
    fail_input(
        "{}: {} is the address of {} behind port '{}' of machine '{}' and of {} behind port '{}' of machine '{}': give "
        "each interface its own, or choose another by gid",
        setup.config.file, to_string(one.ip), first.verbs, first.name, first.on, second.verbs, second.name, second.on);
  fail_input(
      "{}: {} is the address of NICs behind port '{}' and behind port '{}'; change addresses.ip, whose "
      "addresses go to DPDK ports only",
      setup.config.file, to_string(one.ip), first.name, second.name);
}

/// Addresses of NICs behind different ports differ unless both are RDMA devices of one machine.
void check_addresses(const Setup& setup, std::span<const VerbsAddresses> ports) {
  const std::vector<const VerbsAddresses*> rdma = by_port(setup, ports);
  const auto is_one_machines = [&](const Nic& a, const Nic& b) {
    const VerbsAddresses *const of_a = rdma[a.port.value], *const of_b = rdma[b.port.value];
    return of_a != nullptr && of_b != nullptr && of_a->host == of_b->host;
  };
  const IpAddress& device = ports.front().addresses.front().ip;
  std::map<IpAddress, const Nic*> known;
  for (const Nic& nic : setup.placement.nics) {
    if (nic.ip.is_ipv4() != device.is_ipv4()) {
      fail_input(
          "{}: a NIC behind port '{}' has the {} address {}, and port '{}' has {}: choose 'gid' or addresses.ip "
          "so that all are of one IP version",
          setup.config.file, setup.config.ports[nic.port.value].name, family_name(nic.ip), to_string(nic.ip),
          setup.config.ports[ports.front().port.value].name, to_string(device));
    }
    const auto [other, added] = known.try_emplace(nic.ip, &nic);
    if (!added && !is_one_machines(nic, *other->second)) fail_same_address(setup, *other->second, nic);
  }
}

}  // namespace

std::vector<VerbsPort> find_verbs_ports(const RunConfig& config, std::span<const VerbsDeviceInfo> devices,
                                        const std::string& machine) {
  std::vector<VerbsPort> ports;
  for (uint32_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    if (!port.is_rdma_device() || (!machine.empty() && port.on != machine)) continue;
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

VerbsAddresses addresses_of(const VerbsPort& port, const RunConfig& config) {
  const VerbsGid& chosen = port.place.gid;
  VerbsAddresses known{.port = port.id,
                       .device = port.place.device.name,
                       .number = port.place.port.number,
                       .speed = port.place.port.speed,
                       .addresses = {{chosen.ip, chosen.mac, chosen.vlan}}};
  if (config.ports[port.id.value].gid) return known;
  for (const VerbsGid& gid : port.place.port.gids) {
    const bool alike = gid.type == chosen.type && gid.ip.is_ipv4() == chosen.ip.is_ipv4() &&
                       gid.netdev == chosen.netdev && gid.vlan == chosen.vlan;
    if (alike && gid.index != chosen.index && !is_link_local(gid.ip))
      known.addresses.push_back({gid.ip, gid.mac, gid.vlan});
  }
  return known;
}

void take_device_addresses(Setup& setup, std::span<const VerbsAddresses> ports) {
  if (ports.empty()) return;
  warn_of_same_place(setup, ports);
  std::map<DevicePort, size_t> taken;
  for (const VerbsAddresses& port : ports) {
    warn_of_rate(setup, port);
    size_t& next = taken[device_port(port)];
    for (Nic& nic : setup.placement.nics) {
      if (nic.port != port.port) continue;
      const VerbsAddresses::Address& address = port.addresses[next++ % port.addresses.size()];
      nic.ip = address.ip, nic.mac = address.mac, nic.vlan = address.vlan, nic.gateway = IpAddress();
    }
  }
  check_addresses(setup, ports);
  setup.plan.transport.nics = setup.placement.nics;
}

void take_device_addresses(Setup& setup, std::span<const VerbsPort> ports) {
  std::vector<VerbsAddresses> known;
  for (const VerbsPort& port : ports) known.push_back(addresses_of(port, setup.config));
  take_device_addresses(setup, known);
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
