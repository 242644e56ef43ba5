#include "dataplane/wire/receive_check.h"

#include <algorithm>
#include <array>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/load_word.h"
#include "dataplane/wire/mirror_image.h"

namespace rankwire {
namespace {

// Identification, flags and fragment offset.
uint32_t fragment_word(const uint8_t* ipv4) noexcept {
  return load_word<uint32_t>(ipv4 + offsetof(Ipv4Header, identification));
}

// Of a full MIDDLE wholly in `head`.
uint32_t trailer_in_head(const Frame& middle, uint32_t mtu) noexcept {
  return load_word<uint32_t>(middle.head + MirrorImage::kEnd + mtu);
}

// The ICRC of a frame of which `covered` bytes are in front of it, wholly in `head` or with its payload by reference.
uint32_t trailer_of(const Frame& frame, uint32_t covered) noexcept {
  return load_word<uint32_t>(frame.tail_length > 0 ? frame.tail + frame.tail_length - kIcrcBytes
                                                   : frame.head + covered);
}

}  // namespace

bool is_mirrored(const HeaderTemplate& own, const ParsedPacket& packet) noexcept {
  const TransportHeader& sent = own.transport();
  const Bth& bth = packet.bth();
  if (packet.udp().source_port != sent.udp.source_port || bth.flags != sent.bth.flags ||
      bth.partition_key != sent.bth.partition_key || (bth.ack_request & ~Bth::kAckRequest) != 0)
    return false;
  return own.ip_version == IpVersion::kIpv6 || fragment_word(packet.head + packet.ip_offset) == fragment_word(own.ip());
}

bool IcrcCheck::matches(const PeerIcrcBase& sender, const Frame& frame, const ParsedPacket& packet) const noexcept {
  const BthChange bth{.opcode = packet.opcode, .ack_request = packet.ack_request, .psn = packet.psn};
  const uint8_t* const extended = frame.head + packet.bth_offset + sizeof(Bth);
  if (packet.opcode == Opcode::kAcknowledge) {
    return trailer_of(frame, packet.icrc_offset) ==
           pattern_icrc_.acknowledgement(sender.behind_bth, packet.ip_version, packet.psn,
                                         load_word<uint32_t>(extended), packet.ack_request);
  }
  if (packet.payload_length != mtu_ || packet.opcode > PatternIcrc::kLastOpcode)
    return trailer_of(frame, packet.icrc_offset) == icrc(frame, packet.ip_offset, packet.icrc_offset);
  return full_packet_matches(sender, packet.ip_version, bth, frame,
                             {extended, layout_of(packet.opcode).extended_header_bytes});
}

// Its payload, not padded, stands behind the extended headers.
bool IcrcCheck::full_packet_matches(const PeerIcrcBase& sender, IpVersion version, const BthChange& bth,
                                    const Frame& frame, std::span<const uint8_t> extended) const noexcept {
  const auto headers = static_cast<uint32_t>(extended.data() - frame.head);
  const uint32_t covered = headers + static_cast<uint32_t>(extended.size()) + mtu_;
  const uint32_t found = trailer_of(frame, covered);
  if (check_ == ReceiveCheck::kHeaderAndTrailer && found == pattern_icrc(sender, version, bth, extended)) return true;
  const uint32_t crc = pattern_icrc_.behind_bth(sender.behind_bth, version, bth);
  return found == icrc_behind(crc, frame, headers, covered);
}

bool IcrcCheck::matches_middle(const PeerIcrcBase& sender, bool ack_request, uint32_t psn,
                               const Frame& frame) const noexcept {
  const BthChange bth{.opcode = Opcode::kWriteMiddle, .ack_request = ack_request, .psn = psn};
  return full_packet_matches(sender, IpVersion::kIpv4, bth, frame, {frame.head + MirrorImage::kEnd, 0});
}

size_t IcrcCheck::matching_middles(const PeerIcrcBase& sender, uint32_t psn,
                                   std::span<const Frame> frames) const noexcept {
  if (check_ == ReceiveCheck::kWholeFrame) return whole_middles(sender, psn, frames);
  const auto change = pattern_icrc_.change_in_block();
  for (size_t n = 0; n < frames.size();) {
    const uint32_t block = pattern_icrc_.block(sender.full, IpVersion::kIpv4, Opcode::kWriteMiddle, psn);
    const size_t block_end = std::min<size_t>(frames.size(), n + 256 - (psn & 0xFF));
    for (; n < block_end; ++n, ++psn) {
      if (trailer_in_head(frames[n], mtu_) == (block ^ change[psn & 0xFF])) continue;
      if (whole_middles(sender, psn, frames.subspan(n, 1)) == 0) return n;
    }
  }
  return frames.size();
}

// The same by a pass over every byte.
size_t IcrcCheck::whole_middles(const PeerIcrcBase& sender, uint32_t psn,
                                std::span<const Frame> frames) const noexcept {
  constexpr size_t kTogether = 8;
  std::array<uint32_t, kTogether> crcs;
  std::array<const uint8_t*, kTogether> payloads;
  for (size_t done = 0; done < frames.size();) {
    const auto together = frames.subspan(done, std::min(kTogether, frames.size() - done));
    for (size_t i = 0; i < together.size(); ++i, ++psn) {
      crcs[i] =
          pattern_icrc_.behind_bth(sender.behind_bth, IpVersion::kIpv4, {.opcode = Opcode::kWriteMiddle, .psn = psn});
      payloads[i] = together[i].head + MirrorImage::kEnd;
    }
    crc32_update_all(std::span(crcs).first(together.size()), payloads.data(), mtu_);
    for (size_t i = 0; i < together.size(); ++i, ++done)
      if (trailer_in_head(together[i], mtu_) != ~crcs[i]) return done;
  }
  return frames.size();
}

// Of a full packet, if its payload is the pattern.
uint32_t IcrcCheck::pattern_icrc(const PeerIcrcBase& sender, IpVersion version, const BthChange& bth,
                                 std::span<const uint8_t> extended) const noexcept {
  if (extended.empty()) return pattern_icrc_.full(sender.full, version, PatternIcrc::kBare, bth);
  const uint32_t crc = pattern_icrc_.behind_bth(sender.behind_bth, version, bth);
  return pattern_icrc_.behind_pattern(crc32_update_tables(crc, extended), mtu_);
}

}  // namespace rankwire
