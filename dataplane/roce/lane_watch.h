// Which lanes have something to do, where not all of them are looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/ports/fetch.h"
#include "dataplane/roce/far_end.h"
#include "dataplane/roce/lane_agenda.h"
#include "dataplane/roce/options.h"

namespace rankwire {

/// Two agendas of the lanes whose ports ring bells: when each has something to do, and, where ports look ahead, before
/// when nothing comes of it that the application must hear of. Without bells (null) it is off, every lane is looked at
/// in every turn of the loop, and nothing but `on`, `foresees` and `mark` may be called. Lanes are numbered as the
/// bells and bindings are, both borrowed. Its transport's own, in that thread. No allocation after construction.
class LaneWatch {
 public:
  LaneWatch(Doorbells* bells, std::span<const PortBinding> bindings) : bells_(bells), bindings_(bindings) {
    if (bells == nullptr) return;
    const auto lanes = static_cast<uint32_t>(bindings.size());
    agenda_.emplace(lanes);
    if (far_end_of(bells, bindings) == FarEnd::kVirtual) reports_.emplace(lanes);
    heard_.reserve(lanes);
    for (uint32_t lane = 0; lane < lanes; ++lane) mark(lane);
  }

  bool on() const noexcept { return agenda_.has_value(); }
  /// Whether there is the second agenda.
  bool foresees() const noexcept { return reports_.has_value(); }
  /// Something has changed for the lane.
  void mark(uint32_t lane) noexcept {
    if (agenda_) agenda_->mark(lane);
  }

  /// Looks where a bell has rung: there the lane has something to do when its port has, and, as far as that can be
  /// foreseen, to report at `next_report(lane)` or later.
  template <class NextReport>
  void hear(NextReport next_report) noexcept {
    bells_->answer_all([this](uint32_t lane) { heard_.push_back(lane); });
    const size_t count = heard_.size();
    for (size_t i = 0; i < count; ++i) {
      fetch_behind(i, count, [this](size_t k) { return bindings_[heard_[k]].port; });
      const uint32_t lane = heard_[i];
      agenda_->wake_by(lane, bindings_[lane].port->next_event());
      if (reports_) reports_->wake_at(lane, next_report(lane));
    }
    heard_.clear();
  }
  /// When the first lane has something to do: never() when none does. `next_event(lane)` tells it of those that are
  /// marked or whose bells ring.
  template <class NextEvent>
  Time next(NextEvent next_event) const noexcept {
    Time next = agenda_->next();
    const auto look = [&](uint32_t lane) { next = std::min(next, next_event(lane)); };
    bells_->look(look);
    agenda_->look(look);
    return next;
  }

  LaneAgenda& agenda() noexcept { return *agenda_; }
  /// Nothing is reported of what a lane's port holds before the time that stands there. Only where that is foreseen.
  LaneAgenda& reports() noexcept { return *reports_; }

 private:
  Doorbells* const bells_;
  const std::span<const PortBinding> bindings_;
  std::optional<LaneAgenda> agenda_, reports_;
  std::vector<uint32_t> heard_;  // lanes whose bells have rung
};

}  // namespace rankwire
