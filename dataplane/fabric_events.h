// What is going to happen in a fabric, in the order of time.
#pragma once

#include <algorithm>
#include <array>
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
  kDeliver,   ///< the first frame on the line is at the host; argument: its handle
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

/// Most events are pushed a constant time ahead: a line takes the same time for every full frame, a switch has one
/// latency. So few different delays make runs, within each of which times ascend in the order of pushing, and the first
/// event is that of one of the runs. An event joins the run that ends latest of those that end no later than it, as in
/// patience sorting, so there are no more runs than delays in use; what finds none waits in a heap. Who pops sees the
/// events behind in the same run. But for the heap's, push and pop take the same time however many events there are.
/// Events may be pushed for a time that is past. All memory is reserved at construction and touched as needed; one
/// thread.
class FabricEventQueue {
 public:
  /// Throws std::bad_alloc.
  explicit FabricEventQueue(uint32_t capacity) : capacity_(capacity), blocks_(capacity / Block::kEvents + 2 * kRuns) {
    heap_.reserve(capacity);
    first_.fill(kNever);
    for (uint32_t group = 0; group < kGroups; ++group) leaders_[group] = group * kGroup;
    ends_.fill(Time::long_ago().ps);
  }

  uint32_t size() const noexcept { return size_; }
  uint32_t capacity() const noexcept { return capacity_; }

  /// Only when size() < capacity().
  void push(Time at, FabricEventKind kind, uint32_t port, uint32_t argument = 0) noexcept {
    assert(size_ < capacity_);
    ++size_;
    const Entry entry{{at, port, kind, argument}, sequence_++};
    const uint32_t run = run_for(at.ps);
    if (run == kRuns) return push_to_heap(entry);
    ends_[run] = at.ps;
    append(runs_[run], entry);
    if (runs_[run].count++ == 0) offer(run, entry);
  }

  /// never() when there is none.
  Time next() const noexcept { return time_of(first_[next_run_]); }
  /// The one that `pop` returns next. Only when not empty.
  const FabricEvent& front() const noexcept {
    return next_run_ == kHeap ? heap_.front().event : front_of(runs_[next_run_]).event;
  }
  /// Only when not empty.
  FabricEvent pop() noexcept {
    --size_;
    popped_run_ = next_run_;
    if (next_run_ == kHeap) return pop_from_heap();
    Run& run = runs_[next_run_];
    const FabricEvent event = front_of(run).event;
    if (++run.begin == Block::kEvents) {
      const uint32_t used = run.first;
      run.first = blocks_[used].next;
      run.begin = 0;
      blocks_[used].next = free_;
      free_ = used;
    }
    first_[next_run_] = --run.count == 0 ? kNever : key_of(front_of(run));
    find_leader(next_run_ / kGroup);
    find_next();
    return event;
  }
  /// The one that is `n` places, 0 < n <= Block::kEvents, behind the one popped last in the same run, or null.
  const FabricEvent* behind(uint32_t n) const noexcept {
    const Run& run = runs_[popped_run_];
    if (run.count < n) return nullptr;
    const uint32_t place = run.begin + n - 1;
    if (place < Block::kEvents) return &blocks_[run.first].entries[place].event;
    return &blocks_[blocks_[run.first].next].entries[place - Block::kEvents].event;
  }

 private:
  static constexpr uint32_t kRuns = 32;  // a power of two
  static constexpr uint32_t kGroup = 8, kGroups = kRuns / kGroup;
  static constexpr uint32_t kHeap = kRuns;  // as the number of a run
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    FabricEvent event;
    uint64_t sequence;
  };
  /// What entries are ordered by: the time, then the sequence. One number, for it is compared more than all else.
  using Key = __int128;
  static constexpr Time time_of(Key key) noexcept { return Time(static_cast<int64_t>(key >> 64)); }
  static constexpr Key kNever = Key{Time::never().ps} << 64 | UINT64_MAX;
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const noexcept { return key_of(b) < key_of(a); }
  };
  /// Some events of a run, one behind the other. `next` is beside the first, which was read shortly before.
  struct Block {
    static constexpr uint32_t kEvents = 42;
    uint32_t next;
    std::array<Entry, kEvents> entries;
  };
  static_assert(sizeof(Block) <= 1024);
  /// A list of blocks: events from `begin` in the first to before `end` in the last.
  struct Run {
    uint32_t first = kNone, last = kNone;
    uint32_t begin = 0, end = Block::kEvents;
    uint32_t count = 0;
  };

  static Key key_of(const Entry& entry) noexcept { return Key{entry.event.at.ps} << 64 | entry.sequence; }
  const Entry& front_of(const Run& run) const noexcept { return blocks_[run.first].entries[run.begin]; }

  /// Of those that end no later the one that ends latest, or kRuns. They end in descending order.
  uint32_t run_for(int64_t at) const noexcept {
    uint32_t run = 0;
    for (uint32_t step = kRuns / 2; step > 0; step /= 2) run += ends_[run + step - 1] > at ? step : 0;
    return run + (ends_[run] > at ? 1 : 0);
  }
  void append(Run& run, const Entry& entry) noexcept {
    if (run.end == Block::kEvents) add_block(run);
    blocks_[run.last].entries[run.end++] = entry;
  }
  void add_block(Run& run) noexcept {
    const uint32_t block = free_ == kNone ? touched_++ : free_;
    if (block == free_) free_ = blocks_[block].next;
    if (run.count == 0) {
      run.first = block;
      run.begin = 0;
    } else {
      blocks_[run.last].next = block;
    }
    run.last = block;
    run.end = 0;
  }

  void push_to_heap(const Entry& entry) noexcept {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), Later());
    if (heap_.front().sequence == entry.sequence) offer(kHeap, entry);
  }
  FabricEvent pop_from_heap() noexcept {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const FabricEvent event = heap_.back().event;
    heap_.pop_back();
    first_[kHeap] = heap_.empty() ? kNever : key_of(heap_.front());
    find_next();
    return event;
  }

  /// The entry is the first of its run now.
  void offer(uint32_t run, const Entry& entry) noexcept {
    first_[run] = key_of(entry);
    if (run != kHeap && first_[run] < first_[leaders_[run / kGroup]]) leaders_[run / kGroup] = run;
    if (first_[run] < first_[next_run_]) next_run_ = run;
  }
  void find_leader(uint32_t group) noexcept {
    uint32_t leader = group * kGroup;
    Key least = first_[leader];
    for (uint32_t i = 1; i < kGroup; ++i) take_earlier(group * kGroup + i, leader, least);
    leaders_[group] = leader;
  }
  void find_next() noexcept {
    next_run_ = kHeap;
    Key least = first_[kHeap];
    for (const uint32_t leader : leaders_) take_earlier(leader, next_run_, least);
  }
  /// Without a branch, which nobody could predict.
  void take_earlier(uint32_t run, uint32_t& earliest, Key& least) const noexcept {
    const bool earlier = first_[run] < least;
    least = earlier ? first_[run] : least;
    earliest = earlier ? run : earliest;
  }

  uint32_t capacity_;
  uint32_t size_ = 0;
  uint64_t sequence_ = 0;
  uint32_t next_run_ = kHeap, popped_run_ = kHeap;
  std::array<Key, kRuns + 1> first_;       ///< of each run and the heap
  std::array<uint32_t, kGroups> leaders_;  ///< by group: the run that has the first event
  std::array<int64_t, kRuns> ends_;        ///< by run: when its last event is, or was
  std::array<Run, kRuns + 1> runs_;        ///< the heap's is empty
  UntouchedArray<Block> blocks_;
  uint32_t free_ = kNone, touched_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace rankwire
