#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"

namespace rankwire {
namespace {

/// Each member's sum of its own block.
void scatter(ScheduleBuilder& builder, DataFlow& flow, const std::vector<Extent>& blocks) {
  const Pieces own = joined({blocks[builder.position()]});
  for (uint32_t d = 1; d < builder.members(); ++d) {
    flow.send(builder.ahead(d), 0, joined({blocks[builder.ahead(d)]}));
    flow.receive_and_reduce(builder.behind(d), 0, own);
  }
}

void gather(ScheduleBuilder& builder, DataFlow& flow, const std::vector<Extent>& blocks, uint32_t step) {
  const Pieces own = joined({blocks[builder.position()]});
  for (uint32_t d = 1; d < builder.members(); ++d) {
    flow.send(builder.ahead(d), step, own);
    flow.receive(builder.behind(d), step, joined({blocks[builder.behind(d)]}));
  }
}

}  // namespace

void direct_all_reduce(ScheduleBuilder& builder) {
  DataFlow flow(builder);
  scatter(builder, flow, builder.parts());
  gather(builder, flow, builder.parts(), 1);
}

void direct_reduce_scatter(ScheduleBuilder& builder) {
  DataFlow flow(builder);
  scatter(builder, flow, builder.parts());
}

void direct_all_gather(ScheduleBuilder& builder) {
  DataFlow flow(builder);
  gather(builder, flow, builder.inputs(), 0);
}

}  // namespace rankwire
