// Files as one archive, .tar.zst, for whoever is sent them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "proto/zstd_file.h"

namespace rankwire {

/// POSIX's ustar (IEEE Std 1003.1-2017, pax, "ustar Interchange Format") in zstd. Of files their contents alone come
/// along, of the owner and the time nothing, so that equal contents give equal archives. Used by one thread.
class Bundle {
 public:
  /// All files lie below `folder` in the archive. Throws as ZstdFile.
  Bundle(const std::filesystem::path& archive, const std::string& folder);

  /// Throws Error(kInput) for a name that ustar cannot hold, more than 255 bytes or one part of it more than 100, and
  /// for contents of 8 GiB and more.
  void add_text(const std::string& name, std::string_view text);
  /// A file, or a folder with all regular files below it, in the order of their names. Throws Error(kInput), too, when
  /// one cannot be read or changes while it is.
  void add_path(const std::string& name, const std::filesystem::path& path);
  void close();

 private:
  void add_file(const std::string& name, const std::filesystem::path& path);
  void begin(const std::string& name, uint64_t size);
  void pad(uint64_t size);

  std::string folder_;
  ZstdFile file_;
};

}  // namespace rankwire
