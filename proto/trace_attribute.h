// Reads the attributes of nodes in the encodings that Chakra's schemas have had.
#pragma once

#include <string_view>

#include "proto/trace_schema.h"

namespace rankwire {

/// Whether the bytes are UTF-8, as protobuf asks of its texts.
bool is_text(std::string_view bytes) noexcept;

/// Reads one attribute of schema 0.0.4. False when the bytes are not a message, or what should be text is not.
bool parse_attribute(std::string_view message, TraceAttribute& attribute);
/// The same of 0.0.2 and 0.0.3.
bool parse_old_attribute(std::string_view message, TraceSchema schema, TraceAttribute& attribute);

}  // namespace rankwire
