#include "proto/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "base/stop.h"

namespace rankwire {
namespace {

constexpr size_t kBufferSize = 256 * 1024;

/// An open file.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path) {
    require_file(path, "a file");
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_input("{}: cannot open: {}", path, system_error(errno));
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(Descriptor file) : file_(std::move(file)) {}

  size_t read(char* out, size_t size) override {
    for (;;) {
      const ssize_t got = ::read(file_.get(), out, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) break;
    }
    problem_ = system_error(errno);
    return 0;
  }
  std::string problem() const override { return problem_; }

 private:
  Descriptor file_;
  std::string problem_;
};

/// One or several members, one behind the other.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(Descriptor file) : stream_(gzdopen(file.release(), "rb")) {
    gzbuffer(stream_.get(), kBufferSize);
  }

  size_t read(char* out, size_t size) override {
    const int got = gzread(stream_.get(), out, static_cast<unsigned>(std::min<size_t>(size, 1u << 30)));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  std::string problem() const override {
    int code = Z_OK;
    const char* text = gzerror(stream_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return "";
    if (code == Z_BUF_ERROR) return "the compressed stream ends too early";
    return code == Z_ERRNO ? system_error(errno) : text;
  }

 private:
  GzipStream stream_;
};

struct ZstdFreer {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

/// One or several frames, one behind the other.
class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(Descriptor file)
      : file_(std::move(file)), context_(ZSTD_createDCtx()), packed_(ZSTD_DStreamInSize()) {}

  size_t read(char* out, size_t size) override {
    ZSTD_outBuffer unpacked{out, size, 0};
    while (unpacked.pos == 0 && problem_.empty()) {
      if (input_.pos == input_.size) {
        const size_t got = file_.read(packed_.data(), packed_.size());
        problem_ = file_.problem();
        if (got == 0) {
          if (within_frame_ && problem_.empty()) problem_ = "the compressed stream ends too early";
          break;
        }
        input_ = {packed_.data(), got, 0};
      }
      const size_t status = ZSTD_decompressStream(context_.get(), &unpacked, &input_);
      if (ZSTD_isError(status)) problem_ = ZSTD_getErrorName(status);
      within_frame_ = status != 0;
    }
    return unpacked.pos;
  }
  std::string problem() const override { return problem_; }

 private:
  PlainSource file_;
  std::unique_ptr<ZSTD_DCtx, ZstdFreer> context_;
  std::vector<char> packed_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  bool within_frame_ = false;
  std::string problem_;
};

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  Descriptor file(path);
  char magic[4] = {};
  const ssize_t got = ::pread(file.get(), magic, sizeof magic, 0);
  const std::string_view begin(magic, got > 0 ? static_cast<size_t>(got) : 0);
  if (begin.starts_with("\x1F\x8B")) return std::make_unique<GzipSource>(std::move(file));
  if (begin == "\x28\xB5\x2F\xFD") return std::make_unique<ZstdSource>(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace

const char* system_error(int error) noexcept {
  return error != 0 ? std::strerror(error) : "input/output error";
}

void GzipCloser::operator()(gzFile_s* file) const noexcept {
  gzclose(file);
}

ByteStream::ByteStream(const std::string& path)
    : source_(open_source(path)), buffer_(std::make_unique_for_overwrite<char[]>(kBufferSize)), size_(kBufferSize) {}

void ByteStream::grow(size_t size) {
  std::unique_ptr<char[]> larger = std::make_unique_for_overwrite<char[]>(size);
  std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(larger);
  size_ = size;
}

std::string_view ByteStream::peek(size_t size) {
  if (end_ - begin_ < size) {
    check_stop();
    if (size > size_) {
      grow(size);
    } else {
      std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    }
    end_ -= begin_;
    begin_ = 0;
    while (end_ < size) {
      const size_t got = source_->read(buffer_.get() + end_, size_ - end_);
      if (got == 0) break;
      end_ += got;
    }
  }
  return {buffer_.get() + begin_, end_ - begin_};
}

}  // namespace rankwire
