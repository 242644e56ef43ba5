#include "base/address.h"

#include <fmt/format.h>

namespace rankwire {

std::string to_string(MacAddress address) {
  return fmt::format("{:02x}", fmt::join(address.bytes, ":"));
}

std::string to_string(Ipv4Address a) {
  return fmt::format("{}.{}.{}.{}", a.value >> 24, (a.value >> 16) & 255, (a.value >> 8) & 255, a.value & 255);
}

}  // namespace rankwire
