// A node as read here, and as protobuf reads it.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "proto/chakra.pb.h"
#include "proto/trace_node.h"

namespace rankwire::testing {

inline bool same_value(const TraceAttribute& mine, const chakra::AttributeProto& other) {
  using Form = TraceAttribute::Form;
  const auto* oneof = chakra::AttributeProto::descriptor()->FindOneofByName("value");
  const auto* reflection = other.GetReflection();
  const auto* field = reflection->GetOneofFieldDescriptor(other, oneof);
  if (field == nullptr) return mine.form == Form::kNone;
  const auto is_signed = [&](int64_t value) {
    return mine.form == Form::kSigned && static_cast<int64_t>(mine.bits) == value;
  };
  const auto is_unsigned = [&](uint64_t value) { return mine.form == Form::kUnsigned && mine.bits == value; };
  const auto is_real = [&](double value) {
    return mine.form == Form::kReal && (mine.real() == value || (std::isnan(mine.real()) && std::isnan(value)));
  };
  using Field = google::protobuf::FieldDescriptor;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_DOUBLE:
      return is_real(reflection->GetDouble(other, field));
    case Field::CPPTYPE_FLOAT:
      return is_real(static_cast<double>(reflection->GetFloat(other, field)));
    case Field::CPPTYPE_INT32:
      return is_signed(reflection->GetInt32(other, field));
    case Field::CPPTYPE_INT64:
      return is_signed(reflection->GetInt64(other, field));
    case Field::CPPTYPE_UINT32:
      return is_unsigned(reflection->GetUInt32(other, field));
    case Field::CPPTYPE_UINT64:
      return is_unsigned(reflection->GetUInt64(other, field));
    case Field::CPPTYPE_BOOL:
      return is_unsigned(reflection->GetBool(other, field));
    case Field::CPPTYPE_STRING:
      return mine.form == Form::kText && mine.text == reflection->GetString(other, field);
    default:
      return mine.form == Form::kList;
  }
}

inline bool same_tensors(const TraceTensors& mine, const chakra::IOInfo& other) {
  return mine.values == other.values() && mine.shapes == other.shapes() && mine.types == other.types();
}

/// What differs, or "".
inline std::string difference(const TraceNode& mine, const chakra::Node& other) {
  if (mine.id != other.id()) return "id";
  if (mine.name != other.name()) return "name";
  if (mine.type != static_cast<uint32_t>(other.type())) return "type";
  if (!std::ranges::equal(mine.control_deps, other.ctrl_deps())) return "ctrl_deps";
  if (!std::ranges::equal(mine.data_deps, other.data_deps())) return "data_deps";
  if (mine.start != other.start_time_micros()) return "start_time_micros";
  if (mine.duration != other.duration_micros()) return "duration_micros";
  if (!same_tensors(mine.inputs, other.inputs())) return "inputs";
  if (!same_tensors(mine.outputs, other.outputs())) return "outputs";
  if (mine.attributes.size() != static_cast<size_t>(other.attr_size())) return "number of attributes";
  for (int i = 0; i < other.attr_size(); ++i) {
    const TraceAttribute& attribute = mine.attributes[static_cast<size_t>(i)];
    if (attribute.name != other.attr(i).name()) return "name of attribute " + std::to_string(i);
    if (!same_value(attribute, other.attr(i))) return "value of attribute " + std::to_string(i);
  }
  return "";
}

inline bool has_group(const google::protobuf::Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).type() == google::protobuf::UnknownField::TYPE_GROUP) return true;
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const auto* reflection = message.GetReflection();
    if (!field->is_repeated()) {
      if (has_group(reflection->GetMessage(message, field))) return true;
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      if (has_group(reflection->GetRepeatedMessage(message, field, i))) return true;
    }
  }
  return false;
}

}  // namespace rankwire::testing
