#include "emulator/report/output_file.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rankwire {

OutputFile::OutputFile(const std::filesystem::path& file) : file_(file), temporary_(file.string() + ".partial") {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(file_, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    fail_run("{}: is there, and no file that can be replaced", file_.string());
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) fail_run("{}: cannot be written: {}", file_.string(), std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (!stream_.is_open()) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void OutputFile::commit() {
  stream_.flush();
  if (!stream_) fail_run("{}: cannot be written; is the disk full?", file_.string());
  stream_.close();
  std::error_code error;
  std::filesystem::rename(temporary_, file_, error);
  if (error) fail_run("{}: {}", file_.string(), error.message());
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  OutputFile out(file);
  out << text;
  out.commit();
}

}  // namespace rankwire
