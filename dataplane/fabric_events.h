// What is going to happen in a fabric, in the order of time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/units.h"
#include "base/untouched_array.h"

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

/// Of events at one time the one pushed first comes first.
struct FabricEvent {
  Time at;
  uint32_t port : 28;
  FabricEventKind kind : 4;
  uint32_t argument;
};
static_assert(std::is_trivially_copyable_v<FabricEvent> && sizeof(FabricEvent) == 16);

/// A calendar (Brown, CACM 31(10), 1988): the events that come first, in order; those of the days behind them, a list a
/// day as they were pushed; and a heap of what is beyond the calendar, which reaches kDays from the last event popped.
/// A day is sorted when it is taken to the first events, which happens while a few of these are left, so that who pops
/// sees some events ahead. Push and pop take constant time as long as days have few events, or many of one time. Events
/// may be pushed for a time that is past. All memory is reserved at construction and touched as needed; one thread.
class FabricEventQueue {
 public:
  static constexpr int kLongestDay = 12;
  static constexpr int64_t kDays = 1 << 14;

  /// A day has 2^`day_shift` ps, 0 .. 40. Throws std::bad_alloc.
  explicit FabricEventQueue(uint32_t capacity, int day_shift = kLongestDay)
      : capacity_(capacity),
        day_shift_(day_shift),
        base_(Time::long_ago().ps >> day_shift),
        near_(capacity + kUsed),
        scratch_(capacity),
        nodes_(capacity) {
    late_.reserve(capacity);
    days_.assign(kDays, Day());
  }

  uint32_t size() const noexcept { return size_; }
  uint32_t capacity() const noexcept { return capacity_; }

  /// Only when size() < capacity().
  void push(Time at, FabricEventKind kind, uint32_t port, uint32_t argument = 0) noexcept {
    assert(size_ < capacity_);
    const FabricEvent event{at, port, kind, argument};
    ++size_;
    const int64_t day = day_of(at);
    if (first_ == end_) {
      first_ = end_ = 0;
      last_day_ = day;
    } else if (day > last_day_) {
      return store(event, day);
    } else if (day < last_day_ && end_ - first_ >= kFew) {
      put_back(day);
    }
    insert(event);
  }

  /// never() when there is none.
  Time next() const noexcept { return first_ == end_ ? Time::never() : near_[first_].at; }
  /// The one that `pop` returns next. Only when not empty.
  const FabricEvent& front() const noexcept { return near_[first_]; }
  /// The one that is `n` behind it as far as is known, or null.
  const FabricEvent* ahead(uint32_t n) const noexcept { return first_ + n < end_ ? &near_[first_ + n] : nullptr; }
  /// Only when not empty.
  FabricEvent pop() noexcept {
    const FabricEvent event = near_[first_++];
    --size_;
    base_ = day_of(event.at);
    while (!late_.empty() && day_of(late_.front().event.at) - base_ < kDays) {
      const FabricEvent late = pop_late();
      file(late, day_of(late.at));
    }
    if (end_ - first_ < kAhead && size_ > end_ - first_) look_ahead();
    return event;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kWords = kDays / 64;
  static constexpr uint32_t kAhead = 12;  // so few first events are left when days are added to them
  static constexpr uint32_t kFew = 32;    // events that are sorted by insertion
  static constexpr uint32_t kUsed = 64;   // so many places in front of the first events are worth moving them

  struct Day {
    uint32_t first = kNone, last = kNone;
  };
  /// Some events of one day, in the order of pushing: two cache lines.
  struct alignas(64) Node {
    static constexpr uint32_t kEvents = 7;
    uint32_t next;
    uint32_t count;
    std::array<FabricEvent, kEvents> events;
  };
  static_assert(sizeof(Node) == 128);
  struct LateEvent {
    FabricEvent event;
    uint64_t sequence;
  };
  struct Later {
    bool operator()(const LateEvent& a, const LateEvent& b) const noexcept {
      return a.event.at != b.event.at ? a.event.at > b.event.at : a.sequence > b.sequence;
    }
  };

  /// What is past is put into the day of the last event popped.
  int64_t day_of(Time at) const noexcept { return std::max(at.ps >> day_shift_, base_); }

  void store(const FabricEvent& event, int64_t day) noexcept {
    if (day - base_ < kDays) return file(event, day);
    late_.push_back({event, sequence_++});
    std::push_heap(late_.begin(), late_.end(), Later());
  }
  FabricEvent pop_late() noexcept {
    std::pop_heap(late_.begin(), late_.end(), Later());
    const FabricEvent event = late_.back().event;
    late_.pop_back();
    return event;
  }

  /// Those of the first events that are behind `day` go back to where other days' are.
  void put_back(int64_t day) noexcept {
    uint32_t end = end_;
    while (end > first_ && day_of(near_[end - 1].at) > day) --end;
    for (uint32_t i = end; i < end_; ++i) store(near_[i], day_of(near_[i].at));
    end_ = end;
    last_day_ = day;
  }

  /// Behind those of the first events that are not later.
  void insert(const FabricEvent& event) noexcept {
    if (end_ >= capacity_) move_to_front();
    place(event, first_);
  }
  void place(const FabricEvent& event, uint32_t from) noexcept {
    uint32_t place = end_++;
    for (; place > from && near_[place - 1].at > event.at; --place) near_[place] = near_[place - 1];
    near_[place] = event;
  }
  void move_to_front() noexcept {
    std::copy(near_.data() + first_, near_.data() + end_, near_.data());
    end_ -= first_;
    first_ = 0;
  }

  void file(const FabricEvent& event, int64_t day) noexcept {
    const auto slot = static_cast<uint32_t>(day & (kDays - 1));
    Day& list = days_[slot];
    if (list.first != kNone) {
      Node& last = nodes_[list.last];
      if (last.count < Node::kEvents) {
        last.events[last.count++] = event;
        return;
      }
    }
    uint32_t place = free_;
    if (place == kNone) {
      place = touched_++;
    } else {
      free_ = nodes_[place].next;
    }
    Node& node = nodes_[place];
    node.events[0] = event;
    node.next = kNone;
    node.count = 1;
    if (list.first == kNone) {
      list.first = place;
      words_[slot / 64] |= uint64_t{1} << slot % 64;
      summary_[slot / 4096] |= uint64_t{1} << slot / 64 % 64;
    } else {
      nodes_[list.last].next = place;
    }
    list.last = place;
  }

  /// Adds days to the first events: the next one with events if none is left, and behind it small ones.
  void look_ahead() noexcept {
    if (first_ == end_ || first_ >= kUsed) move_to_front();
    while (end_ - first_ < kAhead) {
      const uint32_t from = static_cast<uint32_t>((last_day_ + 1) & (kDays - 1)), slot = first_from(from);
      if (slot == kNone) {
        if (first_ == end_) take_late_day();
        return;
      }
      if (first_ != end_ && !is_small(days_[slot])) return;
      last_day_ += 1 + ((slot - from) & (kDays - 1));
      take_day(slot);
      if (size_ == end_ - first_) return;
    }
    if (const uint32_t slot = first_from(static_cast<uint32_t>((last_day_ + 1) & (kDays - 1))); slot != kNone)
      __builtin_prefetch(&nodes_[days_[slot].first], 1);
  }

  bool is_small(const Day& list) const noexcept {
    return list.first == list.last || nodes_[list.first].next == list.last;
  }

  /// Only when all events are beyond the calendar.
  void take_late_day() noexcept {
    last_day_ = day_of(late_.front().event.at);
    while (!late_.empty() && day_of(late_.front().event.at) == last_day_) near_[end_++] = pop_late();
  }

  /// The first day with events around the calendar, or none.
  uint32_t first_from(uint32_t slot) const noexcept {
    const uint32_t word = slot / 64;
    if (const uint64_t bits = words_[word] >> slot % 64; bits != 0) return slot + std::countr_zero(bits);
    // Word by word, 64 of them at a look; the first word may be looked at again in the end.
    uint32_t next = (word + 1) % kWords;
    for (uint32_t looks = 0; looks <= summary_.size(); ++looks) {
      if (const uint64_t bits = summary_[next / 64] >> next % 64; bits != 0) {
        next += std::countr_zero(bits);
        return next * 64 + std::countr_zero(words_[next]);
      }
      next = (next / 64 + 1) * 64 % kWords;
    }
    return kNone;
  }

  /// Its events become the last of the first ones.
  void take_day(uint32_t slot) noexcept {
    const uint32_t begin = end_;
    for (uint32_t next = days_[slot].first; next != kNone;) {
      Node& node = nodes_[next];
      for (uint32_t i = 0; i < node.count; ++i) {
        // A run at a time is sorted.
        place(node.events[i], end_ - (end_ - begin) % kFew);
      }
      const uint32_t behind = node.next;
      node.next = free_;
      free_ = next;
      next = behind;
    }
    days_[slot] = Day();
    words_[slot / 64] &= ~(uint64_t{1} << slot % 64);
    if (words_[slot / 64] == 0) summary_[slot / 4096] &= ~(uint64_t{1} << slot / 64 % 64);
    if (end_ - begin > kFew) merge_runs({near_.data() + begin, end_ - begin});
  }

  /// Of kFew events each but for the last; stable.
  void merge_runs(std::span<FabricEvent> events) noexcept {
    const auto earlier = [](const FabricEvent& a, const FabricEvent& b) { return a.at < b.at; };
    for (size_t width = kFew; width < events.size(); width *= 2) {
      for (size_t begin = 0; begin + width < events.size(); begin += 2 * width) {
        FabricEvent* to = &events[begin];
        FabricEvent* right = to + width;
        if (!earlier(*right, right[-1])) continue;
        FabricEvent* const right_end = events.data() + std::min(begin + 2 * width, events.size());
        const FabricEvent* left = scratch_.data();
        const FabricEvent* const left_end = std::copy(to, right, scratch_.data());
        while (left != left_end) *to++ = right != right_end && earlier(*right, *left) ? *right++ : *left++;
      }
    }
  }

  uint32_t capacity_;
  int day_shift_;
  uint32_t size_ = 0;
  int64_t base_;                                ///< day of the last event popped
  int64_t last_day_ = 0;                        ///< of the first events: those of later days are elsewhere
  UntouchedArray<FabricEvent> near_, scratch_;  ///< the first events, from first_ to end_; what is being sorted
  uint32_t first_ = 0, end_ = 0;
  std::vector<LateEvent> late_;
  uint64_t sequence_ = 0;  ///< of late events
  UntouchedArray<Node> nodes_;
  uint32_t free_ = kNone, touched_ = 0;
  std::vector<Day> days_;
  std::array<uint64_t, kWords> words_{};
  std::array<uint64_t, kWords / 64> summary_{};
};

}  // namespace rankwire
