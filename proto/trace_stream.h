// Chakra trace files as streams of nodes: length-delimited frames, or JSON; plain, gzip or zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/byte_stream.h"
#include "proto/chakra.pb.h"
#include "proto/trace_json.h"
#include "proto/trace_node.h"
#include "proto/trace_schema.h"

namespace rankwire {

/// No frame of a trace is longer than this, in bytes. The longest in practice embed a whole input file.
inline constexpr uint32_t kMaxTraceFrame = 64u << 20;

/// GlobalMetadata.
struct TraceMetadata {
  std::string version;                                          ///< "" in many files
  std::vector<std::pair<std::string, std::string>> attributes;  ///< values as text; lists are left out
};

/// Reads one file of any schema (see trace_schema.h) or JSON form (see trace_json.h), all told by content. Used by one
/// thread.
///
/// All errors are Error(kInput) that name the file, the frame (counted from 0) and its offset in the uncompressed
/// stream: a file that cannot be read, ends within a frame, or holds a frame that is not the message it must be.
class TraceReader {
 public:
  /// Opens the file, finds out its schema from up to 400 frames, and reads the metadata where there is any. A first
  /// frame of length zero is empty metadata.
  explicit TraceReader(const std::string& path);

  /// Reads the next node into `node`, or returns false at the end of the file. What `node` had is no longer valid.
  bool next(TraceNode& node);
  /// Absent in JSON as well.
  const std::optional<TraceMetadata>& metadata() const { return metadata_; }
  /// Of JSON, the present one, which its names are those of.
  TraceSchema schema() const { return schema_; }
  /// The message of the node that was read last, for whoever wants all of it; empty unless the schema is 0.0.4 and the
  /// file no JSON. Valid as long as the node.
  std::string_view frame() const { return json_ || schema_ != TraceSchema::k004 ? std::string_view() : frame_; }
  /// Where the next frame begins, in bytes of the uncompressed stream.
  uint64_t offset() const { return pending_ ? frame_begin_ : bytes_.offset(); }
  const std::string& path() const { return path_; }

 private:
  void detect_schema();
  bool read_frame();
  std::optional<uint32_t> read_length();
  bool take_metadata();
  std::string where() const;
  [[noreturn]] void fail_at_end();

  std::string path_;
  ByteStream bytes_;
  std::optional<TraceJson> json_;
  TraceSchema schema_ = TraceSchema::k004;
  std::string_view frame_;
  bool pending_ = false;      ///< `frame_` holds a node that `next` has not returned yet
  uint64_t frames_ = 0;       ///< begun so far
  uint64_t frame_begin_ = 0;  ///< of the frame being read
  std::optional<TraceMetadata> metadata_;
};

/// Writes one file, compressed with gzip when its name ends in ".gz"; equal messages give equal bytes. Used by one
/// thread. A failure of the disk is Error(kRun).
class TraceWriter {
 public:
  explicit TraceWriter(const std::string& path);

  /// Metadata, if any, must be written first.
  void write(const chakra::GlobalMetadata& metadata);
  void write(const chakra::Node& node);
  /// Flushes and closes. Without it the destructor closes, but what then fails goes unnoticed.
  void close();

 private:
  void write_frame(const google::protobuf::MessageLite& message);

  std::string path_;
  GzipStream stream_;
  std::string frame_;
};

}  // namespace rankwire
