// Earlier looks at a run that goes on, for rates: of all clients, and of whatever they asked.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "emulator/serve/run_figures.h"

namespace rankwire {

/// Not thread-safe.
class RecentLooks {
 public:
  static constexpr double kApart = 0.5;  ///< seconds of a run over which a rate is taken at least

  /// The youngest look that is so old at least, of a run of which this is another one; null: there is none.
  const RunFigures* before(const RunFigures& now) const {
    for (const RunFigures& look : looks_)
      if (now.seconds - look.seconds >= kApart) return &look;
    return nullptr;
  }
  /// Unless there is one of a moment ago. What `before` gave is then no longer there.
  void add(RunFigures now) {
    if (!looks_.empty() && now.seconds - looks_.front().seconds < kApart) return;
    looks_.push_front(std::move(now));
    if (looks_.size() > kMost) looks_.pop_back();
  }
  void clear() { looks_.clear(); }

 private:
  /// The youngest one may be too young, and the next one is not.
  static constexpr size_t kMost = 2;
  std::deque<RunFigures> looks_;  // the youngest first
};

}  // namespace rankwire
