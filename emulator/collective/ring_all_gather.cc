#include <utility>

#include "emulator/collective/algorithms.h"

namespace rankwire {

Producers ring_all_gather(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step,
                          Producers own) {
  Producers ready = std::move(own);
  for (uint32_t k = 0; k + 1 < builder.members(); ++k) {
    builder.send(builder.ahead(1), first_step + k, blocks[builder.behind(k)], ready);
    ready = builder.receive(builder.behind(1), first_step + k, blocks[builder.behind(k + 1)]);
  }
  return ready;
}

}  // namespace rankwire
