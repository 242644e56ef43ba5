// Any bytes as a frame: what the parser accepts lies within the frame, and written again it reads the same.
#include <cstring>
#include <utility>

#include "dataplane/neighbours/frames.h"
#include "dataplane/switch/frames.h"
#include "dataplane/wire/packet.h"
#include "dataplane/wire/pause.h"
#include "tests/dataplane/wire/packet_again.h"
#include "tests/fuzz/input.h"

namespace rankwire {
namespace {

using fuzz::require;

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
  const PacketPath path = testing::path_of(packet);
  // IPv6 with IPv4-mapped addresses is never written here.
  if (packet.ip_version == IpVersion::kIpv6 && (path.source_ip.is_ipv4() || path.destination_ip.is_ipv4())) return;
  std::vector<uint8_t> head(kMaxHeaderBytes + 16 + kIcrcBytes + 3);
  Frame frame;
  frame.head = head.data();
  write_headers(make_template(path), testing::outbound_of(packet), frame);
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

// What a switch reads is what a receiver reads, and its mark leaves everything else as it was.
void pass_switch(const Frame& frame, const ParsedPacket& packet) {
  if (is_runt(frame)) return;
  const LoadBalancingOptions balancing{.hash_queue_pair = (frame.head[0] & 1) != 0};
  const FrameHeaders headers = read_headers(frame);
  const uint32_t flow = flow_of(frame, headers, balancing);
  const bool intact = packet.reject == Reject::kNone && icrc_matches(frame, packet);
  const bool accepted = packet.reject == Reject::kNone;
  if (accepted)
    require(headers.ip && headers.dscp == packet.dscp && headers.pcp == packet.priority, "priorities are one");
  require(mark_congestion(frame) == headers.ecn_capable, "what is ECN-capable is marked");
  const FrameHeaders marked = read_headers(frame);
  require(!marked.ecn_capable && flow_of(frame, marked, balancing) == flow && marked.dscp == headers.dscp,
          "a mark is one of ECN alone");
  if (!accepted) return;
  const ParsedPacket again = parse(frame);
  require(again.reject == Reject::kNone, "a marked packet is accepted");
  require(again.ecn == (headers.ecn_capable ? Ecn::kCongestionExperienced : packet.ecn), "its mark is read");
  require(icrc_matches(frame, again) == intact, "the ICRC does not cover the mark");
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
  if (packet.reject != Reject::kNone) return pass_switch(frame, packet);
  require(packet.icrc_offset + kIcrcBytes <= frame.length(), "the ICRC lies within the frame");
  require(packet.payload_length + packet.pad <= packet.icrc_offset, "the payload lies within the frame");
  require(packet.psn < 1u << 24 && packet.destination_qp < 1u << 24 && packet.msn < 1u << 24, "fields have 24 bits");
  icrc_matches(frame, packet);
  write_again(packet);
  pass_switch(frame, packet);
}

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rankwire::run({data, size});
  return 0;
}
