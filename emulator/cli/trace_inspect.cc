// `trace inspect`.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/log.h"
#include "base/printable.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/report/output_file.h"
#include "emulator/traces/inspect.h"
#include "emulator/traces/inspect_page.h"
#include "emulator/traces/trace_difference.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

struct InspectedSet {
  Inspection inspection;
  std::string folder;  ///< as of TraceFileSet
};

std::vector<InspectedSet> inspect_sets(const TraceInputs& inputs, const TraceInspectRequest& request,
                                       Warnings& warnings) {
  const CheckOptions options = check_options(inputs);
  const TimingOptions times = timing_options(inputs, request.times);
  std::vector<InspectedSet> list;
  for_each_set(inputs, [&](const TraceFileSet& files, std::atomic<uint64_t>& done) {
    list.push_back({inspect_files(files, options, times, request.by_rank, done, warnings), files.folder});
  });
  return list;
}

/// The only one of `paths`, which option `option` wants.
Inspection inspect_one(const TraceInputs& inputs, const TraceInspectRequest& request, const char* option,
                       Warnings& warnings) {
  std::vector<InspectedSet> sets = inspect_sets(inputs, request, warnings);
  if (sets.size() > 1)
    fail_input("{}: {} and {} are two sets of traces, name one", option, sets[0].inspection.name,
               sets[1].inspection.name);
  return std::move(sets.front().inspection);
}

/// Nothing is written where there is nothing to show.
void write_page(const fs::path& file, const std::string& text) {
  if (text.empty()) return;
  if (!file.parent_path().empty()) fs::create_directories(file.parent_path());
  write_file(file, text);
}

void write_pictures(const fs::path& folder, const InspectedSet& set) {
  const fs::path name = folder / set.folder / fs::path(set.inspection.name).filename();
  write_page(name.string() + ".traffic.svg", traffic_svg(set.inspection));
  write_page(name.string() + ".memory.svg", memory_svg(set.inspection));
}

int log_unreadable(const Inspection& inspection) {
  int status = 0;
  for (const RankInspection& rank : inspection.ranks) {
    if (rank.unreadable.empty()) continue;
    log_error(rank.unreadable);
    status = 1;
  }
  return status;
}

}  // namespace

int inspect_traces(const TraceInspectRequest& request) {
  const bool is_one = !request.html.empty() || !request.against.empty();
  std::vector<InspectedSet> sets;
  std::optional<Inspection> other;
  Warnings warnings;
  if (is_one) {
    const char* const option = request.html.empty() ? "--against" : "--html";
    sets.push_back({inspect_one(request.inputs, request, option, warnings), ""});
  } else {
    sets = inspect_sets(request.inputs, request, warnings);
  }
  if (!request.against.empty()) {
    TraceInputs inputs = request.inputs;
    inputs.paths = request.against;
    other = inspect_one(inputs, request, "--against", warnings);
  }
  int status = other ? log_unreadable(*other) : 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const InspectedSet& set : sets) {
    status = std::max(status, log_unreadable(set.inspection));
    const auto difference =
        other ? std::optional(trace_difference(set.inspection, *other)) : std::optional<TraceDifference>();
    if (!request.pictures.empty()) write_pictures(request.pictures, set);
    if (!request.html.empty()) write_page(request.html, inspection_html(set.inspection, difference));
    if (request.inputs.form == OutputForm::kJson) {
      list.push_back(to_json(set.inspection));
      if (difference) list.back()["against"] = to_json(*difference);
    } else {
      fmt::print("{}\n", printable(to_text(set.inspection)));
      if (difference) fmt::print("{}\n", printable(to_text(*difference)));
    }
  }
  if (request.inputs.form == OutputForm::kJson) print_json({{"sets", list}});
  for (const std::string& warning : warnings) log_warning(warning);
  return status;
}

}  // namespace rankwire
