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

void RequestWriter::write(const HeaderTemplate& path, const RemoteMemory& memory, const OutboundMessage& message,
                          const RequestRun& run, std::span<Frame> frames) const noexcept {
  if (frames.size() > 1 && payload_ == PayloadMode::kPattern) return write_middles(path, run, frames);
  WritePacket packet{.opcode = run.opcode,
                     .ack_request = run.ack_request,
                     .psn = run.psn,
                     .payload_length = run.length,
                     .immediate = message.index,
                     .rkey = memory.rkey,
                     .dma_length = message.bytes,
                     .address = memory.address};
  uint32_t offset = run.offset;
  for (Frame& frame : frames) {
    write_packet(path, message, packet, offset, frame);
    packet.psn = psn_add(packet.psn, 1);
    offset += run.length;
  }
}

void RequestWriter::write_packet(const HeaderTemplate& path, const OutboundMessage& message, const WritePacket& packet,
                                 uint32_t offset, Frame& frame) const noexcept {
  frame.head += kHeaderRoom - write_header_bytes(packet.opcode);
  write_headers(path, packet, frame);
  if (payload_ == PayloadMode::kChecking) {
    write_payload(message.payload_key, offset, {frame.head + frame.head_length, packet.payload_length});
    frame.head_length = static_cast<uint16_t>(frame.head_length + packet.payload_length);
    return seal(frame);
  }
  frame.payload = payload_pattern().data();
  frame.payload_length = static_cast<uint16_t>(packet.payload_length);
  frame.tail_length = static_cast<uint8_t>(-packet.payload_length & 3);
  std::memset(frame.tail, 0, frame.tail_length);
  set_icrc(pattern_icrc_.icrc(path, packet, {frame.head, frame.head_length}), frame);
}

// The template is the header: nothing but the PSN is to be written.
void RequestWriter::write_middles(const HeaderTemplate& path, const RequestRun& run,
                                  std::span<Frame> frames) const noexcept {
  const uint8_t* const pattern = payload_pattern().data();
  uint32_t psn = run.psn;
  for (Frame& frame : frames) {
    uint8_t* const payload = frame.head + kHeaderRoom;
    std::memcpy(payload - sizeof path, &path, sizeof path);
    frame.head = payload - sizeof(BaseHeader);
    reinterpret_cast<BaseHeader*>(frame.head)->bth.psn = Be24(psn);
    frame.head_length = sizeof(BaseHeader);
    frame.payload = pattern;
    frame.payload_length = static_cast<uint16_t>(run.length);
    frame.tail_length = 0;
    set_icrc(pattern_icrc_.middle(path, psn), frame);
    psn = psn_add(psn, 1);
  }
}

}  // namespace rankwire
