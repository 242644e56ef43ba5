#include "emulator/traces/trace_sets.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "emulator/workload/process_groups.h"
#include "emulator/workload/trace_files.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

bool ends_as_trace(const std::string& file) {
  for (const char* ending : {".et", ".eg", ".et.gz", ".eg.gz", ".et.zst", ".eg.zst"}) {
    if (file.ends_with(ending)) return true;
  }
  return false;
}

/// The files of a folder with the numbered name `base`.
std::vector<TraceFile> numbered_files(const fs::path& folder, const std::string& base) {
  std::vector<TraceFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const auto name = numbered_name(entry.path().filename().string());
    if (name && name->base == base) files.push_back({name->rank, (folder / entry.path().filename()).string()});
  }
  return files;
}

/// Whether a numbered JSON file is a trace, and not something else that ends in a number.
bool is_trace_json(const std::string& path) {
  try {
    TraceNode node;
    return TraceReader(path).next(node);
  } catch (const Error&) {
    return false;
  }
}

class SetFinder {
 public:
  void add(const std::string& input) {
    if (fs::is_directory(input)) {
      add_folder(input);
    } else if (fs::is_regular_file(input)) {
      add_file(input, "");
    } else {
      add_prefix(input);
    }
  }

  std::vector<TraceFileSet> take(const std::string& groups) {
    std::vector<TraceFileSet> sets;
    for (auto& [name, set] : sets_) {
      std::ranges::sort(set.files, {}, [](const TraceFile& file) { return std::pair(file.rank, file.path); });
      take_doubles(set);
      set.groups = groups.empty() ? groups_beside({name}) : groups;
      sets.push_back(std::move(set));
    }
    return sets;
  }

 private:
  void add_folder(const fs::path& top) {
    std::set<std::string> paths;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
      const std::string file = entry.path().filename().string();
      if (!entry.is_regular_file() || !(ends_as_trace(file) || numbered_name(file))) continue;
      if (ends_as_trace(file) || is_trace_json(entry.path().string())) paths.insert(entry.path().string());
    }
    if (paths.empty()) fail_input("{}: the folder holds no traces: no file ends in .et or .eg", top.string());
    for (const std::string& path : paths) {
      const std::string folder = fs::path(path).parent_path().lexically_relative(top).string();
      add_file(path, folder == "." ? "" : folder);
    }
  }

  void add_prefix(const fs::path& prefix) {
    const std::vector<TraceFile> files = numbered_files(prefix.parent_path(), prefix.filename().string());
    if (files.empty()) fail_input("{0}: neither a file nor a folder, and there is no {0}.<rank>.et", prefix.string());
    for (const TraceFile& file : files) add_file(file.path, "");
  }

  void add_file(const fs::path& path, const std::string& folder) {
    if (!seen_.insert(path.string()).second) return;
    require_file(path, "a trace");
    const auto numbered = numbered_name(path.filename().string());
    const std::string name = numbered ? (path.parent_path() / numbered->base).string() : path.string();
    TraceFileSet& set = sets_[name];
    if (set.files.empty()) {
      set.name = name;
      set.folder = folder;
      std::set<uint32_t> ranks;
      if (numbered) {
        for (const TraceFile& file : numbered_files(path.parent_path(), numbered->base)) ranks.insert(file.rank);
      } else {
        ranks.insert(0);
      }
      set.ranks_on_disk.assign(ranks.begin(), ranks.end());
    }
    set.files.push_back({numbered ? numbered->rank : 0, path.string()});
  }

  static void take_doubles(TraceFileSet& set) {
    std::vector<TraceFile> files;
    for (TraceFile& file : set.files) {
      const bool another = !files.empty() && files.back().rank == file.rank;
      (another ? set.doubles : files).push_back(std::move(file));
    }
    set.files = std::move(files);
  }

  std::map<std::string, TraceFileSet> sets_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<TraceFileSet> find_trace_sets(const std::vector<std::string>& inputs, const std::string& groups) {
  SetFinder finder;
  for (const std::string& input : inputs) finder.add(input);
  return finder.take(groups);
}

}  // namespace rankwire
