#include "emulator/traces/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTarBlock = 512;

/// A block; numbers are octal texts.
struct UstarHeader {
  char name[100] = {}, mode[8] = {}, uid[8] = {}, gid[8] = {}, size[12] = {}, mtime[12] = {}, checksum[8] = {};
  char type = '0';  // a regular file
  char link[100] = {}, magic[6] = {'u', 's', 't', 'a', 'r', 0}, version[2] = {'0', '0'}, user[32] = {}, group[32] = {};
  char major[8] = {}, minor[8] = {}, prefix[155] = {}, unused[12] = {};
};
static_assert(sizeof(UstarHeader) == kTarBlock);

template <size_t kSize>
void set_octal(char (&field)[kSize], uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, kSize - 1);
  std::memcpy(field, digits.data(), kSize - 1);
}

/// In `name`, or before a slash in `prefix` and behind it in `name`.
void set_name(UstarHeader& header, const std::string& name) {
  size_t begin = 0;
  if (name.size() > sizeof header.name) {
    const size_t slash = name.find('/', name.size() - sizeof header.name - 1);
    if (slash == name.npos || slash > sizeof header.prefix) fail_input("{}: the name is too long for a bundle", name);
    std::memcpy(header.prefix, name.data(), slash);
    begin = slash + 1;
  }
  std::memcpy(header.name, name.data() + begin, name.size() - begin);
}

}  // namespace

Bundle::Bundle(const fs::path& archive, const std::string& folder) : folder_(folder), file_(archive) {}

void Bundle::add_text(const std::string& name, std::string_view text) {
  begin(name, text.size());
  file_.write(text);
  pad(text.size());
}

void Bundle::add_path(const std::string& name, const fs::path& path) {
  if (!fs::is_directory(path)) return add_file(name, path);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) add_file(name + "/" + file.lexically_relative(path).string(), file);
}

void Bundle::add_file(const std::string& name, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (!file || error) fail_input("{}: cannot be read", path.string());
  begin(name, size);
  std::vector<char> part(64 * 1024);
  uint64_t read = 0;
  while (read < size && file) {
    file.read(part.data(), static_cast<std::streamsize>(std::min<uint64_t>(part.size(), size - read)));
    file_.write({part.data(), static_cast<size_t>(file.gcount())});
    read += static_cast<uint64_t>(file.gcount());
  }
  if (read < size) fail_input("{}: became shorter while it was read", path.string());
  pad(size);
}

void Bundle::close() {
  file_.write(std::string(2 * kTarBlock, '\0'));
  file_.close();
}

void Bundle::begin(const std::string& name, uint64_t size) {
  constexpr uint64_t kMost = uint64_t{8} << 30;
  if (size >= kMost) fail_input("{}: {} bytes are too many for a bundle", name, size);
  UstarHeader header;
  set_name(header, folder_ + "/" + name);
  set_octal(header.mode, 0644);
  set_octal(header.uid, 0);
  set_octal(header.gid, 0);
  set_octal(header.size, size);
  set_octal(header.mtime, 0);
  // The sum of all bytes, those of itself taken for blanks.
  std::memset(header.checksum, ' ', sizeof header.checksum);
  uint64_t sum = 0;
  for (const char byte : std::string_view(reinterpret_cast<const char*>(&header), sizeof header))
    sum += static_cast<unsigned char>(byte);
  const std::string digits = fmt::format("{:06o}", sum);
  std::memcpy(header.checksum, digits.data(), digits.size());
  header.checksum[6] = '\0';
  file_.write({reinterpret_cast<const char*>(&header), sizeof header});
}

void Bundle::pad(uint64_t size) {
  file_.write(std::string((kTarBlock - size % kTarBlock) % kTarBlock, '\0'));
}

}  // namespace rankwire
