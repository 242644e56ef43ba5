// rte_eth_read_clock has been experimental since DPDK 19.08.
#define ALLOW_EXPERIMENTAL_API
#include "dataplane/dpdk/time.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

namespace rankwire {
namespace {

constexpr Duration kBetweenReadings = milliseconds(1);

}  // namespace

std::optional<ReceiveStamps> ReceiveStamps::of_device(uint16_t device) {
  rte_eth_conf configuration;
  uint64_t ticks = 0, flag = 0;
  int field = 0;
  if (::rte_eth_dev_conf_get(device, &configuration) != 0) return std::nullopt;
  if ((configuration.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0) return std::nullopt;
  if (::rte_eth_read_clock(device, &ticks) != 0) return std::nullopt;
  if (::rte_mbuf_dyn_rx_timestamp_register(&field, &flag) != 0) return std::nullopt;
  return ReceiveStamps(device, field, flag);
}

void ReceiveStamps::read_clock(Time now) noexcept {
  if (pending_) {
    // Calls of one turn share their `now`, which says nothing of the time after the reading.
    if (now <= pending_->earliest) return;
    pending_->latest = now;
    clock_.add(*pending_);
    pending_.reset();
  }
  if (now < next_reading_) return;
  next_reading_ = now + kBetweenReadings;
  DeviceClock::Reading reading{.earliest = now};
  if (::rte_eth_read_clock(device_, &reading.ticks) == 0) pending_ = reading;
}

Time ReceiveStamps::arrival(const rte_mbuf& mbuf, Time now) const noexcept {
  if ((mbuf.ol_flags & flag_) == 0) return now;
  return clock_.arrival(*RTE_MBUF_DYNFIELD(&mbuf, field_, const rte_mbuf_timestamp_t*), now);
}

void ReceiveStamps::describe(PortCounters& counters) const {
  counters.hardware_time = clock_.ready();
  counters.arrival_error = clock_.error();
}

}  // namespace rankwire
