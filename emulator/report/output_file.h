// A file of the run folder that appears whole or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace rankwire {

/// Writes beside the final name and renames in `commit`. What is not committed is removed.
class OutputFile {
 public:
  /// Throws Error(kRun) when the file cannot be made.
  explicit OutputFile(const std::filesystem::path& file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  OutputFile& operator<<(std::string_view text) {
    stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
    return *this;
  }
  /// Throws Error(kRun) when something could not be written.
  void commit();

 private:
  std::filesystem::path file_, temporary_;
  std::ofstream stream_;
};

/// One text as a whole file. Throws as OutputFile does.
void write_file(const std::filesystem::path& file, std::string_view text);

}  // namespace rankwire
