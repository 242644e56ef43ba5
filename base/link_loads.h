// What of the traffic of a run somebody else carries, as far as a model of its links must know.
#pragma once

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// Told by whoever carries the messages, in one thread; times never decrease.
class LinkLoads {
 public:
  virtual ~LinkLoads() = default;

  /// A message of the connection is under way from now on.
  virtual void begin_load(ConnectionId connection, Time now) noexcept = 0;
  /// One that has begun has come to its end.
  virtual void end_load(ConnectionId connection, Time now) noexcept = 0;
};

}  // namespace rankwire
