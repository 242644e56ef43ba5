// What of the traffic of a run somebody else carries, as far as a model of its links must know; and the other way
// round.
#pragma once

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// Whoever carries messages, told in its thread how fast it may. From a call on all messages of the connection together
/// have no more than the rate, which is of all that their frames take on the line, FCS, preamble and gap included. 0:
/// nothing holds them any more. Called of connections whose messages are carried elsewhere, too, where it has no
/// effect.
class HeldSenders {
 public:
  virtual ~HeldSenders() = default;

  virtual void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept = 0;
};

/// Told by whoever carries the messages, in one thread; times never decrease.
class LinkLoads {
 public:
  virtual ~LinkLoads() = default;

  /// A message of the connection is under way from now on.
  virtual void begin_load(ConnectionId connection, Time now) noexcept = 0;
  /// One that has begun has come to its end.
  virtual void end_load(ConnectionId connection, Time now) noexcept = 0;

  /// Holds the loads that share full links with what is modelled to their shares from now on: before the first of them.
  /// `senders` are borrowed, and hear of it within calls of this and of the model.
  virtual void hold_loads(HeldSenders& senders) = 0;
  /// Lets `senders` know what follows from all that has been told, and posted, by now. It is known at the next event of
  /// the model at the latest.
  virtual void settle(Time now) noexcept = 0;
};

}  // namespace rankwire
