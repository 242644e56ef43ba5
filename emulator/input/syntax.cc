#include "emulator/input/syntax.h"

#include <charconv>

namespace rankwire {
namespace {

/// Reads one number of an address and what follows it; false when it is not there.
bool take(std::string_view& text, int base, uint32_t maximum, std::string_view following, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || value > maximum) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(following)) return false;
  text.remove_prefix(following.size());
  return true;
}

}  // namespace

Subnet::Value Subnet::parse(const Tree& scalar) const {
  std::string_view rest = scalar.text;
  uint32_t octet[4] = {}, prefix = 0;
  const bool read = take(rest, 10, 255, ".", octet[0]) && take(rest, 10, 255, ".", octet[1]) &&
                    take(rest, 10, 255, ".", octet[2]) && take(rest, 10, 255, "/", octet[3]) &&
                    take(rest, 10, 30, "", prefix) && rest.empty() && prefix >= 1;
  if (!read) {
    throw ValueError(fmt::format(
        "'{}' is not an IPv4 address with a prefix of 1 .. 30; write for example 198.18.0.1/15", scalar.text));
  }
  const Ipv4Address first{octet[0] << 24 | octet[1] << 16 | octet[2] << 8 | octet[3]};
  const uint32_t host_mask = UINT32_MAX >> prefix;
  if ((first.value & host_mask) == 0 || (first.value & host_mask) == host_mask) {
    throw ValueError(fmt::format("'{}' is the network or the broadcast address, not a host's", scalar.text));
  }
  return {first, prefix};
}

Json Subnet::print(const Value& value) const {
  return fmt::format("{}/{}", to_string(value.first), value.prefix_length);
}

MacAddress Mac::parse(const Tree& scalar) const {
  std::string_view rest = scalar.text;
  MacAddress address;
  bool read = rest.size() == 17;
  for (size_t i = 0; read && i < 6; ++i) {
    uint32_t byte = 0;
    read = take(rest, 16, 255, i < 5 ? ":" : "", byte);
    address.bytes[i] = static_cast<uint8_t>(byte);
  }
  if (!read)
    throw ValueError(fmt::format("'{}' is not a MAC address; write for example 02:52:57:00:00:01", scalar.text));
  if ((address.bytes[0] & 1) != 0) throw ValueError(fmt::format("'{}' is a group address", scalar.text));
  if (address == MacAddress{}) throw ValueError("the address is zero");
  return address;
}

}  // namespace rankwire
