// Chakra traces of any schema and JSON form to schema 1.0.0, and to the JSON that Chakra's jsonizer writes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "converters/conversion.h"

namespace rankwire {

/// Writes the traces of ranks 0, 1, ... with the same ids, dependencies and attributes in schema 1.0.0. Integers become
/// int64 or uint64, reals double, lists stay what they are; those of older schemas are left out with a warning. Where
/// the schema counts nanoseconds (0.0.1), what is below a microsecond goes to a later node.
Conversion upgrade_traces(const std::vector<std::string>& traces, const std::filesystem::path& folder,
                          ConversionProgress& progress);

/// The same as `trace.<rank>.json`: messages as protobuf prints them in JSON, a line each, metadata first.
Conversion convert_to_json(const std::vector<std::string>& traces, const std::filesystem::path& folder,
                           ConversionProgress& progress);

}  // namespace rankwire
