// Who is to blame for the time that a run lost: causes with their culprits, and what speaks for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/diagnosis/blame_facts.h"

namespace rankwire {

/// What the time was lost to.
enum class BlameKind : uint8_t {
  kSlowRank,           ///< one rank computes longer than others do the same
  kSlowNic,            ///< a NIC takes what it receives too slowly: it pauses the network, or its buffer overflows
  kLossyCable,         ///< packets are lost on the way, and not for want of buffer
  kSlowSpine,          ///< a switch, or cables of it, carry less than they should
  kEcmpCollision,      ///< flows share a cable while others of equal length have room
  kPfcStorm,           ///< a port goes on pausing the network, whatever it receives
  kEcnThreshold,       ///< packets are marked although hardly anything waits
  kCongestionControl,  ///< congestion control holds back more than the network asks for
  kReceiverNotReady,   ///< receivers have no receive posted (RNR NAK)
  kBackground,         ///< other jobs, or traffic without a trace, on the same links
  kLateGenerator,      ///< the loop of the generator was late
  kSmallWindow,        ///< queue pairs have more to send, and as much unacknowledged as their window allows
  kReordering,         ///< packets overtook each other on the way, and were sent again for it
  kModel,              ///< the reference does without: acknowledgements on the line
  kUnexplained,        ///< the record does not say
};
constexpr size_t kBlameKinds = 15;

/// "slow_rank", as in summary.json.
constexpr std::string_view to_string(BlameKind kind) {
  constexpr std::array<std::string_view, kBlameKinds> kNames = {
      "slow_rank",          "slow_nic",       "lossy_cable",    "slow_spine",
      "ecmp_collision",     "pfc_storm",      "ecn_threshold",  "congestion_control",
      "receiver_not_ready", "background_job", "late_generator", "small_window",
      "reordering",         "model",          "unexplained"};
  return kNames[static_cast<size_t>(kind)];
}

/// High: at least half of the gap, and counted at the culprit itself, or told by a run of the model without it; of a
/// slow rank where it is more than what the other ranks differ by. Medium:
/// one fifth of it and so counted, or half of it and inferred. Low: the rest.
enum class Confidence : uint8_t { kLow, kMedium, kHigh };
constexpr std::string_view to_string(Confidence confidence) {
  constexpr std::array<std::string_view, 3> kNames = {"low", "medium", "high"};
  return kNames[static_cast<size_t>(confidence)];
}

/// What speaks for it; which of these are set, and what they are, follows from the kind.
struct Evidence {
  Duration time;         ///< by which the cause was seen: of the critical path, or that a model takes less without it
  Duration waited = {};  ///< in addition, behind others' packets, which the model does without
  uint64_t count = 0;    ///< events: packets lost or marked, pauses, NAKs, bytes
  uint64_t of = 0;       ///< of so many; 0: of nothing in particular
  uint64_t on_purpose = 0;   ///< of `count`: packets that the configuration dropped or corrupted
  bool is_inferred = false;  ///< what losses took was not recorded: `time` is all that is not known otherwise
  std::optional<Bytes> waiting = {}, on_the_way = {};  ///< as `marked_length` and `on_the_way` of BlameFacts
  double factor = 0;                                   ///< how many times as much as elsewhere; 0: not known
  Duration shortest, typical;                          ///< round trips: the shortest, and half of them took no longer
  /// Of what is unexplained: the largest part that the waterfall has a name for, although nobody is to blame for it.
  std::optional<GapCause> part = {};
  Duration part_time;
  uint64_t unsearched = 0;        ///< as BlameFacts
  std::vector<RankId> also = {};  ///< as BlamedTime
};

struct Blame {
  BlameKind kind = BlameKind::kUnexplained;
  Culprit culprit;
  Duration gap;      ///< > 0: of the completion time
  double share = 0;  ///< of all the time that was lost, 0 .. 1
  Confidence confidence = Confidence::kLow;
  Evidence evidence;
};

/// The causes of what the run lost, most first, what is left at its place as kUnexplained. What was lost is the gap to
/// the reference, and beyond it what the reference loses in the same manner: to a slow rank, to collisions, to failures
/// of cables, to others on its links. Empty where that is at most a twentieth of the completion time.
std::vector<Blame> blame(const BlameFacts& facts);

}  // namespace rankwire
