// Fields of messages as bytes, written by hand (protobuf.dev, "Encoding").
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace rankwire::testing {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string varint_field(uint32_t number, uint64_t value) {
  return varint(number << 3) + varint(value);
}
inline std::string bytes_field(uint32_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string fixed32_field(uint32_t number, float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return varint(number << 3 | 5) + bytes;
}

}  // namespace rankwire::testing
