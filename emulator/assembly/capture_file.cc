#include "emulator/assembly/capture_file.h"

#include "base/error.h"

namespace rankwire {

CaptureFile::CaptureFile(const std::filesystem::path& file, const FabricCapture& capture,
                         std::span<const std::string> names)
    : file_(file), capture_(capture), stream_(file, std::ios::binary | std::ios::trunc) {
  stream_ << capture.file_head(names) << std::flush;
  if (!stream_) fail_run("{}: cannot be written", file_.string());
}

void CaptureFile::append() {
  const std::string_view blocks = capture_.blocks(written_);
  if (blocks.empty() || !stream_) return;
  stream_ << blocks << std::flush;
  written_ += blocks.size();
}

void CaptureFile::complete() {
  append();
  if (!stream_) fail_run("{}: cannot be written; is the disk full?", file_.string());
}

}  // namespace rankwire
