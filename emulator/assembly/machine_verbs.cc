#include "emulator/assembly/machine_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "emulator/assembly/machine_shares.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

// Of hundreds of machines the leader sends this of every port to each: so names are short.
Json json_of(const VerbsAddresses& port) {
  Json addresses = Json::array();
  for (const VerbsAddresses::Address& a : port.addresses)
    addresses.push_back({to_string(a.ip), a.mac.bytes, a.vlan ? Json(*a.vlan) : Json()});
  return {port.port.value, port.device, port.number, port.speed.bits_per_second, std::move(addresses)};
}

VerbsAddresses port_of(const Json& json) {
  VerbsAddresses port{.port = PortId(json.at(0).get<uint32_t>()),
                      .device = json.at(1),
                      .number = json.at(2),
                      .speed = Bandwidth(json.at(3).get<int64_t>()),
                      .addresses = {}};
  for (const Json& a : json.at(4)) {
    VerbsAddresses::Address& address = port.addresses.emplace_back();
    address.ip = parse_ip(a.at(0).get<std::string>()).value_or(IpAddress());
    address.mac.bytes = a.at(1).get<std::array<uint8_t, 6>>();
    if (!a.at(2).is_null()) address.vlan = a.at(2).get<uint16_t>();
  }
  return port;
}

/// Who is there has not said yet which version of the program it is.
uint32_t path_mtu(const Machines& machines, uint32_t machine, const std::string& said) {
  uint32_t mtu = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), mtu);
  if (error != std::errc() || end != said.data() + said.size())
    fail_input("machine '{}' runs another version of rankwire: '{}' is no path MTU", machines.name(machine), said);
  return mtu;
}

/// An error names the machine as those of the others do.
uint32_t own_path_mtu(const RunConfig& config, const Machines& machines) {
  try {
    return largest_path_mtu(find_verbs_ports(config, verbs_devices(), machines.own_name()));
  } catch (const Error& error) {
    if (!machines.leads()) throw;
    throw Error(error.kind(), fmt::format("machine '{}': {}", machines.own_name(), error.what()));
  }
}

}  // namespace

uint32_t least_path_mtu(Machines& machines, uint32_t own) {
  uint32_t least = own;
  const std::vector<std::string> all = machines.gather(std::to_string(own));
  for (uint32_t machine = 0; machine < all.size(); ++machine)
    least = std::min(least, path_mtu(machines, machine, all[machine]));
  return path_mtu(machines, 0, machines.from_leader(std::to_string(least)));
}

void take_path_mtu(RunConfig& config, Machines* machines) {
  const bool asks = !config.transport.mtu && std::ranges::any_of(config.ports, &PortConfig::is_rdma_device);
  if (machines != nullptr) {
    const uint32_t least = least_path_mtu(*machines, asks ? own_path_mtu(config, *machines) : kLargestPathMtu);
    if (asks) config.transport.mtu = least;
  } else if (asks && machines_of(config).empty()) {
    config.transport.mtu = largest_path_mtu(find_verbs_ports(config, verbs_devices()));
  }
}

std::vector<VerbsAddresses> addresses_of_all(Machines& machines, const Setup& setup, std::span<const VerbsPort> ports) {
  Json own = Json::array();
  for (const VerbsPort& port : ports) own.push_back(json_of(addresses_of(port, setup.config)));
  Json all = Json::array();
  for (const std::string& said : machines.gather(own.dump()))
    for (Json& port : Json::parse(said)) all.push_back(std::move(port));
  std::vector<VerbsAddresses> known;
  for (const Json& json : Json::parse(machines.from_leader(all.dump()))) {
    VerbsAddresses& port = known.emplace_back(port_of(json));
    const auto machine = std::ranges::find(machines.names(), setup.config.ports[port.port.value].on);
    port.host = machines.system_name(static_cast<uint32_t>(machine - machines.names().begin()));
  }
  std::ranges::sort(known, {}, [](const VerbsAddresses& port) { return port.port.value; });
  return known;
}

}  // namespace rankwire
