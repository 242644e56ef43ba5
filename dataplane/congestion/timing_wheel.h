// Queue pairs by the time at which they may send again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// Holds each index of a table of places at most once, with a time: a wheel of slots with a bit for each that is not
/// empty (Varghese and Lauck 1987, scheme 6; for pacing: Saeed et al., Carousel, SIGCOMM 2017). Adding and finding the
/// earliest take constant time; taking those of a slot takes time in proportion to them. Slots only sort: times are
/// exact, and nothing leaves before its time. What is due beyond the wheel's span is looked at again whenever the span
/// has passed. Removing one takes time in proportion to those of its slot. No allocation after construction; one
/// thread.
class TimingWheel {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kSlots = 4096;
  static constexpr Duration kSlot = Duration(int64_t{1} << 20);  ///< 1.05 us
  static constexpr Duration kSpan = kSlot * (kSlots - 1);        ///< 4.3 ms

  /// When an index is due, what is behind it in its list, and which list that is.
  struct Place {
    Time due;
    uint32_t next = kNone;
    uint32_t slot = kNone;  ///< kNone: what is due already
  };

  /// `places`, by index, are borrowed. Wheels may share them as long as no index is in two of them.
  explicit TimingWheel(std::span<Place> places) : places_(places), slots_(kSlots) {}

  /// The index is not in the wheel. `now` never decreases; a time before it is as good as `now`.
  void add(uint32_t index, Time due, Time now) noexcept;
  /// The index, which is in the wheel, is so no more. `next` may tell of a time that was its.
  void remove(uint32_t index) noexcept;
  /// Takes out an index whose time is not after `now`, or returns kNone. Indexes that have become due since the last
  /// look leave by slot, and within a slot in the order in which they came.
  uint32_t take(Time now) noexcept;
  /// When `take` next has something to do: never() when the wheel is empty. That is the earliest time, unless it is
  /// beyond the span.
  Time next() const noexcept;

  /// Memory of the wheel in bytes, the places apart.
  size_t bytes() const noexcept { return slots_.size() * sizeof(Slot); }

 private:
  struct List {
    uint32_t head = kNone, tail = kNone;
  };
  struct Slot {
    List list;
    Time earliest = Time::never();  // when one of them is due or to be looked at
  };
  static constexpr uint32_t kMask = kSlots - 1;

  static int64_t tick(Time time) noexcept { return time.ps / kSlot.ps - (time.ps % kSlot.ps < 0); }
  uint32_t first_slot() const noexcept;
  void append(List& list, uint32_t index) noexcept;
  void clear(uint32_t slot) noexcept;
  void put(uint32_t index) noexcept;
  void sort_out(uint32_t slot, Time now) noexcept;

  std::span<Place> places_;
  std::vector<Slot> slots_;
  List due_;                                      // taken out of their slots already
  std::array<uint64_t, kSlots / 64> occupied_{};  // a bit a slot
  uint64_t occupied_words_ = 0;                   // a bit for each word of them
  int64_t current_ = 0;                           // no slot before this tick's holds anything
};

}  // namespace rankwire
