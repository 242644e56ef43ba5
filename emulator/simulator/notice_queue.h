// What happens next among very many things whose delays are few.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"
#include "base/untouched_array.h"

namespace rankwire {

/// Ids 0 .. ids-1, each due at most once at a time, by (time, order). What is entered a fixed delay ahead of a clock
/// that never goes back comes in the order in which it is due: an id goes to the end of that of a few lists whose last
/// entry is the latest not after it, and to a heap where there is none. So with few different delays nothing is
/// compared with more than kLists others. Nothing allocates after construction, and memory that is not used does not
/// become resident.
class NoticeQueue {
 public:
  static constexpr size_t kBytesEach = 24;  ///< memory of an id that was due in a list

  explicit NoticeQueue(uint32_t ids) : links_(ids) { heap_.reserve(ids); }

  bool empty() const noexcept { return first_ == kNone; }
  /// The id that is due first; not empty.
  uint32_t top() const noexcept { return first_ == kHeap ? heap_.front().id : lists_[first_].head; }
  Time top_time() const noexcept { return empty() ? Time::never() : top_key().time; }

  /// The id is not due yet.
  void push(uint32_t id, Time time, uint64_t order) noexcept {
    const Key key{time, order};
    if (empty() || key < top_key())
      first_ = add(id, key);
    else
      add(id, key);
  }

  /// Takes out the id that is due first; not empty.
  void pop() noexcept {
    if (first_ == kHeap) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    } else {
      List& list = lists_[first_];
      if (list.head == list.tail) {
        list.head = kNone;
      } else {
        list.head = links_[list.head].next;
        list.front = links_[list.head].key;
      }
    }
    find_first();
  }

 private:
  static constexpr uint32_t kLists = 6;
  static constexpr uint32_t kHeap = kLists, kNone = UINT32_MAX;

  struct Key {
    Time time;
    uint64_t order = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Link {
    Key key;
    uint32_t next;
  };
  static_assert(sizeof(Link) == kBytesEach);
  struct Waiting {
    Key key;
    uint32_t id;
    auto operator<=>(const Waiting&) const = default;
  };
  struct List {
    uint32_t head = kNone, tail = kNone;
    Key front, back;
  };

  const Key& top_key() const noexcept { return first_ == kHeap ? heap_.front().key : lists_[first_].front; }

  /// Returns the list, or kHeap.
  uint32_t add(uint32_t id, const Key& key) noexcept {
    uint32_t best = kNone, unused = kNone;
    for (uint32_t l = 0; l < kLists; ++l) {
      if (lists_[l].head == kNone)
        unused = l;
      else if (lists_[l].back < key && (best == kNone || lists_[best].back < lists_[l].back))
        best = l;
    }
    if (best == kNone && unused == kNone) {
      heap_.push_back({key, id});
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      return kHeap;
    }
    List& list = lists_[best != kNone ? best : unused];
    links_[id].key = key;
    if (best != kNone) {
      links_[list.tail].next = id;
    } else {
      list.head = id;
      list.front = key;
    }
    list.tail = id;
    list.back = key;
    return best != kNone ? best : unused;
  }

  void find_first() noexcept {
    first_ = heap_.empty() ? kNone : kHeap;
    for (uint32_t l = 0; l < kLists; ++l)
      if (lists_[l].head != kNone && (first_ == kNone || lists_[l].front < top_key())) first_ = l;
  }

  std::array<List, kLists> lists_;
  UntouchedArray<Link> links_;  ///< by id
  std::vector<Waiting> heap_;
  uint32_t first_ = kNone;  ///< the list of the top, kHeap, or kNone
};

}  // namespace rankwire
