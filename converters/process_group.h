// Process groups as traces define them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace rankwire {

struct ProcessGroup {
  std::string name;
  std::vector<int64_t> ranks;  ///< of the run, in the order of the group; none: all
};

/// A JSON list of {"pg_name", "ranks"}, as PyTorch records it; definitions whose ranks were cut off are left out with a
/// warning, so is a text that is not such a list. `where` begins the warnings.
std::vector<ProcessGroup> parse_group_list(std::string_view json, const std::string& where, Warnings& warnings);

/// A list of integers in JSON, "[0, 1]"; empty when the text is anything else, such as "[0, 1, ..., 7]".
std::vector<int64_t> parse_integers(std::string_view json);

/// As the `inputs.values` of a "process_group:init" node have it: a Python list that holds the JSON list as a text.
std::string print_groups(std::span<const ProcessGroup> groups);

/// {"name": [ranks]} for `workload.groups`. Throws Error(kRun) when the file cannot be written.
void write_groups_file(const std::string& path, std::span<const ProcessGroup> groups);

}  // namespace rankwire
