// Several congestion control algorithms in one transport.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/congestion/control.h"
#include "dataplane/congestion/options.h"

namespace rankwire {

/// Algorithms side by side, each for its own queue pairs, which it numbers from 0.
class MixedControl final : public CongestionControl {
 public:
  struct Place {
    uint32_t part = 0, index = 0;
  };
  /// `places`: by queue pair. No part is null.
  MixedControl(std::vector<std::unique_ptr<CongestionControl>> parts, std::vector<Place> places)
      : parts_(std::move(parts)), places_(std::move(places)) {}

  void notified(uint32_t queue_pair, Time now) noexcept override { part(queue_pair).notified(index(queue_pair), now); }
  void acknowledged(uint32_t queue_pair, Time now, Bytes payload, Duration round_trip) noexcept override {
    part(queue_pair).acknowledged(index(queue_pair), now, payload, round_trip);
  }
  void sent(uint32_t queue_pair, Time now, Bytes on_line) noexcept override {
    part(queue_pair).sent(index(queue_pair), now, on_line);
  }
  void rewound(uint32_t queue_pair, Time now) noexcept override { part(queue_pair).rewound(index(queue_pair), now); }
  Allowance allowance(uint32_t queue_pair, Time now) noexcept override {
    return part(queue_pair).allowance(index(queue_pair), now);
  }
  Time next_update(uint32_t queue_pair) const noexcept override {
    return part(queue_pair).next_update(index(queue_pair));
  }
  bool heeds_notifications(uint32_t queue_pair) const noexcept override {
    return part(queue_pair).heeds_notifications(index(queue_pair));
  }

 private:
  CongestionControl& part(uint32_t queue_pair) const noexcept { return *parts_[places_[queue_pair].part]; }
  uint32_t index(uint32_t queue_pair) const noexcept { return places_[queue_pair].index; }

  std::vector<std::unique_ptr<CongestionControl>> parts_;
  std::vector<Place> places_;
};

/// For queue pairs with these options, which are borrowed meanwhile, and line rates. One algorithm where all have the
/// same options; null where none has an algorithm.
std::unique_ptr<CongestionControl> make_congestion_control(std::span<const CongestionOptions* const> options,
                                                           const WindowLimits& limits,
                                                           std::span<const Bandwidth> lines);
/// For queue pairs of which none has an algorithm: each may send at the rate of its line.
std::unique_ptr<CongestionControl> make_unhindered_control(std::span<const Bandwidth> lines);

}  // namespace rankwire
