// `trace choose`.
#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/input/units.h"
#include "emulator/traces/representatives.h"

namespace rankwire {
namespace {

double coverage_option(const std::string& text) {
  try {
    return parse_share(text) / 1e6;
  } catch (const ValueError& error) {
    fail_input("--coverage {}: {}", text, error.what());
  }
}

std::vector<SetFeatures> read_features(const TraceChooseRequest& request, Warnings& warnings) {
  const CheckOptions options = check_options(request.inputs);
  const TimingOptions times = timing_options(request.inputs, request.times);
  std::vector<SetFeatures> sets;
  for_each_set(request.inputs, [&](const TraceFileSet& files, std::atomic<uint64_t>& done) {
    const Inspection inspection = inspect_files(files, options, times, false, done, warnings);
    for (const RankInspection& rank : inspection.ranks)
      if (!rank.unreadable.empty()) fail_input("{}", rank.unreadable);
    sets.push_back(features_of(inspection));
  });
  return sets;
}

}  // namespace

int choose_traces(const TraceChooseRequest& request) {
  if (!request.count && request.coverage.empty())
    fail_input("trace choose: give --count, or --coverage for as few as have it");
  const double coverage = request.count ? 0 : coverage_option(request.coverage);
  Warnings warnings;
  const std::vector<SetFeatures> sets = read_features(request, warnings);
  const Representatives chosen =
      request.count ? choose_representatives(sets, *request.count) : choose_by_coverage(sets, coverage);
  if (request.inputs.form == OutputForm::kJson) {
    print_json(to_json(chosen, sets));
  } else {
    fmt::print("{}", to_text(chosen, sets));
  }
  for (const std::string& warning : warnings) log_warning(warning);
  return 0;
}

}  // namespace rankwire
