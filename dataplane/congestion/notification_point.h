// DCQCN's notification point: when a marked packet is answered by a congestion notification packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/index_queue.h"
#include "base/units.h"

namespace rankwire {

/// What the least time between two CNPs is kept for: NICs differ (Wei et al., Lumina, SIGCOMM 2023).
enum class NotificationScope : uint8_t {
  kQueuePair,
  kAddressPair,  ///< of IP addresses
  kPort,
};

struct NotificationOptions {
  /// np_min_time_between_cnps; 0: every marked packet is answered. A ConnectX's factory setting.
  Duration min_time_between_cnps = microseconds(4);
  NotificationScope scope = NotificationScope::kQueuePair;
};

/// Decides for all queue pairs of a transport: a state machine without I/O or clock. No allocation after construction;
/// one thread.
class NotificationPoint {
 public:
  NotificationPoint() = default;
  /// `groups`: by queue pair, the number of those that share an interval, 0 and up.
  NotificationPoint(Duration min_time_between_cnps, std::vector<uint32_t> groups)
      : interval_(min_time_between_cnps),
        groups_(std::move(groups)),
        last_(groups_.empty() ? 0 : *std::ranges::max_element(groups_) + 1, Time::long_ago()) {}

  /// A data packet marked Congestion Experienced has arrived. True: it asks for a CNP, which the caller owes.
  bool marked(uint32_t queue_pair, Time now) noexcept {
    Time& last = last_[groups_[queue_pair]];
    if (now - last < interval_) return false;
    last = now;
    return true;
  }

 private:
  Duration interval_;
  std::vector<uint32_t> groups_;
  std::vector<Time> last_;  // CNP asked for, by group
};

/// The queue pairs of a lane that owe CNPs, first in, first out. No allocation after construction; one thread.
class OwedNotifications {
 public:
  /// `queue_pairs` of those that have a place in `counts` and `marks`, which are 0 to begin with, borrowed, and shared
  /// with other lanes.
  OwedNotifications(uint32_t queue_pairs, std::span<uint32_t> counts, std::span<uint8_t> marks)
      : order_(queue_pairs, marks), counts_(counts) {}

  bool empty() const noexcept { return order_.empty(); }
  /// The queue pair owes one more.
  void push(uint32_t queue_pair) noexcept {
    ++counts_[queue_pair];
    order_.push(queue_pair);
  }
  uint32_t front() const noexcept { return order_.front(); }
  /// Takes away one that the first of them owes.
  void pop() noexcept {
    if (--counts_[front()] == 0) order_.pop();
  }

 private:
  IndexQueue order_;
  std::span<uint32_t> counts_;
};

}  // namespace rankwire
