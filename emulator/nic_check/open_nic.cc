#include "emulator/nic_check/open_nic.h"

#include "base/error.h"
#include "emulator/nic_check/agent.h"
#include "emulator/nic_check/verbs_nic.h"

namespace rankwire {

std::unique_ptr<NicUnderTest> open_verbs_nic(const std::string& device, const IpAddress& ip,
                                             std::optional<uint32_t> gid_index, const MacAddress& mac,
                                             uint32_t largest) {
  // libibverbs stays for the life of the process.
  static const std::unique_ptr<VerbsApi> api = make_verbs_api();
  VerbsPlace place = find_verbs_device({.device = device, .gid = gid_index});
  if (!gid_index && !ip.is_none()) {
    for (const VerbsGid& gid : place.port.gids)
      if (gid.ip == ip && gid.type == GidType::kRoceV2) place.gid = gid;
  }
  if (!ip.is_none() && place.gid.ip != ip)
    fail_input("{} has no RoCEv2 GID {}; GID {} is {}", place.device.name, to_string(ip), place.gid.index,
               to_string(place.gid.ip));
  return std::make_unique<VerbsNic>(*api, place, mac == MacAddress() ? place.gid.mac : mac,
                                    region_bytes_for({.largest = largest}));
}

std::unique_ptr<NicUnderTest> open_nic(const NicCheckConfig& config, uint32_t largest) {
  if (config.agent.empty()) {
    try {
      return open_verbs_nic(config.verbs, config.nic_ip, config.gid_index, config.nic_mac, largest);
    } catch (const Error& error) {
      if (config.verbs_place.empty()) throw;
      throw Error(error.kind(), config.verbs_place + ": " + error.what());
    }
  }
  auto nic = std::make_unique<AgentNic>(config.agent, config.token);
  if (nic->facts().ip != config.nic_ip)
    fail_input("nic.ip: the agent's NIC is {} at {}, not at {}", nic->facts().name, to_string(nic->facts().ip),
               to_string(config.nic_ip));
  if (nic->facts().mac != config.nic_mac)
    fail_input("nic.mac: the agent's NIC {} is {}, not {}", nic->facts().name, to_string(nic->facts().mac),
               to_string(config.nic_mac));
  return nic;
}

}  // namespace rankwire
