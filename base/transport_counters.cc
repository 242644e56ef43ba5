#include "base/transport_counters.h"

#include <algorithm>

namespace rankwire {

std::span<const CounterField> transport_counters() {
  using C = TransportCounters;
  static constexpr CounterField kCounters[] = {
      {"packets_tx", &C::packets_tx},
      {"packets_rx", &C::packets_rx},
      {"bytes_tx", &C::bytes_tx},
      {"bytes_rx", &C::bytes_rx},
      {"data_packets_tx", &C::data_packets_tx},
      {"data_packets_rx", &C::data_packets_rx},
      {"retransmitted", &C::retransmitted},
      {"naks_tx", &C::naks_tx},
      {"naks", &C::naks},
      {"timeouts", &C::timeouts},
      {"rnr_naks_tx", &C::rnr_naks_tx},
      {"rnr_naks", &C::rnr_naks},
      {"implied_naks", &C::implied_naks},
      {"read_requests_tx", &C::read_requests_tx},
      {"read_requests_rx", &C::read_requests_rx},
      {"icrc_errors", &C::icrc_errors},
      {"malformed", &C::malformed},
      {"unknown_qp", &C::unknown_qp},
      {"duplicate_packets", &C::duplicate_packets},
      {"out_of_sequence", &C::out_of_sequence},
      {"ecn_ce_rx", &C::ecn_ce_rx},
      {"cnp_tx", &C::cnp_tx},
      {"cnp_rx", &C::cnp_rx},
      {"pause_tx", &C::pause_tx},
      {"pause_rx", &C::pause_rx},
      {"messages_sent", &C::messages_sent},
      {"messages_delivered", &C::messages_delivered},
      {"messages_failed", &C::messages_failed},
      {"payload_errors", &C::payload_errors},
      {"payload_copies", &C::payload_copies},
      {"post_refused", &C::post_refused},
      {"stalls", &C::stalls},
  };
  // A counter added to TransportCounters must get a name here.
  static_assert(sizeof(TransportCounters) ==
                sizeof(kCounters) / sizeof(kCounters[0]) * sizeof(uint64_t) + 3 * sizeof(Duration));
  return kCounters;
}

std::span<const RdmaCounterField> rdma_counters() {
  using C = RdmaCounters;
  static constexpr RdmaCounterField kCounters[] = {
      {"out_of_sequence", &C::out_of_sequence},
      {"duplicate_request", &C::duplicate_request},
      {"out_of_buffer", &C::out_of_buffer},
      {"packet_seq_err", &C::packet_seq_err},
      {"implied_nak_seq_err", &C::implied_nak_seq_err},
      {"local_ack_timeout_err", &C::local_ack_timeout_err},
      {"rnr_nak_retry_err", &C::rnr_nak_retry_err},
      {"np_ecn_marked_roce_packets", &C::np_ecn_marked_roce_packets},
      {"np_cnp_sent", &C::np_cnp_sent},
      {"rp_cnp_handled", &C::rp_cnp_handled},
      {"rp_cnp_ignored", &C::rp_cnp_ignored},
  };
  static_assert(sizeof(RdmaCounters) == sizeof(kCounters) / sizeof(kCounters[0]) * sizeof(uint64_t));
  return kCounters;
}

TransportCounters& operator+=(TransportCounters& sum, const TransportCounters& other) {
  for (const CounterField& counter : transport_counters()) sum.*counter.field += other.*counter.field;
  sum.worst_stall = std::max(sum.worst_stall, other.worst_stall);
  sum.slipped = std::max(sum.slipped, other.slipped);
  sum.pacing_slipped = std::max(sum.pacing_slipped, other.pacing_slipped);
  return sum;
}

RdmaCounters& operator+=(RdmaCounters& sum, const RdmaCounters& other) {
  for (const RdmaCounterField& counter : rdma_counters()) sum.*counter.field += other.*counter.field;
  return sum;
}

RdmaCounters operator+(RdmaCounters a, const RdmaCounters& b) {
  return a += b;
}

}  // namespace rankwire
