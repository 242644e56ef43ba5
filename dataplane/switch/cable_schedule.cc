#include "dataplane/switch/cable_schedule.h"

#include <algorithm>

namespace rankwire {

CableSchedule::CableSchedule(const FabricOptions& options, size_t cables)
    : schedule_(options.schedule), convergence_(options.convergence), in_use_(cables, 1) {
  find_next();
}

void CableSchedule::find_next() noexcept {
  next_ = Time::never();
  if (changes_ < schedule_.size()) next_ = schedule_[changes_].at;
  if (reroutes_ < changes_) next_ = std::min(next_, schedule_[reroutes_].at + convergence_);
}

std::optional<CableEvent> CableSchedule::take() noexcept {
  std::optional<CableEvent> change;
  if (changes_ < schedule_.size() && schedule_[changes_].at == next_) {
    change = schedule_[changes_++];
    in_use_[change->cable] = change->state == CableState::kUp ? 1 : 0;
  } else {
    ++reroutes_;
  }
  find_next();
  return change;
}

}  // namespace rankwire
