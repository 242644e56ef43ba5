#include "emulator/cli/trace_inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/system_memory.h"
#include "emulator/assembly/generate.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

/// Files of more bytes than this have more nodes than are held at once: a node takes several times as much memory.
constexpr uint64_t kMostHeldBytes = 256 << 20;

uint64_t bytes_of_files(const TraceFileSet& files) {
  uint64_t bytes = 0;
  for (const TraceFile& file : files.files) bytes += std::filesystem::file_size(file.path);
  return bytes;
}

/// Throws Error(kInput) where there is less memory, rather than be killed on the way. A node takes some 530 B of
/// memory, and of a file some 100 B, in JSON as much.
void check_can_be_held(const TraceFileSet& files) {
  double needed = 0;
  for (const TraceFile& file : files.files)
    needed += (file.path.ends_with(".json") ? 1.0 : 5.3) * static_cast<double>(std::filesystem::file_size(file.path));
  const std::optional<Bytes> available = available_memory();
  if (!available || needed <= static_cast<double>(available->count)) return;
  fail_input(
      "{}: {:.0f} MB of traces are too large to be held at once: they take some {:.0f} GB of memory, and {:.0f} GB are "
      "available; `rankwire check` and `rankwire trace inspect --by-rank` read sets of any size",
      files.name, 1e-6 * static_cast<double>(bytes_of_files(files)), 1e-9 * needed,
      1e-9 * static_cast<double>(available->count));
}

int64_t quantity(const char* option, const std::string& text, const UnitScale& scale) {
  try {
    return parse_quantity(text, scale);
  } catch (const ValueError& error) {
    fail_input("{} {}: {}", option, text, error.what());
  }
}

/// Where traces of this prefix go. From now on a signal leaves nothing of them, nor their folder.
std::filesystem::path begin_output(const std::string& prefix) {
  check_prefix(prefix);
  stop_files_on_signal();
  const std::filesystem::path path(prefix);
  return path.has_parent_path() ? path.parent_path() : ".";
}

ReadSet read_files(const TraceFileSet& files, const CheckOptions& options, std::atomic<uint64_t>& done,
                   Findings& findings) {
  check_can_be_held(files);
  ReadSet read;
  read.set = read_set(files, options, findings, done);
  read.matches = match_operations(read.set, findings);
  return read;
}

/// One line for all that is wrong between the ranks, since figures look the same with it.
void warn_of_errors(const TraceFileSet& files, const Findings& findings, Warnings& warnings) {
  const auto is_error = [](const Finding& finding) { return finding.severity() == Severity::kError; };
  const auto first = std::ranges::find_if(findings.list(), is_error);
  if (first == findings.list().end()) return;
  warnings.push_back(fmt::format("{}: {} ({}); figures are of what is there, see rankwire trace check", files.name,
                                 first->what, first->symptom->code));
}

[[noreturn]] void fail_several(const TraceFileSet& first, const TraceFileSet& second) {
  fail_input("{} and {} are two sets of traces, name one", first.name, second.name);
}

}  // namespace

CheckOptions check_options(const TraceInputs& inputs) {
  constexpr int64_t kLargest = 64;  // as workload.element_size
  CheckOptions options;
  options.element_size = Bytes(quantity("--element-size", inputs.element_size, kSizeScale));
  if (options.element_size < Bytes(1) || options.element_size > Bytes(kLargest)) {
    fail_input("--element-size {}: elements have 1 to {} bytes", inputs.element_size, kLargest);
  }
  options.ranks = inputs.ranks;
  return options;
}

TimingOptions timing_options(const TraceInputs& inputs, const TraceTimes& times) {
  TimingOptions options;
  options.rate = Bandwidth(quantity("--rate", times.rate, kRateScale));
  options.peak_flops = quantity("--peak", times.peak, kFlopsScale);
  options.element_size = check_options(inputs).element_size;
  if (options.rate.bits_per_second == 0) fail_input("--rate {}: nothing would ever end", times.rate);
  if (options.peak_flops == 0) fail_input("--peak {}: nothing would ever end", times.peak);
  return options;
}

void for_each_set(const TraceInputs& inputs,
                  const std::function<void(const TraceFileSet& files, std::atomic<uint64_t>& done)>& read) {
  const std::vector<TraceFileSet> found = find_trace_sets(inputs.paths, inputs.groups);
  uint64_t files = 0;
  for (const TraceFileSet& set : found) files += set.files.size();
  std::atomic<uint64_t> done = 0;
  const Progress progress(
      "reading traces", files, [&done] { return done.load(); }, "files");
  for (const TraceFileSet& set : found) read(set, done);
}

ReadSet read_files(const TraceFileSet& files, const CheckOptions& options, std::atomic<uint64_t>& done) {
  Findings unused;
  return read_files(files, options, done, unused);
}

Inspection inspect_files(const TraceFileSet& files, const CheckOptions& options, const TimingOptions& times,
                         bool by_rank, std::atomic<uint64_t>& done, Warnings& warnings) {
  if (by_rank || bytes_of_files(files) > kMostHeldBytes) return inspect_by_rank(files, options, times, done);
  Findings findings;
  const ReadSet read = read_files(files, options, done, findings);
  warn_of_errors(files, findings, warnings);
  return inspect(read.set, read.matches, times);
}

std::vector<ReadSet> read_sets(const TraceInputs& inputs) {
  const CheckOptions options = check_options(inputs);
  std::vector<ReadSet> sets;
  for_each_set(inputs, [&](const TraceFileSet& files, std::atomic<uint64_t>& done) {
    sets.push_back(read_files(files, options, done));
  });
  return sets;
}

ReadSet read_one_set(const TraceInputs& inputs) {
  std::vector<ReadSet> sets = read_sets(inputs);
  if (sets.size() > 1) fail_several(sets[0].set.files, sets[1].set.files);
  for (const RankFacts& facts : sets.front().set.ranks) {
    if (!facts.unreadable.empty()) fail_input("{}", facts.unreadable);
  }
  return std::move(sets.front());
}

TraceFileSet find_one_set(const TraceInputs& inputs) {
  std::vector<TraceFileSet> found = find_trace_sets(inputs.paths, inputs.groups);
  if (found.size() > 1) fail_several(found[0], found[1]);
  return std::move(found.front());
}

std::vector<CheckedSet> read_and_check(const TraceInputs& inputs) {
  const CheckOptions options = check_options(inputs);
  std::vector<CheckedSet> sets;
  for_each_set(inputs, [&](const TraceFileSet& files, std::atomic<uint64_t>& done) {
    check_can_be_held(files);
    sets.push_back(check_set(files, options, done));
  });
  return sets;
}

void check_prefix(const std::string& prefix) {
  if (!std::filesystem::path(prefix).has_filename())
    fail_input("--out {}: this is a folder; what the traces' names begin with is missing, as in {}step", prefix,
               prefix);
}

OutputFolder::OutputFolder(const std::string& prefix) : folder_(begin_output(prefix)) {
  const std::filesystem::path& folder = folder_.path();
  std::error_code error = folder_.error();
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error) fail_input("--out {}: no files can be made in {}: {}", prefix, folder.string(), error.message());
}

Duration duration_option(const char* option, const std::string& text) {
  return Duration(quantity(option, text, kDurationScale));
}

void check_made_nodes(const std::string& option, uint64_t nodes, bool force) {
  if (nodes > kMostGeneratedNodes && !force)
    fail_input("{}: {} nodes, more than {}; --force writes them", option, nodes, kMostGeneratedNodes);
}

std::string made_text(uint32_t ranks, uint64_t nodes, const std::string& prefix, bool groups) {
  const std::string more = groups ? fmt::format(" and {}.json", prefix) : "";
  return fmt::format("{} ranks, {} nodes: {}.<rank>.et{}\n", ranks, nodes, prefix, more);
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace rankwire
