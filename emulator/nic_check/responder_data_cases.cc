// The NIC as responder: what arrives in order and good.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr const char* kResponding = "IBTA Vol. 1, 9.7.4 (responder), 9.7.5 (acknowledgements)";

/// The packets of one message, the last of which asks for an acknowledgement.
void send_whole(NicBench& bench, PeerEnd& end, Verb verb, uint32_t bytes, uint32_t immediate = 0, uint64_t from = 0) {
  const VerbOpcodes& opcodes = opcodes_of(verb);
  const uint32_t mtu = end.options.mtu, packets = packets_of(bytes, mtu);
  for (uint32_t i = 0; i < packets; ++i) {
    const bool first = i == 0, last = i + 1 == packets;
    PeerPacket packet;
    packet.opcode = first ? (last ? opcodes.only : opcodes.first) : (last ? opcodes.last : opcodes.middle);
    packet.payload = NicBench::pattern_bytes(std::min(mtu, bytes - i * mtu), from + i * mtu);
    packet.ack_request = last;
    packet.dma_length = bytes;
    packet.immediate = immediate;
    bench.send(end, packet);
  }
}

void write_whole(NicBench& bench, uint32_t bytes, const EndOptions& options) {
  PeerEnd& end = bench.open(options);
  const size_t from = bench.log().size();
  bench.nic().write_memory(NicBench::kTarget, std::vector<uint8_t>(bytes + 8, 0xEE));
  send_whole(bench, end, Verb::kWrite, bytes);
  bench.expect_ack(end, from, psn_add(end.next_psn, kPsnMask), 1);
  bench.expect_memory(NicBench::kTarget, NicBench::pattern_bytes(bytes), "what was written");
  bench.expect_memory(NicBench::kTarget + bytes, std::vector<uint8_t>(8, 0xEE), "what stands behind it");
}

// By the emulated NIC memory is read in the moment of the acknowledgement; of others as soon as the driver answers.
void write_and_look(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  bench.nic().write_memory(NicBench::kTarget, std::vector<uint8_t>(256, 0xEE));
  send_whole(bench, end, Verb::kWrite, 256, 0, 3);
  bench.expect_ack(end, from, end.options.peer_psn);
  bench.expect_memory(NicBench::kTarget, NicBench::pattern_bytes(256, 3), "when the ACK was there, what was written");
}

void send_to_receive(NicBench& bench, Verb verb, uint32_t bytes) {
  constexpr uint32_t kImmediate = 0x0A0B0C0D;
  PeerEnd& end = bench.open();
  const uint64_t id = bench.post_receive(end);
  const size_t from = bench.log().size();
  send_whole(bench, end, verb, bytes, kImmediate);
  bench.expect_ack(end, from, psn_add(end.next_psn, kPsnMask), 1);
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
  const WorkCompletion& completion = *bench.completion(id);
  bench.require(completion.bytes == bytes, {},
                fmt::format("the receive completed with {} bytes, expected {}", completion.bytes, bytes));
  bench.require(completion.has_immediate == has_immediate(verb), {}, "the completion is wrong about immediate data");
  if (has_immediate(verb))
    bench.require(completion.immediate == kImmediate, {},
                  fmt::format("immediate data is 0x{:08X}, expected 0x{:08X}", completion.immediate, kImmediate));
  bench.expect_memory(verb == Verb::kWriteImmediate ? NicBench::kTarget : NicBench::kReceive,
                      NicBench::pattern_bytes(bytes), "what arrived");
}

void count_messages(NicBench& bench) {
  PeerEnd& end = bench.open();
  for (uint32_t i = 1; i <= 3; ++i) {
    const size_t from = bench.log().size();
    send_whole(bench, end, Verb::kWrite, 3 * end.options.mtu);
    bench.expect_ack(end, from, psn_add(end.next_psn, kPsnMask), i);
  }
}

void empty_write(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  bench.send(end, {.address = uint64_t{0}, .rkey = bench.nic().region().rkey ^ 0x5A5A});
  bench.expect_ack(end, from, end.options.peer_psn, 1);
  bench.expect_alive(end);
}

void acknowledge_asked(NicBench& bench) {
  constexpr uint32_t kMessages = 20;
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  for (uint32_t i = 0; i < kMessages; ++i) send_whole(bench, end, Verb::kWrite, 64);
  bench.expect_ack(end, from, psn_add(end.next_psn, kPsnMask), kMessages);
  const std::vector<size_t> answers = bench.answers(end, from);
  for (size_t i = 1; i < answers.size(); ++i)
    bench.require(psn_distance(bench.packet(answers[i - 1]).psn, bench.packet(answers[i]).psn) >= 0, answers[i],
                  "the PSN of ACKs goes back");
  bench.measure(measured("ACKs", static_cast<double>(answers.size()), "", 1, kMessages,
                         fmt::format("{} requests that ask for one", kMessages)));
}

void ask_nothing(NicBench& bench) {
  PeerEnd& end = bench.open();
  size_t from = bench.log().size();
  bench.send(end, {.opcode = Opcode::kWriteFirst,
                   .payload = NicBench::pattern_bytes(end.options.mtu),
                   .ack_request = false,
                   .dma_length = 2 * end.options.mtu});
  bench.run_for(bench.limits().quiet);
  const bool unasked = !bench.answers(end, from).empty();
  from = bench.log().size();
  bench.send(end, {.opcode = Opcode::kWriteLast, .payload = NicBench::pattern_bytes(end.options.mtu, end.options.mtu)});
  bench.expect_ack(end, from, psn_add(end.options.peer_psn, 1), 1);
  bench.tell(unasked ? "also acknowledges what does not ask for it" : "acknowledges what asks for it");
}

}  // namespace

NicCases responder_data_cases() {
  NicCases cases;
  const EndOptions usual;
  const struct {
    const char* name;
    uint32_t bytes;
  } sizes[] = {{"0", 0}, {"1", 1}, {"mtu", usual.mtu}, {"mtu_plus_1", usual.mtu + 1}, {"many", 16 * usual.mtu + 3}};
  for (const auto& size : sizes)
    cases.push_back({fmt::format("responder.write.{}", size.name), fmt::format("WRITE of {} bytes", size.bytes),
                     fmt::format("a WRITE of {} bytes arrives", size.bytes),
                     "acknowledged with MSN 1; exactly these bytes are in memory", kResponding,
                     [size, usual](NicBench& bench) { write_whole(bench, size.bytes, usual); }});
  for (const uint32_t mtu : {256u, 4096u})
    cases.push_back({fmt::format("responder.write.mtu_{}", mtu), fmt::format("WRITE with a path MTU of {}", mtu),
                     fmt::format("a WRITE of 9000 bytes arrives, the path MTU is {}", mtu),
                     "acknowledged with MSN 1; exactly these bytes are in memory", kResponding,
                     [mtu](NicBench& bench) { write_whole(bench, 9000, {.mtu = mtu}); }});
  cases.push_back({"responder.write.there", "data before its acknowledgement",
                   "a WRITE arrives, and memory is read when its ACK does", "the data is there", kResponding,
                   write_and_look});
  cases.push_back({"responder.write.empty_key", "empty WRITE with a wrong key",
                   "a WRITE of 0 bytes arrives with a key that there is not", "acknowledged: it touches no memory",
                   "IBTA Vol. 1, 9.7.4.1.5 (R_Key)", empty_write});
  cases.push_back({"responder.send", "SEND", "a SEND of three packets arrives, and a receive is posted",
                   "acknowledged; the receive completes with its length and bytes", kResponding,
                   [usual](NicBench& bench) { send_to_receive(bench, Verb::kSend, 3 * usual.mtu - 1); }});
  cases.push_back({"responder.send_empty", "empty SEND", "a SEND of 0 bytes arrives, and a receive is posted",
                   "acknowledged; the receive completes with length 0", kResponding,
                   [](NicBench& bench) { send_to_receive(bench, Verb::kSend, 0); }});
  cases.push_back({"responder.send_immediate", "SEND with immediate data",
                   "a SEND of three packets with immediate data arrives",
                   "the receive completes with its length, bytes and immediate data", kResponding,
                   [usual](NicBench& bench) { send_to_receive(bench, Verb::kSendImmediate, 3 * usual.mtu - 1); }});
  cases.push_back(
      {"responder.write_immediate", "WRITE with immediate data", "a WRITE of three packets with immediate data arrives",
       "the receive completes with its length and immediate data, the bytes are at the address", kResponding,
       [usual](NicBench& bench) { send_to_receive(bench, Verb::kWriteImmediate, 3 * usual.mtu - 1); }});
  cases.push_back({"responder.msn", "MSN", "three WRITEs of three packets arrive",
                   "their ACKs have the MSNs 1, 2 and 3", kAcknowledgements, count_messages});
  cases.push_back({"responder.psn.wrap", "PSNs begin anew at 2^24",
                   "a WRITE of five packets arrives, the first with PSN 2^24 - 2", "acknowledged with MSN 1",
                   kReliability,
                   [usual](NicBench& bench) { write_whole(bench, 5 * usual.mtu, {.peer_psn = kPsnMask - 1}); }});
  cases.push_back({"responder.psn.half", "PSNs go beyond 2^23",
                   "a WRITE of five packets arrives, the first with PSN 2^23 - 2", "acknowledged with MSN 1",
                   kReliability,
                   [usual](NicBench& bench) { write_whole(bench, 5 * usual.mtu, {.peer_psn = (1u << 23) - 2}); }});
  cases.push_back({"responder.ack.asked", "acknowledgements of a burst",
                   "twenty WRITEs arrive at once, each of which asks for an acknowledgement",
                   "the last is acknowledged; PSNs of ACKs never go back; how many there are is reported",
                   kAcknowledgements, acknowledge_asked});
  cases.push_back({"responder.ack.unasked", "packets that ask for no acknowledgement",
                   "the first of two packets of a WRITE arrives without AckReq, the second with it",
                   "the second is acknowledged; whether the first is, too, is reported", kAcknowledgements,
                   ask_nothing});
  return cases;
}

}  // namespace rankwire
