// Chakra trace files as streams of messages: length-delimited frames, plain or gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "proto/chakra.pb.h"

struct gzFile_s;

namespace rankwire {

/// No frame of a trace is longer than this, in bytes. The longest in practice embed a whole input file.
inline constexpr uint32_t kMaxTraceFrame = 64u << 20;

struct GzipCloser {
  void operator()(gzFile_s* file) const noexcept;
};
using GzipStream = std::unique_ptr<gzFile_s, GzipCloser>;

/// Reads one file, recognising gzip by its magic (1f 8b) whatever the file is called. Used by one thread.
///
/// All errors are Error(kInput) that name the file, the frame (counted from 0) and its offset in the uncompressed
/// stream: a file that cannot be read, ends within a frame, or holds a frame that is not the message it must be.
class TraceReader {
 public:
  /// Opens the file and reads the metadata where there is any. The first frame is metadata exactly when it parses as
  /// GlobalMetadata without a remainder: a node has an id or a type, which are varints, and metadata has none. A first
  /// frame of length zero is empty metadata.
  explicit TraceReader(const std::string& path);

  /// Reads the next node into `node`, or returns false at the end of the file.
  bool next(chakra::Node& node);
  const std::optional<chakra::GlobalMetadata>& metadata() const { return metadata_; }
  /// Where the next frame begins, in bytes of the uncompressed stream.
  uint64_t offset() const { return pending_ ? frame_begin_ : offset_; }
  const std::string& path() const { return path_; }

 private:
  bool read_frame();
  std::optional<uint32_t> read_length();
  bool take_metadata();
  std::string where() const;
  [[noreturn]] void fail_at_end();

  std::string path_;
  GzipStream stream_;
  std::string frame_;
  bool pending_ = false;      ///< `frame_` holds a node that `next` has not returned yet
  uint64_t frames_ = 0;       ///< begun so far
  uint64_t frame_begin_ = 0;  ///< of the frame being read
  uint64_t offset_ = 0;
  std::optional<chakra::GlobalMetadata> metadata_;
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
