// `compare`: run folders side by side, or one and what nccl-tests printed on a cluster.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "emulator/cli/commands.h"
#include "emulator/report/cluster.h"
#include "emulator/report/comparison.h"
#include "emulator/report/figures.h"

namespace rankwire {
namespace {

void compare_with_output(const std::filesystem::path& base, const std::filesystem::path& output, OutputForm form) {
  std::optional<CollectiveTable> table = read_figures(RunReader(base), 0).collective;
  if (!table) fail_input("{}: measured no collective that {} could be compared with", base.string(), output.string());
  const ClusterComparison comparison = compare_with_cluster(*std::move(table), read_nccl_tests(output));
  require_common_sizes(comparison);
  if (form == OutputForm::kJson) {
    fmt::print("{}\n", cluster_json(comparison).dump(2));
  } else {
    fmt::print("{}", cluster_text(comparison));
  }
}

/// A side's run folders, the first one first.
std::vector<std::filesystem::path> side_of(const std::filesystem::path& first,
                                           std::vector<std::filesystem::path> further) {
  further.insert(further.begin(), first);
  return further;
}

}  // namespace

int compare_runs(const CompareRequest& request) {
  const std::filesystem::path& other = request.other;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(other, error);
  if (!std::filesystem::exists(status)) fail_input("{}: is neither a run folder nor a file", other.string());
  // Also a pipe.
  if (!std::filesystem::is_directory(status)) {
    if (request.most) fail_input("--most: is for run folders, and {} is a file", other.string());
    if (!request.bases.empty() || !request.others.empty())
      fail_input("--bases, --others: are for run folders, and {} is a file", other.string());
    compare_with_output(request.base, other, request.form);
    return 0;
  }
  const Comparison comparison =
      compare(read_records(side_of(request.base, request.bases)), read_records(side_of(other, request.others)));
  if (comparison.unlike && !request.unlike)
    fail_input("{} and {} ran different workloads: {}; --unlike compares them nevertheless", comparison.folder.base,
               comparison.folder.other, *comparison.unlike);
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", comparison_json(comparison).dump(2));
  } else {
    fmt::print("{}", comparison_table(comparison));
  }
  if (!request.most) return 0;
  const std::optional<double> ratio = comparison.ratio();
  return ratio && *ratio <= *request.most ? 0 : 1;
}

}  // namespace rankwire
