#include "proto/trace_attribute.h"

#include <simdjson.h>

#include <cstring>

#include "proto/wire.h"

namespace rankwire {
namespace {

bool is_ascii(std::string_view bytes) noexcept {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  uint64_t seen = 0, word = 0;
  if (bytes.size() < sizeof word) {
    for (const char byte : bytes) seen |= static_cast<uint8_t>(byte);
    return (seen & kHighBits) == 0;
  }
  const char* const last = bytes.data() + bytes.size() - sizeof word;
  for (const char* at = bytes.data(); at < last; at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    seen |= word;
  }
  // What is left, with some of what has been seen.
  std::memcpy(&word, last, sizeof word);
  return ((seen | word) & kHighBits) == 0;
}

/// The list in AttributeProto that corresponds to one of 0.0.2 or 0.0.3, or 0. Of 0.0.3 there are two layouts, with and
/// without unsigned integers: bools, floats, integers and texts begin at 8, or bools, floats, unsigned, integers and
/// texts at 9. What of two things stands in a field tells how it is encoded.
uint32_t list_before_004(TraceSchema schema, uint32_t number, WireType type) noexcept {
  using Attribute = chakra::AttributeProto;
  const bool v002 = schema == TraceSchema::k002;
  switch (type) {
    case WireType::kVarint:
      if (v002) return number == 8 ? Attribute::kInt64ListFieldNumber : 0;
      if (number == 8 || number == 9) return Attribute::kBoolListFieldNumber;
      if (number == 11) return Attribute::kUint64ListFieldNumber;
      return number == 10 || number == 12 ? Attribute::kInt64ListFieldNumber : 0;
    case WireType::kFixed32:
      return number == 7 || (!v002 && (number == 9 || number == 10)) ? Attribute::kFloatListFieldNumber : 0;
    case WireType::kBytes:
      return number == (v002 ? 9 : 11) || (!v002 && number == 13) ? Attribute::kStringListFieldNumber : 0;
    case WireType::kFixed64:
      break;
  }
  return 0;
}

double as_float(uint64_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

bool set_varint(uint32_t number, uint64_t value, TraceAttribute& attribute) noexcept {
  switch (number) {
    case chakra::AttributeProto::kInt32ValFieldNumber:
      return attribute.set_signed(static_cast<int32_t>(value)), true;
    case chakra::AttributeProto::kInt64ValFieldNumber:
      return attribute.set_signed(static_cast<int64_t>(value)), true;
    case chakra::AttributeProto::kUint32ValFieldNumber:
      return attribute.set_unsigned(static_cast<uint32_t>(value)), true;
    case chakra::AttributeProto::kUint64ValFieldNumber:
      return attribute.set_unsigned(value), true;
    case chakra::AttributeProto::kSint32ValFieldNumber:
      return attribute.set_signed(static_cast<int32_t>(from_zigzag(static_cast<uint32_t>(value)))), true;
    case chakra::AttributeProto::kSint64ValFieldNumber:
      return attribute.set_signed(from_zigzag(value)), true;
    case chakra::AttributeProto::kBoolValFieldNumber:
      return attribute.set_unsigned(value != 0), true;
    default:
      return false;
  }
}

void set_fixed(uint32_t number, WireType type, uint64_t bits, TraceAttribute& attribute) noexcept {
  if (type == WireType::kFixed64) {
    if (number == chakra::AttributeProto::kDoubleValFieldNumber) attribute.set_real(std::bit_cast<double>(bits));
    if (number == chakra::AttributeProto::kFixed64ValFieldNumber) attribute.set_unsigned(bits);
    if (number == chakra::AttributeProto::kSfixed64ValFieldNumber) attribute.set_signed(static_cast<int64_t>(bits));
  } else {
    if (number == chakra::AttributeProto::kFloatValFieldNumber) attribute.set_real(as_float(bits));
    if (number == chakra::AttributeProto::kFixed32ValFieldNumber) attribute.set_unsigned(bits);
    if (number == chakra::AttributeProto::kSfixed32ValFieldNumber) attribute.set_signed(static_cast<int32_t>(bits));
  }
}

/// False when the bytes should be text and are not.
bool set_bytes(uint32_t number, std::string_view bytes, TraceAttribute& attribute) noexcept {
  switch (number) {
    case chakra::AttributeProto::kNameFieldNumber:
      attribute.name = bytes;
      return is_text(bytes);
    case chakra::AttributeProto::kDocStringFieldNumber:
      return is_text(bytes);
    case chakra::AttributeProto::kStringValFieldNumber:
      attribute.set_text(bytes);
      return is_text(bytes);
    case chakra::AttributeProto::kBytesValFieldNumber:
      attribute.set_text(bytes);
      return true;
    default:
      // Lists have the even numbers.
      if (number <= chakra::AttributeProto::kBytesListFieldNumber && number % 2 == 0)
        attribute.set_list(number, bytes, 1);
      return true;
  }
}

}  // namespace

bool is_text(std::string_view bytes) noexcept {
  return is_ascii(bytes) || simdjson::validate_utf8(bytes.data(), bytes.size());
}

bool parse_attribute(std::string_view message, TraceAttribute& attribute) {
  WireFields fields(message);
  while (fields.next()) {
    if (fields.type() == WireType::kVarint) {
      set_varint(fields.number(), fields.value(), attribute);
    } else if (fields.type() != WireType::kBytes) {
      set_fixed(fields.number(), fields.type(), fields.value(), attribute);
    } else if (!set_bytes(fields.number(), fields.bytes(), attribute)) {
      return false;
    }
  }
  return fields.whole();
}

// Field 2 is the type, an enumeration that was renumbered with the fields. Which field a value stands in and how it is
// encoded is enough: of all layouts, 0.0.2's single values are in 4 to 6 and 0.0.3's in 4 to 8, and lists above.
bool parse_old_attribute(std::string_view message, TraceSchema schema, TraceAttribute& attribute) {
  constexpr uint32_t kFirstValue = 4;
  const auto add_to_list = [&](uint32_t number, WireType type) {
    attribute.set_list(list_before_004(schema, number, type), message, number);
  };
  WireFields fields(message);
  while (fields.next()) {
    const uint32_t number = fields.number();
    if (fields.is(1, WireType::kBytes)) {
      attribute.name = fields.bytes();
      if (!is_text(attribute.name)) return false;
    }
    if (number < kFirstValue) continue;
    switch (fields.type()) {
      case WireType::kVarint:
        attribute.set_signed(static_cast<int64_t>(fields.value()));
        if (number >= 8) add_to_list(number, WireType::kVarint);
        break;
      case WireType::kFixed32:
        attribute.set_real(as_float(fields.value()));
        if (number >= 7) add_to_list(number, WireType::kFixed32);
        break;
      case WireType::kFixed64:
        attribute.set_real(std::bit_cast<double>(fields.value()));
        break;
      case WireType::kBytes:
        attribute.set_text(fields.bytes());
        if (number >= 9) add_to_list(number, WireType::kBytes);
        break;
    }
  }
  return fields.whole();
}

}  // namespace rankwire
