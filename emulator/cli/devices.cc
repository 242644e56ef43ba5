// `devices`: what this machine could send through, and what is missing.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "dataplane/dpdk/environment.h"
#include "dataplane/verbs/device.h"
#include "emulator/cli/commands.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

const char* to_string(GidType type) {
  switch (type) {
    case GidType::kInfiniBand:
      return "InfiniBand";
    case GidType::kRoceV1:
      return "RoCEv1";
    case GidType::kRoceV2:
      return "RoCEv2";
  }
  return "";
}

Json pci_json(const PciNetworkDevice& d) {
  return {{"kind", "pci"},
          {"device", d.address},
          {"driver", d.driver},
          {"interface", d.interface},
          {"usable", d.obstacle.empty()},
          {"obstacle", d.obstacle}};
}

Json gids_json(const VerbsPortInfo& port) {
  Json gids = Json::array();
  for (const VerbsGid& gid : port.gids) {
    gids.push_back({{"index", gid.index},
                    {"type", to_string(gid.type)},
                    {"ip", rankwire::to_string(gid.ip)},
                    {"interface", gid.netdev},
                    {"vlan", gid.vlan ? Json(*gid.vlan) : Json(nullptr)}});
  }
  return gids;
}

/// One entry a port; a device whose ports cannot be asked for has one without.
Json rdma_json(const VerbsDeviceInfo& d, const VerbsPortInfo* port) {
  const std::string& obstacle = d.obstacle.empty() && port != nullptr ? port->obstacle : d.obstacle;
  Json json = {{"kind", "rdma"},         {"device", d.name},           {"pci", d.pci_address}, {"driver", d.driver},
               {"firmware", d.firmware}, {"usable", obstacle.empty()}, {"obstacle", obstacle}};
  if (port == nullptr) return json;
  json["port"] = port->number;
  json["interface"] = port->netdev;
  json["state"] = port->state;
  json["link_layer"] = port->link_layer;
  json["active_mtu"] = port->active_mtu;
  json["rate_bps"] = port->speed.bits_per_second;
  json["gids"] = gids_json(*port);
  return json;
}

Json rdma_entries(const std::vector<VerbsDeviceInfo>& devices) {
  Json list = Json::array();
  for (const VerbsDeviceInfo& d : devices) {
    for (const VerbsPortInfo& port : d.ports) list.push_back(rdma_json(d, &port));
    if (d.ports.empty()) list.push_back(rdma_json(d, nullptr));
  }
  return list;
}

std::string text_or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

void print_pci(const std::vector<PciNetworkDevice>& devices) {
  fmt::print("{:<14} {:<12} {:<12} {}\n", "PCI device", "driver", "interface", "for ports[].device");
  for (const PciNetworkDevice& d : devices) {
    fmt::print("{:<14} {:<12} {:<12} {}\n", d.address, text_or_dash(d.driver), text_or_dash(d.interface),
               d.obstacle.empty() ? "usable" : d.obstacle);
  }
  if (devices.empty()) fmt::print("no PCI network device\n");
  fmt::print(
      "\nWithout hardware: 'ring' and 'memory' (the embedded switch), or a DPDK vdev such as "
      "net_af_packet0,iface=INTERFACE\n");
}

/// "usable, path MTU 4096, 25 Gbps".
std::string rdma_use(const Json& entry) {
  if (!entry["usable"].get<bool>()) return entry["obstacle"].get<std::string>();
  std::string text = fmt::format("usable, path MTU {}", entry["active_mtu"].get<uint32_t>());
  if (const int64_t rate = entry["rate_bps"].get<int64_t>(); rate > 0) {
    text += fmt::format(", {:g} Gbps", static_cast<double>(rate) / 1e9);
  }
  return text;
}

void print_rdma(const Json& entries) {
  fmt::print("\n{:<14} {:>4} {:<12} {:<12} {}\n", "RDMA device", "port", "driver", "interface", "for ports[].verbs");
  for (const Json& e : entries) {
    const bool has_port = e.contains("port");
    fmt::print("{:<14} {:>4} {:<12} {:<12} {}\n", e["device"].get<std::string>(),
               has_port ? fmt::to_string(e["port"].get<uint32_t>()) : "-", text_or_dash(e["driver"].get<std::string>()),
               has_port ? text_or_dash(e["interface"].get<std::string>()) : "-", rdma_use(e));
    if (!has_port) continue;
    for (const Json& gid : e["gids"]) {
      const std::string vlan = gid["vlan"].is_null() ? "" : fmt::format(" vlan {}", gid["vlan"].get<uint16_t>());
      fmt::print("{:<14} {:>4} gid {} {} {} {}{}\n", "", "", gid["index"].get<uint32_t>(),
                 gid["type"].get<std::string>(), gid["ip"].get<std::string>(), gid["interface"].get<std::string>(),
                 vlan);
    }
  }
  if (entries.empty()) fmt::print("none: {}\n", verbs_absence());
}

}  // namespace

int list_devices(OutputForm form) {
  const std::vector<PciNetworkDevice> pci = pci_network_devices();
  const Json rdma = rdma_entries(verbs_devices());
  if (form == OutputForm::kJson) {
    Json list = Json::array();
    for (const PciNetworkDevice& d : pci) list.push_back(pci_json(d));
    for (const Json& entry : rdma) list.push_back(entry);
    fmt::print("{}\n", list.dump(2));
  } else {
    print_pci(pci);
    print_rdma(rdma);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace rankwire
