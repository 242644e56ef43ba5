#include "proto/trace_schema.h"

#include <array>
#include <utility>

#include "proto/trace_attribute.h"
#include "proto/wire.h"

namespace rankwire {
namespace {

bool parse_tensors(std::string_view message, TraceTensors& tensors) {
  WireFields fields(message);
  while (fields.next()) {
    if (fields.type() != WireType::kBytes || fields.number() > 3) continue;
    if (!is_text(fields.bytes())) return false;
    (fields.number() == 1 ? tensors.values : fields.number() == 2 ? tensors.shapes : tensors.types) = fields.bytes();
  }
  return fields.whole();
}

/// Packed, or one of several that are not.
bool add_ids(const WireFields& field, std::vector<uint64_t>& ids) {
  if (field.type() == WireType::kVarint) {
    ids.push_back(field.value());
  } else if (field.type() == WireType::kBytes) {
    std::string_view packed = field.bytes();
    uint64_t id;
    while (!packed.empty()) {
      if (!take_varint(packed, id)) return false;
      ids.push_back(id);
    }
  }
  return true;
}

bool parse_004_bytes(const WireFields& field, TraceNode& node) {
  switch (field.number()) {
    case chakra::Node::kNameFieldNumber:
      node.name = field.bytes();
      return is_text(node.name);
    case chakra::Node::kInputsFieldNumber:
      return parse_tensors(field.bytes(), node.inputs);
    case chakra::Node::kOutputsFieldNumber:
      return parse_tensors(field.bytes(), node.outputs);
    case chakra::Node::kAttrFieldNumber:
      return parse_attribute(field.bytes(), node.attributes.emplace_back());
    default:
      return true;
  }
}

bool parse_004(std::string_view frame, TraceNode& node) {
  WireFields fields(frame);
  while (fields.next()) {
    bool good = true;
    if (fields.number() == chakra::Node::kCtrlDepsFieldNumber) {
      good = add_ids(fields, node.control_deps);
    } else if (fields.number() == chakra::Node::kDataDepsFieldNumber) {
      good = add_ids(fields, node.data_deps);
    } else if (fields.type() == WireType::kBytes) {
      good = parse_004_bytes(fields, node);
    } else if (fields.is(chakra::Node::kIdFieldNumber, WireType::kVarint)) {
      node.id = fields.value();
    } else if (fields.is(chakra::Node::kTypeFieldNumber, WireType::kVarint)) {
      node.type = static_cast<uint32_t>(fields.value());
    } else if (fields.is(chakra::Node::kStartTimeMicrosFieldNumber, WireType::kVarint)) {
      node.start = fields.value();
    } else if (fields.is(chakra::Node::kDurationMicrosFieldNumber, WireType::kVarint)) {
      node.duration = fields.value();
    }
    if (!good) return false;
  }
  return fields.whole();
}

/// Schemas 0.0.1 and 0.0.2 have no METADATA, which is 1 later.
uint32_t type_before_003(uint64_t type) noexcept {
  return type == 0 ? uint32_t{chakra::INVALID_NODE} : static_cast<uint32_t>(type + 1);
}

void add_number(TraceNode& node, std::string_view name, uint64_t value) {
  TraceAttribute& attribute = node.attributes.emplace_back();
  attribute.name = name;
  attribute.set_unsigned(value);
}

/// 0.0.1 counts from 1: all-reduce, all-to-all, all-gather, reduce-scatter. 0.0.2 and 0.0.3 have the same from 0, and
/// broadcast. What is neither is left to be refused by name.
uint64_t present_collective(uint64_t old) noexcept {
  static constexpr std::array<uint64_t, 5> kPresent = {chakra::ALL_REDUCE, chakra::ALL_TO_ALL, chakra::ALL_GATHER,
                                                       chakra::REDUCE_SCATTER, chakra::BROADCAST};
  return old < kPresent.size() ? kPresent[old] : UINT32_MAX;
}

/// What 0.0.1 has in fields of their own and later schemas in attributes, by field.
constexpr std::array<std::string_view, 21> kAttributeOf001 = {
    {"", "",           "",         "",         "",          "tensor_loc", "tensor_size",
     "", "",           "",         "",         "",          "num_ops",    "",
     "", "comm_group", "comm_src", "comm_dst", "comm_size", "comm_tag",   "comm_priority"}};

void add_001_number(uint32_t number, uint64_t value, TraceNode& node) {
  switch (number) {
    case 1:
      node.id = value;
      break;
    case 3:
      node.type = type_before_003(value);
      break;
    case 4:
      node.data_deps.push_back(value);
      break;
    case 7:
      node.duration = value;
      break;
    case 13:
      if (value > 0) add_number(node, "comm_type", present_collective(value - 1));
      break;
    default:
      if (number < kAttributeOf001.size() && !kAttributeOf001[number].empty())
        add_number(node, kAttributeOf001[number], value);
  }
}

// ASTRA-sim, for which this schema was made, took the run time for its own clock's ticks, which are 1 ns.
bool parse_001(std::string_view frame, TraceNode& node) {
  constexpr uint32_t kInvolvedDimensions = 14;  // repeated
  node.unit = nanoseconds(1);
  bool has_dimensions = false;
  WireFields fields(frame);
  while (fields.next()) {
    if (fields.is(kInvolvedDimensions, WireType::kVarint)) {
      if (std::exchange(has_dimensions, true)) continue;
      TraceAttribute& attribute = node.attributes.emplace_back();
      attribute.name = "involved_dim";
      attribute.set_list(chakra::AttributeProto::kBoolListFieldNumber, frame, kInvolvedDimensions);
    } else if (fields.type() == WireType::kVarint) {
      add_001_number(fields.number(), fields.value(), node);
    } else if (fields.is(2, WireType::kBytes)) {
      node.name = fields.bytes();
      if (!is_text(node.name)) return false;
    }
  }
  return fields.whole();
}

/// What the feeders of the time took from attributes, and later ones from elsewhere or by another name.
void translate_attributes(TraceNode& node) noexcept {
  for (TraceAttribute& attribute : node.attributes) {
    const bool integral =
        attribute.form == TraceAttribute::Form::kSigned || attribute.form == TraceAttribute::Form::kUnsigned;
    if (attribute.name == "comm_type" && integral) attribute.bits = present_collective(attribute.bits);
    if (attribute.name == "is_host_op") attribute.name = "is_cpu_op";
    if (attribute.name == "runtime" && integral) node.duration = attribute.bits;
  }
}

bool parse_002_bytes(const WireFields& field, TraceSchema schema, TraceNode& node) {
  static constexpr std::array<std::string_view TraceTensors::*, 3> kTexts = {
      &TraceTensors::values, &TraceTensors::shapes, &TraceTensors::types};
  if (field.number() == 11) return parse_old_attribute(field.bytes(), schema, node.attributes.emplace_back());
  if (field.number() > 10 || field.number() == 1) return true;
  if (!is_text(field.bytes())) return false;
  if (field.number() == 2) node.name = field.bytes();
  if (field.number() >= 5 && field.number() <= 7) node.inputs.*kTexts[field.number() - 5] = field.bytes();
  if (field.number() >= 8) node.outputs.*kTexts[field.number() - 8] = field.bytes();
  return true;
}

bool parse_002_or_003(std::string_view frame, TraceSchema schema, TraceNode& node) {
  WireFields fields(frame);
  while (fields.next()) {
    if (fields.number() == 4) {
      if (!add_ids(fields, node.data_deps)) return false;
    } else if (fields.is(1, WireType::kVarint)) {
      node.id = fields.value();
    } else if (fields.is(3, WireType::kVarint)) {
      node.type = schema == TraceSchema::k002 ? type_before_003(fields.value()) : static_cast<uint32_t>(fields.value());
    } else if (fields.type() == WireType::kBytes && !parse_002_bytes(fields, schema, node)) {
      return false;
    }
  }
  translate_attributes(node);
  return fields.whole();
}

}  // namespace

const char* to_string(TraceSchema schema) {
  switch (schema) {
    case TraceSchema::k001:
      return "0.0.1";
    case TraceSchema::k002:
      return "0.0.2";
    case TraceSchema::k003:
      return "0.0.3";
    case TraceSchema::k004:
      return "0.0.4";
  }
  return "unknown";
}

bool parse_node(std::string_view frame, TraceSchema schema, TraceNode& node) {
  node.clear();
  switch (schema) {
    case TraceSchema::k001:
      return parse_001(frame, node);
    case TraceSchema::k002:
    case TraceSchema::k003:
      return parse_002_or_003(frame, schema, node);
    case TraceSchema::k004:
      return parse_004(frame, node);
  }
  return false;
}

bool is_metadata(std::string_view frame) {
  WireFields fields(frame);
  while (fields.next()) {
    if (fields.type() != WireType::kBytes || fields.number() > 2) return false;
    if (fields.number() == 1 && !is_text(fields.bytes())) return false;
    if (fields.number() == 2) {
      TraceAttribute attribute;
      if (!parse_attribute(fields.bytes(), attribute) || attribute.name.empty()) return false;
    }
  }
  return fields.whole();
}

}  // namespace rankwire
