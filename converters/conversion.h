// What all converters share: where the traces go, and what is said of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/new_folder.h"
#include "converters/node_writer.h"
#include "converters/process_group.h"

namespace rankwire {

/// How far a conversion has come, for another thread to look at.
struct ConversionProgress {
  std::atomic<uint64_t> done = 0, total = 0;  ///< of ranks; the total is 0 while it is not known
};

/// What a conversion made.
struct Conversion {
  enum class Form : uint8_t {
    kTraces,     ///< <prefix>.<rank>.et, as `workload.traces` takes them
    kAlgorithm,  ///< the same, of one collective that is described by its messages
    kSchedule,   ///< `prefix` is a file of GOAL's
  };
  std::string prefix;
  Form form = Form::kTraces;
  std::string groups;  ///< file of process groups for `workload.groups`; empty: none is needed
  uint32_t ranks = 0;
  NodeCounts counts;  ///< over all ranks
  Warnings warnings;
  std::vector<std::string> assumptions;  ///< what stands in the traces though no input says so

  /// Closes the file of one more rank.
  void add(NodeWriter& writer);
  /// Writes the file of process groups, if there are any.
  void write_groups(std::span<const ProcessGroup> definitions);
};

/// A folder for traces: `trace.<rank>.et` and `trace.json`.
class TraceFolder {
 public:
  /// Makes the folder if need be. Throws Error(kInput) when it holds traces of an earlier conversion, whose further
  /// ranks would be taken for this one's; Error(kRun) when it cannot be made.
  explicit TraceFolder(const std::filesystem::path& folder);
  /// Removes the traces again, unless they are kept, and then the folder, if it was made.
  ~TraceFolder();
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  std::string prefix() const { return (folder_.path() / "trace").string(); }
  void keep() { kept_ = true; }

 private:
  const NewFolder folder_;
  bool kept_ = false;
};

/// For who wants nothing that no input says: removes the traces and throws Error(kInput), if there are warnings or
/// assumptions.
void refuse_assumptions(const Conversion& made, const std::filesystem::path& folder);

}  // namespace rankwire
