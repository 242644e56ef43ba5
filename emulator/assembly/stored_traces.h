// Traces whose storage nodes go on the wire.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "converters/process_group.h"
#include "converters/storage_model.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// The process groups of a file, as converters take them; none of "". Throws Error(kInput) for a wrong file.
std::vector<ProcessGroup> groups_in_file(const std::string& file);

/// Puts a copy of the traces of `options`, in which storage nodes are messages to the storage ranks of `storage`
/// (converters/storage_nodes.h), into `folder`, in whose place another copy may have been; `options` then name the
/// copy. Nothing without storage ranks. Throws as put_storage_on_wire does.
void store_on_wire(const StorageModel& storage, const std::filesystem::path& folder, WorkloadOptions& options);

}  // namespace rankwire
