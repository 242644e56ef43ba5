// The frames that a fabric holds, and queues of them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/untouched_array.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// What switches need to know of a frame, so that they need not look at it again: small, for of all that are on their
/// way it must stay in the caches.
struct FabricPacket {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint16_t kFlooded = UINT16_MAX;     ///< as destination: everybody
  static constexpr uint16_t kUnread = UINT16_MAX - 1;  ///< the same: its headers are to be read by the first switch

  Time arrival;          ///< of the last bit at the switch, or at the host
  uint32_t next;         ///< in a queue
  uint32_t length;       ///< bytes of the frame
  uint32_t flow;         ///< hash of the flow; 0 where one switch has no ways to choose from
  uint32_t ingress;      ///< the port of the present switch by which it came
  uint16_t destination;  ///< host, kFlooded or kUnread
  uint8_t priority;
  bool ecn_capable;
};
static_assert(std::is_trivially_copyable_v<FabricPacket> && sizeof(FabricPacket) == 32);

/// First in, first out.
struct PacketList {
  uint32_t head = FabricPacket::kNone, tail = FabricPacket::kNone;
  bool empty() const noexcept { return head == FabricPacket::kNone; }
};

/// Memory is reserved at construction; since freed places are used again first, only as much of it is ever touched as
/// was full at once; the first of it is, by the constructor. One thread.
class PacketStore {
 public:
  /// Throws std::bad_alloc.
  explicit PacketStore(uint32_t capacity) : capacity_(capacity), packets_(capacity), frames_(capacity) {
    if (capacity == 0) return;
    packets_.touch_first();
    frames_.touch_first();
  }

  FabricPacket& operator[](uint32_t handle) noexcept { return packets_[handle]; }
  const FabricPacket& operator[](uint32_t handle) const noexcept { return packets_[handle]; }
  /// The packet's frame, as it was given to `take`: FabricPacket::arrival goes on from there.
  Frame& frame(uint32_t handle) noexcept { return frames_[handle].frame; }

  uint32_t capacity() const noexcept { return capacity_; }
  uint32_t used() const noexcept { return used_; }
  uint32_t room() const noexcept { return capacity_ - used_; }

  /// A place for the frame, whose packet has the frame's length, and all else undefined. Only when there is room.
  uint32_t take(const Frame& frame) noexcept {
    ++used_;
    uint32_t handle = free_;
    if (handle == FabricPacket::kNone) {
      handle = touched_++;
    } else {
      free_ = packets_[handle].next;
      // Of the place that is taken next, since only this one tells which it is.
      if (free_ != FabricPacket::kNone) {
        __builtin_prefetch(&packets_[free_], 1);
        __builtin_prefetch(&frames_[free_], 1);
      }
    }
    frames_[handle].frame = frame;
    packets_[handle].length = frame.length();
    return handle;
  }
  void give_back(uint32_t handle) noexcept {
    (*this)[handle].next = free_;
    free_ = handle;
    --used_;
  }

  void append(PacketList& list, uint32_t handle) noexcept {
    (*this)[handle].next = FabricPacket::kNone;
    if (list.empty()) {
      list.head = handle;
    } else {
      (*this)[list.tail].next = handle;
    }
    list.tail = handle;
  }
  /// `list` is not empty.
  uint32_t remove_front(PacketList& list) noexcept {
    const uint32_t handle = list.head;
    list.head = (*this)[handle].next;
    return handle;
  }

 private:
  struct alignas(64) Place {
    Frame frame;
  };

  uint32_t capacity_;
  UntouchedArray<FabricPacket> packets_;
  UntouchedArray<Place> frames_;
  uint32_t used_ = 0, touched_ = 0;
  uint32_t free_ = FabricPacket::kNone;
};

}  // namespace rankwire
