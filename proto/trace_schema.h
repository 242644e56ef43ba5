// The schemas that Chakra's traces have had, told apart by what their messages look like on the wire.
//
// Source: mlcommons/chakra, eg_def/eg_def.proto (0.0.1), et_def/et_def.proto (0.0.2 to 0.0.4) and
// schema/protobuf/et_def.proto (1.0.0, on the wire 0.0.4). Files do not name their schema before 0.0.4.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/trace_node.h"

namespace rankwire {

enum class TraceSchema : uint8_t {
  k001,  ///< fixed fields for what attributes carry later
  k002,  ///< attributes; node types are one less than later
  k003,  ///< four layouts of attributes, which each attribute tells by itself
  k004,  ///< and 1.0.0
};

/// "0.0.1" ...
const char* to_string(TraceSchema schema);

/// Whether the first frame of a file is GlobalMetadata and not a node: it has the fields 1 and 2 as texts or messages
/// and no others, and what should be attributes have names.
bool is_metadata(std::string_view frame);

/// Reads one node. False when the frame is not a message of the schema; text that is not UTF-8 is none.
bool parse_node(std::string_view frame, TraceSchema schema, TraceNode& node);

}  // namespace rankwire
