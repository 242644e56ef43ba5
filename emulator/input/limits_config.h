// What a run must keep to be called good: the keys of `limits`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rankwire {

/// Kinds of operations whose bandwidth may be limited: the keys of `limits.busbw`, and what traces call them.
inline constexpr std::array<const char*, 9> kLimitedOperations = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "gather", "scatter", "send"};

/// Absent: not limited.
struct LimitsConfig {
  std::optional<double> ratio;              ///< of completion times, emulated over reference, at most
  std::optional<uint64_t> retransmissions;  ///< packets, at most
  std::optional<uint64_t> timeouts;         ///< at most
  std::optional<double> loss_ppm;           ///< of a million data packets, at most
  std::optional<Duration> message_p99;      ///< completion time of messages, P99, at most
  std::array<std::optional<Bandwidth>, kLimitedOperations.size()> busbw;  ///< mean, at least
};

}  // namespace rankwire
