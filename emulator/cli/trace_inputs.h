// What the verbs of `rankwire trace` share: reading what they were given, and printing.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/new_folder.h"
#include "emulator/cli/trace_commands.h"
#include "emulator/traces/check.h"
#include "emulator/traces/inspect.h"
#include "emulator/traces/timing.h"

namespace rankwire {

CheckOptions check_options(const TraceInputs& inputs);
TimingOptions timing_options(const TraceInputs& inputs, const TraceTimes& times);
/// A set as it is read by those verbs that do not judge it.
struct ReadSet {
  RankSet set;
  Matches matches;
};
/// Calls `read` for each set that the inputs name, which counts the files that it has read, with progress. Throws
/// Error(kInput) when there is none.
void for_each_set(const TraceInputs& inputs,
                  const std::function<void(const TraceFileSet& files, std::atomic<uint64_t>& done)>& read);
ReadSet read_files(const TraceFileSet& files, const CheckOptions& options, std::atomic<uint64_t>& done);
/// What a set holds; rank by rank where it is asked for, or the files are too large to be held at once. Held at once,
/// the first error between its ranks becomes a warning.
Inspection inspect_files(const TraceFileSet& files, const CheckOptions& options, const TimingOptions& times,
                         bool by_rank, std::atomic<uint64_t>& done, Warnings& warnings);
/// All sets, with progress. Throws Error(kInput) when there is nothing to read.
std::vector<ReadSet> read_sets(const TraceInputs& inputs);
/// The only one. Throws Error(kInput) when there are several, or a file cannot be read to its end.
ReadSet read_one_set(const TraceInputs& inputs);
/// The files of the only set, unread. Throws Error(kInput) when there is none, or there are several.
TraceFileSet find_one_set(const TraceInputs& inputs);
/// All sets, checked, with progress. Throws Error(kInput) when there is nothing to read.
std::vector<CheckedSet> read_and_check(const TraceInputs& inputs);
/// Throws Error(kInput) where --out names a folder, not what files begin with.
void check_prefix(const std::string& prefix);
/// The folder of traces that a verb writes, which goes again where none come.
class OutputFolder {
 public:
  /// Throws Error(kInput) as check_prefix does, and where no files can be made there. From now on a signal ends the
  /// verb so that nothing is left.
  explicit OutputFolder(const std::string& prefix);

 private:
  NewFolder folder_;
};
/// A duration of option `option`, such as "1.5ms". Throws Error(kInput).
Duration duration_option(const char* option, const std::string& text);
/// Throws Error(kInput), naming the option or the place in a file, where more than kMostGeneratedNodes would be written
/// unforced.
void check_made_nodes(const std::string& option, uint64_t nodes, bool force);
/// "1 ranks, 5 nodes: PREFIX.<rank>.et and PREFIX.json".
std::string made_text(uint32_t ranks, uint64_t nodes, const std::string& prefix, bool groups);
/// To standard output; what is no UTF-8 is replaced.
void print_json(const nlohmann::ordered_json& json);

}  // namespace rankwire
