// The small heaps of the engine. They are sized at load and do not allocate afterwards, unless more nodes of a trace
// that stays in its file are ready than was expected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// Ready nodes that wait for a free place, lowest node id first.
class ReadyQueue {
 public:
  explicit ReadyQueue(size_t capacity = 0) { heap_.reserve(capacity); }
  bool empty() const noexcept { return heap_.empty(); }
  void push(uint64_t id, uint32_t node) noexcept {
    heap_.push_back({id, node});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  uint32_t pop() noexcept {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const uint32_t node = heap_.back().node;
    heap_.pop_back();
    return node;
  }

 private:
  struct Entry {
    uint64_t id;
    uint32_t node;
  };
  static bool later(const Entry& a, const Entry& b) { return a.id > b.id; }
  std::vector<Entry> heap_;
};

/// Ranks that have something to do, lowest id first, each once.
class RankQueue {
 public:
  /// Ranks have ids below `ranks`.
  explicit RankQueue(size_t ranks) : waits_(ranks, 0) { heap_.reserve(ranks); }
  bool empty() const noexcept { return heap_.empty(); }
  void push(RankId rank) noexcept {
    if (waits_[rank.value]) return;
    waits_[rank.value] = 1;
    heap_.push_back(rank);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  RankId pop() noexcept {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const RankId rank = heap_.back();
    heap_.pop_back();
    waits_[rank.value] = 0;
    return rank;
  }

 private:
  std::vector<RankId> heap_;
  std::vector<uint8_t> waits_;  // by rank
};

/// Ends of computes, reduces and operations of known duration in progress, beginnings of jobs and of late ranks. Equal
/// times leave in the order of (kind, owner, item), so that runs repeat.
class TimerQueue {
 public:
  enum class Kind : uint32_t { kNode, kReduce, kCollective, kTransfer, kJob, kRank };
  struct Timer {
    Time at;
    Kind kind;
    uint32_t
        owner;  ///< kNode: rank; kReduce: slot; kCollective: group; kTransfer: its number; kJob: the job; kRank: rank
    uint32_t item;       ///< kNode: the node's place in the file; kReduce: step; kTransfer: TimedOperations' own
    uint32_t place = 0;  ///< kNode: which it has, see NodePlaces
  };

  void reserve(size_t capacity) { heap_.reserve(capacity); }
  Time next() const noexcept { return heap_.empty() ? Time::never() : heap_.front().at; }
  void push(const Timer& timer) noexcept {
    heap_.push_back(timer);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Timer pop() noexcept {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Timer timer = heap_.back();
    heap_.pop_back();
    return timer;
  }

 private:
  static bool later(const Timer& a, const Timer& b) {
    return std::tie(a.at, a.kind, a.owner, a.item) > std::tie(b.at, b.kind, b.owner, b.item);
  }
  std::vector<Timer> heap_;
};

}  // namespace rankwire
