#include "dataplane/roce/roce_counters.h"

#include <string_view>

#include "base/transport_counters.h"

namespace rankwire {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Reject::kScattered) + 1> kRejectNames = {
    "",
    "arp_rx",
    "icmp_rx",
    "icmpv6_rx",
    "foreign_vlan_tag",
    "foreign_ether_type",
    "foreign_ip_protocol",
    "foreign_udp_port",
    "foreign_runt",
    "rejected_truncated",
    "rejected_ip_version",
    "rejected_ip_checksum",
    "rejected_ip_fragment",
    "rejected_ip_length",
    "rejected_udp_length",
    "rejected_bth_version",
    "rejected_partition_key",
    "rejected_opcode",
    "rejected_extended_header",
    "rejected_pad",
    "rejected_scattered",
};

}  // namespace

RdmaCounters RoceCounters::rdma(uint32_t queue_pair) const {
  const QueuePairCounters& own = of[queue_pair];
  const NotificationCounters notifications = notified.empty() ? NotificationCounters() : notified[queue_pair];
  return {.out_of_sequence = own.out_of_sequence,
          .duplicate_request = own.duplicates,
          .out_of_buffer = own.not_ready,
          .packet_seq_err = own.naks,
          .implied_nak_seq_err = implied_naks_.empty() ? 0 : implied_naks_[queue_pair],
          .local_ack_timeout_err = own.timeouts,
          .rnr_nak_retry_err = own.not_ready_naks,
          .np_ecn_marked_roce_packets = notifications.marked_packets,
          .np_cnp_sent = notifications.sent,
          .rp_cnp_handled = notifications.handled,
          .rp_cnp_ignored = own.notifications_ignored};
}

void RoceCounters::append_details(std::vector<NamedCounter>& list) const {
  list.insert(list.end(), {{"misdirected", details.misdirected},
                           {"stale_acks", details.stale_acks},
                           {"ghost_acks", details.ghost_acks},
                           {"malformed_responses", details.malformed_responses},
                           {"out_of_credits", details.out_of_credits},
                           {"refused", details.refused},
                           {"not_admitted", details.not_admitted},
                           {"unindexed_messages", details.unindexed},
                           {"unknown_offers", details.unknown_offers},
                           {"answers_merged", details.answers_merged},
                           {"placed_out_of_order", details.out_of_order}});
  RdmaCounters sum;
  for (uint32_t i = 0; i < of.size(); ++i) sum += rdma(i);
  list.insert(list.end(), {{"np_cnp_sent", sum.np_cnp_sent},
                           {"np_ecn_marked_roce_packets", sum.np_ecn_marked_roce_packets},
                           {"rp_cnp_handled", sum.rp_cnp_handled},
                           {"rp_cnp_ignored", sum.rp_cnp_ignored}});
}

void RoceCounters::append_rejects(std::vector<NamedCounter>& list) const {
  uint64_t foreign = 0;
  for (size_t i = 0; i < rejects_.size(); ++i)
    if (is_foreign(static_cast<Reject>(i)) && !is_for_neighbours(static_cast<Reject>(i))) foreign += rejects_[i];
  list.push_back({"foreign", foreign});
  for (size_t i = 1; i < rejects_.size(); ++i)
    if (rejects_[i] > 0) list.push_back({kRejectNames[i], rejects_[i]});
}

}  // namespace rankwire
