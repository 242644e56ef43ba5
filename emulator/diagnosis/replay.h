// The recorded executions of a run once more, some of which take another time than they did.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/diagnosis/executions.h"

namespace rankwire {

/// The SEND of a RECV, or the root of a BROADCAST or SCATTER of two; absent of anything else.
std::optional<uint32_t> sender_of(const Executions& executions, uint32_t index);

/// What an execution takes by itself: from the last start that it waited for to its end; of what has a sender, from the
/// sender's start until what it sends is there, which is no later than either of them ends, however late it was waited
/// for.
Duration own_time(const Executions& executions, uint32_t index);

/// Over the dependencies that slacks() has: an execution starts as long as it did after the last end of what had ended
/// before it on its rank, and of what it waited for otherwise; and it ends as long as it did after the last start that
/// it waited for. But what has a sender ends when that has sent, or at once. Immutable after construction.
class Replay {
 public:
  explicit Replay(const Executions& executions);

  /// When the last execution ends, from 0, if each took `less` of its own time, by execution; negative: more. None
  /// takes less than nothing. Time: that of the executions.
  Duration completion(std::span<const Duration> less) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Step {
    Duration lag;     ///< from the last end that it waited for, or from 0, to its start
    Duration own;     ///< own_time
    Duration behind;  ///< of what has a sender: from when it is there and waited for, to its end
    uint32_t rank = 0;
    uint32_t waits_for = kNone;               ///< the gate for which its start waits beside its rank
    uint32_t iteration = kNone, job = kNone;  ///< gates that wait for its end
    uint32_t meeting = kNone;                 ///< that it is a member of
    uint32_t sender = kNone;
    bool waits_for_all = false;                ///< for the starts of all its members, which all came before its end
    uint32_t first_other = 0, last_other = 0;  ///< in others_: else those for whose starts it waits
  };
  using GateKey = std::pair<JobId, std::optional<uint32_t>>;

  void note_starts(const Executions& executions);
  void note_ends(const Executions& executions);

  std::vector<Step> steps_;
  std::vector<uint32_t> others_;
  std::vector<uint32_t> order_;  ///< moments, the latest first: twice the execution, and 1 where it starts
  uint32_t ranks_ = 0, gates_ = 0, meetings_ = 0;
};

}  // namespace rankwire
