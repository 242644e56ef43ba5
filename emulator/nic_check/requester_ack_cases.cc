// The NIC as requester: acknowledgements that come twice, late, together, or for what was never sent.
#include <fmt/format.h>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

/// A WRITE whose packets nobody answers by himself.
struct Unanswered {
  PeerEnd& end;
  uint64_t id;
  uint32_t last;  // PSN
};

Unanswered unanswered(NicBench& bench, uint32_t packets) {
  PeerEnd& end = bench.open();
  end.on_request = [](size_t) { return Fate::kLost; };
  const uint64_t id = bench.post(end, WorkKind::kWrite, packets * end.options.mtu);
  bench.run_until([&] { return bench.requests(end).size() >= packets; }, bench.limits().answer);
  bench.require(bench.requests(end).size() >= packets, {}, "not all packets were sent within the limit");
  return {end, id, psn_add(end.options.nic_psn, packets - 1)};
}

void expect_unmoved(NicBench& bench, const Unanswered& work, size_t frame, const std::string& by) {
  bench.run_for(bench.limits().quiet);
  bench.require(bench.completion(work.id) == nullptr, frame, "the work completed by " + by);
  const size_t real = bench.send_acknowledgement(work.end, work.last, 0x1F, 1);
  bench.log().mark(real, "the acknowledgement of all");
  bench.expect_completion(work.id, WorkStatus::kSuccess, bench.limits().answer);
}

void acknowledge_future(NicBench& bench) {
  const Unanswered work = unanswered(bench, 2);
  const size_t frame = bench.send_acknowledgement(work.end, work.last + 5, 0x1F, 1);
  bench.log().mark(frame, "ACK of a PSN that was not sent yet");
  expect_unmoved(bench, work, frame, "an ACK of a PSN that had not been sent");
}

void acknowledge_past(NicBench& bench) {
  const Unanswered work = unanswered(bench, 2);
  const size_t frame = bench.send_acknowledgement(work.end, work.end.options.nic_psn - 1, 0x1F, 0);
  bench.log().mark(frame, "ACK of the PSN before the first");
  expect_unmoved(bench, work, frame, "an ACK of the PSN before its first packet");
}

void acknowledge_part(NicBench& bench) {
  const Unanswered work = unanswered(bench, 3);
  const size_t frame = bench.send_acknowledgement(work.end, work.last - 1, 0x1F, 0);
  bench.log().mark(frame, "ACK of all but the last packet");
  expect_unmoved(bench, work, frame, "an ACK of all but its last packet");
}

void acknowledge_badly(NicBench& bench) {
  const Unanswered work = unanswered(bench, 1);
  PeerPacket ack{.opcode = Opcode::kAcknowledge, .psn = work.last, .ack_request = false, .msn = 1};
  ack.after_seal = [](Frame& frame) { frame.head[frame.head_length - 1] ^= 1; };
  const size_t frame = bench.send(work.end, ack);
  bench.log().mark(frame, "ACK whose ICRC is wrong");
  expect_unmoved(bench, work, frame, "an ACK whose ICRC is wrong");
}

void acknowledge_twice(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint64_t id = bench.post(end, WorkKind::kWrite, 64);
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
  for (int i = 0; i < 3; ++i) bench.send_acknowledgement(end, end.options.nic_psn);
  bench.run_for(bench.limits().quiet);
  bench.require(bench.completions(id) == 1, {}, "the work completed more than once");
  const uint64_t next = bench.post(end, WorkKind::kWrite, 64);
  bench.expect_completion(next, WorkStatus::kSuccess, bench.limits().answer);
}

void acknowledge_together(NicBench& bench) {
  constexpr uint32_t kMessages = 4;
  PeerEnd& end = bench.open();
  end.answers = false;
  std::vector<uint64_t> ids;
  for (uint32_t i = 0; i < kMessages; ++i) ids.push_back(bench.post(end, WorkKind::kWrite, 64));
  bench.run_until([&] { return bench.requests(end).size() >= kMessages; }, bench.limits().answer);
  bench.log().mark(bench.send_acknowledgement(end, end.options.nic_psn + kMessages - 1), "one ACK for four messages");
  for (const uint64_t id : ids) bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
}

void repeat_nak(NicBench& bench) {
  const Unanswered work = unanswered(bench, 4);
  work.end.on_request = {};
  const size_t from = bench.log().size();
  for (int i = 0; i < 3; ++i)
    bench.log().mark(bench.send_acknowledgement(work.end, work.end.options.nic_psn + 1,
                                                static_cast<uint8_t>(Syndrome::kNakSequence), 0),
                     "the same NAK");
  // The first packet counts as received by then.
  work.end.expected = work.end.options.nic_psn + 1;
  bench.expect_completion(work.id, WorkStatus::kSuccess,
                          ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer);
  const size_t again = bench.requests(work.end, from).size();
  bench.measure(measured("packets sent again for one loss", static_cast<double>(again), "packets", 3));
}

void imply_nak(NicBench& bench) {
  if (bench.nic().facts().reads == 0) bench.skip("the NIC offers no READs");
  PeerEnd& end = bench.open();
  uint32_t responses = 0;
  end.on_response = [&](uint32_t) { return responses++ == 0 ? Fate::kLost : Fate::kDelivered; };
  const uint64_t read = bench.post(end, WorkKind::kRead, 64);
  bench.post(end, WorkKind::kWrite, 64);
  const auto asked = [&] {
    size_t count = 0;
    for (const size_t frame : bench.requests(end)) count += bench.packet(frame).opcode == Opcode::kReadRequest ? 1 : 0;
    return count;
  };
  bench.run_until([&] { return asked() >= 2; }, bench.limits().answer);
  bench.require(asked() >= 2, {},
                "the READ whose response was lost was not asked for again when the WRITE behind it was acknowledged");
  bench.expect_completion(read, WorkStatus::kSuccess, bench.limits().answer);
  bench.expect_memory(NicBench::kTarget, NicBench::pattern_bytes(64, NicBench::kPeerAddress), "what was read");
}

}  // namespace

NicCases requester_ack_cases() {
  return {
      {"requester.ack.future", "ACK of what was not sent", "an ACK arrives of a PSN that was not sent yet",
       "nothing completes by it; the right ACK completes the work", kAcknowledgements, acknowledge_future},
      {"requester.ack.past", "ghost ACK", "an ACK arrives of the PSN before the first",
       "nothing completes by it; the right ACK completes the work", kAcknowledgements, acknowledge_past},
      {"requester.ack.part", "ACK of a part", "an ACK arrives of all but the last packet of a WRITE",
       "nothing completes by it; the right ACK completes the work", kAcknowledgements, acknowledge_part},
      {"requester.ack.icrc", "ACK with a wrong ICRC", "an ACK arrives whose ICRC is wrong",
       "nothing completes by it; the right ACK completes the work", kValidation, acknowledge_badly},
      {"requester.ack.duplicate", "duplicate ACKs", "an ACK arrives four times",
       "one completion, and the next work completes as well", kAcknowledgements, acknowledge_twice},
      {"requester.ack.coalesced", "one ACK for several messages", "the last of four WRITEs alone is acknowledged",
       "all four complete", kAcknowledgements, acknowledge_together},
      {"requester.nak.duplicate", "duplicate NAKs", "a sequence NAK arrives three times",
       "completes; how many packets were sent again is reported", kAcknowledgements, repeat_nak},
      {"requester.ack.implied_nak", "implied NAK",
       "the response of a READ is lost, and the WRITE behind it is acknowledged",
       "the READ is asked for again, before any time-out, and completes with the right data", kAcknowledgements,
       imply_nak},
  };
}

}  // namespace rankwire
