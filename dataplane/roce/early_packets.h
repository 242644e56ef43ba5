// What a receiver keeps that has come too early: packets ahead of one that is missing.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/protocol/queue_pair.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// A packet with the port, by place, that its frame is to be given back to.
struct EarlyPacket {
  Frame frame;
  uint32_t psn = 0;
  uint32_t lane = 0;
};

/// For each queue pair those packets ahead of a gap that are at most `reach` behind it, in the order of their PSNs: the
/// rest of a network that does not keep order. No allocation after construction; one thread.
class EarlyPackets {
 public:
  enum class Outcome : uint8_t {
    kKept,
    kDuplicate,  ///< it is here already
    kNoRoom,     ///< too far ahead, or too many of its port's are here
  };

  /// Of a port: few enough for its device to have frames left to receive into.
  static constexpr uint32_t kMostOfLane = 768;

  /// `reach` >= 1; `lanes` >= 1.
  EarlyPackets(uint32_t queue_pairs, uint32_t lanes, uint32_t reach)
      : reach_(static_cast<int32_t>(reach)),
        oldest_(queue_pairs, kNone),
        room_(lanes, kMostOfLane),
        slots_(size_t{lanes} * kMostOfLane) {
    for (uint32_t s = 0; s < slots_.size(); ++s) slots_[s].next = s + 1 < slots_.size() ? s + 1 : kNone;
  }

  bool any(uint32_t queue_pair) const noexcept { return oldest_[queue_pair] != kNone; }

  /// `packet` is ahead of `expected`, the PSN that its queue pair waits for.
  Outcome keep(uint32_t queue_pair, uint32_t expected, const EarlyPacket& packet) noexcept {
    if (psn_distance(expected, packet.psn) > reach_ || room_[packet.lane] == 0) return Outcome::kNoRoom;
    uint32_t* link = &oldest_[queue_pair];
    while (*link != kNone && psn_distance(slots_[*link].packet.psn, packet.psn) > 0) link = &slots_[*link].next;
    if (*link != kNone && slots_[*link].packet.psn == packet.psn) return Outcome::kDuplicate;
    const uint32_t slot = free_;
    free_ = slots_[slot].next;
    slots_[slot] = {packet, *link};
    *link = slot;
    --room_[packet.lane];
    return Outcome::kKept;
  }

  /// Whether `take` has something.
  bool due(uint32_t queue_pair, uint32_t expected) const noexcept {
    const uint32_t slot = oldest_[queue_pair];
    return slot != kNone && psn_distance(expected, slots_[slot].packet.psn) <= 0;
  }
  /// Takes the oldest packet, if it is not ahead of `expected`. False: there is none.
  bool take(uint32_t queue_pair, uint32_t expected, EarlyPacket& packet) noexcept {
    if (!due(queue_pair, expected)) return false;
    const uint32_t slot = oldest_[queue_pair];
    packet = slots_[slot].packet;
    oldest_[queue_pair] = slots_[slot].next;
    slots_[slot].next = free_;
    free_ = slot;
    ++room_[packet.lane];
    return true;
  }
  /// The same of any packet.
  bool take(uint32_t queue_pair, EarlyPacket& packet) noexcept {
    return any(queue_pair) && take(queue_pair, slots_[oldest_[queue_pair]].packet.psn, packet);
  }

  /// Memory that a queue pair takes, its packets apart.
  static constexpr size_t kBytesEach = sizeof(uint32_t);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Slot {
    EarlyPacket packet;
    uint32_t next = kNone;
  };

  int32_t reach_;
  std::vector<uint32_t> oldest_;  // by queue pair
  std::vector<uint32_t> room_;    // by lane
  std::vector<Slot> slots_;
  uint32_t free_ = 0;
};

}  // namespace rankwire
