// What is going to happen in a fabric, in the order of time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
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

/// A calendar (Brown, CACM 31(10), 1988): the events of the first day that has any, in order; those of the days behind
/// it, a list a day as they were pushed; and a heap of what is beyond the calendar, which reaches kDays from the last
/// event popped. A day is sorted when it becomes the first. Push and pop take constant time as long as days have few
/// events, or many of one time. Events may be pushed for a time that is past. All memory is reserved at construction
/// and touched as needed; one thread.
class FabricEventQueue {
 public:
  static constexpr int kLongestDay = 10;
  static constexpr int64_t kDays = 1 << 16;

  /// A day has 2^`day_shift` ps, 0 .. 40. Throws std::bad_alloc.
  explicit FabricEventQueue(uint32_t capacity, int day_shift = kLongestDay)
      : capacity_(capacity),
        day_shift_(day_shift),
        base_(Time::long_ago().ps >> day_shift),
        near_(capacity),
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
    if (first_ != end_ && day >= today_) return day == today_ ? insert(event) : store(event, day);
    put_back();
    today_ = day;
    near_[0] = event;
    first_ = 0;
    end_ = 1;
  }

  /// never() when there is none.
  Time next() const noexcept { return first_ == end_ ? Time::never() : near_[first_].at; }
  /// The one that `pop` returns next. Only when not empty.
  const FabricEvent& front() const noexcept { return near_[first_]; }
  /// Changes when another day becomes the first: then `ahead` knows other events.
  uint32_t turns() const noexcept { return turns_; }
  /// The one that is `n` behind it, if it is known already, or null.
  const FabricEvent* ahead(uint32_t n) const noexcept { return first_ + n < end_ ? &near_[first_ + n] : nullptr; }
  /// Only when not empty.
  FabricEvent pop() noexcept {
    const FabricEvent event = near_[first_++];
    --size_;
    base_ = today_;
    while (!late_.empty() && day_of(late_.front().event.at) - base_ < kDays) {
      const FabricEvent late = pop_late();
      file(late, day_of(late.at));
    }
    if (first_ == end_ && size_ > 0) turn_day();
    return event;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kWords = kDays / 64;
  static constexpr uint32_t kFew = 32;  // events that are sorted by insertion

  struct Day {
    uint32_t first = kNone, last = kNone;
  };
  /// Some events of one day, in the order of pushing: a cache line.
  struct alignas(64) Node {
    static constexpr uint32_t kEvents = 3;
    std::array<FabricEvent, kEvents> events;
    uint32_t next;
    uint32_t count;
  };
  static_assert(sizeof(Node) == 64);
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

  /// The first day's events go back to where other days' are: another comes before it.
  void put_back() noexcept {
    for (; first_ != end_; ++first_) store(near_[first_], today_);
  }

  /// Behind those of the first day that are not later.
  void insert(const FabricEvent& event) noexcept {
    if (end_ == capacity_) {
      std::copy(&near_[first_], near_.data() + end_, near_.data());
      end_ -= first_;
      first_ = 0;
    }
    uint32_t place = end_++;
    for (; place > first_ && near_[place - 1].at > event.at; --place) near_[place] = near_[place - 1];
    near_[place] = event;
  }

  void file(const FabricEvent& event, int64_t day) noexcept {
    ++filed_;
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

  /// Makes the next day with events the first. Only when there are events, and none in `near_`.
  void turn_day() noexcept {
    first_ = end_ = 0;
    if (filed_ > 0) {
      today_ = next_day();
      return take_day(static_cast<uint32_t>(today_ & (kDays - 1)));
    }
    today_ = day_of(late_.front().event.at);
    while (!late_.empty() && day_of(late_.front().event.at) == today_) near_[end_++] = pop_late();
  }

  /// The first day that is filed; there is one. All of them are less than kDays from `base_`.
  int64_t next_day() const noexcept {
    const auto from = static_cast<uint32_t>(base_ & (kDays - 1));
    return base_ + ((first_from(from) - from) & (kDays - 1));
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

  /// Its events become those of the first day.
  void take_day(uint32_t slot) noexcept {
    uint32_t count = 0;
    for (uint32_t place = days_[slot].first; place != kNone;) {
      Node& node = nodes_[place];
      for (uint32_t i = 0; i < node.count; ++i) near_[count++] = node.events[i];
      const uint32_t next = node.next;
      node.next = free_;
      free_ = place;
      place = next;
    }
    end_ = count;
    filed_ -= count;
    days_[slot] = Day();
    words_[slot / 64] &= ~(uint64_t{1} << slot % 64);
    if (words_[slot / 64] == 0) summary_[slot / 4096] &= ~(uint64_t{1} << slot / 64 % 64);
    sort_near();
    ++turns_;
    if (filed_ > 0) __builtin_prefetch(&nodes_[days_[first_from((slot + 1) & (kDays - 1))].first], 1);
  }

  /// Stable: by insertion, runs of kFew at a time, then merged.
  void sort_near() noexcept {
    for (uint32_t begin = 0; begin < end_; begin += kFew) {
      const uint32_t run_end = std::min(begin + kFew, end_);
      for (uint32_t i = begin + 1; i < run_end; ++i) {
        const FabricEvent event = near_[i];
        uint32_t place = i;
        for (; place > begin && near_[place - 1].at > event.at; --place) near_[place] = near_[place - 1];
        near_[place] = event;
      }
    }
    const auto earlier = [](const FabricEvent& a, const FabricEvent& b) { return a.at < b.at; };
    FabricEvent* const events = near_.data();
    for (uint32_t width = kFew; width < end_; width *= 2) {
      for (uint32_t begin = 0; begin + width < end_; begin += 2 * width) {
        FabricEvent* to = events + begin;
        FabricEvent* right = to + width;
        if (!earlier(*right, right[-1])) continue;
        FabricEvent* const right_end = events + std::min(begin + 2 * width, end_);
        const FabricEvent* left = scratch_.data();
        const FabricEvent* const left_end = std::copy(to, right, scratch_.data());
        while (left != left_end) *to++ = right != right_end && earlier(*right, *left) ? *right++ : *left++;
      }
    }
  }

  uint32_t capacity_;
  int day_shift_;
  uint32_t size_ = 0, filed_ = 0;
  int64_t base_;                                ///< day of the last event popped
  int64_t today_ = 0;                           ///< the first day that has events
  UntouchedArray<FabricEvent> near_, scratch_;  ///< its events, in order, from first_ to end_; what is being sorted
  uint32_t first_ = 0, end_ = 0;
  std::vector<LateEvent> late_;
  uint64_t sequence_ = 0;  ///< of late events
  uint32_t turns_ = 0;
  UntouchedArray<Node> nodes_;
  uint32_t free_ = kNone, touched_ = 0;
  std::vector<Day> days_;
  std::array<uint64_t, kWords> words_{};
  std::array<uint64_t, kWords / 64> summary_{};
};

}  // namespace rankwire
