#include "proto/zstd_file.h"

#include <zstd.h>

#include <cerrno>

#include "base/error.h"
#include "proto/byte_stream.h"

namespace rankwire {

void ZstdFile::ContextFreer::operator()(ZSTD_CCtx_s* context) const noexcept {
  ZSTD_freeCCtx(context);
}

ZstdFile::ZstdFile(const std::string& path)
    : path_(path),
      file_(std::fopen(path.c_str(), "wbxe")),
      context_(ZSTD_createCCtx()),
      packed_(ZSTD_CStreamOutSize()) {
  if (!file_) fail_run("{}: cannot be made: {}", path, system_error(errno));
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

void ZstdFile::write(std::string_view bytes) {
  compress(bytes, false);
}

void ZstdFile::close() {
  compress({}, true);
  if (std::fclose(file_.release()) != 0) fail_run("{}: cannot be written: {}", path_, system_error(errno));
}

void ZstdFile::compress(std::string_view bytes, bool ends) {
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (size_t left = 1; input.pos < input.size || (ends && left > 0);) {
    ZSTD_outBuffer output{packed_.data(), packed_.size(), 0};
    left = ZSTD_compressStream2(context_.get(), &output, &input, ends ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) fail_run("{}: cannot be packed: {}", path_, ZSTD_getErrorName(left));
    if (std::fwrite(packed_.data(), 1, output.pos, file_.get()) != output.pos)
      fail_run("{}: cannot be written: {}", path_, system_error(errno));
  }
}

}  // namespace rankwire
