#include "emulator/collective/algorithms.h"

namespace rankwire {

void dissemination_barrier(ScheduleBuilder& builder) {
  // A round's signal vouches for all earlier rounds. Their signals come from different members and may arrive in any
  // order, so it waits for each of them, not for the latest only.
  Producers received;
  uint32_t round = 0;
  for (uint64_t distance = 1; distance < builder.members(); distance *= 2, ++round) {
    builder.signal(builder.ahead(static_cast<uint32_t>(distance)), round, received);
    received.push_back(builder.await_signal(builder.behind(static_cast<uint32_t>(distance)), round));
  }
}

}  // namespace rankwire
