#include <utility>

#include "emulator/collective/algorithms.h"

namespace rankwire {

Producers ring_all_reduce(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step,
                          const Producers& after) {
  Producers own = ring_reduce_scatter(builder, blocks, first_step, after);
  return ring_all_gather(builder, blocks, first_step + builder.members() - 1, std::move(own));
}

}  // namespace rankwire
