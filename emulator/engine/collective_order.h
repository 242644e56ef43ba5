// Which of a rank's collectives runs next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulator/workload/workload.h"

namespace rankwire {

/// The collectives of one rank. Those of a group run one at a time in the group's run order, whichever is ready first;
/// of the groups whose next one is ready the one whose node has the lowest id comes first. Its shard's thread alone; no
/// allocation after construction, but in `held_back`.
class CollectiveOrder {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// A collective that is ready and does not run.
  struct HeldBack {
    uint32_t node = 0;
    uint32_t behind = kNone;  ///< what comes first in its group and is not ready; kNone: too many others run
  };

  /// `at_once`: how many run at once; 0: one of each group. The trace outlives it.
  CollectiveOrder(const RankTrace& trace, uint32_t at_once);

  /// All that the collective depends on is complete.
  void make_ready(uint32_t node) noexcept {
    Group& group = groups_[group_of_[node]];
    group.ready[trace_.nodes[node].run_order] = 1;
  }
  /// The next collective, which runs from now until `end`. kNone when none may.
  uint32_t begin() noexcept;
  /// A communication node has ended. Those that are no collectives are none of its business.
  void end(uint32_t node) noexcept {
    if (group_of_[node] == kNone) return;
    Group& group = groups_[group_of_[node]];
    group.running = false;
    ++group.next;
    --running_;
  }
  /// All have ended: from the first on again, none of them ready.
  void reset() noexcept;

  /// One of each group at most, the groups in the order of their first nodes.
  std::vector<HeldBack> held_back() const;

 private:
  struct Group {
    uint32_t next = 0;  // run order
    bool running = false;
    std::vector<uint32_t> node_at;  // by run order
    std::vector<uint8_t> ready;     // by run order
  };

  const RankTrace& trace_;
  const uint32_t at_once_;
  uint32_t running_ = 0;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;  // by node
};

}  // namespace rankwire
