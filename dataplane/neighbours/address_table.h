// A hash index of IP addresses within VLANs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/address.h"
#include "base/message.h"

namespace rankwire {

/// Open addressing with linear probing; entries are never removed. No allocation after construction; one thread.
class AddressTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Holds up to `addresses` entries.
  explicit AddressTable(size_t addresses) : slots_(std::bit_ceil(2 * addresses + 1)) {}

  /// The value of the address in the VLAN (0: none), or kNone.
  uint32_t find(uint16_t vlan, const IpAddress& address) const noexcept { return slots_[slot_of(vlan, address)].value; }
  /// `value` is not kNone. An entry that exists is replaced.
  void insert(uint16_t vlan, const IpAddress& address, uint32_t value) noexcept {
    slots_[slot_of(vlan, address)] = {address, value, vlan};
  }

 private:
  struct Slot {
    IpAddress address;
    uint32_t value = kNone;
    uint16_t vlan = 0;
  };

  // The address's slot, or the empty one where it belongs. At least half of the slots are empty, so it ends.
  size_t slot_of(uint16_t vlan, const IpAddress& address) const noexcept {
    uint64_t words[2];
    std::memcpy(words, address.bytes.data(), sizeof words);
    const size_t mask = slots_.size() - 1;
    size_t slot = mix64(mix64(words[0] ^ vlan) ^ words[1]) & mask;
    while (slots_[slot].value != kNone && (slots_[slot].vlan != vlan || slots_[slot].address != address))
      slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<Slot> slots_;
};

}  // namespace rankwire
