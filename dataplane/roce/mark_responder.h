// The receiver's part in congestion notification: which marked packets are answered, and by whom.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "dataplane/congestion/notification_point.h"

namespace rankwire {

/// Decides by NotificationPoint which marked packets are answered by a CNP, and keeps what each lane owes, first in,
/// first out. Its transport's own, in that thread. No allocation after construction.
class MarkResponder {
 public:
  /// `groups`: by queue pair, as NotificationPoint. `queue_pairs_of_lanes`: how many queue pairs each lane has.
  MarkResponder(Duration min_time_between_cnps, std::vector<uint32_t> groups,
                std::span<const uint32_t> queue_pairs_of_lanes)
      : counts_(groups.size()), marks_(groups.size()), point_(min_time_between_cnps, std::move(groups)) {
    for (const uint32_t queue_pairs : queue_pairs_of_lanes) owed_.emplace_back(queue_pairs, counts_, marks_);
  }
  MarkResponder(const MarkResponder&) = delete;
  MarkResponder& operator=(const MarkResponder&) = delete;

  /// A data packet for the queue pair, whose packets leave by `lane`, arrived marked. True: it is answered, and the
  /// lane owes a CNP.
  bool marked(uint32_t queue_pair, uint32_t lane, Time arrival) noexcept {
    if (!point_.marked(queue_pair, arrival)) return false;
    owed_[lane].push(queue_pair);
    return true;
  }
  /// What the lane owes.
  OwedNotifications& owed(uint32_t lane) noexcept { return owed_[lane]; }

 private:
  std::vector<uint32_t> counts_;  // of CNPs owed, by queue pair
  std::vector<uint8_t> marks_;    // by queue pair: it is in its lane's list
  NotificationPoint point_;
  std::vector<OwedNotifications> owed_;  // by lane
};

}  // namespace rankwire
