// The keys of `limits`.
#pragma once

#include "emulator/input/decimal.h"
#include "emulator/input/limits_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

template <class Visitor>
void describe_limits(Visitor& visit, LimitsConfig& limits) {
  visit.field("ratio", limits.ratio, Or{"none", Decimal{0.001, 1e6}});
  visit.field("retransmissions", limits.retransmissions, Or{"none", Integer<uint64_t>{}});
  visit.field("timeouts", limits.timeouts, Or{"none", Integer<uint64_t>{}});
  visit.field("loss_ppm", limits.loss_ppm, Or{"none", Decimal{0, 1e6}});
  visit.field("message_p99", limits.message_p99, Or{"none", Interval{nanoseconds(1), seconds(1'000'000)}});
  visit.section("busbw", [&](auto& keys) {
    for (size_t i = 0; i < limits.busbw.size(); ++i)
      keys.field(kLimitedOperations[i], limits.busbw[i], Or{"none", Rate{}});
  });
}

}  // namespace rankwire
