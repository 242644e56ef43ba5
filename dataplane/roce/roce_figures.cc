#include "dataplane/roce/roce_figures.h"

#include <algorithm>

#include "base/transport_counters.h"

namespace rankwire {

TransportCounters RoceFigures::counters() const {
  TransportCounters counters = counters_.totals;
  counters.packets_tx = counters_.packets_tx();
  if (options_.payload == PayloadMode::kChecking) counters.payload_copies = counters.data_packets_tx;
  for (uint32_t port = 0; port < lanes_.ports(); ++port) {
    counters.pause_tx += lanes_.port(port).pause_tx;
    counters.pause_rx += lanes_.port(port).pause_rx;
  }
  for (const TransmitLane& lane : lanes_.all()) {
    const Pacer& pacer = lane.pacer();
    counters.stalls += pacer.stalls();
    counters.worst_stall = std::max(counters.worst_stall, pacer.worst_stall());
    counters.slipped = std::max(counters.slipped, pacer.slipped());
  }
  if (paced_ != nullptr) counters.pacing_slipped = paced_->longest_slip();
  return counters;
}

std::vector<FlowCounters> RoceFigures::flows_of(ConnectionRange range, Time now) const {
  const auto end_of_range = std::min<size_t>(range.end, pairs_.connections.size());
  const std::vector<uint64_t> under_way = reports_.packets_under_way();
  std::vector<FlowCounters> flows;
  if (range.begin < end_of_range) flows.reserve((end_of_range - range.begin) * options_.queue_pairs);
  for (size_t c = range.begin; c < end_of_range; ++c) {
    const ConnectionEnds& ends = pairs_.connections[c];
    for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
      FlowCounters& flow = flows.emplace_back();
      flow.connection = ConnectionId(static_cast<uint32_t>(c));
      flow.member = static_cast<uint16_t>(member);
      if (ends.source != QueuePairs::kNone) {
        const uint32_t source = ends.source + member;
        const QueuePairEnd& end = pairs_.ends[source];
        const QueuePairCounters& counters = counters_.of[source];
        flow.source_qp = pairs_.number_of(source);
        flow.destination_qp = pairs_.peer_number(source);
        flow.messages = end.messages;
        flow.bytes = end.bytes;
        flow.packets = end.packets + under_way[source];
        flow.retransmitted = counters.retransmitted;
        flow.naks = counters.naks;
        flow.rnr_naks = counters.not_ready_naks;
        flow.timeouts = counters.timeouts;
        flow.answers.emplace().acks_rx = pairs_.requesters[source].acks();
        const Requester& requester = pairs_.requesters[source];
        // What a queue pair that has failed sent in the end was not answered in time.
        if (options_.verb != DataVerb::kRead && !end.failed)
          flow.unacknowledged =
              static_cast<uint64_t>(psn_distance(requester.oldest_unacknowledged(), requester.end_psn()));
        if (end.connection == flow.connection) flow.source_end = counters_.rdma(source);
        if (causes_.on()) flow.causes = causes_.read(source, now);
      }
      if (ends.destination != QueuePairs::kNone) {
        const uint32_t destination = ends.destination + member;
        flow.source_qp = pairs_.peer_number(destination);
        flow.destination_qp = pairs_.number_of(destination);
        flow.marks = counters_.of[destination].marks;
        flow.arrived = pairs_.arrived[destination];
        if (!flow.answers) flow.answers.emplace();
        flow.answers->acks_tx = pairs_.inboxes[destination].acks;
        flow.answers->naks_tx = counters_.of[destination].naks_sent;
        if (pairs_.ends[destination].connection == flow.connection) flow.destination_end = counters_.rdma(destination);
      }
    }
  }
  return flows;
}

FlowPackets RoceFigures::packets_of(ConnectionId connection) const noexcept {
  const ConnectionEnds& ends = pairs_.connections[connection.value];
  FlowPackets packets;
  for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
    if (ends.source != QueuePairs::kNone) {
      const uint32_t source = ends.source + member;
      packets.sent += pairs_.ends[source].packets + reports_.packets_under_way(source);
    }
    if (ends.destination != QueuePairs::kNone) packets.arrived += pairs_.arrived[ends.destination + member];
  }
  return packets;
}

std::vector<NamedCounter> RoceFigures::details() const {
  std::vector<NamedCounter> details;
  counters_.append_details(details);
  details.push_back({"pacing_slips", paced_ != nullptr ? paced_->slips() : 0});
  details.push_back({"pacing_displaced", paced_ != nullptr ? paced_->displaced() : 0});
  NeighbourCounters neighbours;
  uint64_t buffer_drops = 0;
  for (uint32_t port = 0; port < lanes_.ports(); ++port) {
    neighbours += lanes_.port(port).neighbours.counters();
    buffer_drops += lanes_.port(port).buffer_drops;
  }
  if (buffer_drops > 0) details.push_back({"receive_buffer_drops", buffer_drops});
  for (const NamedCounter& counter : named(neighbours)) details.push_back(counter);
  counters_.append_rejects(details);
  return details;
}

void RoceFigures::add_to(std::span<PortCounters> ports, Time now) const {
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    PortCounters& counters = ports[lane];
    const RocePort& port = lanes_.port_of(lane);
    counters.slipped = lanes_.all()[lane].pacer().slipped();
    if (!counters.hardware_time) counters.arrival_error = standstills_.intervals().quantile(0.5);
    if (port.first_lane != lane) continue;
    port.add_pauses(counters, now);
    counters.rdma = rdma_of(port.id);
    counters.rx_icrc_encapsulated = port.icrc_errors;
  }
}

RdmaCounters RoceFigures::rdma_of(PortId port) const {
  RdmaCounters sum;
  for (uint32_t i = 0; i < pairs_.size(); ++i)
    if (lanes_.binding(pairs_.ends[i].lane).id == port) sum += counters_.rdma(i);
  return sum;
}

std::vector<PortLatency> RoceFigures::latencies() const {
  std::vector<PortLatency> latencies;
  for (uint32_t port = 0; port < lanes_.ports(); ++port) latencies_.append_to(latencies, port, lanes_.port(port).id);
  return latencies;
}

}  // namespace rankwire
