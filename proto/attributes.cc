#include "proto/attributes.h"

#include <cmath>

#include "base/error.h"

namespace rankwire {
namespace {

using chakra::AttributeProto;

const AttributeProto* find_attribute(const chakra::Node& node, std::string_view name) {
  for (const AttributeProto& attribute : node.attr()) {
    if (attribute.name() == name) {
      return attribute.value_case() == AttributeProto::VALUE_NOT_SET ? nullptr : &attribute;
    }
  }
  return nullptr;
}

std::optional<int64_t> narrow(uint64_t value) {
  if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> narrow(double value) {
  // 2^63 is the first double beyond int64; -2^63 is within.
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::trunc(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> integer_value(const AttributeProto& attribute) {
  switch (attribute.value_case()) {
    case AttributeProto::kDoubleVal:
      return narrow(attribute.double_val());
    case AttributeProto::kFloatVal:
      return narrow(static_cast<double>(attribute.float_val()));
    case AttributeProto::kInt32Val:
      return attribute.int32_val();
    case AttributeProto::kInt64Val:
      return attribute.int64_val();
    case AttributeProto::kUint32Val:
      return attribute.uint32_val();
    case AttributeProto::kUint64Val:
      return narrow(attribute.uint64_val());
    case AttributeProto::kSint32Val:
      return attribute.sint32_val();
    case AttributeProto::kSint64Val:
      return attribute.sint64_val();
    case AttributeProto::kFixed32Val:
      return attribute.fixed32_val();
    case AttributeProto::kFixed64Val:
      return narrow(attribute.fixed64_val());
    case AttributeProto::kSfixed32Val:
      return attribute.sfixed32_val();
    case AttributeProto::kSfixed64Val:
      return attribute.sfixed64_val();
    case AttributeProto::kBoolVal:
      return attribute.bool_val();
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> integer_attribute(const chakra::Node& node, std::string_view name) {
  const AttributeProto* attribute = find_attribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  const std::optional<int64_t> value = integer_value(*attribute);
  if (!value) {
    fail_input("node {} \"{}\": attribute {} is no 64-bit integer ({})", node.id(), node.name(), name,
               attribute->ShortDebugString());
  }
  return value;
}

std::optional<bool> bool_attribute(const chakra::Node& node, std::string_view name) {
  const std::optional<int64_t> value = integer_attribute(node, name);
  if (!value) return std::nullopt;
  return *value != 0;
}

std::optional<std::string> string_attribute(const chakra::Node& node, std::string_view name) {
  const AttributeProto* attribute = find_attribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->value_case() == AttributeProto::kStringVal) return attribute->string_val();
  if (attribute->value_case() == AttributeProto::kBytesVal) return attribute->bytes_val();
  const std::optional<int64_t> number = integer_value(*attribute);
  if (number) return std::to_string(*number);
  fail_input("node {} \"{}\": attribute {} is no text ({})", node.id(), node.name(), name,
             attribute->ShortDebugString());
}

}  // namespace rankwire
