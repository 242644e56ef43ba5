#include "base/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rankwire {

std::string to_string(MacAddress address) {
  return fmt::format("{:02x}", fmt::join(address.bytes, ":"));
}

std::string to_string(Ipv4Address a) {
  return fmt::format("{}.{}.{}.{}", a.value >> 24, (a.value >> 16) & 255, (a.value >> 8) & 255, a.value & 255);
}

std::string to_string(const IpAddress& address) {
  if (address.is_none()) return "none";
  if (address.is_ipv4()) return to_string(address.ipv4());
  std::array<char, INET6_ADDRSTRLEN> text;
  return ::inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string terminated(text);
  in_addr v4;
  if (::inet_pton(AF_INET, terminated.c_str(), &v4) == 1) return IpAddress(Ipv4Address{ntohl(v4.s_addr)});
  IpAddress v6;
  if (::inet_pton(AF_INET6, terminated.c_str(), v6.bytes.data()) == 1) return v6;
  return std::nullopt;
}

bool in_same_subnet(const IpAddress& a, const IpAddress& b, uint32_t prefix_length) {
  if (a.is_ipv4() != b.is_ipv4()) return false;
  const uint32_t bits = prefix_length + (a.is_ipv4() ? 96 : 0);
  const auto whole = static_cast<ptrdiff_t>(bits / 8);
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) return false;
  if (bits % 8 == 0) return true;
  const size_t last = bits / 8;
  return ((a.bytes[last] ^ b.bytes[last]) >> (8 - bits % 8)) == 0;
}

}  // namespace rankwire
