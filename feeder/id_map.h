// Numbers by 64-bit ids, for ids that come and go by the million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankwire {

/// A hash table with open addressing and linear probing. An entry takes 16 bytes at a load of 1/4 to 1/2; erasing moves
/// those behind back, so nothing grows but with the most entries at once. (Source: Knuth, The Art of Computer
/// Programming 3, 6.4, algorithm R.) Used by one thread.
class IdMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// The id's number, or kNone.
  uint32_t find(uint64_t id) const noexcept {
    if (size_ == 0) return kNone;
    for (size_t at = home(id); entries_[at].number != kNone; at = next(at)) {
      if (entries_[at].id == id) return entries_[at].number;
    }
    return kNone;
  }
  /// The id must be new, the number not kNone.
  void insert(uint64_t id, uint32_t number) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    ++size_;
    place({id, number});
  }
  /// The id must be there.
  void erase(uint64_t id) noexcept;
  void clear() noexcept;
  size_t size() const noexcept { return size_; }
  size_t bytes() const noexcept { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    uint64_t id = 0;
    uint32_t number = kNone;
  };

  // Neighbouring ids get places that are apart (Fibonacci hashing, ibid.): runs of ids would be long clusters
  // otherwise.
  size_t home(uint64_t id) const noexcept { return (id * 0x9E3779B97F4A7C15u) >> shift_; }
  size_t next(size_t at) const noexcept { return (at + 1) & (entries_.size() - 1); }
  void place(Entry entry) noexcept {
    size_t at = home(entry.id);
    while (entries_[at].number != kNone) at = next(at);
    entries_[at] = entry;
  }
  void grow();

  std::vector<Entry> entries_;  ///< a power of two
  size_t size_ = 0;
  unsigned shift_ = 64;
};

}  // namespace rankwire
