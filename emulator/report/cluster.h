// A measured collective beside what a real cluster measured with nccl-tests, size by size.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/report/collective.h"
#include "emulator/report/nccl_tests.h"

namespace rankwire {

/// How far a side may be from the cluster before it is marked.
inline constexpr double kClusterDeviation = 0.1;

struct ClusterComparisonRow {
  CollectiveRow run;
  Duration cluster;             ///< the mean where the cluster measured the size several times
  MeasuredBandwidth bandwidth;  ///< of that

  /// Mean time of the run's side over the cluster's; absent where the run has no such side.
  std::optional<double> emulated_ratio() const;
  std::optional<double> reference_ratio() const;
};

struct ClusterComparison {
  CollectiveTable table;  ///< of the run
  std::string file;
  uint32_t cluster_ranks = 0;  ///< 0: not known
  std::string unlike = {};     ///< of another type or reduction than the run's: which; empty: nothing compared is
  uint64_t wrong = 0;          ///< values that the cluster had wrong
  std::vector<ClusterComparisonRow> rows = {};
  std::vector<Bytes> only_run = {}, only_cluster = {};  ///< sizes that the other does not have

  /// Sizes of which a ratio is further from 1 than kClusterDeviation.
  uint64_t deviating() const;
};

/// Of sizes that the cluster measured with several types or reductions, those count that are the run's, if any are.
/// Throws Error(kInput) where the cluster measured another collective.
ClusterComparison compare_with_cluster(CollectiveTable table, const ClusterMeasurement& cluster);
/// Throws Error(kInput) where no size is of both.
void require_common_sizes(const ClusterComparison& comparison);

/// Both as tables: times in microseconds, bus bandwidths in GB/s, ratios of times; a '*' behind a ratio marks it.
std::string cluster_text(const ClusterComparison& comparison);
/// The same for the page, what deviates in words as well.
std::string html_cluster(const ClusterComparison& comparison);
nlohmann::ordered_json cluster_json(const ClusterComparison& comparison);

}  // namespace rankwire
