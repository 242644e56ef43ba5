#include "emulator/collective/algorithms.h"

namespace rankwire {

Producers ring_reduce_scatter(ScheduleBuilder& builder, std::span<const Extent> blocks) {
  Producers sum;
  for (uint32_t k = 0; k + 1 < builder.members(); ++k) {
    builder.send(builder.ahead(1), k, blocks[builder.behind(k + 1)], sum);
    sum = builder.receive_and_reduce(builder.behind(1), k, blocks[builder.behind(k + 2)]);
  }
  return sum;
}

}  // namespace rankwire
