#include "proto/trace_stream.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr unsigned kBufferSize = 128 * 1024;

const char* system_error(int error) {
  return error != 0 ? std::strerror(error) : "input/output error";
}

const google::protobuf::UnknownFieldSet& unknown_fields(const google::protobuf::Message& message) {
  return message.GetReflection()->GetUnknownFields(message);
}

/// Schema 0.0.1 has its numbers of communication in varint fields 12 to 20, where the present one has nothing; 0.0.2
/// and 0.0.3 have attributes, which begin with their names (field 1, text), in field 11.
bool is_proto2_node(const chakra::Node& node) {
  const google::protobuf::UnknownFieldSet& unknown = unknown_fields(node);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.type() == google::protobuf::UnknownField::TYPE_VARINT && field.number() >= 12 && field.number() <= 20)
      return true;
    constexpr char kTextOfField1 = 1 << 3 | 2;
    if (field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED && field.number() == 11 &&
        field.length_delimited().starts_with(kTextOfField1))
      return true;
  }
  return false;
}

}  // namespace

void GzipCloser::operator()(gzFile_s* file) const noexcept {
  gzclose(file);
}

TraceReader::TraceReader(const std::string& path) : path_(path) {
  errno = 0;
  stream_.reset(gzopen(path.c_str(), "rb"));
  if (!stream_) fail_input("{}: cannot open: {}", path_, system_error(errno));
  gzbuffer(stream_.get(), kBufferSize);
  pending_ = read_frame() && !take_metadata();
}

bool TraceReader::next(chakra::Node& node) {
  if (!std::exchange(pending_, false) && !read_frame()) return false;
  if (!node.ParseFromString(frame_)) fail_input("{}: not a Chakra node", where());
  if (is_proto2_node(node)) {
    fail_input("{}: node {} is of a Chakra schema before 0.0.4, which is not read", where(), node.id());
  }
  return true;
}

bool TraceReader::take_metadata() {
  chakra::GlobalMetadata metadata;
  if (!metadata.ParseFromString(frame_) || !unknown_fields(metadata).empty()) return false;
  // A node with id 0 and nothing but a name has field 2 too; its text is then no attribute.
  const bool attributes = std::all_of(metadata.attr().begin(), metadata.attr().end(), [](const auto& attribute) {
    return !attribute.name().empty() && unknown_fields(attribute).empty();
  });
  if (!attributes) return false;
  metadata_ = std::move(metadata);
  return true;
}

bool TraceReader::read_frame() {
  frame_begin_ = offset_;
  ++frames_;
  const std::optional<uint32_t> length = read_length();
  if (!length) return false;
  if (*length > kMaxTraceFrame) {
    fail_input("{}: a frame of {} bytes, the most is {}: not a Chakra trace", where(), *length, kMaxTraceFrame);
  }
  frame_.resize(*length);
  const int got = gzread(stream_.get(), frame_.data(), *length);
  if (got < 0 || static_cast<uint32_t>(got) != *length) fail_at_end();
  offset_ += *length;
  return true;
}

std::optional<uint32_t> TraceReader::read_length() {
  uint64_t length = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const int byte = gzgetc(stream_.get());
    if (byte < 0) {
      int code = Z_OK;
      gzerror(stream_.get(), &code);
      if (shift == 0 && code == Z_OK) return std::nullopt;
      fail_at_end();
    }
    ++offset_;
    length |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) {
      if (length > UINT32_MAX) break;
      return static_cast<uint32_t>(length);
    }
  }
  fail_input("{}: the length of the frame is no 32-bit varint: not a Chakra trace", where());
}

std::string TraceReader::where() const {
  return fmt::format("{}: frame {} at byte {}", path_, frames_ - 1, frame_begin_);
}

void TraceReader::fail_at_end() {
  int code = Z_OK;
  const char* text = gzerror(stream_.get(), &code);
  if (code == Z_OK) fail_input("{}: the file ends within the frame", where());
  if (code == Z_BUF_ERROR) fail_input("{}: the compressed stream ends too early", where());
  fail_input("{}: {}", where(), code == Z_ERRNO ? system_error(errno) : text);
}

TraceWriter::TraceWriter(const std::string& path) : path_(path) {
  errno = 0;
  // "T": written as it is, without compression.
  stream_.reset(gzopen(path.c_str(), path.ends_with(".gz") ? "wb6" : "wbT"));
  if (!stream_) fail_run("{}: cannot create: {}", path_, system_error(errno));
  gzbuffer(stream_.get(), kBufferSize);
}

void TraceWriter::write(const chakra::GlobalMetadata& metadata) {
  write_frame(metadata);
}
void TraceWriter::write(const chakra::Node& node) {
  write_frame(node);
}

void TraceWriter::write_frame(const google::protobuf::MessageLite& message) {
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
