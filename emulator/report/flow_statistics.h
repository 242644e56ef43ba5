// The queue pairs of a run in bounded memory: totals by rank, and those that a user should look at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// Sums over queue pairs. A message that is split over several counts at each of them.
struct FlowTotals {
  uint64_t messages = 0, bytes = 0, packets = 0, retransmitted = 0, naks = 0, rnr_naks = 0, timeouts = 0, marks = 0;
  std::optional<TimeByCause> causes;  ///< absent where they were not recorded

  void add(const FlowCounters& flow);
};

/// What the queue pairs on the wire did that a rank is the source of, and the destination.
struct RankTraffic {
  FlowTotals source, destination;
  RdmaCounters rdma;  ///< of the rank's own ends
};

/// By PortId: where the time of all queue pairs went whose source rank uses a NIC behind the port; absent where nothing
/// was recorded. `nics` are those of the ranks.
std::map<PortId, TimeByCause> causes_of_ports(std::span<const RankTraffic> ranks, std::span<const RankNic> nics);

class FlowStatistics {
 public:
  /// `listed` bounds `slowest`.
  explicit FlowStatistics(size_t listed) : listed_(listed) {}

  void add(const RecordedFlow& flow);

  uint64_t queue_pairs() const { return queue_pairs_; }
  /// By RankId, up to the last rank that has a queue pair on the wire.
  const std::vector<RankTraffic>& ranks() const { return ranks_; }
  /// Queue pairs of the connections with the slowest messages, slowest first; those of one connection, and of
  /// connections whose messages were not timed, by retransmitted packets, most first.
  std::vector<RecordedFlow> slowest() const;

 private:
  size_t listed_;
  uint64_t queue_pairs_ = 0;
  std::vector<RankTraffic> ranks_;
  std::vector<RecordedFlow> slowest_;  // a heap with the one on top that is to be listed last
};

}  // namespace rankwire
