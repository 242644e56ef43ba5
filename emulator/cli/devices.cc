// `devices`: what this machine could send through, and what is missing.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "dataplane/dpdk_environment.h"
#include "emulator/cli/commands.h"

namespace rankwire {

int list_devices(OutputForm form) {
  const std::vector<PciNetworkDevice> devices = pci_network_devices();
  if (form == OutputForm::kJson) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PciNetworkDevice& d : devices) {
      list.push_back({{"device", d.address},
                      {"driver", d.driver},
                      {"interface", d.interface},
                      {"usable", d.obstacle.empty()},
                      {"obstacle", d.obstacle}});
    }
    fmt::print("{}\n", list.dump(2));
  } else {
    fmt::print("{:<14} {:<12} {:<12} {}\n", "PCI device", "driver", "interface", "for ports[].device");
    for (const PciNetworkDevice& d : devices) {
      fmt::print("{:<14} {:<12} {:<12} {}\n", d.address, d.driver.empty() ? "-" : d.driver,
                 d.interface.empty() ? "-" : d.interface, d.obstacle.empty() ? "usable" : d.obstacle);
    }
    if (devices.empty()) fmt::print("no PCI network device\n");
    fmt::print(
        "\nWithout hardware: 'ring' and 'memory' (the embedded switch), or a DPDK vdev such as "
        "net_af_packet0,iface=INTERFACE\n");
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace rankwire
