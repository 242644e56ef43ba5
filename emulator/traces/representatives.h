// Which of many sets of traces stand for all of them.
//
// A set is described by numbers, of each rank on average: bytes and operations of each kind of communication and role
// of group ("all_reduce", "tp_# (4 ranks)"), operations and time of each other kind, time of computing, of
// communication and of both at once; and by how many ranks it has. Each counts as log2(1 + x), times in nanoseconds, so
// that a difference of 1 is a factor of 2 whatever the unit; what a set does not have is 0. The distance of two sets is
// the Euclidean one.
//
// Chosen are k medoids (Kaufman and Rousseeuw, "Finding Groups in Data", 1990, chapter 2): first greedily, then
// exchanged with others as long as that makes the sum of all distances to the nearest one smaller, by FastPAM1
// (Schubert and Rousseeuw, "Faster k-Medoids Clustering", SISAP 2019, algorithm 3). Nothing is drawn by chance; of
// equals the first in the order given is taken.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "emulator/traces/inspect.h"

namespace rankwire {

struct SetFeatures {
  std::string name;
  std::map<std::string, double> values;  ///< by what is counted
  Bytes bytes;                           ///< of communication, of all ranks together
};

SetFeatures features_of(const Inspection& inspection);

/// A chosen set, and those that are nearer to it than to any other chosen one, itself among them.
struct Representative {
  size_t set = 0;
  std::vector<size_t> stands_for;  ///< ascending
  double mean_distance = 0, largest_distance = 0;
};

struct Representatives {
  std::vector<Representative> chosen;  ///< those of most sets first
  double mean_distance = 0;
  /// What part of the distances to the one best set is gone: 1 - their sum over that with one set. 1 where all sets are
  /// alike.
  double coverage = 1;

  /// Bytes of all sets as the chosen ones tell them, each as often as it has sets.
  double weighted_bytes(std::span<const SetFeatures> sets) const;
};

/// More would take more than 128 MiB for their distances.
inline constexpr size_t kMostChoosableSets = 4'096;

/// Throws Error(kInput) for more sets than kMostChoosableSets, or fewer than `count`, which is at least 1.
Representatives choose_representatives(std::span<const SetFeatures> sets, size_t count);
/// As few as have at least this coverage, 0 .. 1.
Representatives choose_by_coverage(std::span<const SetFeatures> sets, double coverage);

nlohmann::ordered_json to_json(const Representatives& representatives, std::span<const SetFeatures> sets);
std::string to_text(const Representatives& representatives, std::span<const SetFeatures> sets);

}  // namespace rankwire
