// Messages in the encoding of protocol buffers, field by field, without copies.
//
// Source: protobuf.dev, "Encoding". Groups, which no schema of Chakra has, are refused.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rankwire {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Reads a base-128 varint from the front of `bytes` and takes it away. False when `bytes` ends within it, or it is
/// longer than 10 bytes.
inline bool take_long_varint(std::string_view& bytes, uint64_t& value) noexcept {
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// The same, with the one byte that most have at hand.
[[gnu::always_inline]] inline bool take_varint(std::string_view& bytes, uint64_t& value) noexcept {
  if (!bytes.empty() && static_cast<int8_t>(bytes.front()) >= 0) {
    value = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    return true;
  }
  return take_long_varint(bytes, value);
}

/// The integer that a sint32 or sint64 stands for.
constexpr int64_t from_zigzag(uint64_t value) noexcept {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

/// One message: `while (fields.next()) ...`, then `whole()` tells whether it ended where a message may end.
class WireFields {
 public:
  explicit WireFields(std::string_view message) noexcept : rest_(message) {}

  [[gnu::always_inline]] bool next() noexcept {
    if (rest_.empty()) return false;
    // Tags and lengths of one byte, as most are, first. A tag is 32 bits in at most 5 bytes.
    uint32_t tag = static_cast<uint8_t>(rest_.front());
    if (tag < 0x80) {
      rest_.remove_prefix(1);
    } else if (!take_long_tag(tag)) {
      return fail();
    }
    number_ = tag >> 3;
    type_ = static_cast<WireType>(tag & 7);
    if (number_ == 0) return fail();
    switch (type_) {
      case WireType::kVarint:
        return take_varint(rest_, value_) || fail();
      case WireType::kBytes:
        if (!take_varint(rest_, value_) || value_ > rest_.size()) return fail();
        bytes_ = {rest_.data(), value_};
        rest_.remove_prefix(value_);
        return true;
      case WireType::kFixed64:
        return take_fixed<uint64_t>();
      case WireType::kFixed32:
        return take_fixed<uint32_t>();
    }
    return fail();
  }
  bool whole() const noexcept { return !failed_; }

  uint32_t number() const noexcept { return number_; }
  WireType type() const noexcept { return type_; }
  bool is(uint32_t number, WireType type) const noexcept { return number_ == number && type_ == type; }
  /// Of a varint, and the bits of a fixed-length number.
  uint64_t value() const noexcept { return value_; }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  bool fail() noexcept {
    failed_ = true;
    rest_ = {};
    return false;
  }
  // Of the fifth byte protobuf drops what is beyond 32 bits.
  bool take_long_tag(uint32_t& tag) noexcept {
    const size_t before = rest_.size();
    uint64_t wide;
    if (!take_varint(rest_, wide) || before - rest_.size() > 5) return false;
    tag = static_cast<uint32_t>(wide);
    return true;
  }
  template <class Word>
  bool take_fixed() noexcept {
    if (rest_.size() < sizeof(Word)) return fail();
    static_assert(std::endian::native == std::endian::little);
    Word word;
    std::memcpy(&word, rest_.data(), sizeof word);
    value_ = word;
    rest_.remove_prefix(sizeof word);
    return true;
  }

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t value_ = 0;
  uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  bool failed_ = false;
};

}  // namespace rankwire
