// Copies of traces with changes: whole messages go through, in the present schema.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/chakra.pb.h"
#include "proto/trace_stream.h"

namespace rankwire {

/// Gives the attribute an integer in the type that it has, if the value fits, and otherwise as int64.
void set_integer(chakra::Node& node, std::string_view name, int64_t value);
void set_text(chakra::Node& node, std::string_view name, const std::string& value);

struct TraceCopy {
  std::string from, to;
  uint64_t nodes = UINT64_MAX;  ///< at most so many, where what is behind cannot be read
  /// Is given the index of the node in `from`, and returns whether the node goes into the copy.
  std::function<bool(uint32_t, chakra::Node&)> edit;
  std::function<void(chakra::GlobalMetadata&)> edit_metadata;  ///< may be empty
  std::vector<chakra::Node> append;                            ///< nodes for the end
};

/// Writes the copy in schema 1.0.0, packed with gzip when its name ends in ".gz". From files of schema 0.0.4 every
/// field comes along, also unknown ones; of older schemas and of JSON what TraceNode has.
/// Replaces a file that is there. Throws Error(kInput) when the original cannot be read so far, and Error(kRun) when
/// the copy cannot be written.
void copy_trace(const TraceCopy& copy);

/// The name that the copy of a file has: without .gz and .zst, and .et instead of .eg and .json.
std::string name_of_copy(const std::string& path);

/// Where the attributes `inputs` and `outputs` are lists of names and sizes, as STAGE writes them: multiplies the
/// sizes.
void scale_tensor_lists(chakra::Node& node, int64_t factor);

}  // namespace rankwire
