#include "dataplane/congestion/window_control.h"

#include <algorithm>
#include <cmath>

namespace rankwire {
namespace {

/// Of Swift's flow scaling, and its least window: packets. As in Broadcom/csg-htsim, sim/swift.cpp.
constexpr double kScaledMost = 0.1, kScaledLeast = 100, kLeastWindow = 0.001;

double value(Scale scale) {
  return static_cast<double>(scale.numerator) / static_cast<double>(scale.denominator);
}

Bytes whole(double bytes) {
  return Bytes(static_cast<int64_t>(bytes));
}

}  // namespace

Dctcp::Dctcp(const DctcpOptions& options, const WindowLimits& limits, std::span<const Bandwidth> lines)
    : gain_(value(options.gain)),
      packet_(static_cast<double>(limits.packet.count)),
      largest_(static_cast<double>(limits.largest.count)),
      flows_(lines.size()) {
  for (size_t i = 0; i < lines.size(); ++i) {
    flows_[i].line = lines[i];
    flows_[i].window = flows_[i].round = largest_;
  }
}

void Dctcp::notified(uint32_t queue_pair, Time) noexcept {
  flows_[queue_pair].marked += packet_;
}

void Dctcp::acknowledged(uint32_t queue_pair, Time, Bytes payload, Duration) noexcept {
  Flow& flow = flows_[queue_pair];
  flow.acknowledged += static_cast<double>(payload.count);
  if (flow.acknowledged < flow.round) return;
  const double share = std::min(flow.marked / flow.acknowledged, 1.0);
  flow.alpha = (1 - gain_) * flow.alpha + gain_ * share;
  flow.window = flow.marked > 0 ? flow.window * (1 - flow.alpha / 2) : flow.window + packet_;
  flow.window = std::clamp(flow.window, packet_, largest_);
  flow.round = flow.window;
  flow.acknowledged = flow.marked = 0;
}

void Dctcp::rewound(uint32_t queue_pair, Time) noexcept {
  Flow& flow = flows_[queue_pair];
  flow.window = std::max(flow.window / 2, packet_);
}

Allowance Dctcp::allowance(uint32_t queue_pair, Time) noexcept {
  const Flow& flow = flows_[queue_pair];
  return {.rate = flow.line, .window = whole(flow.window)};
}

// a / sqrt(W) + b is fs_range at kScaledMost and 0 at kScaledLeast.
Swift::Swift(const SwiftOptions& options, const WindowLimits& limits, std::span<const Bandwidth> lines)
    : options_(options),
      beta_(value(options.beta)),
      max_mdf_(value(options.max_mdf)),
      scaling_(static_cast<double>(options.fs_range.ps) / (1 / std::sqrt(kScaledMost) - 1 / std::sqrt(kScaledLeast))),
      offset_(-scaling_ / std::sqrt(kScaledLeast)),
      packet_(static_cast<double>(limits.packet.count)),
      largest_(static_cast<double>(limits.largest.count) / packet_),
      flows_(lines.size()) {
  for (size_t i = 0; i < lines.size(); ++i) {
    flows_[i].line = lines[i];
    flows_[i].window = largest_;
  }
}

Duration Swift::target(double window) const noexcept {
  const double added = scaling_ / std::sqrt(window) + offset_;
  return options_.base_target +
         Duration(std::llround(std::clamp(added, 0.0, static_cast<double>(options_.fs_range.ps))));
}

void Swift::acknowledged(uint32_t queue_pair, Time now, Bytes payload, Duration round_trip) noexcept {
  Flow& flow = flows_[queue_pair];
  flow.acknowledged += static_cast<double>(payload.count) / packet_;
  if (round_trip == Duration::max()) return;
  flow.delay = round_trip;
  const Duration wanted = target(flow.window);
  if (round_trip < wanted) {
    flow.window += flow.window < 1 ? flow.acknowledged : flow.acknowledged / flow.window;
    flow.window = std::min(flow.window, largest_);
  } else {
    const double excess = static_cast<double>((round_trip - wanted).ps) / static_cast<double>(round_trip.ps);
    decrease(flow, now, std::max(1 - beta_ * excess, 1 - max_mdf_));
  }
  flow.acknowledged = 0;
}

void Swift::rewound(uint32_t queue_pair, Time now) noexcept {
  decrease(flows_[queue_pair], now, 1 - max_mdf_);
}

void Swift::decrease(Flow& flow, Time now, double factor) const noexcept {
  if (now - flow.decreased < flow.delay) return;
  flow.decreased = now;
  flow.window = std::max(flow.window * factor, kLeastWindow);
}

Allowance Swift::allowance(uint32_t queue_pair, Time) noexcept {
  const Flow& flow = flows_[queue_pair];
  if (flow.window >= 1) return {.rate = flow.line, .window = whole(flow.window * packet_)};
  const double seconds = static_cast<double>(std::max(flow.delay, Duration(1)).ps) / 1e12;
  const double rate = std::min(8 * packet_ * flow.window / seconds, static_cast<double>(flow.line.bits_per_second));
  return {.rate = Bandwidth(std::max<int64_t>(std::llround(rate), 1)), .window = whole(packet_)};
}

}  // namespace rankwire
