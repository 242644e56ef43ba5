#include "emulator/assembly/stored_traces.h"

#include <utility>

#include "converters/storage_nodes.h"
#include "emulator/workload/process_groups.h"
#include "emulator/workload/trace_files.h"

namespace rankwire {

std::vector<ProcessGroup> groups_in_file(const std::string& file) {
  std::vector<ProcessGroup> groups;
  if (file.empty()) return groups;
  for (GroupDefinition& group : read_groups_file(file)) groups.push_back({group.name, std::move(group.ranks)});
  return groups;
}

void store_on_wire(const StorageModel& storage, const std::filesystem::path& folder, WorkloadOptions& options) {
  if (storage.ranks == 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  ConversionProgress unseen;
  const Conversion made = put_storage_on_wire(find_trace_files(options.traces), groups_in_file(options.groups_file),
                                              storage, folder, unseen);
  options.traces = {made.prefix};
  options.groups_file = made.groups;
}

}  // namespace rankwire
