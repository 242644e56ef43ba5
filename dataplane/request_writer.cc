#include "dataplane/request_writer.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rankwire {
namespace {

static_assert(std::endian::native == std::endian::little, "the ICRC is little-endian on the wire");

// The headers of a template in registers: its last cache line holds them, unless they are long.
class HeaderLine {
 public:
  HeaderLine(const HeaderTemplate& path, Opcode opcode) noexcept
      : is_long_(path.header_length > 64),
        front_(load(path.header_end() - 80)),
        a_(load(path.header_end() - 64)),
        b_(load(path.header_end() - 48)),
        c_(load(path.header_end() - 32)),
        d_(load(path.header_end() - 16)) {
    static_assert(kMaxBaseHeaderBytes <= 80 && sizeof(HeaderTemplate::bytes) >= 80);
    const int flags = path.transport().bth.flags;
    d_ = _mm_insert_epi16(d_, static_cast<int>(opcode) | flags << 8, 2);
  }

  /// So that the headers end at `end`.
  void write(uint8_t* end) const noexcept {
    if (is_long_) store(end - 80, front_);
    store(end - 64, a_);
    store(end - 48, b_);
    store(end - 32, c_);
    store(end - 16, d_);
  }

 private:
  static __m128i load(const uint8_t* p) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static void store(uint8_t* p, __m128i x) noexcept { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }

  const bool is_long_;
  __m128i front_, a_, b_, c_, d_;
};
static_assert(sizeof(Bth) == 12, "the opcode is the third word of the last 16 bytes");

void store_word(uint8_t* out, uint32_t word) noexcept {
  std::memcpy(out, &word, sizeof word);
}

}  // namespace

void RequestWriter::write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                          std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) const noexcept {
  if (!run.ack_request && !run.solicited && is_short(layout_of(run.opcode), run.length))
    return write_middles(path, run.opcode, run.psn, buffers, port);
  OutboundPacket packet = first_packet(path, message, run);
  uint32_t offset = run.offset;
  for (const FrameBuffer buffer : buffers) {
    packet.source_port = source_port(path, message.immediate, packet.psn);
    write_packet(path, packet, message.payload_key, offset, port.place(buffer), port);
    packet.psn = psn_add(packet.psn, 1);
    offset += run.length;
  }
}

void RequestWriter::write(const HeaderTemplate& path, uint64_t payload_key, uint32_t offset, const ResponseRun& run,
                          std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) const noexcept {
  if (is_short(layout_of(run.opcode), run.length)) return write_middles(path, run.opcode, run.psn, buffers, port);
  OutboundPacket packet{
      .opcode = run.opcode, .psn = run.psn, .payload_length = run.length, .syndrome = run.syndrome, .msn = run.msn};
  for (const FrameBuffer buffer : buffers) {
    packet.source_port = source_port(path, static_cast<uint32_t>(run.region_offset >> 32), packet.psn);
    write_packet(path, packet, payload_key, offset, port.place(buffer), port);
    packet.psn = psn_add(packet.psn, 1);
    offset += run.length;
  }
}

void RequestWriter::write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                          std::span<const uint8_t> payload, uint8_t* place) const noexcept {
  Frame whole;
  whole.head = place - header_bytes(path, run.opcode);
  write_headers(path, first_packet(path, message, run), whole);
  std::memcpy(place, payload.data(), payload.size());
  whole.head_length = static_cast<uint16_t>(whole.head_length + payload.size());
  seal(whole);
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
                                 uint32_t offset, uint8_t* place, const FramePort::Capabilities& port) const noexcept {
  const uint32_t length = packet.payload_length;
  Frame frame;
  frame.head = place - header_bytes(path, packet.opcode);
  write_headers(path, packet, frame);
  if (payload_ == PayloadMode::kChecking) {
    write_payload(payload_key, offset, {place, length});
    frame.head_length = static_cast<uint16_t>(frame.head_length + length);
    return seal(frame);
  }
  const uint64_t icrc = pattern_icrc_.icrc(path, packet, {frame.head, frame.head_length});
  const uint64_t trailer = icrc << (8 * (-length & 3));
  std::memcpy(port.trailer_place(place, length), &trailer, sizeof trailer);
}

uint16_t RequestWriter::hashed_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept {
  const uint32_t queue_pair = path.transport().bth.destination_qp.value();
  return hashed_source_port(queue_pair, source_ports_ == SourcePortPolicy::kPerMessage ? message : psn);
}

// The template is the header: nothing but opcode and PSN is to be written. In a block of 256 sequence numbers only the
// last byte of the PSN changes.
void RequestWriter::write_middles(const HeaderTemplate& path, Opcode opcode, uint32_t psn,
                                  std::span<const FrameBuffer> buffers,
                                  const FramePort::Capabilities& port) const noexcept {
  // Copies: nothing written to the buffers can be thought to change them.
  const HeaderLine line(path, opcode);
  const FramePort::Capabilities to = port;
  const uint32_t length = mtu_;
  const auto change = pattern_icrc_.change_in_block();
  for (size_t i = 0; i < buffers.size();) {
    const size_t block_end = std::min<size_t>(buffers.size(), i + 256 - (psn & 0xFF));
    const uint32_t block_icrc = pattern_icrc_.block(path, opcode, psn);
    for (; i < block_end; ++i, ++psn) {
      uint8_t* const place = to.place(buffers[i]);
      line.write(place);
      store_word(place - sizeof(uint32_t), byte_swapped(psn));
      store_word(to.trailer_place(place, length), block_icrc ^ change[psn & 0xFF]);
    }
    psn &= kPsnMask;
  }
}

void write_acknowledgement(const PatternIcrc& pattern_icrc, const HeaderTemplate& path,
                           const Acknowledgement& acknowledgement, uint8_t* place) noexcept {
  Frame frame;
  frame.head = place - acknowledgement_shape(path).header_length;
  write_acknowledgement_headers(path, acknowledgement, frame);
  const uint32_t crc = pattern_icrc.behind_bth(path.icrc.behind_bth, path.ip_version,
                                               {.opcode = Opcode::kAcknowledge, .psn = acknowledgement.psn});
  uint8_t* const trailer = place - kIcrcBytes;
  uint32_t aeth;
  std::memcpy(&aeth, trailer - sizeof aeth, sizeof aeth);
  store_word(trailer, ~crc32_word(crc, aeth));
}

}  // namespace rankwire
