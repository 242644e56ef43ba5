// `compare`: run folders side by side, or one and what nccl-tests printed on a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/cli/commands.h"
#include "emulator/report/assessment.h"
#include "emulator/report/certification.h"
#include "emulator/report/cluster.h"
#include "emulator/report/comparison.h"
#include "emulator/report/comparison_sides.h"
#include "emulator/report/figures.h"

namespace rankwire {
namespace {

void compare_with_output(const std::filesystem::path& base, const std::filesystem::path& output, OutputForm form,
                         bool unlike) {
  std::optional<CollectiveTable> table = read_figures(RunReader(base), 0).collective;
  if (!table) fail_input("{}: measured no collective that {} could be compared with", base.string(), output.string());
  const ClusterComparison comparison = compare_with_cluster(*std::move(table), read_nccl_tests(output));
  require_common_sizes(comparison);
  if (!comparison.unlike.empty() && !unlike)
    fail_input("{}: {}; --unlike compares them nevertheless", output.string(), comparison.unlike);
  if (form == OutputForm::kJson) {
    fmt::print("{}\n", cluster_json(comparison).dump(2));
  } else {
    fmt::print("{}", printable(cluster_text(comparison)));
  }
}

/// A side's run folders, the first one first.
std::vector<std::filesystem::path> side_of(const std::filesystem::path& first,
                                           std::vector<std::filesystem::path> further) {
  further.insert(further.begin(), first);
  std::set<std::filesystem::path> different;
  for (const std::filesystem::path& folder : further)
    if (!different.insert(std::filesystem::weakly_canonical(folder)).second)
      fail_input("{}: stands twice on one side, and is one measurement", folder.string());
  return further;
}

/// Of runs of one side that stand for the same measurement.
void require_same_work(const RunRecords& side) {
  for (const RunReader& record : side)
    if (const std::optional<std::string> difference = workload_difference(side.front(), record))
      fail_input("{} and {} of one side ran different workloads: {}; --unlike compares them nevertheless",
                 side.front().folder().string(), record.folder().string(), *difference);
}

/// The smallest part of its time that all of these runs can tell, as far as that was certified; else 0.
double resolvable_part(const RunRecords& records) {
  double part = 0;
  for (const RunReader& record : records)
    if (const std::optional<Certificate> certificate = record.certificate())
      part = std::max(part, resolvable_part(*certificate).value_or(0));
  return part;
}

/// `resolvable`: the part of a time within which the generators cannot tell.
int status_of_ratio(std::optional<double> ratio, double most, double resolvable) {
  if (!ratio) return 1;
  if (std::abs(*ratio - most) < most * resolvable) {
    log_warning(
        fmt::format("--most {:.7g}: a ratio of {:.7g} is nearer to it than what may be the generator's", most, *ratio));
    return 3;
  }
  return *ratio <= most ? 0 : 1;
}

}  // namespace

int compare_runs(const CompareRequest& request) {
  const std::filesystem::path& other = request.other;
  const std::optional<double> most = request.most;
  Gating gating(request.gating);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(other, error);
  if (!std::filesystem::exists(status)) fail_input("{}: is neither a run folder nor a file", other.string());
  // Also a pipe.
  if (!std::filesystem::is_directory(status)) {
    if (most) fail_input("--most: is for run folders, and {} is a file", other.string());
    if (gating.is_asked()) fail_input("--gate, --junit: are for run folders, and {} is a file", other.string());
    if (!request.bases.empty() || !request.others.empty())
      fail_input("--bases, --others: are for run folders, and {} is a file", other.string());
    compare_with_output(request.base, other, request.form, request.unlike);
    return 0;
  }
  const RunRecords bases = read_records(side_of(request.base, request.bases));
  const RunRecords others = read_records(side_of(other, request.others));
  if (!request.unlike) {
    require_same_work(bases);
    require_same_work(others);
  }
  const Comparison comparison = compare(bases, others);
  if (comparison.unlike && !request.unlike)
    fail_input("{} and {} ran different workloads: {}; --unlike compares them nevertheless", comparison.folder.base,
               comparison.folder.other, *comparison.unlike);
  const double resolvable = std::max(resolvable_part(bases), resolvable_part(others));
  nlohmann::ordered_json json = comparison_json(comparison);
  nlohmann::ordered_json figures = json;
  figures["certification"] = {{"resolvable", resolvable}};
  // Of the side that has no operations, which gates may ask for.
  for (const RunRecords* side : {&bases, &others}) {
    const auto config = nlohmann::ordered_json::parse(side->front().config(), nullptr, false);
    if (lacks_operations(config)) figures["config"] = config;
  }
  gating.judge("compare", figures);
  gating.add_to(json);
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}{}", printable(comparison_table(comparison)), gating.table());
  }
  std::fflush(stdout);
  return worse_status(gating.status(), most ? status_of_ratio(comparison.ratio(), *most, resolvable) : 0);
}

}  // namespace rankwire
