// Definitions of process groups as files and traces write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankwire {

/// A name and the ranks as written, in order. Not yet checked against the ranks of the run.
struct GroupDefinition {
  std::string name;
  std::vector<int64_t> ranks;
  int64_t size = 0;  ///< how many members METADATA says there are, 0 where it does not
};

/// A process-group file, {"name": [ranks], ...}, by name in byte order. Throws Error(kInput) naming the file.
std::vector<GroupDefinition> read_groups_file(const std::string& path);

/// The process-group file that stands beside traces, named as `find_trace_files` takes them: PREFIX.json, where it is
/// one; of single files only where all its ranks are among them. "" where there is none. Throws Error(kInput) naming it
/// where it begins as one does, {"name": [0, and is none.
std::string groups_beside(const std::vector<std::string>& traces);

/// The `inputs.values` of a "process_group:init" METADATA node: a list of {"pg_name", "ranks"}, in JSON or as Python
/// prints it, or as a string within a list of one, which is what PyTorch records. Throws Error(kInput).
std::vector<GroupDefinition> parse_process_groups(const std::string& values);

}  // namespace rankwire
