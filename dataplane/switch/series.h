// Lengths of output queues over time, in bounded memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/index_queue.h"
#include "dataplane/switch/options.h"

namespace rankwire {

/// What happened to one priority of a port in an interval.
struct QueueEvents {
  uint32_t marks = 0;
  uint32_t drops = 0;    ///< of frames that were to be queued, or were
  uint32_t xoff_rx = 0;  ///< times that the other end began to pause the queue
  uint32_t xoff_tx = 0;  ///< times that the port began to ask the other end not to send this priority

  QueueEvents& operator+=(const QueueEvents& o) noexcept {
    marks += o.marks, drops += o.drops, xoff_rx += o.xoff_rx, xoff_tx += o.xoff_tx;
    return *this;
  }
};

/// One priority's output queue at the end of an interval in which something happened to it. Without a row nothing did:
/// the length is that of the row before.
struct FabricSample {
  Time at;
  uint32_t port = 0;
  uint8_t priority = 0;
  bool paused = false;  ///< by the other end
  uint32_t length = 0;  ///< bytes that wait
  QueueEvents events;   ///< in the interval
};

/// How far somebody has read a series.
struct SeriesCursor {
  uint32_t generation = 0;
  size_t rows = 0;
};

/// What was read.
struct SeriesPart {
  size_t rows = 0;
  bool anew = false;  ///< rows have been put together since the last reading: it begins with the first one again
  Duration interval;
  uint64_t lost = 0;
};

/// Samples what was touched since the sample before. When the rows are full the interval doubles, and of two rows of a
/// queue that then are in one interval the later stays, with the counts of both; a row for which even that makes no
/// room is lost and counted. No allocation after construction; one thread, but for `read`.
class FabricSeries {
 public:
  /// `queues`: port number x kPriorities + priority. Throws std::bad_alloc.
  FabricSeries(const SeriesOptions& options, uint32_t queues)
      : capacity_(options.rows), interval_(options.interval), touched_(queues), events_(queues), latest_(queues) {
    rows_.reserve(capacity_);
  }

  /// Something happened to the queue at `now`.
  void touch(uint32_t queue, Time now) noexcept {
    if (touched_.empty()) end_ = end_of_interval(now);
    touched_.push(queue);
  }
  /// Of a frame that the queue takes or sends, which touches it.
  void mark(uint32_t queue) noexcept { ++events_[queue].marks; }
  void drop(uint32_t queue, Time now) noexcept {
    ++events_[queue].drops;
    touch(queue, now);
  }
  /// The other end begins, or ends, to pause the queue.
  void pause(uint32_t queue, bool begins, Time now) noexcept {
    if (begins) ++events_[queue].xoff_rx;
    touch(queue, now);
  }
  /// The port begins to ask the other end not to send the queue's priority.
  void ask(uint32_t queue, Time now) noexcept {
    ++events_[queue].xoff_tx;
    touch(queue, now);
  }

  /// Whether an interval with something in it is over at `now`.
  bool due(Time now) const noexcept { return !touched_.empty() && now >= end_; }
  /// Of the interval with something in it.
  Time end() const noexcept { return end_; }
  /// The first multiple of the interval after `now`.
  Time end_of_interval(Time now) const noexcept {
    const int64_t whole = now.ps / interval_.ps - (now.ps % interval_.ps < 0 ? 1 : 0);
    return Time((whole + 1) * interval_.ps);
  }
  /// Writes the rows of that interval. `state(queue)` returns the queue's bytes and whether it is paused.
  template <class State>
  void sample(State state) noexcept {
    while (!touched_.empty()) {
      const uint32_t queue = touched_.pop();
      if (rows_.size() == capacity_ && !coarsen()) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      const auto [bytes, paused] = state(queue);
      rows_.push_back({.at = end_of_interval(end_ - Duration(1)),
                       .port = queue / kPriorities,
                       .priority = static_cast<uint8_t>(queue % kPriorities),
                       .paused = paused,
                       .length = static_cast<uint32_t>(bytes.count),
                       .events = events_[queue]});
      events_[queue] = {};
    }
    told_.store(rows_.size(), std::memory_order_release);
  }

  Duration interval() const noexcept { return interval_; }
  /// In the order of time.
  std::span<const FabricSample> rows() const noexcept { return rows_; }
  uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// Copies rows from the cursor on, as many as `out` takes, and moves it. One other thread may call it at any time: it
  /// holds up nobody but an interval that doubles.
  SeriesPart read(SeriesCursor& cursor, std::span<FabricSample> out) const noexcept;

 private:
  uint32_t rows_at_least() noexcept;
  bool coarsen() noexcept;
  void put_together() noexcept;

  uint32_t capacity_;
  Duration interval_;
  Time end_;  ///< of the interval in which the touched queues were touched
  IndexQueue touched_;
  std::vector<QueueEvents> events_;  ///< by queue: since its last row
  std::vector<uint32_t> latest_;     ///< by queue: its last row, while coarsening
  std::vector<FabricSample> rows_;
  std::atomic<uint64_t> lost_ = 0;
  std::atomic<size_t> told_ = 0;   ///< rows that another thread may read
  mutable std::mutex coarsening_;  ///< held while rows that were told change, and while they are read
  uint32_t generation_ = 0;        ///< times that they have changed
  bool is_full_ = false;           ///< for good: no longer interval makes room
};

}  // namespace rankwire
