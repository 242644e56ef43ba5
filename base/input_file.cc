#include "base/input_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

/// Whether it is a pipe that no file system names; to open it again does not wait.
bool is_anonymous(const std::filesystem::path& pipe) {
  struct statfs system {};
  return ::statfs(pipe.c_str(), &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

bool is_terminal_or_null(const std::filesystem::path& device, const struct stat& status) {
  if (status.st_rdev == makedev(1, 3)) return true;  // Documentation/admin-guide/devices.txt of Linux
  const int descriptor = ::open(device.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_terminal = ::isatty(descriptor) != 0;
  ::close(descriptor);
  return is_terminal;
}

/// What stands there instead of a file; null: one that can be read.
const char* other_kind(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return nullptr;  // is told when it is opened
  if (S_ISDIR(status.st_mode)) return "a directory";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  if (S_ISBLK(status.st_mode)) return "a device";
  if (S_ISFIFO(status.st_mode)) return is_anonymous(file) ? nullptr : "a named pipe";
  if (S_ISCHR(status.st_mode)) return is_terminal_or_null(file, status) ? nullptr : "a device";
  return nullptr;
}

}  // namespace

void require_file(const std::filesystem::path& file, std::string_view what) {
  if (const char* kind = other_kind(file)) fail_input("{}: is {}, not {}", file.string(), kind, what);
}

std::ifstream open_input(const std::filesystem::path& file, std::string_view what) {
  require_file(file, what);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail_input("{}: cannot be read: {}", file.string(), std::strerror(errno));
  return stream;
}

}  // namespace rankwire
