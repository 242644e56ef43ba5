#include "emulator/workload/trace_files.h"

#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

/// Takes the first of the endings away that the name has.
bool take_ending(std::string_view& file, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (!file.ends_with(ending)) continue;
    file.remove_suffix(ending.size());
    return true;
  }
  return false;
}

std::vector<std::string> expand_prefix(const std::string& prefix) {
  const fs::path path(prefix);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::map<uint32_t, std::string> by_rank;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    const std::optional<NumberedName> name = numbered_name(file);
    if (!name || name->base != path.filename().string()) continue;
    const std::string full = path.has_parent_path() ? entry.path().string() : file;
    const auto [other, added] = by_rank.emplace(name->rank, full);
    if (!added) fail_input("{} and {} are both the trace of rank {}", other->second, full, name->rank);
  }
  if (by_rank.empty()) {
    fail_input("no trace: neither a file {0} nor {0}.0.et exists, nor one that ends in .eg, .json, .gz or .zst",
               prefix);
  }

  std::vector<std::string> files;
  for (const auto& [rank, file] : by_rank) {
    if (rank != files.size()) {
      fail_input("the trace of rank {1} is missing: there is {2}, but no {0}.{1}.et, .eg or .json", prefix,
                 files.size(), file);
    }
    files.push_back(file);
  }
  return files;
}

}  // namespace

std::optional<NumberedName> numbered_name(std::string_view file) {
  take_ending(file, {".gz", ".zst"});
  if (!take_ending(file, {".et", ".eg", ".json"})) return std::nullopt;
  const size_t dot = file.rfind('.');
  if (dot == file.npos) return std::nullopt;
  const std::string_view digits = file.substr(dot + 1);
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  NumberedName name{std::string(file.substr(0, dot))};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.rank);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return name;
}

std::vector<std::string> find_trace_files(const std::vector<std::string>& traces) {
  if (traces.empty()) fail_input("no trace is named");
  if (traces.size() == 1 && !fs::is_regular_file(traces.front())) return expand_prefix(traces.front());
  for (size_t rank = 0; rank < traces.size(); ++rank) {
    if (!fs::exists(traces[rank])) fail_input("the trace of rank {} is missing: no file {}", rank, traces[rank]);
  }
  return traces;
}

}  // namespace rankwire
