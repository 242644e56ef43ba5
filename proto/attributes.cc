#include "proto/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "proto/wire.h"

namespace rankwire {
namespace {

using Form = TraceAttribute::Form;

const TraceAttribute* find_attribute(const TraceNode& node, std::string_view name) {
  if (name.empty()) return nullptr;
  for (const TraceAttribute& attribute : node.attributes) {
    // Most that are as long begin with another letter, which is cheaper to see than a call to compare them.
    if (attribute.name.size() != name.size() || attribute.name.front() != name.front()) continue;
    if (attribute.name == name) return attribute.form == Form::kNone ? nullptr : &attribute;
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

std::optional<int64_t> integer_value(const TraceAttribute& attribute) {
  switch (attribute.form) {
    case Form::kSigned:
      return static_cast<int64_t>(attribute.bits);
    case Form::kUnsigned:
      return narrow(attribute.bits);
    case Form::kReal:
      return narrow(attribute.real());
    case Form::kNone:
    case Form::kText:
    case Form::kList:
      break;
  }
  return std::nullopt;
}

std::string described(const TraceAttribute& attribute) {
  switch (attribute.form) {
    case Form::kUnsigned:
      return fmt::format("{}", attribute.bits);
    case Form::kReal:
      return fmt::format("{}", attribute.real());
    case Form::kText:
      return fmt::format("the text \"{}\"", attribute.text);
    case Form::kList:
      return "a list";
    case Form::kSigned:
    case Form::kNone:
      break;
  }
  return "nothing";
}

}  // namespace

std::optional<int64_t> integer_attribute(const TraceNode& node, std::string_view name) {
  const TraceAttribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  const std::optional<int64_t> value = integer_value(*attribute);
  if (!value) {
    fail_input("node {} \"{}\": attribute {} is no 64-bit integer but {}", node.id, node.name, name,
               described(*attribute));
  }
  return value;
}

std::optional<bool> bool_attribute(const TraceNode& node, std::string_view name) {
  const std::optional<int64_t> value = integer_attribute(node, name);
  if (!value) return std::nullopt;
  return *value != 0;
}

std::optional<std::vector<bool>> truth_list_attribute(const TraceNode& node, std::string_view name) {
  const TraceAttribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  std::vector<bool> values;
  WireFields fields(attribute->text);
  bool known = attribute->form == Form::kList;
  const auto add = [&](uint64_t value) {
    known = known && value <= 1;
    values.push_back(value == 1);
  };
  while (known && fields.next()) {
    if (fields.number() != attribute->values) continue;
    if (fields.type() == WireType::kVarint) {
      add(fields.value());
    } else if (fields.type() == WireType::kBytes) {
      for (const char value : fields.bytes()) add(static_cast<uint8_t>(value));
    } else {
      known = false;
    }
  }
  if (!known || !fields.whole() || values.empty())
    fail_input("node {} \"{}\": attribute {} is no bool_list but {}", node.id, node.name, name, described(*attribute));
  return values;
}

namespace {

/// False for what is no list of numbers.
bool parse_counts(std::string_view text, std::vector<int64_t>& values) {
  const auto skip = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size())); };
  const auto take = [&](char expected) {
    skip();
    const bool there = text.starts_with(expected);
    if (there) text.remove_prefix(1);
    return there;
  };
  if (!take('[')) return false;
  bool more = !take(']');
  while (more) {
    skip();
    int64_t& value = values.emplace_back();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    more = take(',');
    if (!more && !take(']')) return false;
  }
  skip();
  return text.empty();
}

bool is_varint_list(uint64_t field) {
  using Attribute = chakra::AttributeProto;
  return field == Attribute::kInt32ListFieldNumber || field == Attribute::kInt64ListFieldNumber ||
         field == Attribute::kUint32ListFieldNumber || field == Attribute::kUint64ListFieldNumber;
}

bool read_counts(const TraceAttribute& list, std::vector<int64_t>& values) {
  WireFields fields(list.text);
  bool known = true;
  const auto add = [&](uint64_t value) {
    known = known && value <= static_cast<uint64_t>(INT64_MAX);
    values.push_back(static_cast<int64_t>(value));
  };
  while (known && fields.next()) {
    if (fields.number() != list.values) continue;
    if (fields.type() == WireType::kVarint) {
      add(fields.value());
    } else if (fields.type() == WireType::kBytes) {
      std::string_view packed = fields.bytes();
      uint64_t value;
      while (known && !packed.empty()) (known = take_varint(packed, value)) ? add(value) : void();
    } else {
      known = false;
    }
  }
  return known && fields.whole();
}

}  // namespace

std::optional<std::vector<int64_t>> count_list_attribute(const TraceNode& node, std::string_view name) {
  const TraceAttribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  bool known = false;
  if (attribute->form == Form::kText) known = parse_counts(attribute->text, values);
  if (attribute->form == Form::kList) known = is_varint_list(attribute->bits) && read_counts(*attribute, values);
  if (!known)
    fail_input("node {} \"{}\": attribute {} is no list of integers from 0 on but {}", node.id, node.name, name,
               described(*attribute));
  return values;
}

std::optional<std::string> string_attribute(const TraceNode& node, std::string_view name) {
  const TraceAttribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->form == Form::kText) return std::string(attribute->text);
  const std::optional<int64_t> number = integer_value(*attribute);
  if (number) return std::to_string(*number);
  fail_input("node {} \"{}\": attribute {} is no text but {}", node.id, node.name, name, described(*attribute));
}

}  // namespace rankwire
