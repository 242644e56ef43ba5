// What is going to happen in a fabric.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>
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
};

/// Two words, passed as such: one that lies in memory would be read whole before it is written whole.
class FabricEvent {
 public:
  FabricEvent() = default;
  FabricEvent(Time when, uint32_t port, FabricEventKind kind, uint32_t argument) noexcept
      : at(when), what_(uint64_t{argument} << 32 | static_cast<uint32_t>(kind) << 28 | port) {}

  Time at;
  uint32_t port() const noexcept { return static_cast<uint32_t>(what_) & kPort; }
  FabricEventKind kind() const noexcept { return static_cast<FabricEventKind>(static_cast<uint32_t>(what_) >> 28); }
  uint32_t argument() const noexcept { return static_cast<uint32_t>(what_ >> 32); }

  /// Orders what happens at one time: as if drawn by lot, so that no port is preferred, but always alike, whatever was
  /// pushed first. No two ports or kinds draw the same.
  uint32_t turn() const noexcept {
    return (static_cast<uint32_t>(what_) + static_cast<uint32_t>(at.ps) * 0x85EBCA6Bu) * 0x9E3779B1u;
  }

 private:
  static constexpr uint32_t kPort = (1u << 28) - 1;
  uint64_t what_;
};
static_assert(std::is_trivially_copyable_v<FabricEvent> && sizeof(FabricEvent) == 16);

/// Events by windows of time, and within a window by groups of ports, each of which is a switch: one after the other
/// has all that happens to it in the window, in the order of time and turn, while what it works with is in the caches.
/// That is right as long as no group pushes an event of another for the window that is open (conservative windows:
/// Lubachevsky, "Efficient distributed event-driven simulations of multiple-loop networks", CACM 1989). A single group
/// has no such bound, and takes as many windows at once as it is told.
///
/// A window consists of slots, whose events wait in the order of pushing until it is opened, and are then sorted, digit
/// by digit when they are many; those that are many windows ahead wait in a heap. So push and take need a time that
/// does not depend on how many events there are, but for those that a group pushes for its own open window: each passes
/// the later ones of its group that came before it. All memory is reserved at construction, and but for the first of
/// it touched as needed; one thread.
class FabricAgenda {
 public:
  /// `groups`: of each port. A window is not longer than `reach` (> 0), and at most an eighth shorter, up to 16 us.
  /// Throws std::bad_alloc.
  FabricAgenda(std::vector<uint32_t> groups, Duration reach, uint32_t capacity)
      : groups_(std::move(groups)),
        group_bits_(static_cast<uint32_t>(
            groups_.empty() ? 0 : std::bit_width(*std::max_element(groups_.begin(), groups_.end())))),
        single_(group_bits_ == 0),
        shift_(static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(std::min(reach, kLongest).ps) >>
                                                    (single_ ? kSlotBitsOfSingle : kSlotBits)))),
        width_(std::min(reach, kLongest).ps >> shift_),
        bits_(static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>((width_ << shift_) - 1)))),
        capacity_(capacity),
        current_(first_of_window(Time::long_ago())),
        own_(capacity),
        blocks_(capacity / Block::kEvents + kSlots + 2),
        batch_(capacity + kMostBehind + 1),
        sorting_(capacity + kMostBehind + 1) {
    far_.reserve(capacity);
    if (capacity > 0) own_.touch_first();
    blocks_.touch_first();
    batch_.touch_first();
  }

  uint32_t size() const noexcept { return size_; }

  /// Only when there is room. Events may be pushed for a time that is past.
  [[gnu::always_inline]] void push(Time at, FabricEventKind kind, uint32_t port, uint32_t argument = 0) noexcept {
    assert(size_ < capacity_);
    ++size_;
    const FabricEvent event{at, port, kind, argument};
    if (at < end_) return push_own(event);
    waiting_ = std::min(waiting_, at);
    if (slot_at(at) >= current_ + kSlots) return push_far(event);
    put(event);
  }

  /// When the first event is, or never(): of those in the open window that of the group whose turn it is.
  Time next() const noexcept {
    Time next = waiting_;
    if (position_ < count_) next = std::min(next, batch_[position_].at);
    if (has_own()) next = std::min(next, own_[own_begin_].at);
    return next;
  }
  /// Of the window that the time is in.
  Time end_of_window(Time at) const noexcept {
    return at == Time::never() ? at : Time((first_of_window(at) + width_) << shift_);
  }

  /// Opens the window of the first event, for what is before `limit`; of a single group, that and the next ones up to
  /// `limit`, since nothing between groups ends them. No window is open, and next() < limit.
  void open(Time limit) noexcept {
    assert(!is_open() && waiting_ < limit);
    position_ = count_ = 0;
    if (single_) {
      gather_slots(limit);
    } else {
      current_ = std::max(current_, first_of_window(waiting_));
      end_ = std::min(limit, Time((current_ + width_) << shift_));
      take_in_far();
      for (int64_t slot = current_; slot < current_ + width_; ++slot) gather(place_of(slot));
      sort();
    }
    std::fill_n(&batch_[count_], kMostBehind + 1, FabricEvent{Time::never(), 0, FabricEventKind::kWake, 0});
    find_waiting();
  }
  /// Whether something is left of the window that was opened last.
  bool is_open() const noexcept { return position_ < count_ || has_own(); }
  /// What is pushed from now on waits for the next window. None is open.
  void close() noexcept { end_ = Time::long_ago(); }

  /// The next event of the open window, which has one.
  FabricEvent take() noexcept {
    return take([] {});
  }
  /// The same; calls `look()` before it unless the event was pushed since the window was opened.
  template <class Look>
  [[gnu::always_inline]] FabricEvent take(Look look) noexcept {
    --size_;
    if (has_own() && !(position_ < count_ && is_taken_first(batch_[position_], own_[own_begin_])))
      return own_[own_begin_++];
    look();
    return batch_[position_++];
  }
  /// The event that is `n` <= kMostBehind places behind the next one of those that were there when the window was
  /// opened; beyond their end a kWake of port 0.
  const FabricEvent& behind(uint32_t n) const noexcept { return batch_[position_ + n]; }
  static constexpr uint32_t kMostBehind = 24;

 private:
  static constexpr int64_t kSlots = 4096;           // at hand, a power of two
  static constexpr uint32_t kSlotBits = 4;          // of the slots of a window, which are 8 .. 15
  static constexpr uint32_t kSlotBitsOfSingle = 6;  // 32 .. 63, since each is put in order by comparing
  static constexpr Duration kLongest{1 << 24};
  static constexpr uint32_t kDigit = 10;    // bits
  static constexpr uint32_t kFew = 128;     // events that are sooner compared than counted
  static constexpr uint32_t kVeryFew = 24;  // that are sooner compared each with the one before
  static constexpr uint32_t kNone = UINT32_MAX;

  struct alignas(64) Block {
    static constexpr uint32_t kEvents = 63;
    uint32_t next;  ///< beside the first events: few blocks have more
    std::array<FabricEvent, kEvents> events;
  };
  static_assert(sizeof(Block) == 1024);
  /// Events of a slot: all blocks are full but the first.
  struct Waiting {
    Time earliest = Time::never();
    uint32_t first = kNone;
    uint32_t used = Block::kEvents;  ///< of the first block
  };
  using Counts = std::array<uint32_t, 1u << kDigit>;

  uint32_t group_of(const FabricEvent& event) const noexcept { return groups_[event.port()]; }
  /// Slots are numbered from time 0 on, and this is where those at hand stand.
  int64_t slot_at(Time at) const noexcept { return at.ps >> shift_; }
  static uint32_t place_of(int64_t slot) noexcept { return static_cast<uint32_t>(slot & (kSlots - 1)); }
  /// The first slot of the window that the time is in.
  int64_t first_of_window(Time at) const noexcept {
    const int64_t slot = slot_at(at), rest = slot % width_;
    return slot - rest - (rest < 0 ? width_ : 0);
  }
  static bool is_before(const FabricEvent& a, const FabricEvent& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.turn() < b.turn();
  }
  static bool is_after(const FabricEvent& a, const FabricEvent& b) noexcept { return is_before(b, a); }
  bool is_taken_before(const FabricEvent& a, const FabricEvent& b) const noexcept {
    const uint32_t group = group_of(a), other = group_of(b);
    return group != other ? group < other : is_before(a, b);
  }

  /// The second is of the group whose turn it is.
  bool is_taken_first(const FabricEvent& event, const FabricEvent& own) const noexcept {
    return group_of(event) == group_of(own) && is_before(event, own);
  }

  // Not inline: what they need is not to weigh on the way that most events take.
  [[gnu::noinline]] void push_far(FabricEvent event) noexcept {
    far_.push_back(event);
    std::push_heap(far_.begin(), far_.end(), is_after);
  }
  [[gnu::noinline]] FabricEvent pop_far() noexcept {
    std::pop_heap(far_.begin(), far_.end(), is_after);
    const FabricEvent event = far_.back();
    far_.pop_back();
    return event;
  }

  bool has_own() const noexcept { return own_begin_ < own_end_; }
  /// They come nearly in their order, and few at a time.
  [[gnu::noinline]] void push_own(FabricEvent event) noexcept {
    if (!has_own()) {
      own_begin_ = own_end_ = 0;
    } else if (own_end_ == capacity_) {
      std::copy(&own_[own_begin_], &own_[own_end_], &own_[0]);
      own_end_ -= std::exchange(own_begin_, 0);
    }
    uint32_t place = own_end_++;
    for (; place > own_begin_ && is_before(event, own_[place - 1]); --place) own_[place] = own_[place - 1];
    own_[place] = event;
  }

  /// What is late is put into the first slot that can still be opened.
  void put(FabricEvent event) noexcept {
    const uint32_t place = place_of(std::max(current_, slot_at(event.at)));
    Waiting& waiting = waiting_events_[place];
    if (waiting.used == Block::kEvents) add_block(waiting);
    blocks_[waiting.first].events[waiting.used++] = event;
    waiting.earliest = std::min(waiting.earliest, event.at);
    occupied_[place / 64] |= uint64_t{1} << place % 64;
  }

  [[gnu::noinline]] void add_block(Waiting& waiting) noexcept {
    const uint32_t block = free_ == kNone ? touched_++ : free_;
    if (block == free_) free_ = blocks_[block].next;
    blocks_[block].next = waiting.first;
    waiting.first = block;
    waiting.used = 0;
  }

  /// What is not far any more.
  void take_in_far() noexcept {
    while (!far_.empty() && far_.front().at < end_) put(pop_far());
  }

  /// The first slot with an event and those up to `limit`, but no more than half of what is at hand. Each is put in
  /// order by itself.
  void gather_slots(Time limit) noexcept {
    current_ = std::max(current_, slot_at(waiting_));
    const int64_t last = std::min(current_ + kSlots / 2, std::max(current_, slot_at(limit - Duration(1))));
    end_ = std::min(limit, Time((last + 1) << shift_));
    take_in_far();
    for (int64_t slot = current_; slot <= last; ++slot) {
      const uint32_t place = place_of(slot);
      const uint64_t occupied = occupied_[place / 64] >> place % 64;
      if (occupied == 0) {
        slot |= 63;  // the last of this word
        continue;
      }
      slot += std::countr_zero(occupied);
      if (slot > last) break;
      const uint32_t first = count_;
      gather(place_of(slot));
      order_from(first);
    }
    current_ = last;
  }

  /// The batch from `first` on: one group's events, which mostly have come in their order.
  void order_from(uint32_t first) noexcept {
    if (count_ - first > kVeryFew) return std::sort(&batch_[first], &batch_[count_], is_before);
    for (uint32_t i = first + 1; i < count_; ++i) {
      for (uint32_t k = i; k > first && is_before(batch_[k], batch_[k - 1]); --k) std::swap(batch_[k], batch_[k - 1]);
    }
  }

  /// Into the batch goes what waits in the slot; what is not before the window's end waits on.
  void gather(uint32_t place) noexcept {
    Waiting waiting = std::exchange(waiting_events_[place], {});
    occupied_[place / 64] &= ~(uint64_t{1} << place % 64);
    while (waiting.first != kNone) {
      const Block& block = blocks_[waiting.first];
      for (uint32_t i = 0; i < waiting.used; ++i) {
        if (block.events[i].at < end_) {
          batch_[count_++] = block.events[i];
        } else {
          put(block.events[i]);
        }
      }
      const uint32_t next = block.next;
      blocks_[waiting.first].next = free_;
      free_ = waiting.first;
      waiting.first = next;
      waiting.used = Block::kEvents;
    }
  }

  void sort() noexcept {
    const auto is_first = [this](const FabricEvent& a, const FabricEvent& b) { return is_taken_before(a, b); };
    if (count_ <= kFew) return std::sort(batch_.data(), batch_.data() + count_, is_first);
    // Where few events fall into one of the parts that the high digit tells apart, comparing does the rest.
    const uint32_t lowest = count_ >> (kDigit + group_bits_) == 0 && bits_ > kDigit ? bits_ - kDigit : 0;
    const int64_t begin = current_ << shift_;
    for (uint32_t bit = lowest; bit < bits_; bit += kDigit)
      sort_by(
          [=](const FabricEvent& e) { return static_cast<uint32_t>(std::max<int64_t>(0, e.at.ps - begin)) >> bit; });
    for (uint32_t bit = 0; bit < group_bits_; bit += kDigit)
      sort_by([this, bit](const FabricEvent& e) { return group_of(e) >> bit; });
    for (uint32_t i = 1; i < count_; ++i) {
      for (uint32_t k = i; k > 0 && batch_[k].at <= batch_[k - 1].at && is_first(batch_[k], batch_[k - 1]); --k)
        std::swap(batch_[k], batch_[k - 1]);
    }
  }
  /// Stably, by the low digit.
  template <class DigitOf>
  void sort_by(DigitOf digit_of) noexcept {
    constexpr uint32_t kMask = (1u << kDigit) - 1;
    Counts places{};
    for (uint32_t i = 0; i < count_; ++i) ++places[digit_of(batch_[i]) & kMask];
    uint32_t sum = 0;
    for (uint32_t& place : places) sum += std::exchange(place, sum);
    for (uint32_t i = 0; i < count_; ++i) sorting_[places[digit_of(batch_[i]) & kMask]++] = batch_[i];
    std::swap(batch_, sorting_);
  }

  /// Of what is not in the open window.
  void find_waiting() noexcept {
    waiting_ = far_.empty() ? Time::never() : far_.front().at;
    if (size_ == count_ + far_.size()) return;
    constexpr uint32_t kWords = kSlots / 64;
    const uint32_t first = place_of(current_);
    for (uint32_t word = 0; word <= kWords; ++word) {
      const uint32_t number = (first / 64 + word) % kWords;
      uint64_t bits = occupied_[number];
      if (word == 0) bits &= ~uint64_t{0} << first % 64;
      if (word == kWords) bits &= ~(~uint64_t{0} << first % 64);
      if (bits == 0) continue;
      waiting_ =
          std::min(waiting_, waiting_events_[number * 64 + static_cast<uint32_t>(std::countr_zero(bits))].earliest);
      return;
    }
  }

  const std::vector<uint32_t> groups_;
  const uint32_t group_bits_;
  const bool single_;     ///< all ports are of group 0
  const uint32_t shift_;  ///< a slot is 2^shift_ ps
  const int64_t width_;   ///< of a window, in slots
  const uint32_t bits_;   ///< of times since a window's begin
  const uint32_t capacity_;
  uint32_t size_ = 0;
  // The open window.
  int64_t current_;              ///< its first slot, or that of the last one
  Time end_ = Time::long_ago();  ///< what is pushed for before belongs to it
  uint32_t position_ = 0, count_ = 0;
  uint32_t own_begin_ = 0, own_end_ = 0;
  UntouchedArray<FabricEvent> own_;  ///< pushed since it was opened: in order, from own_begin_ up to own_end_
  // What waits for a window.
  Time waiting_ = Time::never();  ///< the first of it
  std::array<Waiting, kSlots> waiting_events_{};
  std::array<uint64_t, kSlots / 64> occupied_{};  ///< a bit a slot
  std::vector<FabricEvent> far_;                  ///< a heap
  UntouchedArray<Block> blocks_;
  uint32_t free_ = kNone, touched_ = 0;
  UntouchedArray<FabricEvent> batch_, sorting_;
};

}  // namespace rankwire
