// How like another a set of traces is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/traces/inspect.h"

namespace rankwire {

/// Shares are 0 .. 1, of the second set where they are relative.
struct Likeness {
  std::string name;      ///< of the second set
  double counts = 0;     ///< largest relative difference of the nodes of a kind and, of collectives, a size of group
  double bytes = 0;      ///< the same of bytes
  double sizes = 0;      ///< Kolmogorov-Smirnov distance of message sizes, the largest of all kinds
  double durations = 0;  ///< the same of recorded durations that are not 0
  double overlap = 0;    ///< absolute difference of the share of communication beside which something is computed
  double critical = 0;   ///< the largest absolute difference of the share of a kind on the critical path
  double end = 0;        ///< relative difference of the end of the ideal schedule
};

/// Of `made` to `held`, each inspected with the same options, by which times are scheduled. Differences of times are 0
/// where one set has none.
Likeness likeness(const RankSet& made, const Inspection& of_made, const RankSet& held, const Inspection& of_held);

/// The largest distance of two distributions' shares (Kolmogorov-Smirnov, two samples); 1 when only one is empty.
double ks_distance(std::vector<int64_t> a, std::vector<int64_t> b);

nlohmann::ordered_json to_json(const Likeness& likeness);
/// A header and a row, each with a line end.
std::string likeness_header();
std::string to_text(const Likeness& likeness);

}  // namespace rankwire
