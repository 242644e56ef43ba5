// From sets of traces to what they have in common.
#pragma once

#include <vector>

#include "emulator/traces/rank_set.h"
#include "emulator/traces/trace_model.h"

namespace rankwire {

/// Learns from one set after the other. Those whose ranks do the same become one family, whose durations are pooled.
class TraceLearner {
 public:
  /// Nodes are one operation when they agree in kind, size and all else that ModelOperation has but the durations, and
  /// in their names but for numbers in them; METADATA is left out. Nothing of `set` is kept but the model. Throws
  /// Error(kInput) for a set with a gap in its ranks, a file that cannot be read to its end, messages without
  /// counterpart, uneven splits, and types of nodes that Chakra does not have.
  void add(const RankSet& set, const Matches& matches);

  /// Throws Error(kInput) when there was no set.
  TraceModel model() const;

 private:
  struct Learned {
    ModelFamily family;                         ///< without durations
    std::vector<std::vector<double>> observed;  ///< by operation, us
  };
  std::vector<Learned> learned_;
};

/// At most 21 values at equal shares of what is sorted here: one when all are equal.
std::vector<double> quantiles(std::vector<double> values);

}  // namespace rankwire
