// What a RoCEv2 transport tells of itself in numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/latencies.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/sent_reports.h"

namespace rankwire {

/// Puts together what the parts count, as the functions of Transport of the same names. Reads, and changes nothing; all
/// that it is made from is borrowed, `paced` is null without congestion control. One thread.
class RoceFigures {
 public:
  RoceFigures(const RoceOptions& options, const LoopWatch& standstills, const QueuePairs& pairs, const Lanes& lanes,
              const PacedSenders* paced, const CauseWatch& causes, const SentReports& reports,
              const Latencies& latencies, const RoceCounters& counters)
      : options_(options),
        standstills_(standstills),
        pairs_(pairs),
        lanes_(lanes),
        paced_(paced),
        causes_(causes),
        reports_(reports),
        latencies_(latencies),
        counters_(counters) {}

  TransportCounters counters() const;
  std::vector<FlowCounters> flows_of(ConnectionRange range, Time now) const;
  FlowPackets packets_of(ConnectionId connection) const noexcept;
  std::vector<NamedCounter> details() const;
  /// Adds pauses, RDMA counters and ICRC errors of each port to what its device has counted, at its first lane. `ports`
  /// has a place for each lane.
  void add_to(std::span<PortCounters> ports, Time now) const;
  std::vector<PortLatency> latencies() const;
  uint64_t activity() const noexcept { return counters_.packets_tx() + counters_.totals.packets_rx + counters_.events; }

 private:
  RdmaCounters rdma_of(PortId port) const;

  const RoceOptions& options_;
  const LoopWatch& standstills_;
  const QueuePairs& pairs_;
  const Lanes& lanes_;
  const PacedSenders* const paced_;
  const CauseWatch& causes_;
  const SentReports& reports_;
  const Latencies& latencies_;
  const RoceCounters& counters_;
};

}  // namespace rankwire
