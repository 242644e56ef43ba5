// The data packets of a queue pair as frames.
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

/// Headers end at kHeaderRoom. The pattern is a borrowed payload that is never read, bytes to be checked stand behind
/// the headers.
class RequestWriter {
 public:
  /// Under SourcePortPolicy::kLinux and kFixed every packet has its template's source port.
  RequestWriter(uint32_t mtu, PayloadMode payload, SourcePortPolicy source_ports = SourcePortPolicy::kLinux)
      : payload_(payload), source_ports_(source_ports), pattern_icrc_(mtu) {}

  HeaderTemplate make_template(const PacketPath& path) const { return pattern_icrc_.make_template(path); }

  /// Bytes of each of the run's frames, without FCS.
  static uint32_t frame_length(const HeaderTemplate& path, const RequestRun& run) noexcept {
    return frame_bytes(path, run.opcode, run.length);
  }

  /// Fills empty frames with the first `frames.size()` packets of the run, at least one and at most `run.count`.
  /// `path` is a template of this writer.
  void write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
             std::span<Frame> frames) const noexcept;
  /// The same of a READ response, whose payload is that of a message from `offset` on.
  void write(const HeaderTemplate& path, uint64_t payload_key, uint32_t offset, const ResponseRun& run,
             std::span<Frame> frames) const noexcept;
  /// Fills an empty frame with the one packet of a message whose payload is `payload`.
  void write(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
             std::span<const uint8_t> payload, Frame& frame) const noexcept;

 private:
  void write_packet(const HeaderTemplate& path, const OutboundPacket& packet, uint64_t payload_key, uint32_t offset,
                    Frame& frame) const noexcept;
  void write_middles(const HeaderTemplate& path, const OutboundMessage& message, const RequestRun& run,
                     std::span<Frame> frames) const noexcept;
  OutboundPacket first_packet(const HeaderTemplate& path, const OutboundMessage& message,
                              const RequestRun& run) const noexcept;
  /// 0: the template's.
  uint16_t source_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept {
    const bool own = source_ports_ == SourcePortPolicy::kLinux || source_ports_ == SourcePortPolicy::kFixed;
    return own ? uint16_t{0} : hashed_port(path, message, psn);
  }
  uint16_t hashed_port(const HeaderTemplate& path, uint32_t message, uint32_t psn) const noexcept;

  const PayloadMode payload_;
  const SourcePortPolicy source_ports_;
  const PatternIcrc pattern_icrc_;
};

}  // namespace rankwire
