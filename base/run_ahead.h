// A device and a transport in virtual time, as long as nobody else has to do with them.
#pragma once

#include <algorithm>

#include "base/device.h"
#include "base/transport.h"

namespace rankwire {

/// Lets both do what happens before `limit`, each as far as nothing can come from the other. Returns when the loop has
/// to turn: because the transport has something to report, the device must step, or at `limit`; never() when nothing is
/// left to happen.
inline Time run_ahead(Device& device, Transport& transport, Time limit) noexcept {
  for (Time before = Time::long_ago();;) {
    const Time quiet = std::min(limit, device.run_ahead(std::min(limit, transport.next_event())));
    const Time next = transport.run_ahead(quiet);
    if (next < quiet || quiet == limit || quiet <= before) return std::min(next, quiet);
    before = quiet;
  }
}

}  // namespace rankwire
