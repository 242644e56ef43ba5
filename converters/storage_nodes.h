// Storage nodes of Chakra traces as messages to storage ranks.
//
// Nodes of the types 8 (STORAGE_NODE), 9 (BATCH_NODE) and 10 (CHECKPOINT_NODE) are proposed for Chakra
// (mlcommons/chakra, commit 86326cd) and not in its schema. A STORAGE_NODE has in field 11 what it does: an operation
// of the file system, the page cache or the block layer. A batch is read, a checkpoint written; how much is in the
// attribute `tensor_size`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "converters/conversion.h"
#include "converters/process_group.h"
#include "converters/storage_model.h"
#include "proto/trace_node.h"

namespace rankwire {

/// What a node reads or writes.
struct StorageAccess {
  bool block = false;  ///< seen at the block layer, where what the file system does is seen once more
  bool write = false;
  Bytes size;

  bool operator==(const StorageAccess&) const = default;
};
/// Of a node of any type, with its message. Nothing for those that move no bytes, such as open, fsync and what happens
/// in the page cache. Throws Error(kInput) naming the node for a broken message, and for more than 2^50 B.
std::optional<StorageAccess> storage_access(const TraceNode& node, std::string_view frame);

/// Copies the traces, in which each access becomes a request and its answer between the rank and the storage ranks
/// (storage.h), which are written behind the others. The node stays, takes no time, and follows the answers, as all
/// that depends on it does. Where a rank's trace has accesses of the file system, those of the block layer stay what
/// they are: they would count twice. Groups of all ranks, named "" or "0" where `groups` do not say otherwise, stay
/// without storage ranks. Of `model` the keys of checkpoints and samples do not count.
///
/// Throws Error(kInput) for traces that are not framed messages of schema 0.0.4 or 1.0.0, and where no node reads or
/// writes.
Conversion put_storage_on_wire(const std::vector<std::string>& traces, std::vector<ProcessGroup> groups,
                               const StorageModel& model, const std::filesystem::path& folder,
                               ConversionProgress& progress);

}  // namespace rankwire
