// The bytes of a file, whatever it is packed with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct gzFile_s;

namespace rankwire {

/// What a call of the operating system or of zlib has left in errno, as text. Valid until the next error.
const char* system_error(int error) noexcept;

/// An open file of zlib's, which is closed with its owner.
struct GzipCloser {
  void operator()(gzFile_s* file) const noexcept;
};
using GzipStream = std::unique_ptr<gzFile_s, GzipCloser>;

/// Where packed or plain bytes come from. Used by one thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `size` bytes, at least one unless the end is reached or something is wrong.
  virtual size_t read(char* out, size_t size) = 0;
  /// What is wrong with the file, or "".
  virtual std::string problem() const = 0;
};

/// A file from its beginning to its end, decompressed: gzip (1f 8b) and zstd (28 b5 2f fd) are recognised by their
/// magic, whatever the file is called. Memory: the longest `peek`, at least 256 KiB. Used by one thread.
class ByteStream {
 public:
  /// Throws Error(kInput) that names the file when it cannot be opened.
  explicit ByteStream(const std::string& path);

  /// The bytes that come next: at least `size` of them, fewer only at the end of what can be read (see `problem`).
  /// Valid until the next call of `peek`.
  std::string_view peek(size_t size);
  /// Goes on by `size` bytes, no more than were seen.
  void skip(size_t size) noexcept {
    begin_ += size;
    offset_ += size;
  }
  /// Goes past the byte order mark that Windows' programs put before a text in UTF-8, where one comes next.
  void skip_byte_order_mark() {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (peek(kMark.size()).starts_with(kMark)) skip(kMark.size());
  }
  /// Of the next byte, in the decompressed stream.
  uint64_t offset() const noexcept { return offset_; }
  /// Why there are no more bytes although the file has not ended properly, or "".
  std::string problem() const { return source_->problem(); }

 private:
  void grow(size_t size);

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<char[]> buffer_;  ///< not initialised: of a short file little of it becomes resident
  size_t size_;                     ///< of the buffer
  size_t begin_ = 0, end_ = 0;      ///< of what is in the buffer and has not been skipped
  uint64_t offset_ = 0;
};

}  // namespace rankwire
