// The peer's frames: what it sends and how it answers.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "emulator/nic_check/bench.h"

namespace rankwire {
namespace {

// The IP header stands in front of UDP and BTH, which `parse` need not have seen.
void finish_ip(Frame& frame, const HeaderTemplate& path, Ecn ecn) {
  uint8_t* const at = frame.head + (path.ip() - path.header());
  if (path.ip_version == IpVersion::kIpv4) {
    auto& ip = *reinterpret_cast<Ipv4Header*>(at);
    ip.type_of_service = static_cast<uint8_t>((ip.type_of_service & ~3) | static_cast<uint8_t>(ecn));
    ip.checksum = ipv4_checksum(ip);
    return;
  }
  auto& ip = *reinterpret_cast<Ipv6Header*>(at);
  ip.version_class_flow = Ipv6Header::word(static_cast<uint8_t>((ip.traffic_class() & ~3) | static_cast<uint8_t>(ecn)),
                                           ip.version_class_flow.value() & Ipv6Header::kFlowLabelMask);
}

bool ends_message(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendLast:
    case Opcode::kSendLastImmediate:
    case Opcode::kSendOnly:
    case Opcode::kSendOnlyImmediate:
    case Opcode::kWriteLast:
    case Opcode::kWriteLastImmediate:
    case Opcode::kWriteOnly:
    case Opcode::kWriteOnlyImmediate:
      return true;
    default:
      return false;
  }
}

}  // namespace

Frame NicBench::allocate() {
  Frame frame;
  if (port_.allocate({&frame, 1}) == 0) fail_run("the wire has no frame left to be sent");
  return frame;
}

size_t NicBench::transmit(Frame& frame) {
  const size_t number = log_.add(clock_.now(), false, frame);
  const Time end = clock_.now() + milliseconds(100);
  while (port_.transmit(clock_.now(), {&frame, 1}) == 0) {
    if (clock_.now() > end || !clock_.runs_by_itself()) {
      port_.release({&frame, 1});
      fail_run("the wire takes no frame");
    }
  }
  return number;
}

size_t NicBench::send(PeerEnd& end, const PeerPacket& packet) {
  Frame frame = allocate();
  const auto payload = static_cast<uint32_t>(packet.payload.size());
  OutboundPacket header{.opcode = packet.opcode, .ack_request = packet.ack_request};
  header.psn = packet.psn.value_or(end.next_psn);
  header.payload_length = payload;
  header.immediate = packet.immediate;
  header.rkey = packet.rkey.value_or(nic_.region().rkey);
  header.dma_length = packet.dma_length.value_or(payload);
  header.address = packet.address.value_or(target());
  header.syndrome = packet.syndrome;
  header.msn = packet.msn;
  if (!packet.psn) {
    const bool read = packet.opcode == Opcode::kReadRequest;
    end.next_psn = psn_add(end.next_psn, read ? packets_of(header.dma_length, end.options.mtu) : 1);
  }
  write_headers(end.path, header, frame);
  if (payload > 0) std::memcpy(frame.head + frame.head_length, packet.payload.data(), payload);
  frame.head_length = static_cast<uint16_t>(frame.head_length + payload);
  if (packet.before_seal) packet.before_seal(frame);
  finish_ip(frame, end.path, packet.ecn);
  seal(frame);
  if (packet.after_seal) packet.after_seal(frame);
  return transmit(frame);
}

size_t NicBench::send_acknowledgement(PeerEnd& end, uint32_t psn, uint8_t syndrome, std::optional<uint32_t> msn) {
  Frame frame = allocate();
  write_acknowledgement(end.path, {psn & kPsnMask, msn.value_or(end.msn), syndrome}, frame);
  return transmit(frame);
}

size_t NicBench::send_notification(PeerEnd& end) {
  Frame frame = allocate();
  write_congestion_notification(end.path, 64, frame);
  return transmit(frame);
}

size_t NicBench::send_pause(const PauseFrame& pause) {
  Frame frame = allocate();
  write_pause(options_.peer.mac, pause, frame);
  return transmit(frame);
}

size_t NicBench::send_bytes(const std::vector<uint8_t>& bytes) {
  Frame frame = allocate();
  std::ranges::copy(bytes, frame.head);
  frame.head_length = static_cast<uint16_t>(bytes.size());
  frame.payload_length = 0;
  frame.tail_length = 0;
  return transmit(frame);
}

// Those of a case are numbered one after the other.
PeerEnd* NicBench::end_of(uint32_t number) {
  if (ends_.empty() || number < ends_.front().number) return nullptr;
  const size_t index = number - ends_.front().number;
  return index < ends_.size() ? &ends_[index] : nullptr;
}

void NicBench::receive(const Frame& arrived, Time at) {
  // What rankwire's own end has sent comes back where a packet socket sees both directions.
  if (arrived.head_length >= sizeof(EthernetHeader) &&
      reinterpret_cast<const EthernetHeader*>(arrived.head)->source == options_.peer.mac)
    return;
  const size_t number = log_.add(at, true, arrived);
  const ParsedPacket& p = packet(number);
  if (is_for_neighbours(p.reject)) neighbours_.receive(arrived);
  if (p.reject != Reject::kNone || is_response(p.opcode) || p.opcode == Opcode::kCongestionNotification) return;
  if (PeerEnd* const end = end_of(p.destination_qp)) respond(*end, number);
}

void NicBench::respond(PeerEnd& end, size_t number) {
  const ParsedPacket p = packet(number);
  if (end.on_request && end.on_request(number) == Fate::kLost) return;
  const bool read = p.opcode == Opcode::kReadRequest;
  const int32_t ahead = psn_distance(end.expected, p.psn);
  if (ahead > 0) {
    if (end.nak_outstanding || !end.recovers) return;
    end.nak_outstanding = true;
    send_acknowledgement(end, end.expected, static_cast<uint8_t>(Syndrome::kNakSequence));
    return;
  }
  if (ahead < 0) {
    if (read) return respond_read(end, p);
    if (end.answers) send_acknowledgement(end, psn_add(end.expected, kPsnMask));
    return;
  }
  end.nak_outstanding = false;
  if (read) {
    end.expected = psn_add(end.expected, packets_of(p.dma_length, end.options.mtu));
    end.msn = psn_add(end.msn, 1);
    return respond_read(end, p);
  }
  end.expected = psn_add(end.expected, 1);
  if (end.keeps_payload) end.received.insert(end.received.end(), p.payload, p.payload + p.payload_length);
  if (end.compares_payload && !end.first_wrong_byte) {
    const std::vector<uint8_t> wanted = pattern_bytes(p.payload_length, end.arrived);
    const auto differs = std::ranges::mismatch(wanted, std::span(p.payload, p.payload_length)).in1;
    if (differs != wanted.end()) end.first_wrong_byte = end.arrived + static_cast<uint64_t>(differs - wanted.begin());
  }
  end.arrived += p.payload_length;
  if (ends_message(p.opcode)) end.msn = psn_add(end.msn, 1);
  if (p.ack_request && end.answers) send_acknowledgement(end, p.psn);
}

// The payload is the pattern of its address.
void NicBench::respond_read(PeerEnd& end, const ParsedPacket& request) {
  if (!end.answers) return;
  const uint32_t mtu = end.options.mtu, packets = packets_of(request.dma_length, mtu);
  for (uint32_t i = 0; i < packets; ++i) {
    const uint32_t psn = psn_add(request.psn, i);
    if (end.on_response && end.on_response(psn) == Fate::kLost) continue;
    const uint32_t length = std::min(mtu, request.dma_length - i * mtu);
    PeerPacket response;
    const bool first = i == 0, last = i + 1 == packets;
    response.opcode = first ? (last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst)
                            : (last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle);
    response.psn = psn;
    response.ack_request = false;
    response.payload = pattern_bytes(length, request.address + uint64_t{i} * mtu);
    response.msn = end.msn;
    send(end, response);
  }
}

}  // namespace rankwire
