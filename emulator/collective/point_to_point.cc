#include "emulator/collective/algorithms.h"

namespace rankwire {
namespace {

// A SEND of nothing still tells the receiver that its sender got there.
void signal_once(ScheduleBuilder& builder) {
  if (builder.channel() != 0) return;
  if (builder.position() == 0)
    builder.signal(1, 0, {});
  else
    builder.await_signal(0, 0);
}

}  // namespace

void point_to_point(ScheduleBuilder& builder) {
  if (builder.bytes() == Bytes(0)) return signal_once(builder);
  if (builder.position() == 0)
    builder.send(1, 0, builder.input(), {});
  else
    builder.receive(0, 0, builder.input());
}

}  // namespace rankwire
