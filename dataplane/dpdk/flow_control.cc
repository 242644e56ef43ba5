#include "dataplane/dpdk/flow_control.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <optional>

namespace rankwire {
namespace {

/// A vdev string begins with the name; a PCI device is known by its address with domain or without.
std::optional<uint16_t> id_of(const std::string& device) {
  const std::string name = device.substr(0, device.find(','));
  uint16_t id = 0;
  for (const std::string& known : {name, "0000:" + name})
    if (::rte_eth_dev_get_port_by_name(known.c_str(), &id) == 0) return id;
  return std::nullopt;
}

std::string refusal(const char* what, int error) {
  return fmt::format("the device does not {} ({})", what, ::rte_strerror(-error));
}

}  // namespace

std::string obey_pauses_on_device(const std::string& device, PrioritySet priorities) {
  const std::optional<uint16_t> id = id_of(device);
  if (!id) return "there is no open device of this name";
  for (uint32_t priority = 0; priority < kPriorities; ++priority) {
    if ((priorities & priority_bit(priority)) == 0) continue;
    rte_eth_pfc_conf configuration{};
    configuration.fc.mode = RTE_ETH_FC_RX_PAUSE;
    configuration.priority = static_cast<uint8_t>(priority);
    if (const int error = ::rte_eth_dev_priority_flow_ctrl_set(*id, &configuration); error != 0)
      return refusal("obey PFC frames", error);
  }
  return {};
}

std::string receive_pauses_from_device(const std::string& device) {
  const std::optional<uint16_t> id = id_of(device);
  if (!id) return "there is no open device of this name";
  rte_eth_fc_conf configuration{};
  int error = ::rte_eth_dev_flow_ctrl_get(*id, &configuration);
  if (error == 0) {
    configuration.mode = RTE_ETH_FC_NONE;
    configuration.mac_ctrl_frame_fwd = 1;
    error = ::rte_eth_dev_flow_ctrl_set(*id, &configuration);
  }
  return error == 0 ? std::string() : refusal("say whether it hands over PFC frames", error);
}

}  // namespace rankwire
