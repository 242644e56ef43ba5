#include "emulator/collective/algorithms.h"

namespace rankwire {

Producers ring_reduce_scatter(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step,
                              const Producers& after) {
  Producers sum = builder.after_all(after, blocks[builder.behind(1)]);
  for (uint32_t k = 0; k + 1 < builder.members(); ++k) {
    builder.send(builder.ahead(1), first_step + k, blocks[builder.behind(k + 1)], sum);
    sum = builder.receive_and_reduce(builder.behind(1), first_step + k, blocks[builder.behind(k + 2)]);
  }
  return sum;
}

}  // namespace rankwire
