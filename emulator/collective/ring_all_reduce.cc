#include <utility>

#include "emulator/collective/algorithms.h"

namespace rankwire {

void ring_all_reduce(ScheduleBuilder& builder) {
  const std::vector<Extent> blocks = builder.parts();
  Producers own = ring_reduce_scatter(builder, blocks);
  ring_all_gather(builder, blocks, builder.members() - 1, std::move(own));
}

}  // namespace rankwire
