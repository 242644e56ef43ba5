// What keeps a rank busy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// A compute, host or memory node keeps the rank busy; everything else communicates.
enum class Activity : uint8_t { kCompute, kCommunication };
Activity activity_of(std::string_view kind);

/// The length of the union of intervals that come in order of start.
class CoveredTime {
 public:
  void add(OperationTimes times) {
    const Time from = std::max(times.start, until_);
    if (times.end <= from) return;
    covered_ += times.end - from;
    until_ = times.end;
  }
  Duration covered() const { return covered_; }

 private:
  Time until_;
  Duration covered_;
};

/// How a rank spent its time on one side.
struct RankActivity {
  CoveredTime compute;        ///< at least one compute, host or memory node at work
  CoveredTime communication;  ///< at least one other node at work, waiting for other ranks included
  CoveredTime anything;       ///< at least one node of any kind at work

  void add(Activity activity, OperationTimes times) {
    anything.add(times);
    (activity == Activity::kCompute ? compute : communication).add(times);
  }
  /// Communication, waiting for other ranks included, that no compute hides.
  Duration exposed_communication() const { return anything.covered() - compute.covered(); }
};

}  // namespace rankwire
