#include "feeder/id_map.h"

#include <algorithm>
#include <utility>

namespace rankwire {

void IdMap::erase(uint64_t id) noexcept {
  size_t hole = home(id);
  while (entries_[hole].id != id || entries_[hole].number == kNone) hole = next(hole);
  // Whoever was pushed beyond the hole, seen from its own place, comes back into it.
  for (size_t at = next(hole); entries_[at].number != kNone; at = next(at)) {
    const size_t mask = entries_.size() - 1;
    const size_t pushed = (at - home(entries_[at].id)) & mask;
    if (pushed < ((at - hole) & mask)) continue;
    entries_[hole] = entries_[at];
    hole = at;
  }
  entries_[hole].number = kNone;
  --size_;
}

void IdMap::clear() noexcept {
  if (size_ > 0) std::fill(entries_.begin(), entries_.end(), Entry());
  size_ = 0;
}

void IdMap::grow() {
  constexpr size_t kLeast = 16;
  const size_t larger = std::max(kLeast, 2 * entries_.size());
  const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(larger));
  shift_ = 64;
  for (size_t size = larger; size > 1; size /= 2) --shift_;
  for (const Entry& entry : old) {
    if (entry.number != kNone) place(entry);
  }
}

}  // namespace rankwire
