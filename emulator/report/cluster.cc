#include "emulator/report/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

bool deviates(std::optional<double> ratio) {
  return ratio && std::abs(*ratio - 1) > kClusterDeviation;
}

std::optional<double> side_ratio(const std::optional<CollectiveSide>& side, Duration cluster) {
  return side ? ratio_of(side->mean, cluster) : std::nullopt;
}

/// Absent where the cluster did not measure the size.
std::optional<Duration> cluster_time(const ClusterMeasurement& cluster, const CollectiveTable& table, Bytes size) {
  const auto mean = [&](bool alike) -> std::optional<Duration> {
    double sum = 0;
    int count = 0;
    for (const ClusterRow& row : cluster.rows) {
      if (row.size != size || (alike && (row.type != table.type || row.redop != table.redop))) continue;
      sum += static_cast<double>(row.time()->ps);
      ++count;
    }
    return count == 0 ? std::nullopt : std::optional(Duration(std::llround(sum / count)));
  };
  const auto of_alike = mean(true);
  return of_alike ? of_alike : mean(false);
}

/// Some outputs name a reduction of what reduces nothing.
bool is_unlike(const ClusterRow& row, const CollectiveTable& table) {
  const bool reduces = !table.redop.empty() && table.redop != "none" && !row.redop.empty() && row.redop != "none";
  return (!row.type.empty() && !table.type.empty() && row.type != table.type) || (reduces && row.redop != table.redop);
}

std::string side_time(const std::optional<CollectiveSide>& side) {
  return side ? four_digits(static_cast<double>(side->mean.ps) / 1e6) : "-";
}

std::string side_bus(const std::optional<CollectiveSide>& side) {
  return side ? four_digits(side->bandwidth.bus) : "-";
}

std::string marked_ratio(std::optional<double> ratio) {
  return readable_ratio(ratio) + (deviates(ratio) ? "*" : " ");
}

std::string sizes_text(const std::vector<Bytes>& sizes) {
  std::string text;
  for (const Bytes size : sizes) text += fmt::format("{}{}", text.empty() ? "" : ", ", size.count);
  return text;
}

std::string notes_text(const ClusterComparison& of) {
  std::string text;
  if (of.cluster_ranks != 0 && of.cluster_ranks != of.table.ranks)
    text += fmt::format("# The cluster has {} ranks, this run {}: their times need not be alike\n", of.cluster_ranks,
                        of.table.ranks);
  if (!of.unlike.empty()) text += fmt::format("# {}: their times need not be alike\n", of.unlike);
  if (of.wrong != 0)
    text += fmt::format("# The cluster had {} wrong values (#wrong): its times prove little\n", of.wrong);
  if (!of.only_run.empty()) text += fmt::format("# Sizes of this run alone    : {}\n", sizes_text(of.only_run));
  if (!of.only_cluster.empty()) text += fmt::format("# Sizes of the cluster alone : {}\n", sizes_text(of.only_cluster));
  return text;
}

}  // namespace

std::optional<double> ClusterComparisonRow::emulated_ratio() const {
  return side_ratio(run.emulated, cluster);
}

std::optional<double> ClusterComparisonRow::reference_ratio() const {
  return side_ratio(run.reference, cluster);
}

uint64_t ClusterComparison::deviating() const {
  return static_cast<uint64_t>(std::ranges::count_if(
      rows, [](const auto& row) { return deviates(row.emulated_ratio()) || deviates(row.reference_ratio()); }));
}

ClusterComparison compare_with_cluster(CollectiveTable table, const ClusterMeasurement& cluster) {
  if (cluster.collective && *cluster.collective != table.collective)
    fail_input("{}: is of {}, but the run measured {}", cluster.file, traits_of(*cluster.collective).name,
               traits_of(table.collective).name);
  ClusterComparison comparison{.table = std::move(table), .file = cluster.file, .cluster_ranks = cluster.ranks};
  const CollectiveTable& of = comparison.table;
  for (const CollectiveRow& row : of.rows) {
    const auto time = cluster_time(cluster, of, row.size);
    if (!time) {
      comparison.only_run.push_back(row.size);
      continue;
    }
    const auto is_of_size = [&](const ClusterRow& own) { return own.size == row.size; };
    const auto unlike = std::ranges::find_if(cluster.rows, is_of_size);
    if (std::ranges::none_of(cluster.rows,
                             [&](const ClusterRow& own) { return is_of_size(own) && !is_unlike(own, of); }))
      comparison.unlike =
          fmt::format("The cluster measured {} {}, this run {} {}", unlike->type, unlike->redop, of.type, of.redop);
    comparison.rows.push_back({row, *time, measured_bandwidth(of.collective, of.ranks, row.size, *time)});
  }
  for (const ClusterRow& row : cluster.rows) {
    comparison.wrong += row.wrong;
    const bool is_common = std::ranges::any_of(of.rows, [&](const CollectiveRow& own) { return own.size == row.size; });
    std::vector<Bytes>& only = comparison.only_cluster;
    if (!is_common && std::ranges::find(only, row.size) == only.end()) only.push_back(row.size);
  }
  return comparison;
}

void require_common_sizes(const ClusterComparison& comparison) {
  if (!comparison.rows.empty()) return;
  fail_input("{}: no size of it ({}) is one of the run's ({})", comparison.file, sizes_text(comparison.only_cluster),
             sizes_text(comparison.only_run));
}

std::string cluster_text(const ClusterComparison& of) {
  std::string text = fmt::format(
      "# {} beside {}\n#\n"
      "# {:>10}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n"
      "# {:>10}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n"
      "# {:>10}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n",
      traits_of(of.table.collective).name, of.file, "size", "emulated", "reference", "cluster", "emulated", "reference",
      "cluster", "emulated", "reference", "", "time", "time", "time", "busbw", "busbw", "busbw", "/ cluster",
      "/ cluster", "(B)", "(us)", "(us)", "(us)", "(GB/s)", "(GB/s)", "(GB/s)", "", "");
  for (const ClusterComparisonRow& row : of.rows) {
    text += fmt::format("{:>12}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", row.run.size.count,
                        side_time(row.run.emulated), side_time(row.run.reference),
                        four_digits(static_cast<double>(row.cluster.ps) / 1e6), side_bus(row.run.emulated),
                        side_bus(row.run.reference), four_digits(row.bandwidth.bus), marked_ratio(row.emulated_ratio()),
                        marked_ratio(row.reference_ratio()));
  }
  return text + notes_text(of) +
         fmt::format("# Sizes that deviate (*) by more than {:.0f} % : {} of {}\n", kClusterDeviation * 100,
                     of.deviating(), of.rows.size());
}

std::string html_cluster(const ClusterComparison& of) {
  using enum HtmlColumn;
  HtmlTable html("cluster", {{"Size B"},
                             {"Emulated us"},
                             {"Reference us"},
                             {"Cluster us"},
                             {"Emulated busbw GB/s"},
                             {"Reference busbw GB/s"},
                             {"Cluster busbw GB/s"},
                             {"Emulated / cluster"},
                             {"Reference / cluster"},
                             {"Off by more than 10 %", kText}});
  for (const ClusterComparisonRow& row : of.rows) {
    const bool emulated = deviates(row.emulated_ratio()), reference = deviates(row.reference_ratio());
    html.add({fmt::to_string(row.run.size.count), side_time(row.run.emulated), side_time(row.run.reference),
              four_digits(static_cast<double>(row.cluster.ps) / 1e6), side_bus(row.run.emulated),
              side_bus(row.run.reference), four_digits(row.bandwidth.bus), marked_ratio(row.emulated_ratio()),
              marked_ratio(row.reference_ratio()),
              emulated && reference ? "emulated, reference"
              : emulated            ? "emulated"
              : reference           ? "reference"
                                    : "-"});
  }
  std::string notes;
  std::istringstream lines(notes_text(of));
  for (std::string line; std::getline(lines, line);) notes += fmt::format("<br>{}", html_escaped(line.substr(2)));
  return fmt::format(
      "<h3>Beside the cluster</h3>\n<p class=\"note\">{}; a ratio more than {:.0f} % off 1 has a *: {} of {} "
      "sizes.{}</p>\n{}",
      html_escaped(of.file), kClusterDeviation * 100, of.deviating(), of.rows.size(), notes, std::move(html).finish());
}

nlohmann::ordered_json cluster_json(const ClusterComparison& of) {
  using Json = nlohmann::ordered_json;
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(nullptr); };
  const auto time = [](const std::optional<CollectiveSide>& side) {
    return side ? Json(side->mean.ps) : Json(nullptr);
  };
  const auto bus = [](const std::optional<CollectiveSide>& side) {
    return side ? Json(side->bandwidth.bus) : Json(nullptr);
  };
  Json rows = Json::array();
  for (const ClusterComparisonRow& row : of.rows) {
    rows.push_back({{"size", row.run.size.count},
                    {"emulated_ps", time(row.run.emulated)},
                    {"reference_ps", time(row.run.reference)},
                    {"cluster_ps", row.cluster.ps},
                    {"emulated_busbw_GBps", bus(row.run.emulated)},
                    {"reference_busbw_GBps", bus(row.run.reference)},
                    {"cluster_busbw_GBps", row.bandwidth.bus},
                    {"emulated_ratio", number(row.emulated_ratio())},
                    {"reference_ratio", number(row.reference_ratio())},
                    {"deviates", deviates(row.emulated_ratio()) || deviates(row.reference_ratio())}});
  }
  const auto sizes = [](const std::vector<Bytes>& list) {
    Json json = Json::array();
    for (const Bytes size : list) json.push_back(size.count);
    return json;
  };
  return {{"operation", traits_of(of.table.collective).name},
          {"file", of.file},
          {"ranks", of.table.ranks},
          {"cluster_ranks", of.cluster_ranks == 0 ? Json(nullptr) : Json(of.cluster_ranks)},
          {"sizes", rows},
          {"only_run", sizes(of.only_run)},
          {"only_cluster", sizes(of.only_cluster)},
          {"deviating", of.deviating()}};
}

}  // namespace rankwire
