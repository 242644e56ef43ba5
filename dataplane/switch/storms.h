// The pause storms that the PFC watchdogs of a fabric found.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// An output queue that a watchdog took.
struct FabricStorm {
  uint32_t port = 0;  ///< number, see Topology
  uint8_t priority = 0;
  Time stuck;                ///< since when the queue had sent nothing
  Time begin;                ///< the watchdog took it
  Time end = Time::never();  ///< and gave it back; never() while it has it
  uint64_t dropped = 0;      ///< frames, by StormAction::kDrop
  uint64_t forwarded = 0;    ///< frames sent although the other end forbade it, by StormAction::kForward

  bool operator==(const FabricStorm&) const = default;
};

/// Keeps the first storms, in the order in which they were found; later ones are counted. No allocation after
/// construction; one thread, but for `copy`.
class FabricStorms {
 public:
  static constexpr size_t kMost = 4096;

  /// `watched`: whether there is a watchdog; otherwise there is no memory for storms. Throws std::bad_alloc.
  explicit FabricStorms(bool watched) { rows_.reserve(watched ? kMost : 0); }

  void begin(uint32_t port, uint32_t priority, Time stuck, Time now) noexcept {
    if (rows_.size() == rows_.capacity()) {
      ++lost_;
      return;
    }
    rows_.push_back({.port = port, .priority = static_cast<uint8_t>(priority), .stuck = stuck, .begin = now});
    told_.store(rows_.size(), std::memory_order_release);
  }
  void end(uint32_t port, uint32_t priority, Time now) noexcept {
    if (FabricStorm* storm = open(port, priority)) std::atomic_ref(storm->end).store(now, std::memory_order_relaxed);
  }
  void drop(uint32_t port, uint32_t priority) noexcept {
    if (FabricStorm* storm = open(port, priority)) count(storm->dropped);
  }
  void forward(uint32_t port, uint32_t priority) noexcept {
    if (FabricStorm* storm = open(port, priority)) count(storm->forwarded);
  }

  bool watched() const noexcept { return rows_.capacity() > 0; }
  std::span<const FabricStorm> rows() const noexcept { return rows_; }
  /// The rows as they are. Other threads may call it at any time.
  std::vector<FabricStorm> copy() const {
    std::vector<FabricStorm> copy(told_.load(std::memory_order_acquire));
    for (size_t i = 0; i < copy.size(); ++i) {
      // No row is constant: what may change is read as it is written.
      auto& row = const_cast<FabricStorm&>(rows_.data()[i]);
      copy[i].port = row.port, copy[i].priority = row.priority, copy[i].stuck = row.stuck, copy[i].begin = row.begin;
      copy[i].end = std::atomic_ref(row.end).load(std::memory_order_relaxed);
      copy[i].dropped = std::atomic_ref(row.dropped).load(std::memory_order_relaxed);
      copy[i].forwarded = std::atomic_ref(row.forwarded).load(std::memory_order_relaxed);
    }
    return copy;
  }
  /// Storms for which there was no room.
  uint64_t lost() const noexcept { return lost_; }

 private:
  static void count(uint64_t& frames) noexcept { std::atomic_ref(frames).store(frames + 1, std::memory_order_relaxed); }
  /// Null for one that is not kept. The queue's last storm is nearest the end.
  FabricStorm* open(uint32_t port, uint32_t priority) noexcept {
    const auto is_it = [&](const FabricStorm& s) {
      return s.port == port && s.priority == priority && s.end == Time::never();
    };
    const auto found = std::find_if(rows_.rbegin(), rows_.rend(), is_it);
    return found == rows_.rend() ? nullptr : &*found;
  }

  std::vector<FabricStorm> rows_;
  std::atomic<size_t> told_{0};
  uint64_t lost_ = 0;
};

}  // namespace rankwire
