// Lengths of output queues over time, in bounded memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/fabric_options.h"
#include "dataplane/index_queue.h"

namespace rankwire {

/// One priority's output queue at the end of an interval in which something happened to it. Without a row nothing did:
/// the length is that of the row before.
struct FabricSample {
  Time at;
  uint32_t port = 0;
  uint8_t priority = 0;
  bool paused = false;  ///< by the other end
  uint32_t length = 0;  ///< bytes that wait
  uint32_t marks = 0;   ///< in the interval, as the next
  uint32_t drops = 0;
};

/// Samples what was touched since the sample before. When the rows are full the interval doubles, and of two rows of a
/// queue that then are in one interval the later stays, with the counts of both; a row for which even that makes no
/// room is lost and counted. No allocation after construction; one thread.
class FabricSeries {
 public:
  /// `queues`: port number x kPriorities + priority. Throws std::bad_alloc.
  FabricSeries(const SeriesOptions& options, uint32_t queues)
      : capacity_(options.rows),
        interval_(options.interval),
        touched_(queues),
        marks_(queues),
        drops_(queues),
        latest_(queues) {
    rows_.reserve(capacity_);
  }

  /// Something happened to the queue at `now`.
  void touch(uint32_t queue, Time now) noexcept {
    if (touched_.empty()) end_ = end_of_interval(now);
    touched_.push(queue);
  }
  /// Of a frame that the queue takes or sends, which touches it.
  void mark(uint32_t queue) noexcept { ++marks_[queue]; }
  void drop(uint32_t queue, Time now) noexcept {
    ++drops_[queue];
    touch(queue, now);
  }

  /// Whether an interval with something in it is over at `now`.
  bool due(Time now) const noexcept { return !touched_.empty() && now >= end_; }
  /// Writes the rows of that interval. `state(queue)` returns the queue's bytes and whether it is paused.
  template <class State>
  void sample(State state) noexcept {
    while (!touched_.empty()) {
      const uint32_t queue = touched_.pop();
      if (rows_.size() == capacity_ && !coarsen()) {
        ++lost_;
        continue;
      }
      const auto [bytes, paused] = state(queue);
      rows_.push_back({.at = end_of_interval(end_ - Duration(1)),
                       .port = queue / kPriorities,
                       .priority = static_cast<uint8_t>(queue % kPriorities),
                       .paused = paused,
                       .length = static_cast<uint32_t>(bytes.count),
                       .marks = marks_[queue],
                       .drops = drops_[queue]});
      marks_[queue] = drops_[queue] = 0;
    }
  }

  Duration interval() const noexcept { return interval_; }
  /// In the order of time.
  std::span<const FabricSample> rows() const noexcept { return rows_; }
  uint64_t lost() const noexcept { return lost_; }

 private:
  /// The first multiple of the interval after `now`.
  Time end_of_interval(Time now) const noexcept {
    const int64_t whole = now.ps / interval_.ps - (now.ps % interval_.ps < 0 ? 1 : 0);
    return Time((whole + 1) * interval_.ps);
  }
  bool coarsen() noexcept;

  uint32_t capacity_;
  Duration interval_;
  Time end_;  ///< of the interval in which the touched queues were touched
  IndexQueue touched_;
  std::vector<uint32_t> marks_, drops_;
  std::vector<uint32_t> latest_;  ///< by queue: its last row, while coarsening
  std::vector<FabricSample> rows_;
  uint64_t lost_ = 0;
};

}  // namespace rankwire
