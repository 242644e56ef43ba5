// `trace inspect`.
#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/report/output_file.h"
#include "emulator/traces/inspect.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

/// Nothing is written where there is nothing to show.
void write_picture(const fs::path& file, const std::string& svg) {
  if (svg.empty()) return;
  fs::create_directories(file.parent_path());
  write_file(file, svg);
}

void write_pictures(const fs::path& folder, const RankSet& set, const Inspection& inspection) {
  const fs::path name = folder / set.files.folder / fs::path(set.files.name).filename();
  write_picture(name.string() + ".traffic.svg", traffic_svg(set, inspection));
  write_picture(name.string() + ".memory.svg", memory_svg(set, inspection));
}

}  // namespace

int inspect_traces(const TraceInspectRequest& request) {
  const TimingOptions options = timing_options(request.inputs, request.times);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  int status = 0;
  for (const ReadSet& read : read_sets(request.inputs)) {
    const Inspection inspection = inspect(read.set, read.matches, options);
    for (const RankFacts& facts : read.set.ranks) {
      if (facts.unreadable.empty()) continue;
      log_error(facts.unreadable);
      status = 1;
    }
    if (!request.pictures.empty()) write_pictures(request.pictures, read.set, inspection);
    if (request.inputs.form == OutputForm::kJson) {
      list.push_back(to_json(read.set, inspection));
    } else {
      fmt::print("{}\n", to_text(read.set, inspection));
    }
  }
  if (request.inputs.form == OutputForm::kJson) print_json({{"sets", list}});
  return status;
}

}  // namespace rankwire
