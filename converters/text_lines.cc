#include "converters/text_lines.h"

#include <algorithm>

#include "proto/byte_stream.h"

namespace rankwire {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

}  // namespace

std::string read_text_file(const std::string& path) {
  constexpr size_t kMost = size_t{1} << 30;
  ByteStream bytes(path);
  bytes.skip_byte_order_mark();
  size_t size = 1 << 20;
  std::string_view text = bytes.peek(size);
  while (text.size() >= size && size < kMost) text = bytes.peek(size = std::min(2 * size, kMost));
  if (!bytes.problem().empty()) fail_input("{}: {}", path, bytes.problem());
  if (text.size() >= kMost) fail_input("{}: a text of 1 GiB and more is not read", path);
  return std::string(text);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = line.find_first_not_of(kBlanks); begin != line.npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool TextLines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

bool StreamedLines::next(std::string_view& line) {
  ++number_;
  for (size_t size = 4096;; size *= 4) {
    const std::string_view seen = bytes_.peek(size);
    const size_t end = seen.find('\n');
    if (end == seen.npos && seen.size() >= size) {
      if (size > kLongest) fail("a line of more than {} MiB", kLongest >> 20);
      continue;
    }
    if (end == seen.npos && !bytes_.problem().empty()) fail("{}", bytes_.problem());
    if (seen.empty()) return false;
    line = seen.substr(0, end);
    bytes_.skip(end == seen.npos ? seen.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }
}

}  // namespace rankwire
