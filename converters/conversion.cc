#include "converters/conversion.h"

#include <system_error>

namespace rankwire {

namespace {

bool is_trace(const std::filesystem::directory_entry& entry) {
  return entry.path().filename().string().starts_with("trace.");
}

void remove_traces(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (is_trace(entry)) std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace

void Conversion::add(NodeWriter& writer) {
  writer.close();
  counts += writer.counts();
  ++ranks;
}

void Conversion::write_groups(std::span<const ProcessGroup> definitions) {
  if (definitions.empty()) return;
  groups = prefix + ".json";
  write_groups_file(groups, definitions);
}

TraceFolder::TraceFolder(const std::filesystem::path& folder) : folder_(folder) {
  folder_.check();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!is_trace(entry)) continue;
    fail_input("{} is of an earlier conversion; remove it or choose another folder", entry.path().string());
  }
}

TraceFolder::~TraceFolder() {
  if (!kept_) remove_traces(folder_.path());
}

void refuse_assumptions(const Conversion& made, const std::filesystem::path& folder) {
  const size_t doubts = made.warnings.size() + made.assumptions.size();
  if (doubts == 0) return;
  remove_traces(folder);
  std::error_code ignored;
  if (made.form == Conversion::Form::kSchedule) std::filesystem::remove(made.prefix, ignored);
  const std::string& first = made.warnings.empty() ? made.assumptions.front() : made.warnings.front();
  fail_input("--strict: {}{}; without it the traces are written", first,
             doubts > 1 ? fmt::format(" (and {} more)", doubts - 1) : "");
}

}  // namespace rankwire
