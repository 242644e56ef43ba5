// Link and network addresses in wire order.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

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

/// "02:00:00:00:00:01".
std::string to_string(MacAddress address);
/// "198.18.0.1".
std::string to_string(Ipv4Address address);

}  // namespace rankwire
