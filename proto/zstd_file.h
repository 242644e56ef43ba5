// Files that are written packed with zstd.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_CCtx_s;

namespace rankwire {

/// One frame (RFC 8878), with a checksum. Used by one thread. A failure of the disk is Error(kRun).
class ZstdFile {
 public:
  /// Throws Error(kRun) when the file cannot be made, also when there is one of that name.
  explicit ZstdFile(const std::string& path);

  void write(std::string_view bytes);
  /// Ends the frame. Without it the file is no whole one.
  void close();

 private:
  struct ContextFreer {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  struct FileCloser {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  void compress(std::string_view bytes, bool ends);

  std::string path_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::unique_ptr<ZSTD_CCtx_s, ContextFreer> context_;
  std::vector<char> packed_;
};

}  // namespace rankwire
