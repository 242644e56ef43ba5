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

SubnetConfig Subnet::parse(const Tree& scalar) const {
  const std::string_view text = scalar.text;
  const size_t slash = std::min(text.find('/'), text.size());
  const std::optional<IpAddress> first = parse_ip(text.substr(0, slash));
  std::string_view length = text.substr(std::min(slash + 1, text.size()));
  const bool ipv4 = first && first->is_ipv4();
  uint32_t prefix = 0;
  if (!first || !take(length, 10, ipv4 ? 31 : 126, "", prefix) || !length.empty() || prefix == 0) {
    throw ValueError(
        fmt::format("'{}' is not an IPv4 address with a prefix of 1 .. 31 or an IPv6 address with one of 1 .. 126; "
                    "write for example 198.18.0.1/15 or 2001:db8::1/64",
                    text));
  }
  if (ipv4 && prefix < 31) {
    const uint32_t host_mask = UINT32_MAX >> prefix, host = first->ipv4().value & host_mask;
    if (host == 0 || host == host_mask)
      throw ValueError(fmt::format("'{}' is the network or the broadcast address, not a host's", text));
  }
  return {*first, prefix};
}

ConfigJson Subnet::print(const SubnetConfig& value) const {
  return fmt::format("{}/{}", to_string(value.first), value.prefix_length);
}

IpAddress Ip::parse(const Tree& scalar) const {
  const std::optional<IpAddress> address = parse_ip(scalar.text);
  if (!address || address->is_none())
    throw ValueError(fmt::format("'{}' is not an IP address; write for example 198.18.0.1", scalar.text));
  return *address;
}

namespace {

using SourcePortRule = SourcePortConfig::Rule;
constexpr std::pair<std::string_view, SourcePortRule> kSourcePortRules[] = {
    {"linux", SourcePortRule::kLinux},
    {"per_message", SourcePortRule::kPerMessage},
    {"per_packet", SourcePortRule::kPerPacket},
};

}  // namespace

SourcePortConfig SourcePort::parse(const Tree& scalar) const {
  for (const auto& [word, rule] : kSourcePortRules)
    if (word == scalar.text) return {.rule = rule};
  std::string_view rest = scalar.text;
  uint32_t port = 0;
  // RoCEv2 leaves the dynamic range of RFC 6335 to entropy.
  if (!take(rest, 10, 65'535, "", port) || !rest.empty() || port < 49'152)
    throw ValueError(
        fmt::format("'{}' is not one of linux, per_message, per_packet, or a port of 49152 .. 65535", scalar.text));
  return {.rule = SourcePortRule::kFixed, .fixed = static_cast<uint16_t>(port)};
}

ConfigJson SourcePort::print(const SourcePortConfig& value) const {
  for (const auto& [word, rule] : kSourcePortRules)
    if (rule == value.rule) return std::string(word);
  return value.fixed;
}

std::string Color::parse(const Tree& scalar) const {
  const std::string& text = scalar.text;
  if (text == "auto") return {};
  const bool digits = text.size() == 7 && text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
  if (!digits || text.front() != '#')
    throw ValueError(fmt::format("'{}' is not a colour; write for example \"#3366cc\"", text));
  return text;
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
