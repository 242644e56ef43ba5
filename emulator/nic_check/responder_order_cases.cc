// The NIC as responder: what comes twice, too early or in another order, and receivers that are not ready.
#include <fmt/format.h>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

void repeat_write(NicBench& bench) {
  PeerEnd& end = bench.open();
  size_t from = bench.log().size();
  const PeerPacket write{.psn = end.options.peer_psn, .payload = NicBench::pattern_bytes(64)};
  bench.send(end, write);
  bench.expect_ack(end, from, end.options.peer_psn, 1);
  // Whoever has been told may use the memory again.
  const std::vector<uint8_t> changed(64, 0x55);
  bench.nic().write_memory(NicBench::kTarget, changed);
  from = bench.log().size();
  bench.log().mark(bench.send(end, write), "the same WRITE again");
  bench.expect_ack(end, from, end.options.peer_psn, 1);
  bench.expect_memory(NicBench::kTarget, changed, "memory after a duplicate WRITE");
}

void repeat_send(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint64_t first = bench.post_receive(end, 4096, 0), second = bench.post_receive(end, 4096, 1);
  size_t from = bench.log().size();
  const PeerPacket send{
      .opcode = Opcode::kSendOnly, .psn = end.options.peer_psn, .payload = NicBench::pattern_bytes(64)};
  bench.send(end, send);
  bench.expect_ack(end, from, end.options.peer_psn, 1);
  bench.expect_completion(first, WorkStatus::kSuccess, bench.limits().answer);
  from = bench.log().size();
  const size_t again = bench.send(end, send);
  bench.log().mark(again, "the same SEND again");
  bench.expect_ack(end, from, end.options.peer_psn, 1);
  bench.run_for(bench.limits().quiet);
  bench.require(bench.completions(first) == 1, again, "the receive completed twice");
  bench.require(bench.completion(second) == nullptr, again, "the duplicate took a second receive");
}

/// Packets first, third, fourth, fifth of five: one NAK of the second.
void leave_gap(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint32_t mtu = end.options.mtu, psn = end.options.peer_psn;
  const auto packet = [&](uint32_t i) {
    return PeerPacket{.opcode = i == 0   ? Opcode::kWriteFirst
                                : i == 4 ? Opcode::kWriteLast
                                         : Opcode::kWriteMiddle,
                      .psn = psn_add(psn, i),
                      .payload = NicBench::pattern_bytes(mtu, i * mtu),
                      .ack_request = i == 4,
                      .dma_length = 5 * mtu};
  };
  size_t from = bench.log().size();
  for (const uint32_t i : {0u, 2u, 3u, 4u}) {
    bench.send(end, packet(i));
    // One at a time, so that answers cannot be put together.
    bench.run_for(bench.limits().quiet);
  }
  bench.expect_nak(end, from, Syndrome::kNakSequence, psn_add(psn, 1));
  const std::vector<size_t> answers = bench.answers(end, from);
  bench.require(answers.size() == 1, answers.back(),
                fmt::format("{} answers came to one gap, expected one NAK", answers.size()));
  from = bench.log().size();
  for (const uint32_t i : {1u, 2u, 3u, 4u}) bench.send(end, packet(i));
  bench.expect_ack(end, from, psn_add(psn, 4), 1);
  bench.expect_memory(NicBench::kTarget, NicBench::pattern_bytes(5 * mtu), "what was written");
}

void leave_second_gap(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint32_t psn = end.options.peer_psn;
  for (uint32_t i = 0; i < 4; i += 2) {
    size_t from = bench.log().size();
    bench.send(end, {.psn = psn_add(psn, i + 1), .payload = NicBench::pattern_bytes(16)});
    bench.expect_nak(end, from, Syndrome::kNakSequence, psn_add(psn, i));
    from = bench.log().size();
    for (uint32_t k = i; k < i + 2; ++k)
      bench.send(end, {.psn = psn_add(psn, k), .payload = NicBench::pattern_bytes(16)});
    bench.expect_ack(end, from, psn_add(psn, i + 1), i + 2);
  }
}

void swap(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint32_t psn = end.options.peer_psn;
  const size_t from = bench.log().size();
  for (const uint32_t i : {1u, 0u})
    bench.send(end, {.psn = psn_add(psn, i), .payload = NicBench::pattern_bytes(16, i)});
  bench.run_for(bench.limits().quiet);
  size_t naks = 0;
  for (const size_t i : bench.answers(end, from))
    naks += (bench.packet(i).syndrome & kSyndromeTypeMask) == kSyndromeTypeNak ? 1 : 0;
  bench.tell(naks == 0 ? "takes packets in another order" : "answers packets in another order by a NAK");
  const size_t again = bench.log().size();
  bench.send(end, {.psn = psn_add(psn, 1), .payload = NicBench::pattern_bytes(16, 1)});
  bench.expect_ack(end, again, psn_add(psn, 1), 2);
  bench.measure(measured("NAKs of two packets that changed places", static_cast<double>(naks), "", 0, 1));
}

void not_ready(NicBench& bench, Opcode opcode) {
  constexpr uint8_t kCode = 14;
  PeerEnd& end = bench.open({.not_ready_code = kCode});
  size_t from = bench.log().size();
  const PeerPacket send{.opcode = opcode, .psn = end.options.peer_psn, .payload = NicBench::pattern_bytes(64)};
  bench.send(end, send);
  const size_t nak = bench.expect_nak(end, from, Syndrome::kNakNotReady, end.options.peer_psn);
  const uint32_t code = bench.packet(nak).syndrome & 0x1F;
  bench.require(code == kCode, nak, fmt::format("the RNR NAK has timer code {}, expected {}", code, kCode));
  const uint64_t id = bench.post_receive(end);
  from = bench.log().size();
  bench.send(end, send);
  bench.expect_ack(end, from, end.options.peer_psn, 1);
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
}

void too_early(NicBench& bench) {
  PeerEnd& end = bench.open();
  size_t from = bench.log().size();
  const size_t far =
      bench.send(end, {.psn = psn_add(end.options.peer_psn, 1000), .payload = NicBench::pattern_bytes(16)});
  bench.log().mark(far, "a PSN far ahead");
  bench.expect_nak(end, from, Syndrome::kNakSequence, end.options.peer_psn);
  bench.expect_alive(end);
}

void long_past(NicBench& bench) {
  PeerEnd& end = bench.open();
  bench.expect_alive(end);
  const size_t from = bench.log().size();
  bench.send(end, {.psn = psn_add(end.options.peer_psn, kPsnMask - 100), .payload = std::vector<uint8_t>(64, 0x77)});
  bench.run_for(bench.limits().quiet);
  for (const size_t i : bench.answers(end, from))
    bench.require((bench.packet(i).syndrome & kSyndromeTypeMask) == kSyndromeTypeAck, i,
                  "a PSN of the past was answered by a NAK");
  bench.expect_memory(NicBench::kTarget, NicBench::pattern_bytes(64, 5), "memory after a WRITE of the past");
  bench.expect_alive(end);
}

}  // namespace

NicCases responder_order_cases() {
  return {
      {"responder.duplicate.write", "duplicate WRITE", "a WRITE arrives, its memory changes, and it arrives again",
       "acknowledged again with the same MSN, and memory stays as it is", kAcknowledgements, repeat_write},
      {"responder.duplicate.send", "duplicate SEND", "a SEND arrives twice, and two receives are posted",
       "acknowledged twice, delivered once", kAcknowledgements, repeat_send},
      {"responder.gap.one_nak", "one NAK for a gap", "of five packets the second is missing",
       "one NAK 0x60 of the PSN that is missing, nothing for those behind it; all is well once it comes",
       kAcknowledgements, leave_gap},
      {"responder.gap.again", "a second gap", "a packet is missing, comes, and then another is missing",
       "each gap has its NAK", kAcknowledgements, leave_second_gap},
      {"responder.gap.far", "a PSN far ahead", "a packet arrives 1000 PSNs ahead", "one NAK 0x60 of the PSN expected",
       kAcknowledgements, too_early},
      {"responder.gap.past", "a PSN of the past", "a packet arrives whose PSN is before the first",
       "nothing is written and no NAK comes", kAcknowledgements, long_past},
      {"responder.order.swapped", "two packets change places", "two WRITEs arrive in the wrong order",
       "at most one NAK; whether both are taken is reported", kReliability, swap},
      {"responder.rnr.send", "SEND without a receive", "a SEND arrives, and no receive is posted",
       "an RNR NAK with the timer code that was set; taken once a receive is posted",
       "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)", [](NicBench& bench) { not_ready(bench, Opcode::kSendOnly); }},
      {"responder.rnr.write_immediate", "WRITE with immediate data without a receive",
       "a WRITE with immediate data arrives, and no receive is posted",
       "an RNR NAK with the timer code that was set; taken once a receive is posted",
       "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)", [](NicBench& bench) { not_ready(bench, Opcode::kWriteOnlyImmediate); }},
  };
}

}  // namespace rankwire
