// Who comes last to collectives, and how late.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emulator/traces/rank_set.h"
#include "emulator/traces/rank_times.h"

namespace rankwire {

/// Of one rank, over all collectives that it shares with others.
struct RankLateness {
  uint64_t collectives = 0;
  uint64_t last = 0;  ///< those to which it came behind all others
  Duration held_up;   ///< sum over these: how long behind the last of the others
  Duration waited;    ///< sum over the others: how long it was there before the last one came
};

/// A collective to which one came behind all others.
struct LateCall {
  std::string kind, group;
  uint64_t number = 0;  ///< of the collectives of the group, from 0
  uint32_t place = 0;   ///< of the last one
  Duration late;        ///< behind the last of the others
  Duration spread;      ///< behind the first one
};

struct Stragglers {
  static constexpr size_t kMostCalls = 20;

  uint64_t collectives = 0;             ///< with at least two members that are there
  std::vector<RankLateness> ranks;      ///< by place
  std::vector<LateCall> worst;          ///< the latest first
  std::vector<Duration> clock_offsets;  ///< by place: what was taken off its clock; empty where clocks agree
};

/// Takes collectives one after the other.
class StragglerFinder {
 public:
  struct Member {
    Time time;  ///< at which it came, as its clock shows it
    uint32_t place = 0;
  };

  /// The set outlives the finder. `clock_offsets`: as of Stragglers.
  StragglerFinder(const RankSet& set, std::vector<Duration> clock_offsets);

  /// The `number`-th collective of the group, `call` being one of its nodes. Sorts the members.
  void add(uint32_t group, uint64_t number, const NodeFacts& call, std::vector<Member>& members);
  Stragglers take() && { return std::move(result_); }

 private:
  void keep(LateCall call);

  const RankSet& set_;
  Stragglers result_;
};

/// `arrivals` are by place, as `rank_times` makes them, on one clock. Where recorded times contradict each other,
/// clocks are set by the median of the collectives' ends first, as `trace check --repair` does.
Stragglers find_stragglers(const RankSet& set, const Matches& matches,
                           const std::vector<std::vector<NodeArrival>>& arrivals, bool recorded);

}  // namespace rankwire
