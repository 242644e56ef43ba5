// The data packets of a requester as frames.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/frame_port.h"
#include "dataplane/message_pool.h"
#include "dataplane/packet.h"
#include "dataplane/pattern_icrc.h"
#include "dataplane/payload.h"
#include "dataplane/requester.h"

namespace rankwire {

/// The memory at the other end that messages are written to.
struct RemoteMemory {
  uint64_t address = 0;
  uint32_t rkey = 0;
};

/// Headers end at kHeaderRoom. The pattern is a borrowed payload that is never read, bytes to be checked stand behind
/// the headers.
class RequestWriter {
 public:
  RequestWriter(uint32_t mtu, PayloadMode payload) : payload_(payload), pattern_icrc_(mtu) {}

  HeaderTemplate make_template(const PacketPath& path) const { return pattern_icrc_.make_template(path); }

  /// Bytes of each of the run's frames, without FCS.
  static uint32_t frame_length(const RequestRun& run) noexcept {
    return write_header_bytes(run.opcode) + run.length + (-run.length & 3) + uint32_t{kIcrcBytes};
  }

  /// Fills empty frames with the first `frames.size()` packets of the run, at least one and at most `run.count`.
  /// `path` is a template of this writer.
  void write(const HeaderTemplate& path, const RemoteMemory& memory, const OutboundMessage& message,
             const RequestRun& run, std::span<Frame> frames) const noexcept;

 private:
  void write_packet(const HeaderTemplate& path, const OutboundMessage& message, const WritePacket& packet,
                    uint32_t offset, Frame& frame) const noexcept;
  void write_middles(const HeaderTemplate& path, const RequestRun& run, std::span<Frame> frames) const noexcept;

  const PayloadMode payload_;
  const PatternIcrc pattern_icrc_;
};

}  // namespace rankwire
