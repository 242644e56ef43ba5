// When cables of a fabric fail and come back, and when routes follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/switch/options.h"
#include "fabric/cable_event.h"

namespace rankwire {

/// The changes of FabricOptions::schedule one after the other, and for each, FabricOptions::convergence later, that
/// routes are computed anew; what is at one time begins with changes. Knows which cables are in use. All memory is
/// taken by the constructor. One thread.
class CableSchedule {
 public:
  /// All `cables` between switches, and those of the `hosts`, are in use to begin with.
  CableSchedule(const FabricOptions& options, size_t cables, size_t hosts);

  /// When something of it is next; never() when nothing is left.
  Time next() const noexcept { return next_; }
  /// What is at next(), which is not never(): the change of a cable, which has been made when this returns; or nothing,
  /// then routes follow all changes so far.
  std::optional<CableEvent> take() noexcept;
  /// By cable between switches: not 0 where it is in use.
  std::span<const uint8_t> in_use() const noexcept { return std::span(in_use_).first(cables_); }
  /// Whether a cable of a host is still to go down.
  bool cuts_host() const noexcept;

 private:
  void find_next() noexcept;

  const std::vector<CableEvent> schedule_;
  const Duration convergence_;
  const size_t cables_;  ///< between switches
  std::vector<uint8_t> in_use_;
  uint32_t changes_ = 0;   ///< made so far: entries of the schedule
  uint32_t reroutes_ = 0;  ///< of them those that routes follow
  Time next_ = Time::never();
};

}  // namespace rankwire
