#include "dataplane/congestion/timing_wheel.h"

#include <algorithm>
#include <bit>

namespace rankwire {

static_assert(TimingWheel::kSlots == 64 * 64, "a bit for each word of slots fits into one word");

void TimingWheel::add(uint32_t index, Time due, Time now) noexcept {
  if (occupied_words_ == 0) current_ = tick(now);
  places_[index].due = std::max(due, now);
  put(index);
}

void TimingWheel::remove(uint32_t index) noexcept {
  const uint32_t slot = places_[index].slot;
  List& list = slot == kNone ? due_ : slots_[slot].list;
  uint32_t before = kNone;
  for (uint32_t at = list.head; at != index; at = places_[at].next) before = at;
  (before == kNone ? list.head : places_[before].next) = places_[index].next;
  if (list.tail == index) list.tail = before;
  if (slot != kNone && list.head == kNone) clear(slot);
}

uint32_t TimingWheel::take(Time now) noexcept {
  while (due_.head == kNone && occupied_words_ != 0) {
    const uint32_t slot = first_slot();
    if (slots_[slot].earliest > now) return kNone;
    sort_out(slot, now);
  }
  const uint32_t index = due_.head;
  if (index != kNone) due_.head = places_[index].next;
  return index;
}

Time TimingWheel::next() const noexcept {
  if (due_.head != kNone) return Time::long_ago();
  return occupied_words_ == 0 ? Time::never() : slots_[first_slot()].earliest;
}

// Of those that hold something, in the order of time.
uint32_t TimingWheel::first_slot() const noexcept {
  const auto from = static_cast<uint32_t>(current_ & kMask);
  const uint32_t word = from / 64;
  if (const uint64_t here = occupied_[word] >> (from % 64)) return from + static_cast<uint32_t>(std::countr_zero(here));
  // The words behind it, and at last its own once more, for the slots that come after a whole turn.
  const uint64_t others = std::rotr(occupied_words_, static_cast<int>(word + 1));
  const uint32_t found = (word + 1 + static_cast<uint32_t>(std::countr_zero(others))) % 64;
  return 64 * found + static_cast<uint32_t>(std::countr_zero(occupied_[found]));
}

void TimingWheel::append(List& list, uint32_t index) noexcept {
  places_[index].next = kNone;
  if (list.head == kNone) {
    list.head = index;
  } else {
    places_[list.tail].next = index;
  }
  list.tail = index;
}

// Into the slot of its time, or, if that is beyond the span, into the last one there is.
void TimingWheel::put(uint32_t index) noexcept {
  const Time due = places_[index].due;
  const int64_t last = current_ + kSlots - 1;
  const int64_t wanted = tick(due);
  const int64_t at = std::clamp(wanted, current_, last);
  const auto slot = static_cast<uint32_t>(at & kMask);
  append(slots_[slot].list, index);
  places_[index].slot = slot;
  slots_[slot].earliest = std::min(slots_[slot].earliest, wanted > last ? Time(last * kSlot.ps) : due);
  occupied_[slot / 64] |= uint64_t{1} << slot % 64;
  occupied_words_ |= uint64_t{1} << slot / 64;
}

void TimingWheel::clear(uint32_t slot) noexcept {
  slots_[slot] = Slot();
  occupied_[slot / 64] &= ~(uint64_t{1} << slot % 64);
  if (occupied_[slot / 64] == 0) occupied_words_ &= ~(uint64_t{1} << slot / 64);
}

// The earliest slot: what is due there becomes so, the others find their places anew.
void TimingWheel::sort_out(uint32_t slot, Time now) noexcept {
  current_ += static_cast<int64_t>((slot - static_cast<uint64_t>(current_)) & kMask);
  uint32_t index = slots_[slot].list.head;
  clear(slot);
  while (index != kNone) {
    const uint32_t next = places_[index].next;
    if (places_[index].due <= now) {
      append(due_, index);
      places_[index].slot = kNone;
    } else {
      put(index);
    }
    index = next;
  }
}

}  // namespace rankwire
