// The NIC as requester: how messages become packets.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

Verb verb_of_work(WorkKind kind) {
  switch (kind) {
    case WorkKind::kSend:
      return Verb::kSend;
    case WorkKind::kSendImmediate:
      return Verb::kSendImmediate;
    case WorkKind::kWriteImmediate:
      return Verb::kWriteImmediate;
    case WorkKind::kRead:
      return Verb::kRead;
    case WorkKind::kWrite:
      break;
  }
  return Verb::kWrite;
}

void check_packet(NicBench& bench, const PeerEnd& end, size_t number, WorkKind kind, uint32_t i, uint32_t bytes) {
  const ParsedPacket& p = bench.packet(number);
  const uint32_t mtu = end.options.mtu, packets = packets_of(bytes, mtu);
  const VerbOpcodes& opcodes = opcodes_of(verb_of_work(kind));
  const bool first = i == 0, last = i + 1 == packets;
  const Opcode opcode = first ? (last ? opcodes.only : opcodes.first) : (last ? opcodes.last : opcodes.middle);
  const uint32_t length = last ? bytes - i * mtu : mtu;
  bench.require(p.opcode == opcode, number,
                fmt::format("packet {} has opcode 0x{:02X}, expected 0x{:02X}", i, static_cast<uint8_t>(p.opcode),
                            static_cast<uint8_t>(opcode)));
  bench.require(p.psn == psn_add(end.options.nic_psn, i), number,
                fmt::format("packet {} has PSN {}, expected {}", i, p.psn, psn_add(end.options.nic_psn, i)));
  bench.require(p.payload_length == length, number,
                fmt::format("packet {} has {} bytes of payload, expected {}", i, p.payload_length, length));
  bench.require(p.pad == (-length & 3), number,
                fmt::format("packet {} has a pad of {}, expected {}", i, p.pad, -length & 3));
  bench.require(bench.frame(number).icrc_good, number, fmt::format("the ICRC of packet {} is wrong", i));
  if (layout_of(opcode).reth) {
    bench.require(p.address == NicBench::kPeerAddress && p.rkey == NicBench::kPeerKey, number,
                  "address or key in RETH are not those of the work request");
    bench.require(p.dma_length == bytes, number,
                  fmt::format("RETH announces {} bytes, expected {}", p.dma_length, bytes));
  }
  if (last) bench.require(p.ack_request, number, "the last packet does not ask for an acknowledgement");
}

void send_message(NicBench& bench, WorkKind kind, uint32_t bytes, const EndOptions& options, uint32_t immediate = 0) {
  PeerEnd& end = bench.open(options);
  const uint64_t id = bench.post(end, kind, bytes, immediate);
  const uint32_t packets = packets_of(bytes, options.mtu);
  bench.run_until([&] { return bench.completion(id) != nullptr; }, bench.limits().answer * 2);
  const std::vector<size_t> sent = bench.requests(end);
  for (uint32_t i = 0; i < packets && i < sent.size(); ++i) check_packet(bench, end, sent[i], kind, i, bytes);
  bench.require(sent.size() == packets, {}, fmt::format("{} packets were sent, expected {}", sent.size(), packets));
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
  bench.require(end.received == NicBench::pattern_bytes(bytes), {},
                "the payload that arrived is not the one that was sent");
  if (immediate != 0)
    bench.require(bench.packet(sent.back()).immediate == immediate, sent.back(),
                  fmt::format("immediate data 0x{:08X} arrived, expected 0x{:08X}", bench.packet(sent.back()).immediate,
                              immediate));
}

void check_headers(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint64_t id = bench.post(end, WorkKind::kWrite, 5 * end.options.mtu);
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
  std::optional<uint16_t> port;
  for (const size_t number : bench.requests(end)) {
    const ParsedPacket& p = bench.packet(number);
    bench.require(p.bth().partition_key.value() == kDefaultPartitionKey, number, "P_Key is not 0xFFFF");
    bench.require((p.bth().flags & Bth::kVersionMask) == 0, number, "TVer is not 0");
    bench.require((p.bth().ack_request & 0x7F) == 0, number, "reserved bits beside AckReq are not 0");
    bench.require(p.ethernet().source == bench.nic().facts().mac, number,
                  "the source MAC address is not the NIC's: " + to_string(p.ethernet().source));
    if (port)
      bench.require(*port == p.udp().source_port.value(), number, "the UDP source port of the queue pair changes");
    port = p.udp().source_port.value();
    if (p.ip_version == IpVersion::kIpv4) {
      const auto& ip = *reinterpret_cast<const Ipv4Header*>(p.head + p.ip_offset);
      bench.require((ip.flags_and_offset.value() & Ipv4Header::kDontFragment) != 0, number, "DF is not set");
      bench.require(ip.time_to_live > 1, number, "TTL is too small to pass a router");
    }
  }
  bench.tell(fmt::format("UDP source port {}", port.value_or(0)));
}

}  // namespace

NicCases requester_data_cases() {
  NicCases cases;
  const EndOptions usual;
  const struct {
    const char* name;
    WorkKind kind;
  } kinds[] = {{"write", WorkKind::kWrite}, {"send", WorkKind::kSend}};
  const struct {
    const char* name;
    uint32_t bytes;
  } sizes[] = {{"0", 0},
               {"1", 1},
               {"mtu_minus_1", usual.mtu - 1},
               {"mtu", usual.mtu},
               {"mtu_plus_1", usual.mtu + 1},
               {"many", 16 * usual.mtu + 3}};
  for (const auto& kind : kinds)
    for (const auto& size : sizes)
      cases.push_back(
          {fmt::format("requester.size.{}.{}", kind.name, size.name),
           fmt::format("{} of {} bytes", kind.name, size.bytes),
           fmt::format("the NIC sends a {} of {} bytes with a path MTU of {}", kind.name, size.bytes, usual.mtu),
           "opcodes, PSNs, lengths, pad, RETH, AckReq on the last, ICRC and payload are right; completes",
           kSegmentation, [kind, size, usual](NicBench& bench) { send_message(bench, kind.kind, size.bytes, usual); }});
  for (const uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u})
    cases.push_back({fmt::format("requester.mtu.{}", mtu), fmt::format("path MTU {}", mtu),
                     fmt::format("the NIC sends a WRITE of 9000 bytes with a path MTU of {}", mtu),
                     "no packet carries more, and all but the last as much", kSegmentation,
                     [mtu](NicBench& bench) { send_message(bench, WorkKind::kWrite, 9000, {.mtu = mtu}); }});
  constexpr uint32_t kImmediate = 0x12345678;
  cases.push_back({"requester.immediate.send", "SEND with immediate data",
                   "the NIC sends a SEND of three packets with immediate data",
                   "the last packet carries it, in network order", kSegmentation, [usual](NicBench& bench) {
                     send_message(bench, WorkKind::kSendImmediate, 3 * usual.mtu - 5, usual, kImmediate);
                   }});
  cases.push_back({"requester.immediate.write", "WRITE with immediate data",
                   "the NIC sends a WRITE of three packets with immediate data",
                   "the last packet carries it, in network order", kSegmentation, [usual](NicBench& bench) {
                     send_message(bench, WorkKind::kWriteImmediate, 3 * usual.mtu - 5, usual, kImmediate);
                   }});
  cases.push_back(
      {"requester.psn.wrap", "PSNs begin anew at 2^24", "the NIC sends five packets, the first with PSN 2^24 - 2",
       "PSNs go on with 0; completes", kReliability,
       [usual](NicBench& bench) { send_message(bench, WorkKind::kWrite, 5 * usual.mtu, {.nic_psn = kPsnMask - 1}); }});
  cases.push_back({"requester.psn.half", "PSNs go beyond 2^23",
                   "the NIC sends five packets, the first with PSN 2^23 - 2", "PSNs go on with 2^23; completes",
                   kReliability, [usual](NicBench& bench) {
                     send_message(bench, WorkKind::kWrite, 5 * usual.mtu, {.nic_psn = (1u << 23) - 2});
                   }});
  cases.push_back({"requester.headers", "headers", "the NIC sends a WRITE of five packets",
                   "P_Key 0xFFFF, TVer 0, reserved bits 0, its own MAC address, one UDP source port, DF, TTL above 1",
                   kValidation, check_headers});
  return cases;
}

}  // namespace rankwire
