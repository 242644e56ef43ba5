// Attributes of a node by name, whatever type the producer gave them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace_node.h"

namespace rankwire {

/// The attribute as a 64-bit integer, from any integer, boolean or floating-point type. Absent when the node has no
/// such attribute or the attribute has no value. Throws Error(kInput) naming the node and the attribute when its value
/// is neither integral nor within int64.
std::optional<int64_t> integer_attribute(const TraceNode& node, std::string_view name);

/// The same as a truth value: everything but 0 is true.
std::optional<bool> bool_attribute(const TraceNode& node, std::string_view name);

/// The truth values of a `bool_list`. Throws Error(kInput) when the attribute has another type.
std::optional<std::vector<bool>> truth_list_attribute(const TraceNode& node, std::string_view name);

/// The numbers of a list of integers that are not negative: an `int64_list` or another list of plain varints,
/// or a text such as "[3, 0, 5]", which a trace in JSON must have. Throws Error(kInput) when it is
/// neither or a number is beyond int64.
std::optional<std::vector<int64_t>> count_list_attribute(const TraceNode& node, std::string_view name);

/// The attribute as text, from a string, bytes, or an integer in decimal. Throws Error(kInput) when it has another
/// type.
std::optional<std::string> string_attribute(const TraceNode& node, std::string_view name);

}  // namespace rankwire
