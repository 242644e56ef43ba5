// Hardware receive time stamps of DPDK devices.
#pragma once

#include <cstdint>
#include <optional>

#include "base/transport.h"
#include "base/units.h"
#include "dataplane/dpdk/device_clock.h"

struct rte_mbuf;

namespace rankwire {

/// The stamps that a device started with RTE_ETH_RX_OFFLOAD_TIMESTAMP writes into received mbufs, in the run's time.
/// One for each receive queue; belongs to its thread.
class ReceiveStamps {
 public:
  /// Nothing when the device does not stamp what it receives, or its clock cannot be read beside the run's.
  static std::optional<ReceiveStamps> of_device(uint16_t device);

  /// Reads the device's clock once a millisecond. `now` is the run's clock, read before the call.
  void read_clock(Time now) noexcept;
  /// `now` for a frame without a stamp, and until the clocks are fitted.
  Time arrival(const rte_mbuf& mbuf, Time now) const noexcept;
  /// Sets what the counters say of the clock.
  void describe(PortCounters& counters) const;

 private:
  ReceiveStamps(uint16_t device, int field, uint64_t flag) : device_(device), field_(field), flag_(flag) {}

  uint16_t device_;
  int field_;      // offset of the stamp in an mbuf
  uint64_t flag_;  // of the mbufs that have one
  DeviceClock clock_;
  std::optional<DeviceClock::Reading> pending_;  // until the run's clock is read again
  Time next_reading_ = Time::long_ago();
};

}  // namespace rankwire
