#include "converters/generated_traces.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/message.h"

namespace rankwire {

std::string step_prefix(uint32_t steps, uint32_t step) {
  return steps == 1 ? std::string() : fmt::format("step{}.", step);
}

void write_group_file(const GroupMembers& groups, const NodeFiles& set) {
  if (!set.written()) return;
  const std::string path = set.prefix + ".json";
  std::ofstream file(path, std::ios::binary);
  file << nlohmann::json(groups).dump() << '\n';
  file.close();
  if (!file) fail_run("{}: cannot be written", path);
}

void check_positive(const char* model, std::initializer_list<std::pair<const char*, int64_t>> values) {
  for (const auto& [key, value] : values) {
    if (value < 1) fail_input("{}: {} is {}, must be at least 1", model, key, value);
  }
}

void check_multiple(const char* model, const char* key, int64_t value, const char* parts_key, int64_t parts) {
  if (value % parts != 0) fail_input("{}: {} {} is not a multiple of {} {}", model, key, value, parts_key, parts);
}

uint32_t checked_ranks(const char* model, std::initializer_list<uint32_t> degrees) {
  unsigned __int128 ranks = 1;
  for (const uint32_t degree : degrees) ranks *= degree;
  if (ranks > MessageId::kMaxRanks) fail_input("{}: more than {} ranks", model, MessageId::kMaxRanks);
  return static_cast<uint32_t>(ranks);
}

}  // namespace rankwire
