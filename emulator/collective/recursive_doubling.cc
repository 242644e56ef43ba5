#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"
#include "emulator/collective/hypercube.h"

namespace rankwire {

void recursive_doubling_all_reduce(ScheduleBuilder& builder) {
  const Hypercube cube(builder.members(), 0);
  const uint32_t me = builder.position(), other = Hypercube::pair_of(me);
  const Pieces input = joined({builder.input()});
  DataFlow flow(builder);
  uint32_t step = 0;
  if (cube.is_paired(me))
    cube.has_vertex(me) ? flow.receive_and_reduce(other, step, input) : flow.send(other, step, input);
  if (cube.extras() > 0) ++step;
  for (uint32_t j = 0; j < cube.dimensions(); ++j, ++step) {
    if (!cube.has_vertex(me)) continue;
    const uint32_t partner = cube.member_at(cube.vertex_of(me) ^ 1u << j);
    flow.send(partner, step, input);
    flow.receive_and_reduce(partner, step, input);
  }
  if (cube.is_paired(me)) cube.has_vertex(me) ? flow.send(other, step, input) : flow.receive(other, step, input);
}

void recursive_doubling_all_gather(ScheduleBuilder& builder) {
  const Hypercube cube(builder.members(), 0);
  const uint32_t me = builder.position(), other = Hypercube::pair_of(me), vertex = cube.vertex_of(me);
  const std::vector<Extent> inputs = builder.inputs();
  DataFlow flow(builder);
  uint32_t step = 0;
  if (cube.is_paired(me)) {
    const Pieces extra = joined({inputs[cube.has_vertex(me) ? other : me]});
    cube.has_vertex(me) ? flow.receive(other, step, extra) : flow.send(other, step, extra);
  }
  if (cube.extras() > 0) ++step;
  for (uint32_t j = 0; j < cube.dimensions(); ++j, ++step) {
    if (!cube.has_vertex(me)) continue;
    // Before this step the 2^j vertices that differ in lower bits alone have the same.
    const uint32_t count = 1u << j, across = vertex ^ count;
    flow.send(cube.member_at(across), step, cube.blocks_of(inputs, vertex & ~(count - 1), count));
    flow.receive(cube.member_at(across), step, cube.blocks_of(inputs, across & ~(count - 1), count));
  }
  if (!cube.is_paired(me)) return;
  const uint32_t extra = cube.has_vertex(me) ? other : me;
  const Pieces others = blocks_around(inputs, extra + 1, builder.members() - 1);
  cube.has_vertex(me) ? flow.send(other, step, others) : flow.receive(other, step, others);
}

void recursive_halving_reduce_scatter(ScheduleBuilder& builder) {
  const Hypercube cube(builder.members(), 0);
  const uint32_t me = builder.position(), other = Hypercube::pair_of(me), vertex = cube.vertex_of(me);
  const std::vector<Extent> parts = builder.parts();
  DataFlow flow(builder);
  uint32_t step = 0;
  if (cube.is_paired(me)) {
    const Pieces whole = joined({builder.parts()});
    cube.has_vertex(me) ? flow.receive_and_reduce(other, step, whole) : flow.send(other, step, whole);
  }
  if (cube.extras() > 0) ++step;
  for (uint32_t j = cube.dimensions(); j-- > 0; ++step) {
    if (!cube.has_vertex(me)) continue;
    const uint32_t count = 1u << j, across = vertex ^ count;
    flow.send(cube.member_at(across), step, cube.blocks_of(parts, across & ~(count - 1), count));
    flow.receive_and_reduce(cube.member_at(across), step, cube.blocks_of(parts, vertex & ~(count - 1), count));
  }
  if (!cube.is_paired(me)) return;
  const Pieces part = joined({parts[cube.has_vertex(me) ? other : me]});
  cube.has_vertex(me) ? flow.send(other, step, part) : flow.receive(other, step, part);
}

}  // namespace rankwire
