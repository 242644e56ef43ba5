// The NIC as responder: requests that are to be refused by a NAK.
#include <fmt/format.h>

#include <cstring>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

/// Nothing of the region, or behind it, may change by the packets of `send`, the last of which is answered by a NAK.
void expect_refusal(NicBench& bench, PeerEnd& end, Syndrome syndrome, const std::vector<PeerPacket>& packets) {
  const std::vector<uint8_t> before(4096, 0x3C);
  bench.nic().write_memory(NicBench::kTarget, before);
  const std::vector<uint8_t> guard = bench.nic().read_guard();
  const size_t from = bench.log().size();
  size_t sent = 0;
  for (const PeerPacket& packet : packets) sent = bench.send(end, packet);
  bench.log().mark(sent, "the request that is to be refused");
  const uint32_t psn = packets.back().psn.value_or(psn_add(end.next_psn, kPsnMask));
  bench.expect_nak(end, from, syndrome, psn);
  bench.run_for(bench.limits().quiet);
  bench.require(bench.nic().read_guard() == guard, sent, "memory behind the region was written");
  if (packets.size() == 1) bench.expect_memory(NicBench::kTarget, before, "memory after a request that was refused");
  // The queue pair is in error: what comes now is dropped.
  const size_t after = bench.log().size();
  bench.send(end, {.psn = psn, .payload = NicBench::pattern_bytes(16)});
  bench.expect_silence(end, after, "the queue pair is in the error state after a NAK of a request");
}

void refuse_one(NicBench& bench, Syndrome syndrome, const std::function<PeerPacket(NicBench&)>& packet) {
  PeerEnd& end = bench.open();
  expect_refusal(bench, end, syndrome, {packet(bench)});
}

PeerPacket write_at(uint64_t address, uint32_t bytes) {
  return {.payload = NicBench::pattern_bytes(bytes), .address = address};
}

void refuse_long_send(NicBench& bench) {
  PeerEnd& end = bench.open();
  bench.post_receive(end, 32);
  const size_t from = bench.log().size();
  bench.send(end, {.opcode = Opcode::kSendOnly, .payload = NicBench::pattern_bytes(64)});
  bench.expect_nak(end, from, Syndrome::kNakInvalidRequest, end.options.peer_psn);
}

void refuse_in_message(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint32_t mtu = end.options.mtu;
  expect_refusal(bench, end, Syndrome::kNakInvalidRequest,
                 {{.opcode = Opcode::kWriteFirst,
                   .payload = NicBench::pattern_bytes(mtu),
                   .ack_request = false,
                   .dma_length = 2 * mtu},
                  {.opcode = Opcode::kWriteFirst, .payload = NicBench::pattern_bytes(mtu), .dma_length = 2 * mtu}});
}

void refuse_other_verb(NicBench& bench) {
  PeerEnd& end = bench.open();
  bench.post_receive(end);
  const uint32_t mtu = end.options.mtu;
  expect_refusal(bench, end, Syndrome::kNakInvalidRequest,
                 {{.opcode = Opcode::kWriteFirst,
                   .payload = NicBench::pattern_bytes(mtu),
                   .ack_request = false,
                   .dma_length = 2 * mtu},
                  {.opcode = Opcode::kSendLast, .payload = NicBench::pattern_bytes(mtu)}});
}

void try_atomic(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  PeerPacket add{.opcode = Opcode::kFetchAdd};
  add.before_seal = [&](Frame& frame) {
    uint8_t* const eth = frame.head + frame.head_length - 28;
    const Be64 address(bench.target());
    const Be32 key(bench.nic().region().rkey);
    std::memcpy(eth, &address, sizeof address);
    std::memcpy(eth + sizeof address, &key, sizeof key);
    eth[19] = 1;
  };
  bench.nic().write_memory(NicBench::kTarget, std::vector<uint8_t>(8, 0));
  bench.send(end, add);
  const std::optional<size_t> answer = bench.answer(end, from, bench.limits().answer);
  bench.require(answer.has_value(), {}, "an atomic was answered by nothing");
  const ParsedPacket& p = bench.packet(*answer);
  if (p.opcode == Opcode::kAcknowledge && p.syndrome == static_cast<uint8_t>(Syndrome::kNakInvalidRequest))
    bench.skip("the NIC, or its queue pair, offers no atomics: NAK 0x61");
  bench.require(p.opcode == Opcode::kAtomicAcknowledge, answer, "an atomic was not answered by an atomic ACK");
  const std::vector<uint8_t> after = bench.nic().read_memory(NicBench::kTarget, 8);
  bench.require(after[0] == 1 || after[7] == 1, answer, "FETCH_ADD of 1 to 0 did not leave 1");
}

}  // namespace

NicCases responder_refusal_cases() {
  NicCases cases;
  const auto add = [&](const char* id, const char* title, const char* stimulus, Syndrome syndrome,
                       std::function<PeerPacket(NicBench&)> packet) {
    cases.push_back({id, title, stimulus,
                     fmt::format("NAK 0x{:02X}, memory stays as it is, and the queue pair is in error",
                                 static_cast<uint8_t>(syndrome)),
                     kResponderFaults, [syndrome, packet](NicBench& bench) { refuse_one(bench, syndrome, packet); }});
  };
  const auto end_of_region = [](NicBench& bench) { return bench.nic().region().address + bench.nic().region().bytes; };
  add("responder.key.write", "WRITE with a wrong key", "a WRITE arrives with a key that there is not",
      Syndrome::kNakRemoteAccess, [](NicBench& bench) {
        return PeerPacket{.payload = NicBench::pattern_bytes(64), .rkey = bench.nic().region().rkey ^ 0x5A5A};
      });
  add("responder.key.read", "READ with a wrong key", "a READ arrives with a key that there is not",
      Syndrome::kNakRemoteAccess, [](NicBench& bench) {
        return PeerPacket{.opcode = Opcode::kReadRequest, .rkey = bench.nic().region().rkey ^ 0x5A5A, .dma_length = 64};
      });
  add("responder.bounds.behind", "WRITE behind a region", "a WRITE arrives to the end of a region",
      Syndrome::kNakRemoteAccess, [=](NicBench& bench) { return write_at(end_of_region(bench), 64); });
  add("responder.bounds.straddle", "WRITE over the end of a region",
      "a WRITE of 64 bytes arrives to 32 before the end of a region", Syndrome::kNakRemoteAccess,
      [=](NicBench& bench) { return write_at(end_of_region(bench) - 32, 64); });
  add("responder.bounds.before", "WRITE before a region", "a WRITE of 64 bytes arrives to 32 before a region",
      Syndrome::kNakRemoteAccess, [](NicBench& bench) { return write_at(bench.nic().region().address - 32, 64); });
  add("responder.bounds.wrap", "WRITE whose end wraps", "a WRITE arrives to 32 before the end of the address space",
      Syndrome::kNakRemoteAccess, [](NicBench&) { return write_at(UINT64_MAX - 31, 64); });
  add("responder.bounds.read", "READ over the end of a region",
      "a READ of 64 bytes arrives from 32 before the end of a region", Syndrome::kNakRemoteAccess,
      [=](NicBench& bench) {
        return PeerPacket{.opcode = Opcode::kReadRequest, .address = end_of_region(bench) - 32, .dma_length = 64};
      });
  add("responder.length.more", "more payload than announced", "a WRITE of one packet arrives with more than RETH says",
      Syndrome::kNakInvalidRequest,
      [](NicBench&) { return PeerPacket{.payload = NicBench::pattern_bytes(64), .dma_length = 32}; });
  add("responder.length.less", "less payload than announced", "a WRITE of one packet arrives with less than RETH says",
      Syndrome::kNakInvalidRequest,
      [](NicBench&) { return PeerPacket{.payload = NicBench::pattern_bytes(64), .dma_length = 128}; });
  add("responder.length.short_first", "first packet that is not full",
      "the first packet of a WRITE arrives with less than the path MTU", Syndrome::kNakInvalidRequest, [](NicBench&) {
        return PeerPacket{.opcode = Opcode::kWriteFirst, .payload = NicBench::pattern_bytes(512), .dma_length = 1536};
      });
  add("responder.opcode.middle", "MIDDLE without FIRST", "a WRITE MIDDLE arrives outside a message",
      Syndrome::kNakInvalidRequest,
      [](NicBench&) { return PeerPacket{.opcode = Opcode::kWriteMiddle, .payload = NicBench::pattern_bytes(1024)}; });
  add("responder.opcode.last", "LAST without FIRST", "a SEND LAST arrives outside a message",
      Syndrome::kNakInvalidRequest,
      [](NicBench&) { return PeerPacket{.opcode = Opcode::kSendLast, .payload = NicBench::pattern_bytes(16)}; });
  cases.push_back({"responder.opcode.first_again", "FIRST within a message", "two WRITE FIRSTs arrive",
                   "NAK 0x61 of the second, and the queue pair is in error", kResponderFaults, refuse_in_message});
  cases.push_back({"responder.opcode.other_verb", "SEND LAST within a WRITE", "a SEND LAST follows a WRITE FIRST",
                   "NAK 0x61 of the second, and the queue pair is in error", kResponderFaults, refuse_other_verb});
  cases.push_back({"responder.length.receive", "SEND longer than its receive",
                   "a SEND of 64 bytes arrives, and the receive has 32", "NAK 0x61", kResponderFaults,
                   refuse_long_send});
  cases.push_back({"responder.atomic", "atomics", "FETCH_ADD of 1 arrives", "answered, and memory is changed once",
                   "IBTA Vol. 1, 9.7 (Reliable Connection)", try_atomic});
  return cases;
}

}  // namespace rankwire
