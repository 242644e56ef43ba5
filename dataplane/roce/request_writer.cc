#include "dataplane/roce/request_writer.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rankwire {
namespace {

static_assert(std::endian::native == std::endian::little, "the ICRC is little-endian on the wire");

template <class Word>
void store(uint8_t* out, Word word) noexcept {
  std::memcpy(out, &word, sizeof word);
}

#define RANKWIRE_WIDE [[gnu::target("avx512f")]]

constexpr __mmask16 kLastWord = 0x8000;  // of the headers: where the PSN stands

// Frames of MIDDLEs with this header but for the PSN: in a block of 256 only its last byte changes, and the ICRC by
// that.
RANKWIRE_WIDE [[gnu::always_inline]] inline void write_numbered(const PatternIcrc& pattern_icrc,
                                                                const HeaderTemplate& path, Opcode opcode,
                                                                __m512i header, uint32_t psn,
                                                                std::span<const FrameBuffer> buffers,
                                                                RequestWriter::Place place) noexcept {
  constexpr uint32_t kNextPsn = 1u << 24;  // as it stands in memory, within a block
  const size_t header_place = place.payload - 64;
  const size_t trailer_place = place.trailer;
  while (!buffers.empty()) {
    const size_t in_block = std::min<size_t>(buffers.size(), 256 - (psn & 0xFF));
    const uint32_t icrc = pattern_icrc.block(path, opcode, psn);
    const FrameBuffer* const buffer = buffers.data();
    const uint32_t* const change = pattern_icrc.change_in_block().data() + (psn & 0xFF);
    uint32_t number = byte_swapped(psn);
#pragma GCC unroll 4
    for (size_t i = 0; i < in_block; ++i) {
      auto* const frame = static_cast<uint8_t*>(buffer[i]);
      _mm512_storeu_si512(frame + header_place, _mm512_mask_set1_epi32(header, kLastWord, static_cast<int>(number)));
      store(frame + trailer_place, icrc ^ change[i]);
      number += kNextPsn;
    }
    psn = psn_add(psn, static_cast<uint32_t>(in_block));
    buffers = buffers.subspan(in_block);
  }
}

// The last 64 bytes of a template's headers, whose end is `end`, made those of another packet with this last word.
RANKWIRE_WIDE [[gnu::always_inline]] inline __m512i changed(__m512i header, const uint8_t* end,
                                                            const HeaderLine::Change& change,
                                                            uint32_t last_word) noexcept {
  constexpr __mmask16 kChecksum = 1u << HeaderLine::Change::kChecksum;
  uint32_t checksum;
  std::memcpy(&checksum, end - 64 + 4 * HeaderLine::Change::kChecksum, sizeof checksum);
  header = _mm512_xor_si512(header, _mm512_load_si512(change.words()));
  header = _mm512_mask_set1_epi32(header, kChecksum, static_cast<int>(change.with_checksum(checksum)));
  return _mm512_mask_set1_epi32(header, kLastWord, static_cast<int>(last_word));
}

}  // namespace

void RequestWriter::write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                          std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) const noexcept {
  if (!run.solicited && is_short(layout_of(run.opcode), run.length)) {
    if (run.ack_request) return write_middle(path, run.opcode, run.psn, buffers.front(), place_in(port), true);
    return write_middles(path, run.opcode, run.psn, buffers, place_in(port));
  }
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
  if (is_short(layout_of(run.opcode), run.length))
    return write_middles(path, run.opcode, run.psn, buffers, place_in(port));
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

void RequestWriter::write_short_last(const HeaderTemplate& path, const OutboundMessage& message, uint32_t psn,
                                     FrameBuffer buffer, const FramePort::Capabilities& port) const noexcept {
  const OutboundPacket packet{.opcode = opcodes_of(message.verb).last,
                              .ack_request = true,
                              .solicited = message.solicited && consumes_receive(message.verb),
                              .psn = psn,
                              .payload_length = message.bytes & (mtu_ - 1),
                              .immediate = message.immediate};
  write_packet(path, packet, 0, 0, port.place(buffer), port);
}

// In a block of 256 sequence numbers only the last byte of the PSN changes, and the ICRC by that.
void RequestWriter::write_lines(const HeaderTemplate& path, Opcode opcode, uint32_t psn,
                                std::span<const FrameBuffer> buffers, Place place) const noexcept {
  const HeaderLine line(path, opcode);
  const auto change = pattern_icrc_.change_in_block();
  while (!buffers.empty()) {
    const auto in_block = buffers.first(std::min<size_t>(buffers.size(), 256 - (psn & 0xFF)));
    const uint32_t icrc = pattern_icrc_.block(path, opcode, psn);
#pragma GCC unroll 4
    for (const FrameBuffer buffer : in_block) {
      auto* const frame = static_cast<uint8_t*>(buffer);
      line.write(frame + place.payload);
      store(frame + place.payload - sizeof(uint32_t), byte_swapped(psn));
      store(frame + place.trailer, icrc ^ change[psn & 0xFF]);
      ++psn;
    }
    psn &= kPsnMask;
    buffers = buffers.subspan(in_block.size());
  }
}

void RequestWriter::write_any_message(const HeaderTemplate& path, const OutboundMessage& message,
                                      const RemoteRegion& region, uint32_t psn, std::span<const FrameBuffer> buffers,
                                      const FramePort::Capabilities& port) const noexcept {
  const Place place = place_in(port);
  const auto count = static_cast<uint32_t>(buffers.size());
  write_first(path, message, region, psn, buffers.front(), place);
  write_middles(path, opcodes_of(message.verb).middle, psn_add(psn, 1), buffers.subspan(1, count - 2), place);
  write_last(path, message, psn_add(psn, count - 1), buffers.back(), port);
}

// A header is one store, sequence number and all.
RANKWIRE_WIDE void RequestWriter::write_wide_lines(const HeaderTemplate& path, Opcode opcode, uint32_t psn,
                                                   std::span<const FrameBuffer> buffers, Place place) const noexcept {
  constexpr __mmask16 kFirstWordOfBth = kLastWord >> (sizeof(Bth) / sizeof(uint32_t) - 1);
  const uint8_t* const end = path.header_end();
  uint32_t bth;
  std::memcpy(&bth, end - sizeof(Bth), sizeof bth);
  bth = (bth & ~uint32_t{0xFF}) | static_cast<uint32_t>(opcode);
  const __m512i header = _mm512_mask_set1_epi32(_mm512_loadu_si512(end - 64), kFirstWordOfBth, static_cast<int>(bth));
  write_numbered(pattern_icrc_, path, opcode, header, psn, buffers, place);
}

// The template is the header of a MIDDLE, and those of the ends differ from it in words that are known beforehand.
RANKWIRE_WIDE void RequestWriter::write_wide_message(const HeaderTemplate& path, const OutboundMessage& message,
                                                     const RemoteRegion& region, uint32_t psn,
                                                     std::span<const FrameBuffer> buffers, Place place) const noexcept {
  const uint8_t* const end = path.header_end();
  const __m512i header = _mm512_load_si512(end - 64);
  const bool immediate = has_immediate(message.verb);
  const Opcode last_opcode = immediate ? Opcode::kWriteLastImmediate : Opcode::kWriteLast;
  const HeaderLine::Change& last_change = immediate ? wide_last_immediate_ : wide_last_;
  const uint32_t last_psn = psn_add(psn, static_cast<uint32_t>(buffers.size()) - 1);
  const __m512i first = changed(header, end, wide_first_, byte_swapped(psn));
  const __m512i last = changed(header, end, last_change, byte_swapped(last_psn | uint32_t{Bth::kAckRequest} << 24));
  const uint32_t first_icrc = icrc_of_first(path, message, region, {.opcode = Opcode::kWriteFirst, .psn = psn});
  const uint32_t last_icrc = icrc_of_last(path, message, {.opcode = last_opcode, .ack_request = true, .psn = last_psn});
  // RETH in two words, as it stands in memory.
  const uint64_t address = byte_swapped(message.remote_address);
  const uint64_t key_and_length = byte_swapped(uint64_t{message.rkey} << 32 | message.bytes);
  const uint32_t word = byte_swapped(message.immediate);

  auto* const first_frame = static_cast<uint8_t*>(buffers.front());
  uint8_t* const reth = first_frame + place.payload - sizeof(Reth);
  _mm512_storeu_si512(reth - 64, first);
  store(reth, address);
  store(reth + sizeof address, key_and_length);
  store(first_frame + place.trailer, first_icrc);
  auto* const last_frame = static_cast<uint8_t*>(buffers.back());
  uint8_t* const last_end = last_frame + place.payload - (immediate ? sizeof(ImmediateHeader) : 0);
  _mm512_storeu_si512(last_end - 64, last);
  if (immediate) store(last_end, word);
  store(last_frame + place.trailer, last_icrc);
  write_numbered(pattern_icrc_, path, Opcode::kWriteMiddle, header, psn_add(psn, 1),
                 buffers.subspan(1, buffers.size() - 2), place);
}

uint16_t RequestWriter::hashed_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept {
  const uint32_t queue_pair = path.transport().bth.destination_qp.value();
  return hashed_source_port(queue_pair, source_ports_ == SourcePortPolicy::kPerMessage ? message : psn);
}

void write_acknowledgement(const PatternIcrc& pattern_icrc, const HeaderTemplate& path,
                           const Acknowledgement& acknowledgement, uint8_t* place) noexcept {
  constexpr uint32_t kExtended = sizeof(Aeth) + kIcrcBytes;
  HeaderLine line(path, Opcode::kAcknowledge);
  line.become(kind_of(acknowledgement), sizeof(Bth) + kExtended);
  uint8_t* const end = place - kExtended;
  line.write(end);
  const uint32_t aeth = byte_swapped(uint32_t{acknowledgement.syndrome} << 24 | acknowledgement.msn);
  store(end - sizeof(uint32_t), byte_swapped(acknowledgement.psn));
  store(end, aeth);
  store(end + sizeof aeth,
        pattern_icrc.acknowledgement(path.icrc.behind_bth, path.ip_version, acknowledgement.psn, aeth));
}

}  // namespace rankwire
