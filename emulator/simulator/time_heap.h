// What happens next among a fixed number of things, each of which is due at most once at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// A min-heap of ids 0 .. ids-1 by (time, order), where an id's time can be moved or taken out. Nothing
/// allocates after construction.
class TimeHeap {
 public:
  static constexpr size_t kBytesEach = 28;  ///< memory of an id that is due

  explicit TimeHeap(uint32_t ids) : places_(ids, kAbsent) { entries_.reserve(ids); }

  bool empty() const noexcept { return entries_.empty(); }
  /// The id that is due first; not empty.
  uint32_t top() const noexcept { return entries_.front().id; }
  Time top_time() const noexcept { return entries_.empty() ? Time::never() : entries_.front().time; }

  /// Makes `id` due at `time`, whether it was due before or not. `order` decides between equal times.
  void set(uint32_t id, Time time, uint64_t order) noexcept {
    if (places_[id] == kAbsent) {
      places_[id] = static_cast<uint32_t>(entries_.size());
      entries_.push_back({});
    }
    entries_[places_[id]] = {time, order, id};
    settle(places_[id]);
  }

  void remove(uint32_t id) noexcept {
    const uint32_t place = places_[id];
    if (place == kAbsent) return;
    places_[id] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (last.id == id) return;
    put(place, last);
    settle(place);
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  struct Entry {
    Time time;
    uint64_t order = 0;
    uint32_t id = 0;
    bool operator<(const Entry& o) const { return time != o.time ? time < o.time : order < o.order; }
  };
  static_assert(sizeof(Entry) + sizeof(uint32_t) == kBytesEach);

  void put(uint32_t place, const Entry& entry) noexcept {
    entries_[place] = entry;
    places_[entry.id] = place;
  }

  static constexpr uint32_t kChildren = 4;  ///< of an entry: a shallow heap reads less memory than a binary one

  /// Moves the entry at `place` up or down to where it belongs.
  void settle(uint32_t place) noexcept {
    const Entry entry = entries_[place];
    while (place > 0 && entry < entries_[(place - 1) / kChildren]) {
      put(place, entries_[(place - 1) / kChildren]);
      place = (place - 1) / kChildren;
    }
    const auto size = static_cast<uint32_t>(entries_.size());
    for (uint32_t first = kChildren * place + 1; first < size; first = kChildren * place + 1) {
      uint32_t least = first;
      for (uint32_t child = first + 1; child < std::min(first + kChildren, size); ++child)
        if (entries_[child] < entries_[least]) least = child;
      if (!(entries_[least] < entry)) break;
      put(place, entries_[least]);
      place = least;
    }
    put(place, entry);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> places_;  ///< by id
};

}  // namespace rankwire
