// What the generators of traces leave behind.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "converters/node_files.h"

namespace rankwire {

struct GeneratedTraces {
  uint32_t ranks = 0;
  uint64_t nodes = 0;  ///< over all ranks
};

/// What of a model contradicts the rest.
struct WrongModel {
  std::string key;   ///< of `workload.generate`
  std::string text;  ///< what is wrong with its value
  /// What the value was to be a multiple of, "" where that is not what is wrong: keys of `workload.generate`.
  std::string divisors = "";
};

/// What the names of nodes of a step begin with: "step3.", or nothing where there is but one.
std::string step_prefix(uint32_t steps, uint32_t step);

/// Ranks by name.
using GroupMembers = std::map<std::string, std::vector<uint32_t>>;

/// Writes `<prefix>.json`, if there is a prefix. Throws Error(kRun) when it cannot be written.
void write_group_file(const GroupMembers& groups, const NodeFiles& set);

/// Throws Error(kInput) "MODEL: KEY is VALUE, must be at least 1" unless each is.
void check_positive(const char* model, std::initializer_list<std::pair<const char*, int64_t>> values);
/// Throws Error(kInput) unless `value` is a multiple of `parts` (> 0), naming both keys.
void check_multiple(const char* model, const char* key, int64_t value, const char* parts_key, int64_t parts);
/// The product of the degrees; throws Error(kInput) when there are more ranks than a run may have.
uint32_t checked_ranks(const char* model, std::initializer_list<uint32_t> degrees);

}  // namespace rankwire
