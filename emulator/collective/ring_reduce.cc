#include "emulator/collective/algorithms.h"

namespace rankwire {

void ring_reduce(ScheduleBuilder& builder) {
  const uint32_t n = builder.members();
  // Members on the way to the root: the one after the root is 0, the root itself n - 1.
  const uint32_t way = (builder.position() + n - builder.root() + n - 1) % n;
  const Extent input = builder.input();
  Producers sum;
  if (way > 0) sum = builder.receive_and_reduce(builder.behind(1), way - 1, input);
  if (way + 1 < n) builder.send(builder.ahead(1), way, input, sum);
}

}  // namespace rankwire
