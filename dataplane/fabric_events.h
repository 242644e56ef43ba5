// What is going to happen in a fabric, in the order of time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "base/units.h"

namespace rankwire {

enum class FabricEventKind : uint8_t {
  kArrive,    ///< a frame can go to an output queue; argument: its handle
  kWake,      ///< the line is free and frames wait
  kExpire,    ///< a pause may be over
  kPause,     ///< flow control from the next switch; argument: priorities | those to be paused << 8
  kRefresh,   ///< priorities that are paused must be told so again
  kWatchdog,  ///< look for pause storms
  kDeliver,   ///< the first frame on the line is at the host
  kCable,     ///< argument: which entry of the schedule
  kReroute,   ///< routes follow the state of the cables
};

struct FabricEvent {
  Time at;
  uint64_t sequence;  ///< of events at one time the one pushed first comes first
  uint32_t port : 28;
  FabricEventKind kind : 4;
  uint32_t argument;
};
static_assert(std::is_trivially_copyable_v<FabricEvent> && sizeof(FabricEvent) == 24);

/// A calendar (Brown, CACM 31(10), 1988) of which only the current day is sorted: a heap of the nearest events, days of
/// 1.024 ns for the next 33.5 us, and a heap of what is later. Push and pop take constant time as long as days have few
/// events. Events may be pushed for a time that is past. All memory is reserved at construction and touched as needed;
/// one thread.
class FabricEventQueue {
 public:
  /// Throws std::bad_alloc.
  explicit FabricEventQueue(uint32_t capacity)
      : capacity_(capacity), nodes_(static_cast<Node*>(std::aligned_alloc(64, (sizeof(Node) * capacity + 63) & ~63))) {
    if (!nodes_) throw std::bad_alloc();
    near_.reserve(capacity);
    late_.reserve(capacity);
    days_.assign(kDays, kNone);
  }

  uint32_t size() const noexcept { return size_; }
  uint32_t capacity() const noexcept { return capacity_; }

  /// Only when size() < capacity().
  void push(Time at, FabricEventKind kind, uint32_t port, uint32_t argument = 0) noexcept {
    assert(size_ < capacity_);
    const FabricEvent event{at, sequence_++, port, kind, argument};
    ++size_;
    const int64_t day = at.ps >> kDayShift;
    if (day <= today_) {
      push_heap(near_, event);
    } else if (day - today_ < kDays) {
      file(event, day);
    } else {
      push_heap(late_, event);
    }
    if (near_.empty()) turn_day();
  }

  /// never() when there is none.
  Time next() const noexcept { return near_.empty() ? Time::never() : near_.front().at; }

  /// Only when not empty.
  FabricEvent pop() noexcept {
    std::pop_heap(near_.begin(), near_.end(), Later());
    const FabricEvent event = near_.back();
    near_.pop_back();
    --size_;
    if (near_.empty() && size_ > 0) turn_day();
    return event;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kDayShift = 10;
  static constexpr int64_t kDays = 1 << 15;
  static constexpr uint32_t kWords = kDays / 64;

  struct Node {
    FabricEvent event;
    uint32_t next;
  };
  struct Free {
    void operator()(Node* nodes) const { std::free(nodes); }
  };
  struct Later {
    bool operator()(const FabricEvent& a, const FabricEvent& b) const noexcept {
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };

  static void push_heap(std::vector<FabricEvent>& heap, const FabricEvent& event) noexcept {
    heap.push_back(event);
    std::push_heap(heap.begin(), heap.end(), Later());
  }

  void file(const FabricEvent& event, int64_t day) noexcept {
    uint32_t place = free_;
    if (place == kNone) {
      place = touched_++;
    } else {
      free_ = nodes_.get()[place].next;
    }
    const auto slot = static_cast<uint32_t>(day & (kDays - 1));
    nodes_.get()[place] = {event, days_[slot]};
    days_[slot] = place;
    words_[slot / 64] |= uint64_t{1} << slot % 64;
    summary_[slot / 4096] |= uint64_t{1} << slot / 64 % 64;
    ++filed_;
  }

  /// Makes the next day with events the current one. Only when there are events, and none in `near_`.
  void turn_day() noexcept {
    if (filed_ == 0) {
      today_ = late_.front().at.ps >> kDayShift;
    } else {
      today_ = next_day();
      take_day(static_cast<uint32_t>(today_ & (kDays - 1)));
    }
    while (!late_.empty() && (late_.front().at.ps >> kDayShift) - today_ < kDays) {
      std::pop_heap(late_.begin(), late_.end(), Later());
      const FabricEvent event = late_.back();
      late_.pop_back();
      const int64_t day = event.at.ps >> kDayShift;
      if (day <= today_) {
        push_heap(near_, event);
      } else {
        file(event, day);
      }
    }
  }

  /// The first day after today that has events; there is one. All filed days are less than kDays away.
  int64_t next_day() const noexcept {
    const auto from = static_cast<uint32_t>((today_ + 1) & (kDays - 1));
    const uint32_t slot = first_from(from);
    const auto away = static_cast<int64_t>((slot - from) & (kDays - 1));
    return today_ + 1 + away;
  }

  uint32_t first_from(uint32_t slot) const noexcept {
    const uint32_t word = slot / 64;
    if (const uint64_t bits = words_[word] >> slot % 64; bits != 0) return slot + std::countr_zero(bits);
    // Word by word around the calendar, 64 of them at a look; the first word may be looked at again in the end.
    uint32_t next = (word + 1) % kWords;
    while (true) {
      if (const uint64_t bits = summary_[next / 64] >> next % 64; bits != 0) {
        next += std::countr_zero(bits);
        return next * 64 + std::countr_zero(words_[next]);
      }
      next = (next / 64 + 1) * 64 % kWords;
    }
  }

  void take_day(uint32_t slot) noexcept {
    for (uint32_t place = days_[slot]; place != kNone;) {
      Node& node = nodes_.get()[place];
      push_heap(near_, node.event);
      const uint32_t next = node.next;
      node.next = free_;
      free_ = place;
      place = next;
      --filed_;
    }
    days_[slot] = kNone;
    words_[slot / 64] &= ~(uint64_t{1} << slot % 64);
    if (words_[slot / 64] == 0) summary_[slot / 4096] &= ~(uint64_t{1} << slot / 64 % 64);
  }

  uint32_t capacity_;
  uint32_t size_ = 0, filed_ = 0;
  uint64_t sequence_ = 0;
  int64_t today_ = Time::long_ago().ps >> kDayShift;
  std::vector<FabricEvent> near_, late_;
  std::unique_ptr<Node, Free> nodes_;
  uint32_t free_ = kNone, touched_ = 0;
  std::vector<uint32_t> days_;
  std::array<uint64_t, kWords> words_{};
  std::array<uint64_t, kWords / 64> summary_{};
};

}  // namespace rankwire
