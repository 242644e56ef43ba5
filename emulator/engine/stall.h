// What a run that stands still has come to: which of the known ways of standing still it is, and who is at its root.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/connection_state.h"
#include "base/event.h"
#include "base/id.h"
#include "base/units.h"
#include "emulator/engine/rank_wait.h"

namespace rankwire {

enum class StallClass : uint8_t {
  kUnknown,
  kDeadPeer,              ///< nothing comes back from the culprit, or no way leads there
  kLostCompletion,        ///< messages have arrived, and their source, or their destination's rank, has not heard of it
  kCreditShortage,        ///< the culprit has no room for what is sent to it: RNR, or no credits
  kPfcDeadlock,           ///< the ports that send are paused for good
  kGeneratorStarvation,   ///< the loop itself stood still
  kMismatchedCollective,  ///< ranks wait for collectives that others begin in another order, or never
  kConcurrencyLimit,      ///< all places for collectives are taken by such as wait for those that have none
  kTraceCycle,            ///< ranks wait for each other's nodes, or a rank's nodes for each other
  kGoneMachine,           ///< the culprit is on a machine of which nothing is heard any more
};

/// "dead_peer": the word of stalls.json.
const char* to_string(StallClass kind);

/// All that is known of a run that has been stopped.
struct StallFacts {
  uint32_t ranks = 0;
  std::vector<RankWait> waits;        ///< of all workers
  std::vector<RankId> finished;       ///< those that have nothing more to do
  std::vector<RankId> gone;           ///< those of which nothing is known: their machine has gone
  std::vector<RankWait> broken;       ///< connections that have failed, as kAnswer, with no node
  std::vector<Failure> broken_by;     ///< of each of them
  uint64_t messages_undelivered = 0;  ///< acknowledged to their source and never delivered
  Duration longest_turn;              ///< of the loop since the last progress, in real time
  Duration stall_timeout;             ///< how long nothing may move

  /// Brings waits and broken connections into the order of ranks, those of one as they were: what follows from them
  /// does not depend on which workers or machines the ranks are on.
  void sort();
};

struct Stall {
  StallClass kind = StallClass::kUnknown;
  RankId culprit;        ///< invalid where it is no rank's doing
  uint32_t behind = 0;   ///< ranks that wait for it, whether or not directly
  uint32_t accused = 0;  ///< waits that end at it
  bool is_cycle = false;
  /// Who waits for whom, from afar to the culprit; in a cycle the last waits for the first.
  std::vector<RankWait> chain;
};

/// Follows who waits for whom from every rank to where it ends. Waits that end at a connection accuse both of its ends,
/// and the rank that most of them accuse is the culprit, of two the one that is sent to. Where none ends, they go round
/// in a cycle. Where somebody waits for a rank that has gone, one of these is the culprit: what it would say of those
/// for whom it waits is not known. `states` as Transport::states.
Stall diagnose_stall(const StallFacts& facts, const std::function<std::vector<QueuePairState>(ConnectionId)>& states);

}  // namespace rankwire
