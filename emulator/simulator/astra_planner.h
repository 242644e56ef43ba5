// From a collective to the phases of its chunks, and the queues in which a rank runs them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_model.h"
#include "emulator/simulator/astra_phase.h"

namespace rankwire {

/// A phase of one rank's chunk.
struct AstraPlannedPhase {
  AstraPhase phase;
  uint32_t stride = 1;  ///< between the members' ranks; 0: they are those of the group, in its order
  uint32_t queue = 0;   ///< 0 .. AstraPlanner::queues() - 1
};

/// A collective's chunks are of one size.
struct AstraChunks {
  uint64_t count = 0;
  Bytes size;
};

/// What a rank remembers from one chunk to the next: which queue and which tree is its turn.
struct AstraTurns {
  struct Level {
    uint32_t any = 0, first = 0, last = 0;
  };
  std::vector<Level> levels;
  std::array<std::vector<bool>, kAstraCollectives> second_tree;  ///< by dimension
};

class AstraPlanner {
 public:
  /// `model` outlives the planner.
  explicit AstraPlanner(const AstraModel& model);

  AstraTurns first_turns() const;
  /// Of a rank.
  uint32_t queues() const { return static_cast<uint32_t>(model_.network.dimensions.size()) * model_.queues; }
  /// Phases that one queue runs at once.
  uint32_t active() const { return (model_.system.active_chunks + model_.queues - 1) / model_.queues; }

  /// `size` divided by the splits; where that is less than a byte an NPU, chunks are that large, but for an all-gather.
  AstraChunks chunks(AstraCollective collective, Bytes size) const;
  /// Of a chunk among all NPUs over the `dimensions` whose bit is set. Empty when nobody takes part.
  std::vector<AstraPlannedPhase> plan(AstraCollective collective, Bytes chunk, uint32_t dimensions,
                                      AstraTurns& turns) const;
  /// Of a chunk in a group of fewer than all NPUs, which is a ring whatever the system says.
  std::vector<AstraPlannedPhase> plan_group(AstraCollective collective, Bytes chunk, uint32_t members,
                                            AstraTurns& turns) const;

  /// Why the collective cannot run among all NPUs, or an empty text.
  std::string obstacle(AstraCollective collective) const;

 private:
  struct Dimension {
    AstraImplementation implementation;
    uint32_t members = 1, stride = 1;
  };
  enum class Turn : uint8_t { kAny, kFirst, kLast };

  void add(std::vector<AstraPlannedPhase>& phases, AstraCollective list, AstraCollective kind, uint32_t dimension,
           Turn turn, AstraTurns& turns, Bytes& data) const;
  /// A queue of the level, and whether its phases go round anticlockwise.
  std::pair<uint32_t, bool> next_queue(uint32_t level, Turn turn, AstraTurns& turns) const;

  const AstraModel& model_;
  std::array<std::vector<Dimension>, kAstraCollectives> dimensions_;
};

}  // namespace rankwire
