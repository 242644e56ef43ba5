// Link and network addresses in wire order.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rankwire {

struct MacAddress {
  std::array<uint8_t, 6> bytes{};
  constexpr auto operator<=>(const MacAddress&) const = default;
};

/// An IPv4 address; `value` is in host order (198.18.0.1 is 0xC6120001).
struct Ipv4Address {
  uint32_t value = 0;
  constexpr auto operator<=>(const Ipv4Address&) const = default;
};

/// An IPv4 or IPv6 address as RoCEv2 names it in a GID (IBTA Annex A17.4.5): 16 bytes in wire order, IPv4 as
/// ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2). All zero: none.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  constexpr IpAddress() = default;
  constexpr explicit IpAddress(const std::array<uint8_t, 16>& gid) : bytes(gid) {}
  constexpr IpAddress(Ipv4Address ip)
      : bytes{0,
              0,
              0,
              0,
              0,
              0,
              0,
              0,
              0,
              0,
              0xFF,
              0xFF,
              static_cast<uint8_t>(ip.value >> 24),
              static_cast<uint8_t>(ip.value >> 16),
              static_cast<uint8_t>(ip.value >> 8),
              static_cast<uint8_t>(ip.value)} {}
  constexpr auto operator<=>(const IpAddress&) const = default;

  constexpr bool is_none() const { return *this == IpAddress(); }
  constexpr bool is_ipv4() const {
    for (size_t i = 0; i < 10; ++i)
      if (bytes[i] != 0) return false;
    return bytes[10] == 0xFF && bytes[11] == 0xFF;
  }
  /// Only when `is_ipv4`.
  constexpr Ipv4Address ipv4() const {
    return {uint32_t{bytes[12]} << 24 | uint32_t{bytes[13]} << 16 | uint32_t{bytes[14]} << 8 | bytes[15]};
  }
};

/// Whether both are of one family and agree in their first `prefix_length` bits: 0 .. 32 of IPv4, 0 .. 128 of IPv6.
bool in_same_subnet(const IpAddress& a, const IpAddress& b, uint32_t prefix_length);

/// "02:00:00:00:00:01".
std::string to_string(MacAddress address);
/// "198.18.0.1".
std::string to_string(Ipv4Address address);
/// "198.18.0.1" or "2001:db8::1" (RFC 5952); "none".
std::string to_string(const IpAddress& address);
/// Reads either form; nothing when `text` is none of them.
std::optional<IpAddress> parse_ip(std::string_view text);

/// fe80::/10 (RFC 4291 section 2.4).
inline bool is_link_local(const IpAddress& ip) {
  return ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0) == 0x80;
}

}  // namespace rankwire
