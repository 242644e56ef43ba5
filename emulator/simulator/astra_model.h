// What ASTRA-sim's files say of a system, as plain values in its own units. docs/astra-sim.md has the semantics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// How the NPUs of one dimension are connected.
enum class AstraBlock : uint8_t { kRing, kSwitch, kFullyConnected };

struct AstraDimension {
  AstraBlock block = AstraBlock::kRing;
  uint32_t npus = 2;     ///< > 1
  double bandwidth = 1;  ///< of a link, in units of 2^30 bytes a second, > 0
  double latency = 0;    ///< of a link, ns, >= 0
};

/// NPUs are numbered with dimension 0 fastest.
struct AstraNetwork {
  std::vector<AstraDimension> dimensions;

  uint32_t npus() const {
    uint32_t count = 1;
    for (const AstraDimension& dimension : dimensions) count *= dimension.npus;
    return count;
  }
};

/// The collectives for which a system names implementations, in the order of AstraSystem::implementations.
enum class AstraCollective : uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll };
inline constexpr size_t kAstraCollectives = 4;

/// "ALL_REDUCE", "ALL_GATHER", ...
const char* to_string(AstraCollective collective);

/// How a collective runs over one dimension.
struct AstraImplementation {
  enum class Algorithm : uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree, kCustom };
  Algorithm algorithm = Algorithm::kRing;
  bool one = false;                ///< "oneRing" and its like: one dimension of all NPUs
  std::optional<uint32_t> window;  ///< kDirect: messages that a member sends at once, > 0; absent: all

  bool operator==(const AstraImplementation&) const = default;
};

struct AstraSystem {
  /// By AstraCollective and dimension; fewer than the network has leave the other dimensions out.
  std::array<std::vector<AstraImplementation>, kAstraCollectives> implementations;
  /// By AstraCollective: the prefix of the traces of a kCustom implementation.
  std::array<std::string, kAstraCollectives> custom;
  bool local_bandwidth_aware = false;         ///< all-reduce: reduce-scatter up, all-gather down the dimensions
  uint32_t splits = 1;                        ///< chunks of a collective, > 0
  uint32_t active_chunks = 1;                 ///< per dimension, > 0
  Duration endpoint_delay = nanoseconds(10);  ///< > 0
  double memory_bandwidth = 0;                ///< local, in units of 10^9 bytes a second; 0: not given
  double peak = 0;                            ///< 10^12 operations a second; 0: not given
  bool roofline = false;
  bool replay = false;  ///< every node takes its recorded duration
};

/// Where MEM_LOAD and MEM_STORE go.
struct AstraMemory {
  enum class Kind : uint8_t { kNone, kPerNode, kPerNpu, kPool };
  Kind kind = Kind::kNone;
  Duration latency;
  double bandwidth = 0;        ///< in units of 10^9 bytes a second, > 0 unless kNone
  uint32_t nodes = 0;          ///< kPerNode
  uint32_t npus_per_node = 0;  ///< kPerNode
};

struct AstraModel {
  AstraNetwork network;
  AstraSystem system;
  AstraMemory memory;
  bool congestion_aware = false;  ///< messages take links one after the other; one dimension only
  uint32_t queues = 1;            ///< per dimension, > 0
  bool rendezvous = false;        ///< a message waits for one of 8192 bytes in the other direction
};

/// ASTRA-sim rounds times down to whole nanoseconds. `ns` is >= 0 and below 2^53.
inline Duration whole_nanoseconds(double ns) {
  return nanoseconds(static_cast<int64_t>(ns));
}

}  // namespace rankwire
