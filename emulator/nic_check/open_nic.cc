#include "emulator/nic_check/open_nic.h"

#include "base/error.h"
#include "emulator/nic_check/verbs_nic.h"

namespace rankwire {
std::unique_ptr<NicUnderTest> open_nic(const NicCheckConfig& config) {
  if (!config.agent.empty()) fail_input("nic.agent: is not there yet");
  // libibverbs stays for the life of the process.
  static const std::unique_ptr<VerbsApi> api = make_verbs_api();
  const VerbsPlace place = find_verbs_device({.device = config.verbs, .gid = config.gid_index});
  if (place.gid.ip != config.nic_ip)
    fail_input("nic.ip: GID {} of {} is {}, not {}", place.gid.index, place.device.name, to_string(place.gid.ip),
               to_string(config.nic_ip));
  return std::make_unique<VerbsNic>(*api, place, config.nic_mac);
}

}  // namespace rankwire
