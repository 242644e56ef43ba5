// What of a record bears on the question who is to blame: plain figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/reader.h"

namespace rankwire {

struct Losses;

/// Who or what.
struct Culprit {
  enum class Kind : uint8_t { kNobody, kRank, kHost, kCable, kSwitch, kPort, kJob, kGenerator };
  Kind kind = Kind::kNobody;  ///< kNobody: everything alike, or it is not known
  uint32_t number = 0;        ///< RankId, host, PortId or JobId
  std::string name = {};      ///< of a cable, "leaf0 - spine1", a switch, or a port of a switch

  bool operator==(const Culprit&) const = default;
};

/// A figure with whom it is of.
struct BlamedTime {
  Duration time;
  Culprit culprit;
  uint64_t count = 0;
  double factor = 0;
  bool in_gap = false;            ///< the reference of the gap does without it, so that this is a part of the gap
  bool stands_out = true;         ///< it is more than what others without a culprit differ by as well
  std::vector<RankId> also = {};  ///< of a slow rank: others that take at least half as much beyond the same
};

struct BlameFacts {
  Duration completion;            ///< of the emulated side
  Duration gap;                   ///< that minus the reference's
  std::optional<GapParts> parts;  ///< of the gap, as in Waterfall; absent: it is not known where it is
  GapParts worth{};               ///< by how much earlier the run ends in a replay without each; 0: not known
  uint64_t unsearched = 0;        ///< as Diagnosis: executions, where they are too many to know it
  Duration generator;             ///< what its lateness explains at most, as generator_delay has it
  Duration turn;                  ///< as long as, or longer than, half of the loop's time; 0 in virtual time

  // Losses.
  bool knows_causes = true;  ///< `record.causes`: without it no part of the gap is known to be of losses
  uint64_t timeouts = 0;     ///< of all jobs
  uint64_t packets = 0, lost = 0, missed = 0, buffer_drops = 0, storm_drops = 0;
  /// Frames that queues of the embedded switch had no room for, absent unless queues were sampled.
  std::optional<uint64_t> queue_drops;
  uint64_t answers_lost = 0;  ///< frames dropped at `loss_place`, or on purpose anywhere, where no data packet was lost
  uint64_t impaired = 0;      ///< of those lost: dropped or corrupted on purpose (`impairments`)
  uint64_t out_of_order = 0;  ///< NAKs for it
  Culprit order_place;        ///< the port from which, or to which, four fifths of those packets went, or kNobody
  Culprit loss_place;         ///< the cable, the port of the impairments, or kNobody
  bool counted_there = false;  ///< by the switch at its end, or the port; otherwise it is what the losers share

  // Pauses.
  Culprit paused_by_rule, paused_by_buffer;  ///< port that sent most of them
  uint64_t pauses_by_rule = 0, pauses_by_buffer = 0, pauses_heard = 0;
  /// For how long the switch in front of either was told not to send to it; 0 where no switch counts.
  Duration held_by_rule, held_by_buffer;
  Culprit paused;               ///< the generator's port that was paused longest
  bool knows_switches = false;  ///< the switches are the embedded ones, whose ports are in the record

  // Congestion.
  uint64_t marked = 0;
  Culprit marking;  ///< the switch with most marks at one port
  /// Of the frames that waited when an interval with marks ended: half of the marks fell to as many or fewer. Absent
  /// unless queues were sampled.
  std::optional<Bytes> marked_length;
  std::optional<Bytes> on_the_way;  ///< what a NIC sends in the shortest round trip; absent without `record.causes`
  std::optional<Duration> shortest_trip, typical_trip;
  uint64_t rnr_naks = 0;
  Culprit not_ready;

  // What the reference has as well, unless it is `in_gap`.
  std::optional<BlamedTime> slow_rank;  ///< its time beyond what others take for the same, along the critical path
  std::optional<BlamedTime> collisions, failures, background;  ///< what a model takes less without
};

/// What took longer than it should.
struct BlameSubject {
  /// The job; absent: the whole run, and so the job that ended last.
  std::optional<JobId> job;
  Duration completion;         ///< of the emulated side
  Duration gap;                ///< by how much later than in the reference it ended
  const CriticalPath* path;    ///< to its end; null: not known
  const Waterfall* waterfall;  ///< of that path; null: not known
  GapParts worth{};            ///< as BlameFacts
  const Losses* losses;        ///< packets and lost are its own, what ports count is of all
  uint64_t lost_of_run = 0;    ///< packets of all jobs
  uint64_t unsearched = 0;     ///< as Diagnosis
};

/// Both runs ended well. Reads ports, queue pairs and executions once. What ports and switches count has no job: of
/// losses a job has as large a part of each kind as of all that were lost; marks, pauses and round trips are of all
/// jobs, and what a model takes less without something is of the whole run alone.
BlameFacts blame_facts(const RunReader& record, const BlameSubject& subject);

}  // namespace rankwire
