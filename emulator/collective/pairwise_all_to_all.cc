#include <bit>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"

namespace rankwire {

void pairwise_all_to_all(ScheduleBuilder& builder) {
  const bool in_pairs = std::has_single_bit(builder.members());
  const uint32_t me = builder.position();
  DataFlow flow(builder);
  for (uint32_t d = 1; d < builder.members(); ++d) {
    const uint32_t destination = in_pairs ? me ^ d : builder.ahead(d), source = in_pairs ? me ^ d : builder.behind(d);
    flow.send(destination, d - 1, joined({builder.part_between(me, destination)}));
    flow.receive(source, d - 1, joined({builder.part_between(source, me)}));
    flow.wait_for_all();
  }
}

}  // namespace rankwire
