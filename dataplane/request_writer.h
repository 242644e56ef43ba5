// The packets of a queue pair in buffers of a port.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/frame_port.h"
#include "dataplane/message_pool.h"
#include "dataplane/packet.h"
#include "dataplane/pattern_icrc.h"
#include "dataplane/payload.h"
#include "dataplane/requester.h"
#include "dataplane/responder.h"
#include "dataplane/source_port.h"

namespace rankwire {

/// Writes headers, trailers and, in checking mode, payloads. Templates are those of `pattern_icrc`, which outlives the
/// writer; `port` are the capabilities of the buffers' port. Immutable.
class RequestWriter {
 public:
  /// Under SourcePortPolicy::kLinux and kFixed every packet has its template's source port.
  RequestWriter(const PatternIcrc& pattern_icrc, PayloadMode payload, uint32_t mtu,
                SourcePortPolicy source_ports = SourcePortPolicy::kLinux)
      : payload_(payload), source_ports_(source_ports), mtu_(mtu), pattern_icrc_(pattern_icrc) {}

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
  FrameShape middle_shape(const HeaderTemplate& path) const noexcept {
    return {mtu_, path.header_length, uint16_t{kIcrcBytes}};
  }
  void write_middles(const HeaderTemplate& path, Opcode opcode, uint32_t psn, std::span<const FrameBuffer> buffers,
                     const FramePort::Capabilities& port) const noexcept;

 private:
  static uint16_t trailer_bytes(uint32_t payload_length) noexcept {
    return static_cast<uint16_t>((-payload_length & 3) + kIcrcBytes);
  }
  bool is_short(const OpcodeLayout& layout, uint32_t payload_length) const noexcept {
    return has_short_way() && layout.extended_header_bytes == 0 && payload_length == mtu_;
  }
  void write_packet(const HeaderTemplate& path, const OutboundPacket& packet, uint64_t payload_key, uint32_t offset,
                    uint8_t* place, const FramePort::Capabilities& port) const noexcept;
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
  const PatternIcrc& pattern_icrc_;
};

/// The shape of an ACK or NAK: its ICRC ends where payloads begin.
inline FrameShape acknowledgement_shape(const HeaderTemplate& path) noexcept {
  return {.header_length = static_cast<uint16_t>(path.header_length + sizeof(Aeth) + kIcrcBytes)};
}
/// Writes an ACK or NAK. `path` is a template of `pattern_icrc`.
void write_acknowledgement(const PatternIcrc& pattern_icrc, const HeaderTemplate& path,
                           const Acknowledgement& acknowledgement, uint8_t* place) noexcept;

}  // namespace rankwire
