// Any bytes as a frame: what the parser accepts lies within the frame, and written again it reads the same.
#include <cstring>
#include <utility>

#include "dataplane/neighbour_frames.h"
#include "dataplane/packet.h"
#include "dataplane/pause.h"
#include "tests/fuzz/input.h"

namespace rankwire {
namespace {

using fuzz::require;

PacketPath path_of(const ParsedPacket& packet) {
  const Marking marking{.dscp = packet.dscp, .ecn = packet.ecn, .priority = packet.priority};
  PacketPath path{.source_mac = packet.ethernet().source,
                  .destination_mac = packet.ethernet().destination,
                  .source_ip = packet.source_ip(),
                  .destination_ip = packet.destination_ip(),
                  .source_port = packet.udp().source_port.value(),
                  .destination_qp = packet.destination_qp,
                  .markings = {.data = marking, .ack = marking, .nak = marking, .cnp = marking}};
  if (packet.ip_offset != sizeof(EthernetHeader)) path.vlan = packet.vlan;
  return path;
}

void require_same(const ParsedPacket& a, const ParsedPacket& b) {
  require(b.reject == Reject::kNone, "what is written is accepted");
  require(a.opcode == b.opcode && a.psn == b.psn && a.ack_request == b.ack_request && a.solicited == b.solicited,
          "BTH reads the same");
  require(a.destination_qp == b.destination_qp && a.pad == b.pad, "BTH reads the same");
  require(a.ecn == b.ecn && a.dscp == b.dscp && a.priority == b.priority && a.vlan == b.vlan, "marking reads the same");
  require(a.ip_version == b.ip_version && a.ip_offset == b.ip_offset && a.bth_offset == b.bth_offset,
          "the encapsulation is the same");
  require(a.source_ip() == b.source_ip() && a.destination_ip() == b.destination_ip(), "addresses read the same");
  require(a.address == b.address && a.rkey == b.rkey && a.dma_length == b.dma_length, "RETH reads the same");
  require(a.immediate == b.immediate && a.syndrome == b.syndrome && a.msn == b.msn, "ImmDt and AETH read the same");
  require(a.payload_length == b.payload_length && a.icrc_offset == b.icrc_offset, "lengths are the same");
  require(a.payload_length == 0 || std::memcmp(a.payload, b.payload, a.payload_length) == 0, "the payload is the same");
}

void write_again(const ParsedPacket& packet) {
  const PacketPath path = path_of(packet);
  // IPv6 with IPv4-mapped addresses is never written here.
  if (packet.ip_version == IpVersion::kIpv6 && (path.source_ip.is_ipv4() || path.destination_ip.is_ipv4())) return;
  std::vector<uint8_t> head(kMaxHeaderBytes + 16 + kIcrcBytes + 3);
  Frame frame;
  frame.head = head.data();
  write_headers(make_template(path),
                {.opcode = packet.opcode,
                 .ack_request = packet.ack_request,
                 .solicited = packet.solicited,
                 .psn = packet.psn,
                 .payload_length = packet.payload_length,
                 .immediate = packet.immediate,
                 .rkey = packet.rkey,
                 .dma_length = packet.dma_length,
                 .address = packet.address,
                 .syndrome = packet.syndrome,
                 .msn = packet.msn},
                frame);
  frame.payload = packet.payload;
  frame.payload_length = static_cast<uint16_t>(packet.payload_length);
  seal(frame);
  const ParsedPacket again = parse(frame);
  // A pad of more than the payload asks for is legal to read, but not written.
  if (packet.pad == (-packet.payload_length & 3)) require_same(packet, again);
  require(again.reject == Reject::kNone && icrc_matches(frame, again), "what is written has its ICRC");

  PacketPath back = path;
  std::swap(back.source_mac, back.destination_mac);
  std::swap(back.source_ip, back.destination_ip);
  require(is_addressed_to(make_template(back), packet), "the peer takes the packet for its own");
}

void write_pause_again(const Frame& frame) {
  const std::optional<PauseFrame> pause = read_pause(frame);
  if (!pause) return;
  std::vector<uint8_t> head(kPauseFrameBytes);
  Frame again;
  again.head = head.data();
  write_pause(MacAddress(), *pause, again);
  require(read_pause(again) == pause, "a pause written again reads the same");
}

void run(fuzz::Input input) {
  // The frame in one piece, or its head, payload and tail apart.
  const uint16_t head_length = input.word();
  const uint8_t tail_length = input.byte() & 7;
  const bool whole = (head_length & 0x8000) != 0;
  std::vector<uint8_t> head = whole ? input.rest() : input.bytes(head_length & 0x1FF);
  const std::vector<uint8_t> tail = whole ? std::vector<uint8_t>() : input.bytes(tail_length);
  const std::vector<uint8_t> payload = input.rest();
  if (head.size() > UINT16_MAX || payload.size() > UINT16_MAX) return;
  Frame frame;
  frame.head = head.data();
  frame.head_length = static_cast<uint16_t>(head.size());
  frame.payload = payload.data();
  frame.payload_length = static_cast<uint16_t>(payload.size());
  frame.tail_length = static_cast<uint8_t>(tail.size());
  std::copy(tail.begin(), tail.end(), frame.tail);

  const ParsedPacket packet = parse(frame);
  static_cast<void>(read_neighbour_frame(frame));
  write_pause_again(frame);
  if (packet.reject != Reject::kNone) return;
  require(packet.icrc_offset + kIcrcBytes <= frame.length(), "the ICRC lies within the frame");
  require(packet.payload_length + packet.pad <= packet.icrc_offset, "the payload lies within the frame");
  require(packet.psn < 1u << 24 && packet.destination_qp < 1u << 24 && packet.msn < 1u << 24, "fields have 24 bits");
  icrc_matches(frame, packet);
  write_again(packet);
}

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rankwire::run({data, size});
  return 0;
}
