// GOAL, the schedules of LogGOPSim and ATLAHS, in text or binary, to Chakra and back.
//
// Source: Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009; spcl/LogGOPSim, schedgen and
// txt2bin; spcl/atlahs.
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 1000
//     l2: send 4096b to 1 tag 3
//     l2 requires l1
//   }
//
// `a irequires b`, a may begin when b has begun, becomes dependencies of a on all that b depends on, since Chakra knows
// ends alone. A receive from any source or with any tag has no counterpart in Chakra.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/conversion.h"

namespace rankwire {

/// What is more is no schedule of a real job, and would overflow when it is added up.
inline constexpr uint32_t kMostGoalRanks = 1u << 20, kMostGoalTag = INT32_MAX;
inline constexpr uint64_t kMostGoalBytes = uint64_t{1} << 50, kMostGoalTime = uint64_t{1} << 60;

struct GoalOperation {
  enum class Kind : uint8_t { kSend, kReceive, kCompute };
  Kind kind = Kind::kCompute;
  std::string label;    ///< "" where it has none
  uint64_t amount = 0;  ///< bytes, or ns
  uint32_t peer = 0, tag = 0;
  int64_t cpu = -1;             ///< -1: not said
  std::vector<uint32_t> after;  ///< indexes of the rank's operations
  uint64_t line = 0;            ///< 0: of a binary schedule
};

/// What one rank does, in the order of the text.
struct GoalRank {
  uint32_t rank = 0;
  std::vector<GoalOperation> operations;
};

/// Reads a schedule and hands out rank by rank, in the order of the text; returns the number of ranks. Throws
/// Error(kInput) naming file and line. `path` is for messages.
uint32_t parse_goal(const std::string& path, std::string_view text,
                    const std::function<void(uint32_t ranks, const GoalRank& rank)>& take);

/// Whether it begins as a binary schedule does.
bool is_goal_binary(std::string_view bytes);
/// The same of a binary schedule. Errors name file and byte.
uint32_t parse_goal_binary(const std::string& path, std::string_view bytes,
                           const std::function<void(uint32_t ranks, const GoalRank& rank)>& take);

/// Writes the nodes of a rank, in an executable order. Nanoseconds that are cut off one computation go to a later one.
/// Throws Error(kInput) naming a line of operations that require each other.
void write_operations(const std::string& path, const GoalRank& rank, NodeWriter& nodes);

/// Writes a trace for each rank of a schedule, text or binary.
Conversion convert_goal(const std::string& path, const std::filesystem::path& folder, ConversionProgress& progress);

/// What a rank does of a collective.
struct GoalCollective {
  /// A message, or with `amount` 0 a step that takes no time. `after` names those before it here.
  std::vector<GoalOperation> operations;
  /// The nodes of the rank that must be done first, beside those that the collective depends on.
  std::vector<uint64_t> after;
};

/// GOAL has no collectives: finds the messages of one. `place` is that of the node in the file of `rank`, from 0.
/// Nothing is returned for a node that takes no part, such as a host's duplicate of a kernel.
using ExpandCollective = std::function<std::optional<GoalCollective>(uint32_t rank, uint32_t place)>;

/// Writes `folder`/schedule.goal of the traces of ranks 0, 1, ... Every node becomes an operation, a collective
/// several, and its data dependencies are required. Throws Error(kInput) naming the node that has not what it needs.
Conversion convert_to_goal(const std::vector<std::string>& traces, const ExpandCollective& expand,
                           const std::filesystem::path& folder, ConversionProgress& progress);

}  // namespace rankwire
