// The part of a transport that is a model, for a loop whose time is real.
#pragma once

#include <cstddef>
#include <span>

#include "base/event.h"
#include "base/units.h"

namespace rankwire {

/// A model knows when things happen, however late the loop looks. So what follows from them may be reckoned from their
/// own times, and the lateness of the loop does not add up along a chain of messages that no wire carries. Its
/// transport's, in that thread.
class ModelledPart {
 public:
  virtual ~ModelledPart() = default;

  /// When the model next has something to do; not after `at` when it has something to do at once.
  virtual Time next_event() const noexcept = 0;
  /// Reports events of the model up to `at`, which never decreases and is not after the time that `Transport::poll` is
  /// given next. When it reports none, `next_event` is later than `at`.
  virtual size_t poll(Time at, std::span<Event> events) noexcept = 0;
  /// Lets all but the model receive and send at `now`, and reports nothing: what arrives waits for the next
  /// `Transport::poll`. Times given to `poll` and `Transport::post` may be earlier meanwhile.
  virtual void tend(Time now) noexcept = 0;
};

}  // namespace rankwire
