#include "emulator/collective/algorithms.h"

namespace rankwire {

void direct_all_to_all(ScheduleBuilder& builder) {
  for (uint32_t d = 1; d < builder.members(); ++d) {
    const uint32_t destination = builder.ahead(d), source = builder.behind(d);
    builder.send(destination, d - 1, builder.part_between(builder.position(), destination), {});
    builder.receive(source, d - 1, builder.part_between(source, builder.position()));
  }
}

}  // namespace rankwire
