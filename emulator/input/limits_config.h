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

/// How long each request to an inference service may take; absent: as long as it likes. The keys of `slo`.
struct SloConfig {
  std::optional<Duration> ttft;     ///< from arrival to the first token
  std::optional<Duration> tpot;     ///< for each token behind it, on average
  std::optional<Duration> latency;  ///< from arrival to the last token
};

/// Absent: not limited.
struct LimitsConfig {
  std::optional<double> ratio;                              ///< of completion times, emulated over reference, at most
  std::optional<uint64_t> retransmissions;                  ///< packets, at most
  std::optional<uint64_t> timeouts;                         ///< at most
  std::optional<double> loss_ppm;                           ///< of a million data packets, at most
  std::optional<Duration> message_p99;                      ///< completion time of messages, P99, at most
  std::optional<Duration> ttft_p99, tpot_p99, request_p99;  ///< of requests, at most
  std::optional<uint32_t> attainment_ppm;  ///< requests of a million that keep all objectives, at least
  std::optional<double> goodput;           ///< of these, a second, at least
  std::array<std::optional<Bandwidth>, kLimitedOperations.size()> busbw;  ///< mean, at least
};

}  // namespace rankwire
