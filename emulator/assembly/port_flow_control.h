// What the configuration's `ports[].pfc` and `drain_rate` become.
#pragma once

#include <optional>
#include <string>

#include "dataplane/roce/options.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// What is in force at a port.
struct PortFlowControl {
  PauseMode mode = PauseMode::kSoftware;
  std::string remark;  ///< of a device, why it is this mode or what it may do nevertheless; empty: nothing to say

  /// "software: the device does not obey PFC frames (Operation not supported)", for the record.
  std::string text() const;
};

/// Of a port without a device of its own.
PortFlowControl embedded_flow_control(const PortConfig& port);
/// Settles it with the open DPDK device. Throws Error(kInput) when the port must have it in hardware and the device
/// refuses.
PortFlowControl settle_flow_control(const RunConfig& config, const PortConfig& port);
/// The same number where that does the same to a device.
uint32_t flow_control_setting(const RunConfig& config, const PortConfig& port);

/// How slow a receiver stands behind the port; absent: none.
std::optional<ReceiveBufferOptions> receive_buffer_of(const PortConfig& port);

/// Warns of impairments that pause what the embedded switch or fabric sends on: without flow control of its own it
/// counts such frames and goes on.
void warn_of_unheeded_pauses(Setup& setup);

}  // namespace rankwire
