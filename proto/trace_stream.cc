#include "proto/trace_stream.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/stop.h"
#include "proto/schema_detector.h"
#include "proto/trace_attribute.h"
#include "proto/wire.h"

namespace rankwire {
namespace {

constexpr unsigned kPackedBuffer = 128 * 1024;

constexpr int kFramesToJudgeBy = 400;
constexpr size_t kShortFile = 64 * 1024;

/// Of the frames that `next` returns one after the other, empty at the end.
template <class Next>
TraceSchema schema_of(Next next) {
  SchemaDetector detector;
  for (int i = 0; i < kFramesToJudgeBy; ++i) {
    const std::optional<std::string_view> frame = next();
    if (!frame) break;
    if (i > 0 || !is_metadata(*frame)) detector.look_at(*frame);
  }
  return detector.schema();
}

std::optional<std::string> as_text(const TraceAttribute& attribute) {
  switch (attribute.form) {
    case TraceAttribute::Form::kSigned:
      return std::to_string(static_cast<int64_t>(attribute.bits));
    case TraceAttribute::Form::kUnsigned:
      return std::to_string(attribute.bits);
    case TraceAttribute::Form::kReal:
      return fmt::format("{}", attribute.real());
    case TraceAttribute::Form::kText:
      return std::string(attribute.text);
    case TraceAttribute::Form::kNone:
    case TraceAttribute::Form::kList:
      break;
  }
  return std::nullopt;
}

}  // namespace

TraceReader::TraceReader(const std::string& path) : path_(path), bytes_(path) {
  if (TraceJson::is_json(bytes_.peek(TraceJson::kMagic))) {
    json_.emplace(path, bytes_);
    return;
  }
  detect_schema();
  pending_ = read_frame() && !take_metadata();
}

// What is wrong is left to be found by who reads on. A short file is in the buffer whole; of another the frames are
// looked at on a stream of its own.
void TraceReader::detect_schema() {
  std::string_view whole = bytes_.peek(kShortFile);
  if (whole.size() < kShortFile) {
    schema_ = schema_of([&]() -> std::optional<std::string_view> {
      uint64_t length;
      if (!take_varint(whole, length) || length > whole.size()) return std::nullopt;
      const std::string_view frame = whole.substr(0, length);
      whole.remove_prefix(length);
      return frame;
    });
    return;
  }
  ByteStream bytes(path_);
  schema_ = schema_of([&, before = size_t{0}]() mutable -> std::optional<std::string_view> {
    bytes.skip(std::exchange(before, 0));
    std::string_view ahead = bytes.peek(5);
    const size_t seen = ahead.size();
    uint64_t length;
    if (!take_varint(ahead, length) || length > kMaxTraceFrame) return std::nullopt;
    bytes.skip(seen - ahead.size());
    const std::string_view frame = bytes.peek(length);
    if (frame.size() < length) return std::nullopt;
    before = length;
    return frame.substr(0, length);
  });
}

bool TraceReader::next(TraceNode& node) {
  if (json_) return json_->next(node);
  if (!std::exchange(pending_, false) && !read_frame()) return false;
  if (!parse_node(frame_, schema_, node)) fail_input("{}: not a Chakra node of schema {}", where(), to_string(schema_));
  return true;
}

bool TraceReader::take_metadata() {
  if (!is_metadata(frame_)) return false;
  metadata_.emplace();
  WireFields fields(frame_);
  while (fields.next()) {
    TraceAttribute attribute;
    if (fields.number() == 2) {
      parse_attribute(fields.bytes(), attribute);
    } else if (schema_ != TraceSchema::k004) {
      parse_old_attribute(fields.bytes(), schema_, attribute);
    } else {
      metadata_->version = fields.bytes();
    }
    if (auto text = as_text(attribute)) metadata_->attributes.emplace_back(attribute.name, std::move(*text));
  }
  return true;
}

bool TraceReader::read_frame() {
  frame_begin_ = bytes_.offset();
  ++frames_;
  const std::optional<uint32_t> length = read_length();
  if (!length) return false;
  if (*length > kMaxTraceFrame) {
    fail_input("{}: a frame of {} bytes, the most is {}: not a Chakra trace", where(), *length, kMaxTraceFrame);
  }
  frame_ = bytes_.peek(*length);
  if (frame_.size() < *length) fail_at_end();
  frame_ = frame_.substr(0, *length);
  bytes_.skip(*length);
  return true;
}

std::optional<uint32_t> TraceReader::read_length() {
  constexpr size_t kLongest = 5;
  const std::string_view seen = bytes_.peek(kLongest);
  if (seen.empty() && bytes_.problem().empty()) return std::nullopt;
  std::string_view rest = seen.substr(0, kLongest);
  const size_t available = rest.size();
  uint64_t length;
  if (!take_varint(rest, length)) {
    if (available < kLongest) fail_at_end();
    length = UINT64_MAX;
  }
  if (length > UINT32_MAX) fail_input("{}: the length of the frame is no 32-bit varint: not a Chakra trace", where());
  bytes_.skip(available - rest.size());
  return static_cast<uint32_t>(length);
}

std::string TraceReader::where() const {
  return fmt::format("{}: frame {} at byte {}", path_, frames_ - 1, frame_begin_);
}

void TraceReader::fail_at_end() {
  const std::string problem = bytes_.problem();
  fail_input("{}: {}", where(), problem.empty() ? "the file ends within the frame" : problem);
}

TraceWriter::TraceWriter(const std::string& path) : path_(path) {
  errno = 0;
  // "T": written as it is, without compression.
  stream_.reset(gzopen(path.c_str(), path.ends_with(".gz") ? "wb6" : "wbT"));
  if (!stream_) fail_run("{}: cannot create: {}", path_, system_error(errno));
  gzbuffer(stream_.get(), kPackedBuffer);
}

void TraceWriter::write(const chakra::GlobalMetadata& metadata) {
  write_frame(metadata);
}
void TraceWriter::write(const chakra::Node& node) {
  write_frame(node);
}

void TraceWriter::write_frame(const google::protobuf::MessageLite& message) {
  check_stop();
  frame_.clear();
  {
    google::protobuf::io::StringOutputStream text(&frame_);
    google::protobuf::io::CodedOutputStream out(&text);
    const size_t size = message.ByteSizeLong();
    if (size > kMaxTraceFrame) fail_run("{}: a frame of {} bytes, the most is {}", path_, size, kMaxTraceFrame);
    out.WriteVarint32(static_cast<uint32_t>(size));
    message.SerializeWithCachedSizes(&out);
  }
  errno = 0;
  if (gzwrite(stream_.get(), frame_.data(), static_cast<unsigned>(frame_.size())) == 0) {
    fail_run("{}: cannot write: {}", path_, system_error(errno));
  }
}

void TraceWriter::close() {
  errno = 0;
  if (stream_ && gzclose(stream_.release()) != Z_OK) fail_run("{}: cannot write: {}", path_, system_error(errno));
}

}  // namespace rankwire
