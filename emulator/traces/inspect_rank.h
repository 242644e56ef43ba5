// One rank's part of an inspection: what can be said without the others.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emulator/traces/inspect.h"

namespace rankwire {

/// What a rank communicates that is alike in its kind, group, ends and number of members.
struct CommunicationPart {
  uint32_t node = 0;  ///< index of the first such node
  OperationTally tally;
};

struct RankPart {
  RankInspection rank;
  uint64_t dependencies = 0;
  std::map<std::string, Tally> kinds;
  std::map<std::string, std::map<int64_t, Tally>> sizes;
  OperationTable operations;
  std::vector<CommunicationPart> communication;  ///< by `node`
  std::vector<NodeArrival> arrivals;
};

/// `spans` are empty without times. `end` is that of the set.
RankPart inspect_rank(const RankFacts& facts, std::span<const Span> spans, bool recorded, Time end, Bytes element);

/// Moves all times by so much, of a rank that was looked at by itself.
void shift(RankPart& part, Duration by);

/// Adds all parts, of which what they communicate and when they arrive is left.
void merge_parts(std::vector<RankPart>& parts, Inspection& inspection);

/// What needs the groups: tallies and tables of communication, of the parts of all places.
void inspect_communication(const RankSet& set, std::span<const RankPart> parts, Inspection& inspection);

}  // namespace rankwire
