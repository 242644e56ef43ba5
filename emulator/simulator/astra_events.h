// What happens next: events in the order of time, those of one time in the order in which they were foreseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// What the numbers mean is the kind's.
struct AstraEvent {
  enum class Kind : uint8_t {
    kNodeEnds,    ///< rank, node
    kMemoryFree,  ///< port
    kStep,        ///< phase, member, step
    kMessage,     ///< message
    kPhaseEnds,   ///< stream
  };
  uint32_t a = 0, b = 0, c = 0;
  Kind kind = Kind::kNodeEnds;
};

/// Many events have few times, since ranks do the same: a list for each time.
class AstraEvents {
 public:
  Time now() const noexcept { return now_; }

  /// At `now` or later.
  void push(Time time, const AstraEvent& event) {
    if (latest_ == nullptr || time != latest_time_) {
      latest_ = &list_at(time);
      latest_time_ = time;
    }
    latest_->push_back(event);
  }

  /// Takes the next event and moves `now` to its time; false when there is none.
  bool next(AstraEvent& event) {
    while (!lists_.empty()) {
      const auto first = lists_.begin();
      if (taken_ < first->second.size()) {
        now_ = first->first;
        event = first->second[taken_++];
        return true;
      }
      if (latest_ == &first->second) latest_ = nullptr;
      unused_.push_back(std::move(first->second));
      unused_.back().clear();
      lists_.erase(first);
      taken_ = 0;
    }
    return false;
  }

 private:
  using List = std::vector<AstraEvent>;

  List& list_at(Time time) {
    const auto [at, added] = lists_.try_emplace(time);
    if (added && !unused_.empty()) {
      at->second = std::move(unused_.back());
      unused_.pop_back();
    }
    return at->second;
  }

  std::map<Time, List> lists_;
  std::vector<List> unused_;
  size_t taken_ = 0;  // of the first list
  List* latest_ = nullptr;
  Time latest_time_, now_;
};

}  // namespace rankwire
