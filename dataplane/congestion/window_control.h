// Congestion control by windows: DCTCP, which follows marks, and Swift, which follows delay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/congestion/control.h"

namespace rankwire {

/// The limits of every queue pair's window.
struct WindowLimits {
  Bytes packet;   ///< the path MTU: what a window of one packet holds, > 0
  Bytes largest;  ///< of the window, which it begins with; at least one packet
};

struct DctcpOptions {
  Scale gain{1, 16};  ///< g, of the estimate of the share of marked bytes, at most 1

  bool operator==(const DctcpOptions& o) const {
    return gain.numerator == o.gain.numerator && gain.denominator == o.gain.denominator;
  }
};

/// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257) with another echo: on RoCE an acknowledgement cannot carry marks
/// back, so every CNP stands for one marked packet. That is exact only if the peer sends a CNP for every marked packet
/// (np_min_time_between_cnps 0); with a longer interval marks are underestimated.
///
/// A round is what was in flight when the last one ended. At its end alpha = (1 - g) alpha + g F, where F is the share
/// of marked bytes; with marks the window becomes W (1 - alpha / 2), without it grows by a packet. A loss halves it. It
/// is at least one packet. alpha begins with 1 (RFC 8257, 4.2).
class Dctcp final : public CongestionControl {
 public:
  Dctcp(const DctcpOptions& options, const WindowLimits& limits, std::span<const Bandwidth> lines);

  void notified(uint32_t queue_pair, Time now) noexcept override;
  void acknowledged(uint32_t queue_pair, Time now, Bytes payload, Duration round_trip) noexcept override;
  void rewound(uint32_t queue_pair, Time now) noexcept override;
  Allowance allowance(uint32_t queue_pair, Time now) noexcept override;

 private:
  struct Flow {
    Bandwidth line;
    double window = 0;  // bytes
    double alpha = 1;
    double round = 0;  // bytes that the round has
    double acknowledged = 0, marked = 0;
  };

  double gain_;
  double packet_, largest_;
  std::vector<Flow> flows_;
};

struct SwiftOptions {
  Duration base_target = microseconds(20);  ///< delay that is aimed at, > 0: that of the empty network, and some queue
  Duration fs_range = microseconds(100);    ///< added at most for small windows (flow scaling); 0: nothing
  Scale beta{4, 5};                         ///< strength of the decrease, at most 1
  Scale max_mdf{1, 2};                      ///< most that is taken away at once, at most 1
};

/// Swift (Kumar et al., SIGCOMM 2020, section 3) with the round trip as its only delay: that from a packet to its
/// acknowledgement, of one packet at a time. On a sample d, with the packets acknowledged since the last one,
///   d < target:   W += acknowledged / W   (W += acknowledged when W < 1)
///   else, at most once a round trip: W *= max(1 - beta (d - target) / d, 1 - max_mdf)
///   target = base_target + clamp(a / sqrt(W) + b, 0, fs_range), which goes from fs_range at W = 0.1 to 0 at W = 100
/// A loss takes max_mdf away, at most once a round trip. Below one packet W is a rate: a packet every d / W. The target
/// does not know the number of hops. W is at least 0.001 packets.
class Swift final : public CongestionControl {
 public:
  Swift(const SwiftOptions& options, const WindowLimits& limits, std::span<const Bandwidth> lines);

  void notified(uint32_t, Time) noexcept override {}
  void acknowledged(uint32_t queue_pair, Time now, Bytes payload, Duration round_trip) noexcept override;
  void rewound(uint32_t queue_pair, Time now) noexcept override;
  Allowance allowance(uint32_t queue_pair, Time now) noexcept override;
  bool heeds_notifications(uint32_t) const noexcept override { return false; }

  /// The delay that is aimed at with a window of so many packets.
  Duration target(double window) const noexcept;

 private:
  struct Flow {
    Bandwidth line;
    double window = 0;  // packets
    double acknowledged = 0;
    Duration delay;  // the last sample
    Time decreased = Time::long_ago();
  };

  void decrease(Flow& flow, Time now, double factor) const noexcept;

  SwiftOptions options_;
  double beta_, max_mdf_;
  double scaling_, offset_;  // a, b
  double packet_, largest_;  // bytes, packets
  std::vector<Flow> flows_;
};

}  // namespace rankwire
