// The NIC as responder: packets that are to be dropped without an answer, and those that are not.
#include <fmt/format.h>

#include <cstring>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

using Change = std::function<void(NicBench& bench, PeerEnd& end, PeerPacket& packet)>;

void expect_drop(NicBench& bench, const Change& change) {
  PeerEnd& end = bench.open();
  const std::vector<uint8_t> before(64, 0x3C);
  bench.nic().write_memory(NicBench::kTarget, before);
  PeerPacket packet{.psn = end.next_psn, .payload = NicBench::pattern_bytes(64)};
  change(bench, end, packet);
  const size_t from = bench.log().size();
  const size_t sent = bench.send(end, packet);
  bench.log().mark(sent, "the packet that is to be dropped");
  bench.expect_silence(end, from, "the packet is to be dropped silently");
  bench.expect_memory(NicBench::kTarget, before, "memory after a packet that is to be dropped");
  bench.expect_alive(end);
}

Bth& bth_of(Frame& frame, const PeerEnd& end) {
  return *reinterpret_cast<Bth*>(frame.head + end.path.header_length - sizeof(Bth));
}

void flip(Frame& frame, uint32_t from_end, uint8_t bits) {
  frame.head[frame.head_length - from_end] ^= bits;
}

/// Fields that routers change are not in the ICRC.
void change_masked(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  PeerPacket packet{.payload = NicBench::pattern_bytes(64)};
  packet.after_seal = [&](Frame& frame) {
    uint8_t* const at = frame.head + (end.path.ip() - end.path.header());
    if (end.path.ip_version == IpVersion::kIpv6) {
      reinterpret_cast<Ipv6Header*>(at)->hop_limit = 7;
      return;
    }
    auto& ip = *reinterpret_cast<Ipv4Header*>(at);
    ip.time_to_live = 7;
    ip.type_of_service = 5 << 2 | 1;
    ip.checksum = ipv4_checksum(ip);
  };
  bench.send(end, packet);
  bench.expect_ack(end, from, end.options.peer_psn, 1);
}

void send_reserved(NicBench& bench) {
  PeerEnd& end = bench.open();
  const std::vector<uint8_t> before(64, 0x3C);
  bench.nic().write_memory(NicBench::kTarget, before);
  const size_t from = bench.log().size();
  bench.log().mark(bench.send(end, {.opcode = static_cast<Opcode>(0x1B), .payload = NicBench::pattern_bytes(16)}),
                   "an opcode that is reserved");
  const std::optional<size_t> answer = bench.answer(end, from, bench.limits().quiet);
  bench.expect_memory(NicBench::kTarget, before, "memory after a reserved opcode");
  if (!answer) return bench.tell("drops it silently");
  const uint8_t syndrome = bench.packet(*answer).syndrome;
  bench.require(syndrome == static_cast<uint8_t>(Syndrome::kNakInvalidRequest), answer,
                "a reserved opcode was answered by something else than NAK 0x61");
  bench.tell("answers it by NAK 0x61");
}

}  // namespace

NicCases responder_silence_cases() {
  NicCases cases;
  const auto add = [&](const char* id, const char* title, const char* stimulus, Change change) {
    cases.push_back({id, title, stimulus,
                     "no answer, memory stays as it is, and the queue pair goes on as if it had not come", kValidation,
                     [change](NicBench& bench) { expect_drop(bench, change); }});
  };
  add("responder.icrc.payload", "bit error in the payload", "a bit of a WRITE's payload is changed behind its ICRC",
      [](NicBench&, PeerEnd&, PeerPacket& packet) { packet.after_seal = [](Frame& frame) { flip(frame, 20, 0x10); }; });
  add("responder.icrc.bth", "bit error in BTH", "AckReq of a WRITE is changed behind its ICRC",
      [](NicBench&, PeerEnd& end, PeerPacket& packet) {
        packet.after_seal = [&end](Frame& frame) { bth_of(frame, end).ack_request ^= 0x01; };
      });
  add("responder.icrc.field", "bit error in the ICRC", "a bit of a WRITE's ICRC is changed",
      [](NicBench&, PeerEnd&, PeerPacket& packet) { packet.after_seal = [](Frame& frame) { flip(frame, 1, 0x80); }; });
  add("responder.drop.partition", "wrong P_Key", "a WRITE arrives with P_Key 0x1234, its ICRC right",
      [](NicBench&, PeerEnd& end, PeerPacket& packet) {
        packet.before_seal = [&end](Frame& frame) { bth_of(frame, end).partition_key = Be16(0x1234); };
      });
  add("responder.drop.version", "wrong transport version", "a WRITE arrives with TVer 3, its ICRC right",
      [](NicBench&, PeerEnd& end, PeerPacket& packet) {
        packet.before_seal = [&end](Frame& frame) { bth_of(frame, end).flags |= 3; };
      });
  add("responder.drop.queue_pair", "queue pair that there is not", "a WRITE arrives for a queue pair that there is not",
      [](NicBench&, PeerEnd& end, PeerPacket& packet) {
        packet.before_seal = [&end](Frame& frame) { bth_of(frame, end).destination_qp = Be24(0xFEDCBA); };
      });
  add("responder.drop.udp_port", "other UDP port", "a WRITE arrives at UDP port 4792",
      [](NicBench&, PeerEnd& end, PeerPacket& packet) {
        packet.before_seal = [&end](Frame& frame) {
          auto& transport =
              *reinterpret_cast<TransportHeader*>(frame.head + end.path.header_length - sizeof(TransportHeader));
          transport.udp.destination_port = Be16(kRoceUdpPort + 1);
        };
      });
  add("responder.drop.source", "stranger", "a WRITE arrives from an address that is not the queue pair's peer",
      [](NicBench&, PeerEnd& end, PeerPacket& packet) {
        packet.before_seal = [&end](Frame& frame) {
          // The last byte of the source address of either IP version.
          const uint32_t ip = static_cast<uint32_t>(end.path.ip() - end.path.header());
          frame.head[ip + (end.path.ip_version == IpVersion::kIpv4 ? 15 : 23)] ^= 0x40;
        };
      });
  add("responder.drop.class", "opcode of another service", "an opcode of Unreliable Datagram (0x64) arrives",
      [](NicBench&, PeerEnd&, PeerPacket& packet) { packet.opcode = static_cast<Opcode>(0x64); });
  cases.push_back({"responder.icrc.masked", "fields that routers change",
                   "DSCP, ECN and TTL of a WRITE are changed behind its ICRC", "acknowledged: the ICRC masks them",
                   "IBTA Vol. 1, Annex A17.3.3 (ICRC)", change_masked});
  cases.push_back({"responder.opcode.reserved", "reserved opcode", "opcode 0x1B arrives",
                   "nothing is written; NAK 0x61 or silence, which is reported", kResponderFaults, send_reserved});
  return cases;
}

}  // namespace rankwire
