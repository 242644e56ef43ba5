// Where the time of the operations in progress goes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/time_by_cause.h"
#include "emulator/engine/plan.h"

namespace rankwire {

/// What the messages of the operation in a slot have spent, summed by edge of its schedule. Without a plan (the
/// default), or one of no edges, nothing but `on` may be called. Its shard's thread alone; no allocation after
/// construction.
class OperationCauses {
 public:
  OperationCauses() = default;
  explicit OperationCauses(const Plan& plan)
      : first_(offsets_by_slot(plan, [](const PlannedSchedule& s) { return s.edges.size(); })), sums_(first_.back()) {}

  bool on() const noexcept { return !sums_.empty(); }
  void add(uint32_t slot, uint32_t edge, const TimeByCause& share) noexcept { sums_[first_[slot] + edge] += share; }
  /// The sum so far, which begins anew.
  TimeByCause take(uint32_t slot, uint32_t edge) noexcept {
    return std::exchange(sums_[first_[slot] + edge], TimeByCause());
  }

 private:
  std::vector<uint64_t> first_;  // by slot: offset into sums_
  std::vector<TimeByCause> sums_;
};

}  // namespace rankwire
