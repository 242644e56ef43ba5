// Recognises the headers that a queue pair's peer must have written, without parsing them.
#pragma once

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/wire/header_template.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/load_word.h"
#include "dataplane/wire/opcode.h"

namespace rankwire {

/// The headers of packets without VLAN tag over IPv4 that the peer of a queue pair sends it, if the peer has the same
/// settings: the addresses are exchanged, everything else that the ICRC covers is the same, and so are DSCP and ECN. A
/// packet that differs may be good as well: that is for `parse` to say.
class MirrorImage {
 public:
  static constexpr uint32_t kIp = sizeof(EthernetHeader);
  static constexpr uint32_t kUdp = kIp + sizeof(Ipv4Header);
  static constexpr uint32_t kBth = kUdp + sizeof(UdpHeader);
  static constexpr uint32_t kEnd = kBth + sizeof(Bth);  ///< bytes of the headers
  /// Of an ACK or NAK.
  static constexpr uint32_t kAcknowledgementBytes = kEnd + sizeof(Aeth) + kIcrcBytes;

  /// `own` are the queue pair's headers, `head` kEnd bytes, of which the first twelve of BTH say that the packet is for
  /// it.
  MirrorImage(const HeaderTemplate& own, const uint8_t* head) noexcept : own_(own), head_(head) {}

  /// Whether the bit AckReq is set.
  bool asks() const noexcept { return (head_[kBth + offsetof(Bth, ack_request)] & Bth::kAckRequest) != 0; }
  /// A packet with a full payload and no extended headers, with AckReq or without.
  [[gnu::always_inline]] bool is_middle(bool ack_request = false) const noexcept {
    const uint8_t* const sent = own_.header();
    const uint32_t change = (load_word<uint16_t>(head_ + kTotalLength) ^ load_word<uint16_t>(sent + kTotalLength)) |
                            (load_word<uint16_t>(head_ + kUdpLength) ^ load_word<uint16_t>(sent + kUdpLength));
    return is_image(sent[kIp + 1], ack_request) && change == 0 && checksum_is_right();
  }
  /// Whether headers of kEnd bytes differ from those `before` in nothing but a sequence number that is one higher.
  /// Where those are a MIDDLE, so are these.
  static bool follow(const uint8_t* before, const uint8_t* head) noexcept {
    constexpr uint32_t kPsn = kEnd - sizeof(Be32), kLast = kPsn - 16;
    // In front of the PSN, which does not begin anew here, stands AckReq.
    const uint32_t psn = byte_swapped(load_word<uint32_t>(before + kPsn)),
                   next = byte_swapped(load_word<uint32_t>(head + kPsn));
    if (next != psn + 1 || (next & kPsnBits) == 0) return false;
    // Four times sixteen bytes, which overlap.
    const __m128i same =
        _mm_and_si128(_mm_and_si128(equal(before, head), equal(before + 16, head + 16)),
                      _mm_and_si128(equal(before + 32, head + 32), equal(before + kLast, head + kLast)));
    return _mm_movemask_epi8(same) == 0xFFFF;
  }
  bool is_acknowledgement() const noexcept {
    constexpr uint16_t kLength = kAcknowledgementBytes - kIp;
    const uint8_t tos = own_.kinds[static_cast<size_t>(PacketKind::kAck)].traffic_class;
    const uint32_t change = (load_word<uint16_t>(head_ + kTotalLength) ^ __builtin_bswap16(kLength)) |
                            (load_word<uint16_t>(head_ + kUdpLength) ^ __builtin_bswap16(kLength - sizeof(Ipv4Header)));
    return is_image(tos, false) && change == 0 && checksum_is_right();
  }

 private:
  static constexpr uint32_t kTotalLength = kIp + offsetof(Ipv4Header, total_length);
  static constexpr uint32_t kUdpLength = kUdp + offsetof(UdpHeader, length);
  static constexpr uint32_t kPsnBits = 0xFFFFFF;

  static __m128i equal(const uint8_t* a, const uint8_t* b) noexcept {
    return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                          _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
  }

  // But for the lengths. Words are little-endian: what is shifted or masked away may differ.
  bool is_image(uint8_t type_of_service, bool ack_request) const noexcept {
    constexpr uint32_t kAddresses = kIp + offsetof(Ipv4Header, source);
    if (own_.header_length != kEnd) return false;
    const uint8_t* const sent = own_.header();
    // Our MAC address; the sender's may be a router's.
    uint64_t change = (load_word<uint64_t>(head_) ^ load_word<uint64_t>(sent + sizeof(MacAddress))) << 16;
    change |= (load_word<uint64_t>(head_ + kIp - 2) ^ load_word<uint64_t>(sent + kIp - 2)) & 0xFFFF0000'00FFFFFF;
    change |= head_[kIp + 1] ^ type_of_service;
    // Fragmentation and protocol, not the time to live.
    change |= (load_word<uint32_t>(head_ + kIp + 6) ^ load_word<uint32_t>(sent + kIp + 6)) & 0xFF00FFFF;
    change |= load_word<uint64_t>(head_ + kAddresses) ^ std::rotl(load_word<uint64_t>(sent + kAddresses), 32);
    change |= (load_word<uint64_t>(head_ + kUdp) ^ load_word<uint64_t>(sent + kUdp)) & 0xFFFF0000'FFFFFFFF;
    // Flags, partition key, congestion bits; AckReq as expected, and no reserved bits.
    change |= (load_word<uint64_t>(head_ + kBth) ^ load_word<uint64_t>(sent + kBth)) & 0x000000FF'FFFFFF00;
    change |= head_[kBth + offsetof(Bth, ack_request)] ^ (ack_request ? Bth::kAckRequest : 0);
    return change == 0;
  }

  // RFC 1071: sums of any width fold to the same; that of a whole header is 0xFFFF.
  bool checksum_is_right() const noexcept {
    const uint8_t* const ip = head_ + kIp;
    uint64_t sum = uint64_t{load_word<uint32_t>(ip)} + load_word<uint32_t>(ip + 4) + load_word<uint32_t>(ip + 8) +
                   load_word<uint32_t>(ip + 12) + load_word<uint32_t>(ip + 16);
    sum = (sum & 0xFFFFFFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16) == 0xFFFF;
  }

  const HeaderTemplate& own_;
  const uint8_t* const head_;
};

}  // namespace rankwire
