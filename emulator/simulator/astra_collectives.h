// ASTRA-sim's system layer: the chunks of every rank's collectives in their queues, and the phases that they share.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_events.h"
#include "emulator/simulator/astra_network.h"
#include "emulator/simulator/astra_phase.h"
#include "emulator/simulator/astra_planner.h"
#include "emulator/simulator/astra_program.h"
#include "emulator/simulator/astra_transfers.h"

namespace rankwire {

/// A rank runs one collective at a time. Its chunks go through the queues of their phases, first come first served; a
/// phase begins at a member when its queue has room, and is the same phase at all members that have started as many
/// chunks of the group.
class AstraCollectives {
 public:
  /// All outlive it. `ended` is called with the rank whose collective has ended.
  AstraCollectives(const AstraModel& model, const AstraProgram& program, AstraEvents& events, AstraTransfers& transfers,
                   bool event_by_event, std::function<void(uint32_t)> ended);
  ~AstraCollectives();

  /// False when there is nothing to do: a group of one, or no dimension that takes part.
  bool start(uint32_t rank, const AstraNode& node);
  /// Events kStep, kPhaseEnds, and messages whose `collective` is set.
  void due(uint32_t phase, uint32_t member, uint32_t step);
  void phase_ended(uint32_t stream);
  void arrived(const AstraMessage& message);

  /// Why the run cannot go on, or an empty text.
  const std::string& problem() const { return problem_; }
  /// Who has not come to the phases in which the rank is.
  std::string waiting(uint32_t rank) const;

 private:
  class Shared;
  struct Queue {
    std::deque<uint32_t> waiting;  ///< streams
    uint32_t running = 0;
  };
  /// A chunk at one rank.
  struct Stream {
    uint32_t rank = 0, group = 0, number = 0;
    uint32_t next = 0;    ///< of `phases`
    uint32_t shared = 0;  ///< the phase that runs
    std::vector<AstraPlannedPhase> phases;
  };
  struct Rank {
    AstraTurns turns;
    std::vector<Queue> queues;
    std::unordered_map<uint32_t, uint32_t> started;  ///< chunks by group
    std::vector<uint32_t> streams;                   ///< of the collective that runs
  };
  struct Key {
    uint32_t group = 0, number = 0, phase = 0, base = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };

  uint32_t new_stream();
  void join_queue(uint32_t stream);
  void start_waiting(Queue& queue);
  void begin_phase(uint32_t stream);
  uint32_t shared_phase(const Key& key, const Stream& stream);
  bool is_whole(uint32_t group) const;
  void compute_ring(Shared& shared);
  void fail_empty(const Shared& shared);
  AstraEndpoint endpoint(const AstraPlannedPhase& planned) const;

  const AstraModel& model_;
  const AstraProgram& program_;
  AstraEvents& events_;
  AstraTransfers& transfers_;
  const bool event_by_event_;
  const std::function<void(uint32_t)> ended_;
  const AstraPlanner planner_;
  const AstraDelays delays_;
  std::vector<std::unordered_map<uint32_t, uint32_t>> place_in_group_;
  std::vector<Rank> ranks_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> unused_streams_;
  std::unordered_map<Key, uint32_t, KeyHash> phase_of_;
  std::vector<std::unique_ptr<Shared>> phases_;
  std::vector<uint32_t> unused_phases_;
  std::string problem_;
};

}  // namespace rankwire
