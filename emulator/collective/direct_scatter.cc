#include "emulator/collective/algorithms.h"

namespace rankwire {

void direct_scatter(ScheduleBuilder& builder) {
  const std::vector<Extent> parts = builder.parts();
  if (builder.position() != builder.root()) {
    builder.receive(builder.root(), 0, parts[builder.position()]);
    return;
  }
  for (uint32_t d = 1; d < builder.members(); ++d) builder.send(builder.ahead(d), 0, parts[builder.ahead(d)], {});
}

}  // namespace rankwire
