// The headers of a template in registers, for packets that differ from it in little.
#pragma once

#include <emmintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "dataplane/wire/header_template.h"
#include "dataplane/wire/headers.h"

namespace rankwire {

/// The headers of a WRITE_MIDDLE with a full payload, as a template of PatternIcrc has them, but for opcode, SE and
/// lengths. Whatever is in front of them, up to kHeaderRoom, may be overwritten.
class HeaderLine {
 public:
  HeaderLine(const HeaderTemplate& path, Opcode opcode, bool solicited = false) noexcept
      : is_long_(path.header_length > 64), path_(path) {
    static_assert(kMaxBaseHeaderBytes <= 80 && sizeof(HeaderTemplate::bytes) >= 80);
    const uint8_t* const end = path.header_end();
    front_ = load(end - 80);
    a_ = load(end - 64);
    b_ = load(end - 48);
    c_ = load(end - 32);
    d_ = load(end - 16);
    const int flags = path.transport().bth.flags | (solicited ? Bth::kSolicited : 0);
    d_ = _mm_insert_epi16(d_, static_cast<int>(opcode) | flags << 8, kOpcodeWord);
  }

  /// The lengths of full packets with so many bytes of extended headers, as words of their headers.
  class Lengths {
   public:
    Lengths(uint32_t mtu, uint32_t extended) noexcept {
      const uint32_t udp = sizeof(TransportHeader) + extended + mtu + kIcrcBytes;
      udp_ = big_endian(udp);
      ipv4_ = big_endian(sizeof(Ipv4Header) + udp);
      extended_ = big_endian(extended);
    }

   private:
    friend class HeaderLine;
    int udp_;  // also IPv6's payload length
    int ipv4_;
    int extended_;
  };
  /// What the last 64 bytes of the headers of a full packet with another opcode differ in from those of a template over
  /// IPv4, but for the checksum, as bits of words.
  class alignas(64) Change {
   public:
    Change(uint32_t mtu, Opcode opcode) noexcept : extended_(layout_of(opcode).extended_header_bytes) {
      const Lengths from(mtu, 0), to(mtu, extended_);
      words_[kTotalLength] = static_cast<uint32_t>(from.ipv4_ ^ to.ipv4_) << 16;
      words_[kUdpLength] = static_cast<uint32_t>(from.udp_ ^ to.udp_);
      words_[kOpcode] = static_cast<uint32_t>(Opcode::kWriteMiddle) ^ static_cast<uint32_t>(opcode);
    }
    const uint32_t* words() const noexcept { return words_.data(); }
    /// The word that ends with the checksum, made of the template's.
    uint32_t with_checksum(uint32_t word) const noexcept {
      return (word & 0xFFFF) | with_extended(word >> 16, big_endian(extended_)) << 16;
    }

    /// Places of words.
    static constexpr int kChecksum = 16 - (sizeof(TransportHeader) + sizeof(Ipv4Header) - 8) / 4;

   private:
    static constexpr int kTotalLength = kChecksum - 2;
    static constexpr int kUdpLength = 16 - (sizeof(TransportHeader) - offsetof(UdpHeader, length)) / 4;
    static constexpr int kOpcode = 16 - sizeof(Bth) / 4;

    std::array<uint32_t, 16> words_{};
    uint32_t extended_;
  };
  /// The packet is longer than the template's, whose MTU is that of the lengths.
  void lengthen(const Lengths& lengths) noexcept {
    d_ = _mm_insert_epi16(d_, lengths.udp_, kUdpLengthWord);
    if (path_.ip_version == IpVersion::kIpv4) {
      b_ = _mm_insert_epi16(b_, lengths.ipv4_, kTotalLengthWord);
      const uint32_t checksum = static_cast<uint32_t>(_mm_extract_epi16(c_, kChecksumWord));
      c_ = _mm_insert_epi16(c_, static_cast<int>(with_extended(checksum, lengths.extended_)), kChecksumWord);
    } else {
      a_ = _mm_insert_epi16(a_, lengths.udp_, kPayloadLengthWord);
    }
  }

  /// The packet is of this kind, and so many bytes long from BTH on.
  void become(PacketKind kind, uint32_t bytes) noexcept {
    const HeaderTemplate::KindBytes& own = path_.kinds[static_cast<size_t>(kind)];
    const uint32_t udp_length = sizeof(UdpHeader) + bytes;
    const bool tagged =
        path_.header_length == kMinBaseHeaderBytes + sizeof(VlanTag) || path_.header_length == kMaxBaseHeaderBytes;
    d_ = _mm_insert_epi16(d_, big_endian(udp_length), kUdpLengthWord);
    if (path_.ip_version == IpVersion::kIpv4) {
      const uint32_t total_length = sizeof(Ipv4Header) + udp_length;
      const Be16 checksum = checksum_with_length(own.checksum, static_cast<uint16_t>(total_length));
      b_ = _mm_insert_epi16(b_, Ipv4Header::kVersionAndLength | own.traffic_class << 8, kServiceWord);
      b_ = _mm_insert_epi16(b_, big_endian(total_length), kTotalLengthWord);
      c_ = _mm_insert_epi16(c_, big_endian(checksum.value()), kChecksumWord);
      if (tagged) b_ = _mm_insert_epi16(b_, big_endian(own.tag_control.value()), kIpv4TagWord);
    } else {
      const auto& header = *reinterpret_cast<const Ipv6Header*>(path_.ip());
      const Be32 word =
          Ipv6Header::word(own.traffic_class, header.version_class_flow.value() & Ipv6Header::kFlowLabelMask);
      a_ = _mm_insert_epi16(a_, big_endian(word.value() >> 16), kClassWord);
      a_ = _mm_insert_epi16(a_, big_endian(udp_length), kPayloadLengthWord);
      if (tagged) a_ = _mm_insert_epi16(a_, big_endian(own.tag_control.value()), kIpv6TagWord);
    }
  }

  /// Whether the machine has registers of 64 bytes (AVX-512F).
  static bool has_wide_registers() noexcept {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
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
  // Places in 16-bit words of the registers, which end 0, 16, 32 and 48 bytes in front of the headers' end.
  static constexpr int kUdpLengthWord = (16 - sizeof(TransportHeader) + offsetof(UdpHeader, length)) / 2;
  static constexpr int kOpcodeWord = (16 - sizeof(Bth)) / 2;
  static constexpr size_t kIpv4FromEnd = sizeof(TransportHeader) + sizeof(Ipv4Header);
  static constexpr size_t kIpv6FromEnd = sizeof(TransportHeader) + sizeof(Ipv6Header);
  static constexpr int kServiceWord = (48 - kIpv4FromEnd) / 2;
  static constexpr int kTotalLengthWord = (48 - kIpv4FromEnd + offsetof(Ipv4Header, total_length)) / 2;
  static constexpr int kChecksumWord = (32 + offsetof(Ipv4Header, checksum) - kIpv4FromEnd) / 2;
  static constexpr int kClassWord = (64 - kIpv6FromEnd) / 2;
  static constexpr int kPayloadLengthWord = (64 - kIpv6FromEnd + offsetof(Ipv6Header, payload_length)) / 2;

  // A tag's first word stands two bytes in front of the EtherType that is followed by the IP header.
  static constexpr int kIpv4TagWord = kServiceWord - 2, kIpv6TagWord = kClassWord - 2;

  // The checksum of a header whose total length is greater by `extended` (big-endian). RFC 1624 equation 3; the sum of
  // a header is never 0. The order of bytes does not matter (RFC 1071 section 2 B).
  static uint32_t with_extended(uint32_t checksum, int extended) noexcept {
    const uint32_t sum = 0xFFFF - checksum + static_cast<uint32_t>(extended);
    return ~((sum & 0xFFFF) + (sum >> 16)) & 0xFFFF;
  }
  static int big_endian(uint32_t value) noexcept { return __builtin_bswap16(static_cast<uint16_t>(value)); }
  static __m128i load(const uint8_t* p) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static void store(uint8_t* p, __m128i x) noexcept { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }

  const bool is_long_;  // more than 64 bytes
  const HeaderTemplate& path_;
  __m128i front_, a_, b_, c_, d_;
};

}  // namespace rankwire
