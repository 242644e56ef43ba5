// Chakra traces in JSON.
//
// Two forms: messages as protobuf prints them in JSON, one behind the other without a separator, which is what Chakra's
// jsonizer writes; and one object {"workload_graph": [...]} of flat nodes, which Chakra's WrapperNode reads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "proto/byte_stream.h"
#include "proto/trace_node.h"

namespace rankwire {

/// Reads one file, wholly into memory. Used by one thread.
class TraceJson {
 public:
  /// As many bytes as decide whether a file is JSON.
  static constexpr size_t kMagic = 64;
  /// An object and its first key. (A frame of 123 bytes, whose length is a brace, does not go on so.)
  static bool is_json(std::string_view begin) noexcept;

  /// `bytes` is the file of that path, at its beginning. Throws Error(kInput) that names the file when it cannot be
  /// read.
  TraceJson(const std::string& path, ByteStream& bytes);
  ~TraceJson();

  /// As TraceReader::next. Throws Error(kInput) naming file, node and key of what is not as it must be.
  bool next(TraceNode& node);

 private:
  struct Documents;

  std::string path_;
  std::unique_ptr<Documents> documents_;
};

}  // namespace rankwire
