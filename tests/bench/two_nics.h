// The NICs that benchmarks of the transport send between.
#pragma once

#include "base/transport.h"

namespace rankwire::bench {

/// A plan of two ranks, each with a NIC of its own behind a port of its own, and no connection yet.
inline TransportPlan plan_of_two_nics() {
  TransportPlan plan;
  plan.ranks = 2;
  for (uint32_t i = 0; i < 2; ++i) {
    plan.nics.push_back({.id = NicId(i),
                         .port = PortId(i),
                         .mac = MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}},
                         .ip = Ipv4Address{0xC6120001 + i},
                         .prefix_length = 15});
  }
  return plan;
}

}  // namespace rankwire::bench
