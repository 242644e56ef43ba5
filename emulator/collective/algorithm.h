// The algorithms by name, and which operations each can carry out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// The collectives that have an algorithm. Point-to-point is a schedule too: position 0 sends to position 1.
enum class Operation : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kPointToPoint,
};
inline constexpr uint32_t kCollectiveOperations = 10;

/// docs/collectives.md says what each does, in how many steps, and where it comes from.
enum class Algorithm : uint8_t {
  kAuto,  ///< ring, or direct where there is no ring; with a NcclProfile what NCCL would take
  kRing,
  kDoubleBinaryTree,
  kHalvingDoubling,
  kHalvingDoublingElimination,
  kRecursiveDoubling,
  kRecursiveHalving,
  kBruck,
  kPat,
  kDirect,
  kPairwise,
  kBinomialTree,
  kHierarchical,
  kPxn,
  kInNetwork,  ///< by aggregation nodes: ScheduleRequest::aggregation
  kCustom,     ///< a CustomAlgorithm; no word of a configuration
};

enum class RingOrder : uint8_t {
  kAscending,
  kDescending,
  kInterleaved,  ///< even positions, then odd ones
  kListed,       ///< as a list of ranks says: ScheduleRequest::ring
};

enum class RingDirection : uint8_t {
  kForward,
  kBidirectional,  ///< every channel's data is halved; the second half goes the other way round, on its own channel
};

/// "all_reduce", as in a configuration.
std::string_view to_string(Operation operation);
/// "halving_doubling", as in a configuration.
std::string_view to_string(Algorithm algorithm);
/// The operation of that name; none for a barrier and point-to-point, which have but one algorithm.
std::optional<Operation> operation_named(std::string_view name);

/// The algorithms for an operation, kAuto first; the words that a configuration may use for it.
std::vector<Algorithm> algorithms_for(Operation operation);
/// Those of them that NCCL has.
std::vector<Algorithm> nccl_algorithms_for(Operation operation);
/// Whether the algorithm depends on which members stand together (ScheduleRequest::hosts).
bool asks_for_hosts(Algorithm algorithm);
/// "auto, ring, ...", for messages.
std::string names_of(const std::vector<Algorithm>& algorithms);

}  // namespace rankwire
