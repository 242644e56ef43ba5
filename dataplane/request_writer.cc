#include "dataplane/request_writer.h"

#include <bit>
#include <cstring>

namespace rankwire {
namespace {

static_assert(std::endian::native == std::endian::little, "the ICRC is little-endian on the wire");

void set_icrc(uint32_t icrc, Frame& frame) noexcept {
  std::memcpy(frame.tail + frame.tail_length, &icrc, kIcrcBytes);
  frame.tail_length += kIcrcBytes;
}

}  // namespace

void RequestWriter::write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                          std::span<Frame> frames) const noexcept {
  if (run.opcode == Opcode::kWriteMiddle && !run.ack_request && payload_ == PayloadMode::kPattern)
    return write_middles(path, message, run, frames);
  OutboundPacket packet = first_packet(path, message, run);
  uint32_t offset = run.offset;
  for (Frame& frame : frames) {
    packet.source_port = source_port(path, message.immediate, packet.psn);
    write_packet(path, packet, message.payload_key, offset, frame);
    packet.psn = psn_add(packet.psn, 1);
    offset += run.length;
  }
}

void RequestWriter::write(const HeaderTemplate& path, uint64_t payload_key, uint32_t offset, const ResponseRun& run,
                          std::span<Frame> frames) const noexcept {
  OutboundPacket packet{
      .opcode = run.opcode, .psn = run.psn, .payload_length = run.length, .syndrome = run.syndrome, .msn = run.msn};
  for (Frame& frame : frames) {
    packet.source_port = source_port(path, static_cast<uint32_t>(run.region_offset >> 32), packet.psn);
    write_packet(path, packet, payload_key, offset, frame);
    packet.psn = psn_add(packet.psn, 1);
    offset += run.length;
  }
}

void RequestWriter::write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                          std::span<const uint8_t> payload, Frame& frame) const noexcept {
  frame.head += kHeaderRoom - header_bytes(path, run.opcode);
  write_headers(path, first_packet(path, message, run), frame);
  std::memcpy(frame.head + frame.head_length, payload.data(), payload.size());
  frame.head_length = static_cast<uint16_t>(frame.head_length + payload.size());
  seal(frame);
}

OutboundPacket RequestWriter::first_packet(const HeaderTemplate& path, const OutboundMessage& message,
                                           const RequestRun& run) const noexcept {
  return {.opcode = run.opcode,
          .ack_request = run.ack_request,
          .solicited = run.solicited,
          .source_port = source_port(path, message.immediate, run.psn),
          .psn = run.psn,
          .payload_length = run.length,
          .immediate = message.immediate,
          .rkey = message.rkey,
          .dma_length = run.dma_length,
          .address = message.remote_address + run.offset};
}

void RequestWriter::write_packet(const HeaderTemplate& path, const OutboundPacket& packet, uint64_t payload_key,
                                 uint32_t offset, Frame& frame) const noexcept {
  frame.head += kHeaderRoom - header_bytes(path, packet.opcode);
  write_headers(path, packet, frame);
  if (payload_ == PayloadMode::kChecking) {
    write_payload(payload_key, offset, {frame.head + frame.head_length, packet.payload_length});
    frame.head_length = static_cast<uint16_t>(frame.head_length + packet.payload_length);
    return seal(frame);
  }
  frame.payload = payload_pattern().data();
  frame.payload_length = static_cast<uint16_t>(packet.payload_length);
  frame.tail_length = static_cast<uint8_t>(-packet.payload_length & 3);
  std::memset(frame.tail, 0, frame.tail_length);
  set_icrc(pattern_icrc_.icrc(path, packet, {frame.head, frame.head_length}), frame);
}

uint16_t RequestWriter::hashed_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept {
  const uint32_t queue_pair = path.transport().bth.destination_qp.value();
  return hashed_source_port(queue_pair, source_ports_ == SourcePortPolicy::kPerMessage ? message : psn);
}

// The template is the header: nothing but the PSN, and perhaps the source port, is to be written.
void RequestWriter::write_middles(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                                  std::span<Frame> frames) const noexcept {
  const uint8_t* const pattern = payload_pattern().data();
  uint32_t psn = run.psn;
  for (Frame& frame : frames) {
    uint8_t* const payload = frame.head + kHeaderRoom;
    std::memcpy(payload - 64, path.header_end() - 64, 64);
    if (path.header_length > 64) std::memcpy(payload - 128, path.header_end() - 128, 64);
    frame.head = payload - path.header_length;
    auto& transport = *reinterpret_cast<TransportHeader*>(payload - sizeof(TransportHeader));
    transport.bth.psn = Be24(psn);
    frame.head_length = path.header_length;
    frame.payload = pattern;
    frame.payload_length = static_cast<uint16_t>(run.length);
    frame.tail_length = 0;
    uint32_t icrc = pattern_icrc_.middle(path, psn);
    if (const uint16_t port = source_port(path, message.immediate, psn); port != 0) {
      transport.udp.source_port = Be16(port);
      icrc ^= pattern_icrc_.middle_port_change(path, port);
    }
    set_icrc(icrc, frame);
    psn = psn_add(psn, 1);
  }
}

}  // namespace rankwire
