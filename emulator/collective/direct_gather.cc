#include "emulator/collective/algorithms.h"

namespace rankwire {

void direct_gather(ScheduleBuilder& builder) {
  const std::vector<Extent> inputs = builder.inputs();
  if (builder.position() != builder.root()) {
    builder.send(builder.root(), 0, inputs[builder.position()], {});
    return;
  }
  for (uint32_t d = 1; d < builder.members(); ++d) builder.receive(builder.ahead(d), 0, inputs[builder.ahead(d)]);
}

}  // namespace rankwire
