// What the ranks do, as the simulation of ASTRA-sim's semantics takes it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_model.h"

namespace rankwire {

/// What a node takes while it runs; a rank has one of each, and any number of receives.
enum class AstraResource : uint8_t { kNone, kHost, kCompute, kCommunication };
inline constexpr size_t kAstraResources = 4;

/// The n-th node of a rank's trace.
struct AstraNode {
  enum class Work : uint8_t {
    kNothing,  ///< ends when it begins
    kTimed,    ///< takes `duration`
    kMemory,   ///< moves `bytes`
    kCollective,
    kSend,
    kReceive,
  };
  Work work = Work::kNothing;
  AstraResource resource = AstraResource::kNone;
  AstraCollective collective = AstraCollective::kAllReduce;
  uint32_t dimensions = UINT32_MAX;  ///< kCollective among all NPUs: those that take part, a bit each
  uint32_t group = 0;                ///< kCollective: AstraProgram::groups
  uint32_t peer = 0;                 ///< kSend, kReceive
  uint64_t id = 0;                   ///< of several nodes that are ready the one with the lowest begins first
  int64_t tag = 0;                   ///< kSend, kReceive
  Bytes bytes;
  Duration duration;  ///< whole nanoseconds, >= 0
};

/// One rank's graph; the spans are the caller's. Node i has `dependencies[i]` predecessors, and `successors` from
/// `successor_begin[i]` to `successor_begin[i + 1]` depend on it.
struct AstraRank {
  std::vector<AstraNode> nodes;
  std::span<const uint32_t> dependencies, successor_begin, successors;

  std::span<const uint32_t> successors_of(uint32_t node) const {
    return successors.subspan(successor_begin[node], successor_begin[node + 1] - successor_begin[node]);
  }
};

struct AstraProgram {
  std::vector<AstraRank> ranks;               ///< as many as the network has NPUs
  std::vector<std::vector<uint32_t>> groups;  ///< ranks in the order of the ring
  /// By AstraCollective: the members' graphs of a kCustom implementation, with kTimed, kSend and kReceive alone, whose
  /// peers are members.
  std::array<std::vector<AstraRank>, kAstraCollectives> custom;
  uint32_t iterations = 1;
};

}  // namespace rankwire
