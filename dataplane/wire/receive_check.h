// How a receiver knows that a packet is as its sender made it.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/frame.h"
#include "dataplane/wire/load_word.h"
#include "dataplane/wire/packet.h"
#include "dataplane/wire/pattern_icrc.h"

namespace rankwire {

enum class ReceiveCheck : uint8_t {
  kWholeFrame,  ///< the ICRC of every byte
  /// Of a packet whose header is the expected one, the ICRC that it must have if its payload is the pattern: the
  /// payload is not read. A packet that fails, or has another header, is checked in whole.
  kHeaderAndTrailer,
};

/// Whether the IP, UDP and BTH headers of a packet that `is_addressed_to` the queue pair with the headers `own` are,
/// as far as the ICRC covers them, those that the other end writes if it has the same settings: the packet is the
/// mirror image. Left out are what differs from packet to packet (lengths, opcode, AckReq, PSN) and what `parse` has
/// checked. SE and pad are 0.
bool is_mirrored(const HeaderTemplate& own, const ParsedPacket& packet) noexcept;

/// Of a packet whose headers are mirrored the register behind BTH is known without reading them. Immutable;
/// `pattern_icrc` outlives it.
class IcrcCheck {
 public:
  IcrcCheck(const PatternIcrc& pattern_icrc, ReceiveCheck check, uint32_t mtu)
      : pattern_icrc_(pattern_icrc), check_(check), mtu_(mtu) {}

  /// For a packet that `parse` accepted and whose headers are mirrored. `sender` is the template's `peer`.
  bool matches(const PeerIcrcBase& sender, const Frame& frame, const ParsedPacket& packet) const noexcept;

  /// The same of what MirrorImage recognises: an acknowledgement whose AETH stands at `aeth` ...
  bool matches_acknowledgement(const PeerIcrcBase& sender, uint32_t psn, const uint8_t* aeth) const noexcept {
    return load_word<uint32_t>(aeth + sizeof(Aeth)) ==
           pattern_icrc_.acknowledgement(sender.behind_bth, IpVersion::kIpv4, psn, load_word<uint32_t>(aeth));
  }
  /// ... a full WRITE_MIDDLE, wholly in `head` or with its payload by reference ...
  bool matches_middle(const PeerIcrcBase& sender, bool ack_request, uint32_t psn, const Frame& frame) const noexcept;
  /// ... and full WRITE_MIDDLEs, wholly in `head`, without AckReq, whose sequence numbers count up from `psn` and do
  /// not begin anew: how many match before one that does not.
  size_t matching_middles(const PeerIcrcBase& sender, uint32_t psn, std::span<const Frame> frames) const noexcept;

 private:
  bool full_packet_matches(const PeerIcrcBase& sender, IpVersion version, const BthChange& bth, const Frame& frame,
                           std::span<const uint8_t> extended) const noexcept;
  uint32_t pattern_icrc(const PeerIcrcBase& sender, IpVersion version, const BthChange& bth,
                        std::span<const uint8_t> extended) const noexcept;
  size_t whole_middles(const PeerIcrcBase& sender, uint32_t psn, std::span<const Frame> frames) const noexcept;

  const PatternIcrc& pattern_icrc_;
  const ReceiveCheck check_;
  const uint32_t mtu_;
};

}  // namespace rankwire
