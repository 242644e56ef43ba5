#include "dataplane/dpdk/steering.h"

#include <rte_errno.h>
#include <rte_flow.h>

#include <array>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

/// Why the device does not take the rule; the driver need not say.
std::string reason_of(const rte_flow_error& error) {
  return error.message != nullptr ? error.message : ::rte_strerror(rte_errno);
}

}  // namespace

void steer_frames(uint16_t id, const std::string& device, std::span<const SteeredAddress> addresses) {
  for (const SteeredAddress& steered : addresses) {
    rte_flow_item_eth address{}, whole{};
    static_assert(sizeof address.hdr.dst_addr == sizeof steered.address);
    std::memcpy(&address.hdr.dst_addr, &steered.address, sizeof steered.address);
    std::memset(&whole.hdr.dst_addr, 0xFF, sizeof whole.hdr.dst_addr);
    const std::array<rte_flow_item, 2> pattern{
        {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &address, .last = nullptr, .mask = &whole},
         {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr}}};
    const rte_flow_action_queue queue{.index = steered.queue};
    const std::array<rte_flow_action, 2> actions{
        {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue}, {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr}}};
    rte_flow_attr received{};
    received.ingress = 1;
    rte_flow_error error{};
    if (::rte_flow_create(id, &received, pattern.data(), actions.data(), &error) != nullptr) continue;
    fail_input(
        "device {} does not steer the frames for a NIC to a queue of its worker by rte_flow: {}. Give each port one "
        "worker",
        device, reason_of(error));
  }
}

}  // namespace rankwire
