#include "base/system_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace rankwire {
namespace {

Bytes bytes_of(uint64_t count) {
  return Bytes(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
}

/// The number at the beginning of the file, or behind the first such word in it.
std::optional<uint64_t> number_in(const std::filesystem::path& file, const std::string& key = {}) {
  std::ifstream in(file);
  std::string word;
  while (!key.empty() && in >> word && word != key) {
  }
  uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

/// What the control groups that this process is in, one in the other, leave of their limits (cgroup v2). What they can
/// drop of the page cache is not in use.
std::optional<uint64_t> room_of_control_groups() {
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("0::/")) {
  }
  if (!line.starts_with("0::/")) return std::nullopt;
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::optional<uint64_t> room;
  for (std::filesystem::path group = root / line.substr(4);; group = group.parent_path()) {
    const std::optional<uint64_t> limit = number_in(group / "memory.max"), used = number_in(group / "memory.current");
    if (limit && used) {
      const uint64_t cache = std::min(*used, number_in(group / "memory.stat", "inactive_file").value_or(0));
      const uint64_t left = *limit - std::min(*limit, *used - cache);
      room = std::min(left, room.value_or(left));
    }
    if (group == root || !group.has_relative_path()) return room;
  }
}

}  // namespace

Bytes resident_memory() {
  std::ifstream in("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  if (!(in >> size >> resident)) return {};
  return bytes_of(resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

std::optional<Bytes> available_memory() {
  std::optional<uint64_t> available = number_in("/proc/meminfo", "MemAvailable:");
  if (available) *available *= 1024;
  const std::optional<uint64_t> room = room_of_control_groups();
  if (room) available = std::min(*room, available.value_or(*room));
  return available ? std::optional(bytes_of(*available)) : std::nullopt;
}

}  // namespace rankwire
