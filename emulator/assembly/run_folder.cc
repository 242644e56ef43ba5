#include "emulator/assembly/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace rankwire {

RunFolder::RunFolder(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) fail_run("{}: the run folder cannot be made: {}", path_.string(), error.message());
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return;  // a folder that may be written but not read
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor_);
    fail_input("{}: another rankwire is writing into this run folder; choose another one with --out", path_.string());
  }
}

RunFolder::~RunFolder() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace rankwire
