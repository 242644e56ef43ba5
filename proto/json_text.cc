#include "proto/json_text.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace rankwire {

simdjson::padded_string read_json_text(const std::string& path, ByteStream& bytes) {
  constexpr size_t kLongest = std::numeric_limits<uint32_t>::max();  // of simdjson's documents
  size_t size = 1 << 20;
  std::string_view all = bytes.peek(size);
  while (all.size() >= size && size < kLongest) all = bytes.peek(size = std::min(2 * size, kLongest));
  if (!bytes.problem().empty()) fail_input("{}: {}", path, bytes.problem());
  if (all.size() >= kLongest) fail_input("{}: JSON of {} bytes and more is not read", path, kLongest);
  return simdjson::padded_string(all);
}

simdjson::padded_string read_json_text(const std::string& path) {
  ByteStream bytes(path);
  bytes.skip_byte_order_mark();
  return read_json_text(path, bytes);
}

}  // namespace rankwire
