#include <algorithm>
#include <utility>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"

namespace rankwire {

void bruck_all_gather(ScheduleBuilder& builder) {
  const uint32_t n = builder.members(), me = builder.position();
  const std::vector<Extent> inputs = builder.inputs();
  DataFlow flow(builder);
  uint32_t step = 0;
  // A member has the inputs of `known` members from itself on.
  for (uint32_t known = 1; known < n; known *= 2, ++step) {
    const uint32_t count = std::min(known, n - known);
    flow.send(builder.behind(known), step, blocks_around(inputs, me, count));
    flow.receive(builder.ahead(known), step, blocks_around(inputs, builder.ahead(known), count));
  }
}

namespace {

/// What the member at `place` passes on over the distance 2^k: of every pair of members whose distance has bit k, the
/// data that has gone the distance's lower bits already.
Pieces passed_on(const ScheduleBuilder& builder, uint32_t place, uint32_t distance_bit) {
  const uint32_t n = builder.members();
  std::vector<Extent> parts;
  for (uint32_t distance = 1; distance < n; ++distance) {
    if ((distance & distance_bit) == 0) continue;
    const uint32_t source = (place + n - (distance & (distance_bit - 1))) % n;
    parts.push_back(builder.part_between(source, (source + distance) % n));
  }
  return joined(std::move(parts));
}

}  // namespace

void bruck_all_to_all(ScheduleBuilder& builder) {
  DataFlow flow(builder);
  uint32_t step = 0;
  for (uint32_t bit = 1; bit < builder.members(); bit *= 2, ++step) {
    flow.send(builder.ahead(bit), step, passed_on(builder, builder.position(), bit));
    flow.receive(builder.behind(bit), step, passed_on(builder, builder.behind(bit), bit));
  }
}

}  // namespace rankwire
