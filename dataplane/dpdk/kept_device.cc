#include "dataplane/dpdk/kept_device.h"

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <algorithm>

namespace rankwire {
namespace {

bool is_line_up(uint16_t id) {
  rte_eth_link link;
  return ::rte_eth_link_get_nowait(id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

/// A transport that ended in the middle of something may have kept frames, and the next would run short of them.
bool are_back(const std::vector<rte_mempool*>& pools, uint32_t descriptors) {
  return std::ranges::all_of(
      pools, [descriptors](const rte_mempool* pool) { return ::rte_mempool_in_use_count(pool) <= descriptors; });
}

}  // namespace

bool serves(const OpenDpdkDevice& open, const DpdkPortOptions& wanted) {
  const DpdkPortOptions& has = open.options;
  return has.mtu == wanted.mtu && has.descriptors == wanted.descriptors && has.frames >= wanted.frames &&
         has.queues == wanted.queues && has.steered == wanted.steered && has.setting == wanted.setting &&
         is_line_up(open.device.id()) && are_back(open.received, has.descriptors) &&
         are_back(open.sent, has.descriptors);
}

bool is_used(const std::shared_ptr<OpenDpdkDevice>& kept) {
  return kept.use_count() > 2;  // the environment's, and the caller's
}

bool close_unlike(DpdkEnvironment& environment, std::span<const std::pair<std::string, DpdkPortOptions>> wanted) {
  const auto is_kept = [&](const auto& port) {
    const std::shared_ptr<OpenDpdkDevice> kept = environment.kept(port.first);
    return kept != nullptr && serves(*kept, port.second);
  };
  if (environment.kept_devices().empty()) return false;
  if (environment.kept_devices().size() == wanted.size() && std::ranges::all_of(wanted, is_kept)) return false;
  environment.close_kept();
  return true;
}

}  // namespace rankwire
