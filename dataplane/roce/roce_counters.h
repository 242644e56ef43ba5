// What a RoCEv2 transport counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/transport.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/queue_pair.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// The events that one party sees and another reports. What follows from other parts' state (packets of messages under
/// way, pauses, stalls) is not here. Its transport's own, in that thread. No allocation after construction.
class RoceCounters {
 public:
  /// `notifications`: CNPs are counted by queue pair. `reads`: READ responses that were lost, too.
  RoceCounters(uint32_t queue_pairs, bool notifications, bool reads)
      : of(queue_pairs), notified(notifications ? queue_pairs : 0), implied_naks_(reads ? queue_pairs : 0) {}

  TransportCounters totals;  ///< but for those that follow from others
  RoceDetails details;
  std::vector<QueuePairCounters> of;           ///< by queue pair
  std::vector<NotificationCounters> notified;  ///< by queue pair; none where CNPs have no meaning
  uint64_t events = 0;                         ///< reported

  /// `packets` data packets, READ responses among them, of `length` bytes each have been sent.
  void count_data(uint32_t packets, uint32_t length) noexcept {
    totals.data_packets_tx += packets;
    totals.bytes_tx += uint64_t{length} * packets;
  }
  /// The packets of a run of requests of `length` bytes each.
  void count_request(uint32_t queue_pair, const RequestRun& run, uint32_t length) noexcept {
    if (run.opcode == Opcode::kReadRequest) {
      totals.read_requests_tx += run.count;
      totals.bytes_tx += uint64_t{length} * run.count;
    } else {
      count_data(run.count, length);
    }
    if (!run.retransmission) return;
    totals.retransmitted += run.count;
    of[queue_pair].retransmitted += run.count;
  }
  /// An ACK or NAK of `length` bytes has been sent.
  void count_answer(uint8_t syndrome, uint32_t length) noexcept {
    if (syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) ++totals.naks_tx;
    if ((syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady) ++totals.rnr_naks_tx;
    ++answers_tx_;
    totals.bytes_tx += length;
  }
  void count_notification(uint32_t queue_pair, uint32_t length) noexcept {
    ++notified[queue_pair].sent;
    ++totals.cnp_tx;
    totals.bytes_tx += length;
  }
  /// A NAK has arrived.
  void count_nak(uint32_t queue_pair, const Acknowledgement& nak) noexcept {
    if (nak.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) {
      ++totals.naks;
      ++of[queue_pair].naks;
    } else if ((nak.syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady) {
      ++totals.rnr_naks;
      ++of[queue_pair].not_ready_naks;
    }
  }
  /// An answer shows that responses to READs were lost.
  void count_implied_nak(uint32_t queue_pair) noexcept {
    ++totals.implied_naks;
    if (!implied_naks_.empty()) ++implied_naks_[queue_pair];
  }
  void count_timeout(uint32_t queue_pair) noexcept {
    ++totals.timeouts;
    ++of[queue_pair].timeouts;
  }
  void count_duplicate(uint32_t queue_pair) noexcept {
    ++totals.duplicate_packets;
    ++of[queue_pair].duplicates;
  }
  void count_out_of_sequence(uint32_t queue_pair) noexcept {
    ++totals.out_of_sequence;
    ++of[queue_pair].out_of_sequence;
  }
  /// A frame was not taken for a packet; a malformed one if it is no other protocol's.
  void count_reject(Reject reject) noexcept {
    ++rejects_[static_cast<size_t>(reject)];
    if (!is_foreign(reject)) ++totals.malformed;
  }

  uint64_t packets_tx() const noexcept {
    return totals.data_packets_tx + totals.read_requests_tx + answers_tx_ + totals.cnp_tx;
  }
  /// Of one end of a queue pair.
  RdmaCounters rdma(uint32_t queue_pair) const;
  /// Adds `details` by name, to which the caller adds what others count before `append_rejects`.
  void append_details(std::vector<NamedCounter>& list) const;
  /// Adds the frames of other protocols and then, by reason, those that were not taken for packets.
  void append_rejects(std::vector<NamedCounter>& list) const;

  /// Memory of all queue pairs.
  size_t bytes() const noexcept {
    return of.size() * sizeof(QueuePairCounters) + notified.size() * sizeof(NotificationCounters) +
           implied_naks_.size() * sizeof(uint32_t);
  }

 private:
  uint64_t answers_tx_ = 0;             // ACKs and NAKs
  std::vector<uint32_t> implied_naks_;  // by queue pair, where READs are asked for
  std::array<uint64_t, static_cast<size_t>(Reject::kScattered) + 1> rejects_{};  // by Reject
};

}  // namespace rankwire
