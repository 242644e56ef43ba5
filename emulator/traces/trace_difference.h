// What two sets of traces have different.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/traces/inspect.h"

namespace rankwire {

/// Operations of one kind and name, or of communication of one kind and group, in either set.
struct OperationDifference {
  OperationKey key;
  bool communicates = false;
  OperationTally here, there;

  /// "added" or "missing" where the other set, or this one, has none of them; "more" or "fewer" where their numbers
  /// differ; else "changed" where bytes or the sum of durations do, and "same".
  const char* change() const;
};

struct TraceDifference {
  std::string name;  ///< of the other set
  /// Nodes and end of both sets, and of their ranks the mean.
  struct Side {
    uint64_t ranks = 0, nodes = 0;
    Duration end, compute, communication, exposed, idle;
  };
  Side here, there;
  std::vector<OperationDifference>
      operations;  ///< those that take longest more or less first, then by bytes and number
};

/// Of `here`, which is looked at, to `there`.
TraceDifference trace_difference(const Inspection& here, const Inspection& there);

nlohmann::ordered_json to_json(const TraceDifference& difference);
std::string to_text(const TraceDifference& difference);

}  // namespace rankwire
