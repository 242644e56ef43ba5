// How much line time traffic took up to any moment, where only its beginning and end are known.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// A sum of amounts, each of which passes evenly between two times.
class TrafficRamp {
 public:
  void add(Time from, Time to, Duration amount) {
    if (amount <= Duration() || to <= from) return;
    const double slope = static_cast<double>(amount.ps) / static_cast<double>((to - from).ps);
    bends_.push_back({from, slope, 0}), bends_.push_back({to, -slope, 0});
  }
  /// After the last `add`, before the first `between`.
  void finish() {
    std::ranges::sort(bends_, {}, [](const Bend& bend) { return std::pair(bend.at, bend.slope); });
    double slope = 0, sum = 0;
    Time at;
    for (Bend& bend : bends_) {
      sum += slope * static_cast<double>((bend.at - std::exchange(at, bend.at)).ps);
      slope += bend.slope;
      bend.slope = slope, bend.sum = sum;
    }
  }
  /// Picoseconds, at least 0 where `from <= to`.
  double between(Time from, Time to) const { return std::max(0.0, until(to) - until(from)); }

 private:
  struct Bend {
    Time at;
    double slope;  ///< change at `at`; once finished, from `at` on
    double sum;    ///< up to `at`
  };

  double until(Time at) const {
    const auto behind = std::ranges::upper_bound(bends_, at, {}, &Bend::at);
    if (behind == bends_.begin()) return 0;
    const Bend& bend = *std::prev(behind);
    return bend.sum + bend.slope * static_cast<double>((at - bend.at).ps);
  }

  std::vector<Bend> bends_;
};

}  // namespace rankwire
