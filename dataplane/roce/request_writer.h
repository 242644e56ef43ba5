// The packets of a queue pair in buffers of a port.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/ports/frame_port.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/wire/header_line.h"
#include "dataplane/wire/packet.h"
#include "dataplane/wire/pattern_icrc.h"
#include "dataplane/wire/payload.h"
#include "dataplane/wire/source_port.h"

namespace rankwire {

/// Writes headers, trailers and, in checking mode, payloads. Templates are those of `pattern_icrc`, which outlives the
/// writer; `port` are the capabilities of the buffers' port. Immutable.
class RequestWriter {
 public:
  /// Where in a buffer a full payload and its trailer stand.
  struct Place {
    uint32_t payload, trailer;
  };
  Place place_in(const FramePort::Capabilities& port) const noexcept {
    return {port.place_offset, port.place_offset + (port.payload_by_reference ? 0 : mtu_)};
  }

  /// Under SourcePortPolicy::kLinux and kFixed every packet has its template's source port.
  RequestWriter(const PatternIcrc& pattern_icrc, PayloadMode payload, uint32_t mtu,
                SourcePortPolicy source_ports = SourcePortPolicy::kLinux)
      : payload_(payload),
        source_ports_(source_ports),
        mtu_(mtu),
        with_immediate_(mtu, sizeof(ImmediateHeader)),
        with_reth_(mtu, sizeof(Reth)),
        wide_first_(mtu, Opcode::kWriteFirst),
        wide_last_(mtu, Opcode::kWriteLast),
        wide_last_immediate_(mtu, Opcode::kWriteLastImmediate),
        pattern_icrc_(pattern_icrc) {}

  /// Of each frame of a run of such packets.
  FrameShape shape(const HeaderTemplate& path, Opcode opcode, uint32_t payload_length) const noexcept {
    if (payload_ == PayloadMode::kChecking) return own_shape(path, opcode, payload_length);
    return {.payload_length = payload_length,
            .header_length = static_cast<uint16_t>(header_bytes(path, opcode)),
            .trailer_length = trailer_bytes(payload_length)};
  }
  /// The same of a packet whose payload is neither the pattern nor of checking mode.
  static FrameShape own_shape(const HeaderTemplate& path, Opcode opcode, uint32_t payload_length) noexcept {
    return {.payload_length = payload_length + trailer_bytes(payload_length),
            .header_length = static_cast<uint16_t>(header_bytes(path, opcode))};
  }

  /// Makes frames of the first `buffers.size()` packets of the run, at least one and at most `run.count`.
  void write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
             std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) const noexcept;
  /// The same of a READ response, whose payload is that of a message from `offset` on.
  void write(const HeaderTemplate& path, uint64_t payload_key, uint32_t offset, const ResponseRun& run,
             std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) const noexcept;
  /// Makes a frame of the one packet of a message whose payload is `payload`.
  void write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
             std::span<const uint8_t> payload, uint8_t* place) const noexcept;

  /// The short way for what most packets are: the pattern, and MIDDLEs that differ by PSN alone.
  bool has_short_way() const noexcept { return payload_ == PayloadMode::kPattern && has_one_port(); }
  /// Of a MIDDLE, and of the first and the last packet of a message of more than one.
  FrameShape middle_shape(const HeaderTemplate& path) const noexcept { return full_shape(path.header_length); }
  FrameShape first_shape(const HeaderTemplate& path, Verb verb) const noexcept {
    return full_shape(header_bytes(path, opcodes_of(verb).first));
  }
  FrameShape last_shape(const HeaderTemplate& path, const OutboundMessage& message) const noexcept {
    const Opcode opcode = opcodes_of(message.verb).last;
    if (const uint32_t length = message.bytes & (mtu_ - 1); length != 0) return shape(path, opcode, length);
    return full_shape(header_bytes(path, opcode));
  }
  /// These packets. A WRITE goes to `region`, as most do, or elsewhere.
  void write_first(const HeaderTemplate& path, const OutboundMessage& message, const RemoteRegion& region, uint32_t psn,
                   FrameBuffer buffer, Place place) const noexcept;
  void write_last(const HeaderTemplate& path, const OutboundMessage& message, uint32_t psn, FrameBuffer buffer,
                  const FramePort::Capabilities& port) const noexcept;
  void write_middles(const HeaderTemplate& path, Opcode opcode, uint32_t psn, std::span<const FrameBuffer> buffers,
                     Place place) const noexcept;
  /// All packets of a message, at least three.
  void write_message(const HeaderTemplate& path, const OutboundMessage& message, const RemoteRegion& region,
                     uint32_t psn, std::span<const FrameBuffer> buffers,
                     const FramePort::Capabilities& port) const noexcept;
  /// One of them, which may ask for an acknowledgement.
  void write_middle(const HeaderTemplate& path, Opcode opcode, uint32_t psn, FrameBuffer buffer, Place place,
                    bool ack_request = false) const noexcept;

 private:
  void write_lines(const HeaderTemplate& path, Opcode opcode, uint32_t psn, std::span<const FrameBuffer> buffers,
                   Place place) const noexcept;
  void write_wide_lines(const HeaderTemplate& path, Opcode opcode, uint32_t psn, std::span<const FrameBuffer> buffers,
                        Place place) const noexcept;
  void write_wide_message(const HeaderTemplate& path, const OutboundMessage& message, const RemoteRegion& region,
                          uint32_t psn, std::span<const FrameBuffer> buffers, Place place) const noexcept;
  void write_any_message(const HeaderTemplate& path, const OutboundMessage& message, const RemoteRegion& region,
                         uint32_t psn, std::span<const FrameBuffer> buffers,
                         const FramePort::Capabilities& port) const noexcept;
  uint32_t icrc_of_first(const HeaderTemplate& path, const OutboundMessage& message, const RemoteRegion& region,
                         const BthChange& bth) const noexcept;
  uint32_t icrc_of_last(const HeaderTemplate& path, const OutboundMessage& message,
                        const BthChange& bth) const noexcept;
  template <class Word>
  static void store(uint8_t* out, Word word) noexcept;
  // Made as the word that it is copied and compared as.
  FrameShape full_shape(size_t header_length) const noexcept {
    static_assert(offsetof(FrameShape, header_length) == 4 && offsetof(FrameShape, trailer_length) == 6);
    return std::bit_cast<FrameShape>(uint64_t{mtu_} | uint64_t{header_length} << 32 | uint64_t{kIcrcBytes} << 48);
  }
  static uint16_t trailer_bytes(uint32_t payload_length) noexcept {
    return static_cast<uint16_t>((-payload_length & 3) + kIcrcBytes);
  }
  bool is_short(const OpcodeLayout& layout, uint32_t payload_length) const noexcept {
    return has_short_way() && layout.extended_header_bytes == 0 && payload_length == mtu_;
  }
  void write_packet(const HeaderTemplate& path, const OutboundPacket& packet, uint64_t payload_key, uint32_t offset,
                    uint8_t* place, const FramePort::Capabilities& port) const noexcept;
  void write_short_last(const HeaderTemplate& path, const OutboundMessage& message, uint32_t psn, FrameBuffer buffer,
                        const FramePort::Capabilities& port) const noexcept;
  OutboundPacket first_packet(const HeaderTemplate& path, const OutboundMessage& message,
                              const RequestRun& run) const noexcept;
  bool has_one_port() const noexcept {
    return source_ports_ == SourcePortPolicy::kLinux || source_ports_ == SourcePortPolicy::kFixed;
  }
  /// 0: the template's.
  uint16_t source_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept {
    return has_one_port() ? uint16_t{0} : hashed_port(path, message, psn);
  }
  uint16_t hashed_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept;

  const PayloadMode payload_;
  const SourcePortPolicy source_ports_;
  const uint32_t mtu_;
  const HeaderLine::Lengths with_immediate_, with_reth_;
  const HeaderLine::Change wide_first_, wide_last_, wide_last_immediate_;
  const bool wide_ = HeaderLine::has_wide_registers();
  const PatternIcrc& pattern_icrc_;
};

template <class Word>
void RequestWriter::store(uint8_t* out, Word word) noexcept {
  std::memcpy(out, &word, sizeof word);
}

// RETH's three fields are the same for most of a connection's messages, but for the length.
[[gnu::always_inline]] inline uint32_t RequestWriter::icrc_of_first(const HeaderTemplate& path,
                                                                    const OutboundMessage& message,
                                                                    const RemoteRegion& region,
                                                                    const BthChange& bth) const noexcept {
  const bool is_region = message.remote_address == region.address && message.rkey == region.key;
  return pattern_icrc_.full_with_reth(
      path, bth, is_region ? region : pattern_icrc_.region(message.remote_address, message.rkey), message.bytes);
}

[[gnu::always_inline]] inline uint32_t RequestWriter::icrc_of_last(const HeaderTemplate& path,
                                                                   const OutboundMessage& message,
                                                                   const BthChange& bth) const noexcept {
  return has_immediate(message.verb)
             ? pattern_icrc_.full_with_word(path, bth, byte_swapped(message.immediate))
             : pattern_icrc_.full(path.icrc.full[PatternIcrc::kBare], path.ip_version, PatternIcrc::kBare, bth);
}

inline void RequestWriter::write_first(const HeaderTemplate& path, const OutboundMessage& message,
                                       const RemoteRegion& region, uint32_t psn, FrameBuffer buffer,
                                       Place place) const noexcept {
  const Opcode opcode = opcodes_of(message.verb).first;
  if (opcode == Opcode::kSendFirst) {
    return write_middle(path, opcode, psn, buffer, place);
  }
  // Whatever is read is read before anything is written: to the compiler a frame may be anything.
  HeaderLine line(path, opcode);
  line.lengthen(with_reth_);
  const uint32_t icrc = icrc_of_first(path, message, region, {.opcode = opcode, .psn = psn});
  // RETH in two words, as it stands in memory.
  const uint64_t address = byte_swapped(message.remote_address);
  const uint64_t key_and_length = byte_swapped(uint64_t{message.rkey} << 32 | message.bytes);
  auto* const frame = static_cast<uint8_t*>(buffer);
  uint8_t* const end = frame + place.payload - sizeof(Reth);
  line.write(end);
  store(end - sizeof(uint32_t), byte_swapped(psn));
  store(end, address);
  store(end + sizeof address, key_and_length);
  store(frame + place.trailer, icrc);
}

inline void RequestWriter::write_last(const HeaderTemplate& path, const OutboundMessage& message, uint32_t psn,
                                      FrameBuffer buffer, const FramePort::Capabilities& port) const noexcept {
  if ((message.bytes & (mtu_ - 1)) != 0) return write_short_last(path, message, psn, buffer, port);
  const Opcode opcode = opcodes_of(message.verb).last;
  const bool solicited = message.solicited && consumes_receive(message.verb);
  const bool immediate = has_immediate(message.verb);
  const uint16_t extended = immediate ? sizeof(ImmediateHeader) : 0;
  const uint32_t word = byte_swapped(message.immediate);
  HeaderLine line(path, opcode, solicited);
  if (immediate) line.lengthen(with_immediate_);
  const uint32_t icrc =
      icrc_of_last(path, message, {.opcode = opcode, .ack_request = true, .solicited = solicited, .psn = psn});
  const Place place = place_in(port);
  auto* const frame = static_cast<uint8_t*>(buffer);
  uint8_t* const end = frame + place.payload - extended;
  line.write(end);
  store(end - sizeof(uint32_t), byte_swapped(psn | uint32_t{Bth::kAckRequest} << 24));
  if (immediate) store(end, word);
  store(frame + place.trailer, icrc);
}

[[gnu::always_inline]] inline void RequestWriter::write_middle(const HeaderTemplate& path, Opcode opcode, uint32_t psn,
                                                               FrameBuffer buffer, Place place,
                                                               bool ack_request) const noexcept {
  auto* const frame = static_cast<uint8_t*>(buffer);
  uint8_t* const end = frame + place.payload;
  if (path.header_length > 64) std::memcpy(end - 80, path.header_end() - 80, 16);
  std::memcpy(end - 64, path.header_end() - 64, 64);
  end[-static_cast<int>(sizeof(Bth))] = static_cast<uint8_t>(opcode);
  store(end - sizeof(uint32_t), byte_swapped(psn | (ack_request ? uint32_t{Bth::kAckRequest} << 24 : 0)));
  const BthChange bth{.opcode = opcode, .ack_request = ack_request, .psn = psn};
  store(frame + place.trailer,
        pattern_icrc_.full(path.icrc.full[PatternIcrc::kBare], path.ip_version, PatternIcrc::kBare, bth));
}

// The template is the header: nothing but opcode and PSN is to be written.
inline void RequestWriter::write_middles(const HeaderTemplate& path, Opcode opcode, uint32_t psn,
                                         std::span<const FrameBuffer> buffers, Place place) const noexcept {
  if (wide_ && path.header_length <= 64) {
    write_wide_lines(path, opcode, psn, buffers, place);
  } else {
    write_lines(path, opcode, psn, buffers, place);
  }
}

[[gnu::always_inline]] inline void RequestWriter::write_message(const HeaderTemplate& path,
                                                                const OutboundMessage& message,
                                                                const RemoteRegion& region, uint32_t psn,
                                                                std::span<const FrameBuffer> buffers,
                                                                const FramePort::Capabilities& port) const noexcept {
  if (wide_ && path.header_length <= 64 && opcodes_of(message.verb).first == Opcode::kWriteFirst &&
      (message.solicited | (message.bytes & (mtu_ - 1))) == 0)
    return write_wide_message(path, message, region, psn, buffers, place_in(port));
  write_any_message(path, message, region, psn, buffers, port);
}

/// The shape of an ACK or NAK: its ICRC ends where payloads begin.
inline FrameShape acknowledgement_shape(const HeaderTemplate& path) noexcept {
  return {.header_length = static_cast<uint16_t>(path.header_length + sizeof(Aeth) + kIcrcBytes)};
}
/// Writes an ACK or NAK. `path` is a template of `pattern_icrc`.
void write_acknowledgement(const PatternIcrc& pattern_icrc, const HeaderTemplate& path,
                           const Acknowledgement& acknowledgement, uint8_t* place) noexcept;

}  // namespace rankwire
