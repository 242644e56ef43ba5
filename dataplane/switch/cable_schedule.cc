#include "dataplane/switch/cable_schedule.h"

#include <algorithm>

namespace rankwire {

CableSchedule::CableSchedule(const FabricOptions& options, size_t cables, size_t hosts)
    : schedule_(options.schedule), convergence_(options.convergence), cables_(cables), in_use_(cables + hosts, 1) {
  find_next();
}

void CableSchedule::find_next() noexcept {
  next_ = Time::never();
  if (changes_ < schedule_.size()) next_ = schedule_[changes_].at;
  if (reroutes_ < changes_) next_ = std::min(next_, schedule_[reroutes_].at + convergence_);
}

bool CableSchedule::cuts_host() const noexcept {
  return std::any_of(schedule_.begin() + changes_, schedule_.end(),
                     [this](const CableEvent& event) { return event.cable >= cables_ && !event.condition.up; });
}

std::optional<CableEvent> CableSchedule::take() noexcept {
  std::optional<CableEvent> change;
  if (changes_ < schedule_.size() && schedule_[changes_].at == next_) {
    change = schedule_[changes_++];
    in_use_[change->cable] = change->condition.up ? 1 : 0;
  } else {
    ++reroutes_;
  }
  find_next();
  return change;
}

}  // namespace rankwire
