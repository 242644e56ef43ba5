#include <bit>
#include <utility>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"

namespace rankwire {
namespace {

/// The trees of all members at once. In the tree of a root the member `x` places ahead of it is the parent of the one
/// at x + d for every power of two d below x's lowest bit; over the distance d go the blocks of all trees in which the
/// member at `place` is such a parent, that is, x is a multiple of 2 d and x + d a member.
Pieces aggregated(const ScheduleBuilder& builder, const std::vector<Extent>& blocks, uint32_t place, uint32_t d) {
  const uint32_t n = builder.members();
  std::vector<Extent> extents;
  for (uint32_t x = 0; x + d < n; x += 2 * d) extents.push_back(blocks[(place + n - x) % n]);
  return joined(std::move(extents));
}

}  // namespace

void pat_all_gather(ScheduleBuilder& builder) {
  const std::vector<Extent> inputs = builder.inputs();
  DataFlow flow(builder);
  uint32_t step = 0;
  for (uint32_t d = std::bit_floor(builder.members() - 1); d > 0; d /= 2, ++step) {
    flow.send(builder.ahead(d), step, aggregated(builder, inputs, builder.position(), d));
    flow.receive(builder.behind(d), step, aggregated(builder, inputs, builder.behind(d), d));
  }
}

void pat_reduce_scatter(ScheduleBuilder& builder) {
  const std::vector<Extent> parts = builder.parts();
  DataFlow flow(builder);
  uint32_t step = 0;
  // The same trees from the leaves to the roots.
  for (uint32_t d = 1; d < builder.members(); d *= 2, ++step) {
    flow.send(builder.behind(d), step, aggregated(builder, parts, builder.behind(d), d));
    flow.receive_and_reduce(builder.ahead(d), step, aggregated(builder, parts, builder.position(), d));
  }
}

}  // namespace rankwire
