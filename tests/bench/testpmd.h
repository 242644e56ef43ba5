// The peer of the transmit benchmark: the packet generator that comes with DPDK.
#pragma once

#include <cstdint>
#include <optional>

namespace rankwire::bench {

enum class Memory : uint8_t { kHugePages, kOrdinary };

/// Frames a second that `dpdk-testpmd --forward-mode=txonly` sends on net_null with one core, by its own count; nothing
/// when it is not installed or says nothing. Runs a few seconds.
std::optional<double> testpmd_tx_rate(uint32_t frame_bytes, Memory memory);

}  // namespace rankwire::bench
