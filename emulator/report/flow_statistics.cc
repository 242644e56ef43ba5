#include "emulator/report/flow_statistics.h"

#include <algorithm>

#include "base/transport_counters.h"

namespace rankwire {
namespace {

Duration slowest_message(const RecordedFlow& flow) {
  return flow.latency ? flow.latency->max : Duration(-1);
}

bool before(const RecordedFlow& a, const RecordedFlow& b) {
  if (slowest_message(a) != slowest_message(b)) return slowest_message(a) > slowest_message(b);
  const FlowCounters &x = a.flow.counters, &y = b.flow.counters;
  if (x.retransmitted != y.retransmitted) return x.retransmitted > y.retransmitted;
  return x.connection != y.connection ? x.connection < y.connection : x.member < y.member;
}

}  // namespace

void FlowTotals::add(const FlowCounters& flow) {
  messages += flow.messages;
  bytes += flow.bytes;
  packets += flow.packets;
  retransmitted += flow.retransmitted;
  naks += flow.naks;
  rnr_naks += flow.rnr_naks;
  timeouts += flow.timeouts;
  marks += flow.marks;
  if (!flow.causes) return;
  if (!causes) causes.emplace();
  *causes += *flow.causes;
}

std::map<PortId, TimeByCause> causes_of_ports(std::span<const RankTraffic> ranks, std::span<const RankNic> nics) {
  std::map<PortId, TimeByCause> causes;
  for (size_t rank = 0; rank < std::min(ranks.size(), nics.size()); ++rank)
    if (ranks[rank].source.causes) causes[nics[rank].port] += *ranks[rank].source.causes;
  return causes;
}

void FlowStatistics::add(const RecordedFlow& flow) {
  ++queue_pairs_;
  const Connection& c = flow.flow.connection;
  if (c.path == Path::kWire) {
    const size_t needed = std::max(c.source.value, c.destination.value) + size_t{1};
    if (ranks_.size() < needed) ranks_.resize(needed);
    ranks_[c.source.value].source.add(flow.flow.counters);
    ranks_[c.destination.value].destination.add(flow.flow.counters);
    ranks_[c.source.value].rdma += flow.flow.counters.source_end;
    ranks_[c.destination.value].rdma += flow.flow.counters.destination_end;
  }
  if (slowest_.size() == listed_) {
    if (listed_ == 0 || !before(flow, slowest_.front())) return;
    std::pop_heap(slowest_.begin(), slowest_.end(), before);
    slowest_.pop_back();
  }
  slowest_.push_back(flow);
  std::push_heap(slowest_.begin(), slowest_.end(), before);
}

std::vector<RecordedFlow> FlowStatistics::slowest() const {
  std::vector<RecordedFlow> flows = slowest_;
  std::sort(flows.begin(), flows.end(), before);
  return flows;
}

}  // namespace rankwire
