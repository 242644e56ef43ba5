// Which messages failed first.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/event.h"

namespace rankwire {

/// Of each connection on which messages failed the first one, of the first kMost such connections. What fails on a
/// connection after its first message says less of the reason: it is flushed, as a rule. Its shard's thread alone; no
/// allocation after construction.
class FirstFailures {
 public:
  static constexpr size_t kMost = 64;

  FirstFailures() { events_.reserve(kMost); }

  /// `event` is of kind kFailed. Its causes do not last, and are not kept.
  void keep(const Event& event) noexcept {
    if (events_.size() == kMost) return;
    for (const Event& known : events_) {
      if (known.connection == event.connection) return;
    }
    events_.push_back(event);
    events_.back().causes = nullptr;
  }
  bool any() const noexcept { return !events_.empty(); }
  /// Oldest first.
  std::span<const Event> events() const noexcept { return events_; }

 private:
  std::vector<Event> events_;
};

}  // namespace rankwire
