// What all converters share: where the traces go, and what is said of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "converters/node_writer.h"
#include "converters/process_group.h"

namespace rankwire {

/// How far a conversion has come, for another thread to look at.
struct ConversionProgress {
  std::atomic<uint64_t> done = 0, total = 0;  ///< of ranks; the total is 0 while it is not known
};

/// What a conversion made.
struct Conversion {
  std::string prefix;  ///< the traces are <prefix>.<rank>.et, as `workload.traces` takes it
  std::string groups;  ///< file of process groups for `workload.groups`; empty: none is needed
  uint32_t ranks = 0;
  NodeCounts counts;  ///< over all ranks
  Warnings warnings;

  /// Closes the file of one more rank.
  void add(NodeWriter& writer);
  /// Writes the file of process groups, if there are any.
  void write_groups(std::span<const ProcessGroup> definitions);
};

/// The prefix of the traces in a folder, which is made if need be. Throws Error(kInput) when the folder holds traces of
/// an earlier conversion, whose further ranks would be taken for this one's; Error(kRun) when it cannot be made.
std::string trace_prefix(const std::filesystem::path& folder);

inline std::string trace_file(const std::string& prefix, uint32_t rank) {
  return fmt::format("{}.{}.et", prefix, rank);
}

}  // namespace rankwire
