#include "proto/attribute_copy.h"

#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>

#include "base/error.h"
#include "proto/wire.h"

namespace rankwire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool is_list(const FieldDescriptor* field) {
  return field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

/// The message of the list alone, whose values are its fields 1.
std::string list_message(const TraceAttribute& list) {
  if (list.values == 1) return std::string(list.text);
  google::protobuf::UnknownFieldSet values;
  WireFields fields(list.text);
  while (fields.next()) {
    if (fields.number() != list.values) continue;
    if (fields.type() == WireType::kVarint) values.AddVarint(1, fields.value());
    if (fields.type() == WireType::kFixed32) values.AddFixed32(1, static_cast<uint32_t>(fields.value()));
    if (fields.type() == WireType::kBytes) values.AddLengthDelimited(1, std::string(fields.bytes()));
  }
  std::string message;
  values.SerializeToString(&message);
  return message;
}

bool copy_list(const TraceAttribute& from, chakra::AttributeProto& to) {
  const FieldDescriptor* field = to.GetDescriptor()->FindFieldByNumber(static_cast<int>(from.bits));
  if (!is_list(field)) return false;
  Message* list = to.GetReflection()->MutableMessage(&to, field);
  if (list->ParseFromString(list_message(from))) return true;
  to.GetReflection()->ClearField(&to, field);
  return false;
}

}  // namespace

bool copy_attribute(const TraceAttribute& from, chakra::AttributeProto& to) {
  to.set_name(std::string(from.name));
  switch (from.form) {
    case TraceAttribute::Form::kSigned:
      to.set_int64_val(static_cast<int64_t>(from.bits));
      break;
    case TraceAttribute::Form::kUnsigned:
      to.set_uint64_val(from.bits);
      break;
    case TraceAttribute::Form::kReal:
      to.set_double_val(from.real());
      break;
    case TraceAttribute::Form::kText:
      to.set_string_val(std::string(from.text));
      break;
    case TraceAttribute::Form::kList:
      return copy_list(from, to);
    case TraceAttribute::Form::kNone:
      break;
  }
  return true;
}

std::string attribute_json(const chakra::AttributeProto& attribute) {
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(attribute, &json);
  if (!status.ok()) fail_input("attribute {} cannot be written in JSON: {}", attribute.name(), status.ToString());
  return json;
}

bool list_of_json(const std::string& json, std::string& list, uint32_t& field) {
  chakra::AttributeProto attribute;
  if (!google::protobuf::util::JsonStringToMessage(json, &attribute).ok()) return false;
  const FieldDescriptor* found = attribute.GetDescriptor()->FindFieldByNumber(attribute.value_case());
  if (!is_list(found)) return false;
  attribute.GetReflection()->GetMessage(attribute, found).SerializeToString(&list);
  field = static_cast<uint32_t>(found->number());
  return true;
}

}  // namespace rankwire
