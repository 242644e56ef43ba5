// The file of a capture, written while frames are captured.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "dataplane/switch/capture.h"

namespace rankwire {

/// After every call the file is a whole pcapng file, which survives the death of the process.
class CaptureFile {
 public:
  /// Writes what the file begins with. `capture` outlives this; `names` of the ports, by number. Throws Error(kRun)
  /// when the file cannot be made.
  CaptureFile(const std::filesystem::path& file, const FabricCapture& capture, std::span<const std::string> names);

  /// Writes what has been captured since the last call, as far as the disk takes it. `complete` tells of errors. Any
  /// one thread at a time.
  void append();
  /// The same, for the last time. Throws Error(kRun) when something could not be written.
  void complete();

 private:
  const std::filesystem::path file_;
  const FabricCapture& capture_;
  std::ofstream stream_;
  size_t written_ = 0;  ///< bytes of the capture's blocks
};

}  // namespace rankwire
