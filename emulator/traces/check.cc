#include "emulator/traces/check.h"

#include <fmt/format.h>

#include "emulator/traces/check_file.h"
#include "emulator/traces/clock_skew.h"

namespace rankwire {
namespace {

/// The last word has the loader of runs. It is asked only about sets that seem whole and right.
void ask_loader(const CheckedSet& checked, const CheckOptions& options, Findings& findings) {
  const TraceFileSet& files = checked.set.files;
  WorkloadOptions load;
  for (const TraceFile& file : files.files) load.traces.push_back(file.path);
  load.groups_file = files.groups;
  load.element_size = options.element_size;
  try {
    Warnings warnings;
    load_workload(load, warnings);
    for (const std::string& warning : warnings) {
      const bool about_order = warning.find("in the order of their dependencies") != warning.npos;
      if (about_order) findings.add("file-order", files.name, std::nullopt, std::nullopt, warning);
    }
  } catch (const Error& error) {
    const bool waits = std::string_view(error.what()).find("wait for each other") != std::string_view::npos;
    findings.add(waits ? "deadlock" : "bad-value", files.name, std::nullopt, std::nullopt, error.what());
  }
}

/// Files of a set that lacks ranks, or of which only a part was asked for, would not load for that alone.
bool can_ask_loader(const CheckedSet& checked) {
  for (const Finding& finding : checked.findings.list()) {
    if (finding.severity() == Severity::kError && !is_of_recording(finding)) return false;
  }
  return checked.set.files.whole() && checked.set.world == checked.set.ranks.size();
}

nlohmann::ordered_json to_json(const CheckedSet& checked) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : checked.findings.list()) findings.push_back(to_json(finding));
  return {{"name", checked.set.files.name},
          {"files", checked.set.ranks.size()},
          {"ranks", checked.set.world},
          {"groups", checked.set.files.groups},
          {"nodes", checked.nodes()},
          {"errors", checked.findings.count(Severity::kError)},
          {"warnings", checked.findings.count(Severity::kWarning)},
          {"notes", checked.findings.count(Severity::kNote)},
          {"findings", findings}};
}

}  // namespace

uint64_t CheckedSet::nodes() const {
  uint64_t sum = 0;
  for (const RankFacts& facts : set.ranks) sum += facts.nodes.size();
  return sum;
}

bool is_of_recording(const Finding& finding) {
  const std::string_view code = finding.symptom->code;
  return code == "kernels-without-successors" || code == "collective-before-inputs" || code == "double-counted";
}

CheckedSet check_set(const TraceFileSet& files, const CheckOptions& options, std::atomic<uint64_t>& done) {
  CheckedSet checked;
  checked.set = read_set(files, options, checked.findings, done);
  for (const RankFacts& facts : checked.set.ranks) check_file(facts, options, checked.findings);
  checked.matches = match_operations(checked.set, checked.findings);
  checked.clock_offsets = clock_offsets(checked.set, checked.matches, checked.findings);
  if (can_ask_loader(checked)) ask_loader(checked, options, checked.findings);
  checked.findings.sort();
  return checked;
}

uint64_t count(const std::vector<CheckedSet>& sets, Severity severity) {
  uint64_t sum = 0;
  for (const CheckedSet& checked : sets) sum += checked.findings.count(severity);
  return sum;
}

nlohmann::ordered_json to_json(const std::vector<CheckedSet>& sets) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CheckedSet& checked : sets) list.push_back(to_json(checked));
  return {{"sets", list},
          {"errors", count(sets, Severity::kError)},
          {"warnings", count(sets, Severity::kWarning)},
          {"notes", count(sets, Severity::kNote)}};
}

std::string to_text(const std::vector<CheckedSet>& sets, bool notes) {
  std::string text;
  uint64_t files = 0, nodes = 0;
  for (const CheckedSet& checked : sets) {
    files += checked.set.ranks.size();
    nodes += checked.nodes();
    text += to_text(checked.findings.list(), notes);
  }
  const uint64_t hidden = count(sets, Severity::kNote);
  return text + fmt::format("{} sets, {} files, {} nodes: {} errors, {} warnings, {} notes{}\n", sets.size(), files,
                            nodes, count(sets, Severity::kError), count(sets, Severity::kWarning), hidden,
                            notes || hidden == 0 ? "" : " (--notes lists them)");
}

}  // namespace rankwire
