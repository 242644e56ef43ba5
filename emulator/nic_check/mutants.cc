#include "emulator/nic_check/mutants.h"

#include <array>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr std::array<MutantFacts, 44> kMutants{{
    {NicMutant::kDeafToNaks, "deaf_to_naks", "sends nothing again after a sequence NAK", "requester.loss.write.middle"},
    {NicMutant::kHastyAfterNotReady, "hasty_after_rnr", "does not wait for the RNR timer", "requester.rnr.timer"},
    {NicMutant::kWrongNakSyndrome, "wrong_nak_syndrome", "answers a gap by the NAK of an invalid request",
     "responder.gap.one_nak"},
    {NicMutant::kAcknowledgesBeforeData, "ack_before_data", "acknowledges a WRITE before its data is in memory",
     "responder.write.there"},
    {NicMutant::kNoIcrcCheck, "no_icrc_check", "takes packets whose ICRC is wrong", "responder.icrc.payload"},
    {NicMutant::kSequenceOf23Bits, "psn_of_23_bits", "lets PSNs begin anew at 2^23", "requester.psn.half"},
    {NicMutant::kNoBounds, "no_bounds", "writes beyond the end of a region", "responder.bounds.straddle"},
    {NicMutant::kNotificationsUnpaced, "cnp_unpaced", "answers every marked packet by a CNP",
     "congestion.cnp.interval"},
    {NicMutant::kDeafToPauses, "deaf_to_pauses", "does not obey PFC", "flow.pfc.pause"},
    {NicMutant::kRewindsTooFar, "rewinds_too_far", "goes back to the packet behind the one that a NAK names",
     "requester.loss.write.middle"},
    {NicMutant::kNoRaggedEnd, "no_ragged_end", "does not send a last packet that is not full",
     "requester.size.write.mtu_plus_1"},
    {NicMutant::kDuplicateDelivered, "duplicate_delivered", "delivers a repeated SEND a second time",
     "responder.duplicate.send"},
    {NicMutant::kWrongMessageNumber, "wrong_msn", "counts packets in the MSN, not messages", "responder.msn"},
    {NicMutant::kIgnoresPathMtu, "ignores_path_mtu", "sends packets of 4096 bytes whatever the path MTU",
     "requester.mtu.256"},
    {NicMutant::kClearsEcn, "clears_ecn", "sends data as not ECN-capable", "congestion.marking.data"},
    {NicMutant::kWrongAckDscp, "wrong_ack_dscp", "sends acknowledgements with DSCP 0", "congestion.marking.ack"},
    {NicMutant::kNoTimeout, "no_timeout", "has no time-out", "requester.loss.write.last"},
    {NicMutant::kRepeatsNaks, "repeats_naks", "answers every packet behind a gap by a NAK", "responder.gap.one_nak"},
    {NicMutant::kNeverGivesUp, "never_gives_up", "repeats without end", "requester.retry.count_1"},
    {NicMutant::kNoKeyCheck, "no_key_check", "takes any key of a WRITE", "responder.key.write"},
    {NicMutant::kNoNotifications, "no_cnp", "sends no CNP", "congestion.cnp.sent"},
    {NicMutant::kDeafToNotifications, "deaf_to_cnps", "does not slow down after CNPs", "congestion.reaction.cut"},
    {NicMutant::kSwapsImmediate, "swaps_immediate", "gives the bytes of immediate data in reverse",
     "responder.write_immediate"},
    {NicMutant::kBelievesFutureAcks, "believes_future_acks", "takes an ACK of what it has not sent as one of all",
     "requester.ack.future"},
    {NicMutant::kReadsOffByOnePacket, "reads_off_by_one", "numbers the responses of a READ one too high",
     "responder.read.many"},
    {NicMutant::kStallsOnLoss, "stalls_on_loss",
     "sends nothing for 20 us on any queue pair after a sequence NAK of one", "neighbour.requester.loss"},
    {NicMutant::kStallsOnReadLoss, "stalls_on_read_loss",
     "sends nothing for 20 us on any queue pair where a READ response is missing on one",
     "neighbour.requester.read_loss"},
    {NicMutant::kNotReadyForAll, "rnr_for_all", "waits for the RNR timer of one queue pair on all",
     "neighbour.requester.rnr"},
    {NicMutant::kTimeoutForAll, "timeout_for_all", "sends again on all queue pairs when the time-out of one has passed",
     "neighbour.requester.deaf"},
    {NicMutant::kBreaksAll, "breaks_all", "breaks all queue pairs down by a NAK that breaks one",
     "neighbour.requester.key"},
    {NicMutant::kSlowsAllDown, "slows_all_down", "slows all queue pairs down after a CNP for one",
     "neighbour.requester.cnp"},
    {NicMutant::kRefusesOthers, "naks_others", "answers a gap by a NAK on all queue pairs", "neighbour.responder.gap"},
    {NicMutant::kStallsOnKey, "stalls_on_key", "sends nothing for 20 us after an invalid request",
     "neighbour.responder.key"},
    {NicMutant::kStallsOnNotReady, "stalls_on_rnr", "sends nothing for 20 us where no receive is posted",
     "neighbour.responder.rnr"},
    {NicMutant::kStallsOnIcrc, "stalls_on_icrc", "sends nothing for 20 us after a packet whose ICRC is wrong",
     "neighbour.responder.icrc"},
    {NicMutant::kNotifiesAll, "notifies_all", "sends CNPs to all queue pairs for a marked packet of one",
     "neighbour.responder.marked"},
    {NicMutant::kCountsNotReadyOfAll, "rnr_count_of_all", "counts RNR NAKs of all messages against the retry count",
     "robustness.slow_receiver.peer"},
    {NicMutant::kTiredOfNotReady, "tired_of_rnr", "breaks a queue pair down at the fourth SEND without a receive",
     "robustness.slow_receiver.nic"},
    {NicMutant::kCountsNoAnswers, "counts_no_answers", "does not count acknowledgements among the frames it has sent",
     "counters.ethtool.tx_frames"},
    {NicMutant::kCountsPausesTwice, "counts_pauses_twice", "counts each PFC frame twice", "counters.ethtool.rx_pauses"},
    {NicMutant::kCountsPayloadAlone, "counts_payload_alone",
     "counts of the bytes that it receives those of the payload alone", "counters.ethtool.rx_bytes"},
    {NicMutant::kPausesNobody, "pauses_nobody", "loses what it has no room for instead of pausing its port",
     "flow.pfc.sent"},
    {NicMutant::kPausesAllPriorities, "pauses_all_priorities", "pauses all priorities where it has no room for one",
     "flow.pfc.sent"},
    {NicMutant::kPausesWithoutEnd, "pauses_without_end", "pauses its port again and again once it has begun",
     "flow.pfc.sent"},
}};

}  // namespace

std::span<const MutantFacts> nic_mutants() {
  return kMutants;
}

NicMutant find_nic_mutant(const std::string& name) {
  std::string names;
  for (const MutantFacts& facts : kMutants) {
    if (facts.name == name) return facts.mutant;
    names += (names.empty() ? "" : ", ") + std::string(facts.name);
  }
  fail_input("--mutant: '{}' is not one of {}", name, names);
}

}  // namespace rankwire
