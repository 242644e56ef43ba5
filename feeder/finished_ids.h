// Which ids have been seen, of traces that are not kept in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "feeder/id_map.h"

namespace rankwire {

/// A set of ids as bitmaps of 512 neighbours. Memory: about 1.3 bits an id where ids are dense, at most some 100 bytes
/// an id where no two are neighbours. Used by one thread.
class FinishedIds {
 public:
  /// False when the id was there already.
  bool insert(uint64_t id) {
    const uint32_t page = page_for(id);
    const uint64_t bit = uint64_t{1} << (id % 64);
    uint64_t& word = pages_[page][id % kPage / 64];
    const bool added = (word & bit) == 0;
    word |= bit;
    return added;
  }
  bool contains(uint64_t id) const noexcept {
    const uint32_t page = find_page(id);
    return page != IdMap::kNone && (pages_[page][id % kPage / 64] >> (id % 64) & 1) != 0;
  }
  /// Keeps the memory.
  void clear() noexcept;
  size_t bytes() const noexcept { return index_.bytes() + pages_.capacity() * sizeof(Page); }

 private:
  static constexpr uint64_t kPage = 512;
  using Page = std::array<uint64_t, kPage / 64>;

  uint32_t find_page(uint64_t id) const noexcept {
    if (id / kPage == last_number_) return last_page_;
    const uint32_t page = index_.find(id / kPage);
    if (page != IdMap::kNone) last_number_ = id / kPage, last_page_ = page;
    return page;
  }
  uint32_t page_for(uint64_t id) {
    const uint32_t page = find_page(id);
    return page != IdMap::kNone ? page : add_page(id);
  }
  uint32_t add_page(uint64_t id);

  IdMap index_;  ///< of pages by number
  std::vector<Page> pages_;
  // Ids come in runs: the page looked at last is likely the next one, too.
  mutable uint64_t last_number_ = UINT64_MAX;
  mutable uint32_t last_page_ = IdMap::kNone;
};

}  // namespace rankwire
