#include "emulator/collective/algorithms.h"

namespace rankwire {

void ring_broadcast(ScheduleBuilder& builder) {
  const uint32_t n = builder.members();
  const uint32_t distance = (builder.position() + n - builder.root()) % n;
  const Extent input = builder.input();
  Producers ready;
  if (distance > 0) ready = builder.receive(builder.behind(1), distance - 1, input);
  if (distance + 1 < n) builder.send(builder.ahead(1), distance, input, ready);
}

}  // namespace rankwire
