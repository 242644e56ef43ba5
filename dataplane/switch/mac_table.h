// The filtering database of a bridge: which port a station is behind (IEEE 802.1Q-2018, 8.8).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/message.h"

namespace rankwire {

/// Open addressing with linear probing over one 64-bit word an entry. Sized at construction; entries are moved but
/// never removed (no ageing). One thread.
class MacTable {
 public:
  /// Holds up to `addresses` > 0 stations.
  explicit MacTable(size_t addresses) : room_(addresses), slots_(std::bit_ceil(2 * addresses)) {}

  /// Remembers that the station `mac` (48 bits, wire order read as a big-endian number) is behind `port`. Forgets it
  /// silently when the table is full, as a bridge does: the station's frames are then flooded. Whether the station was
  /// behind another port before.
  bool learn(uint64_t mac, uint16_t port) noexcept {
    const size_t slot = find(mac);
    const uint64_t entry = mac << 16 | (port + 1u);
    if (slots_[slot] == entry) return false;
    const bool is_new = slots_[slot] == 0;
    if (is_new) {
      if (room_ == 0) return false;
      --room_;
    }
    slots_[slot] = entry;
    return !is_new;
  }

  std::optional<uint16_t> port_of(uint64_t mac) const noexcept {
    const uint64_t entry = slots_[find(mac)];
    if (entry == 0) return std::nullopt;
    return static_cast<uint16_t>((entry & 0xFFFF) - 1);
  }

 private:
  /// The slot of `mac`, or the empty one where it belongs. At least half of the slots are empty, so it ends.
  size_t find(uint64_t mac) const noexcept {
    const size_t mask = slots_.size() - 1;
    size_t slot = mix64(mac) & mask;
    while (slots_[slot] != 0 && slots_[slot] >> 16 != mac) slot = (slot + 1) & mask;
    return slot;
  }

  size_t room_;
  std::vector<uint64_t> slots_;  ///< address << 16 | port + 1; 0 when empty
};

}  // namespace rankwire
