// Attributes as messages of the present schema, lists included.
#pragma once

#include <string>

#include "proto/trace_node.h"

namespace rankwire {

/// Sets name and value of `to`, which is new: integers become int64 or uint64, reals double, texts string, lists what
/// they are. False when the value is a list that is not to be had, see TraceAttribute::Form::kList; then it has none.
bool copy_attribute(const TraceAttribute& from, chakra::AttributeProto& to);

/// As protobuf prints it in JSON: {"name":"involved_dim","boolList":{"values":[true,false]}}. Throws Error(kInput) when
/// the attribute cannot be printed, such as a text that is not UTF-8.
std::string attribute_json(const chakra::AttributeProto& attribute);

/// Sets `list` to the serialized list of an attribute in JSON, and `field` to the number of its field. False when
/// `json` is no attribute with a list.
bool list_of_json(const std::string& json, std::string& list, uint32_t& field);

}  // namespace rankwire
