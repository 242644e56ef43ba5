// How far the clocks of the ranks are apart, from the collectives in which they met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emulator/traces/rank_set.h"

namespace rankwire {

/// Whether nobody can return from a collective of this kind before all have come.
bool waits_for_all(const NodeFacts& collective);

/// Takes collectives one after the other that wait for all their members.
class MeetingClocks {
 public:
  struct Call {
    uint32_t place = 0;
    Time start, end;  ///< as the rank's clock shows them
  };

  explicit MeetingClocks(size_t places) : offsets_(places) {}

  /// Of the members of one collective, not empty: the first to end and the last to start, where the one did so before
  /// the other, which clocks that agree cannot show.
  std::optional<std::pair<size_t, size_t>> add(std::span<const Call> members);

  /// In how many collectives the rank took part.
  size_t collectives(uint32_t place) const { return offsets_[place].size(); }
  /// As `clock_offsets` returns them.
  std::vector<Duration> offsets() const;

 private:
  std::vector<std::vector<Duration>> offsets_;  ///< by place and collective
  bool contradicted_ = false;
};

/// By place: how much later the rank's clock shows the end of the collectives that it shares with the others than the
/// median of their members does; the median over those collectives. Empty when no start times are recorded, or nothing
/// contradicts clocks that agree: in a collective from which nobody can return before all have come, a member ends
/// before another starts. Such ranks are added to the findings.
std::vector<Duration> clock_offsets(const RankSet& set, const Matches& matches, Findings& findings);

}  // namespace rankwire
