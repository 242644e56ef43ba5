// The keys of `limits`.
#pragma once

#include <utility>

#include "emulator/input/decimal.h"
#include "emulator/input/limits_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

template <class Visitor>
void describe_slo(Visitor& visit, SloConfig& slo) {
  const Or time{"none", Interval{nanoseconds(1), seconds(1'000'000)}};
  visit.field("ttft", slo.ttft, time);
  visit.field("tpot", slo.tpot, time);
  visit.field("latency", slo.latency, time);
}

template <class Visitor>
void describe_limits(Visitor& visit, LimitsConfig& limits) {
  visit.field("ratio", limits.ratio, Or{"none", Decimal{0.001, 1e6}});
  visit.field("retransmissions", limits.retransmissions, Or{"none", Integer<uint64_t>{}});
  visit.field("timeouts", limits.timeouts, Or{"none", Integer<uint64_t>{}});
  visit.field("loss_ppm", limits.loss_ppm, Or{"none", Decimal{0, 1e6}});
  visit.field("message_p99", limits.message_p99, Or{"none", Interval{nanoseconds(1), seconds(1'000'000)}});
  for (const auto& [name, limit] : {std::pair("ttft_p99", &limits.ttft_p99), std::pair("tpot_p99", &limits.tpot_p99),
                                    std::pair("request_p99", &limits.request_p99)})
    visit.field(name, *limit, Or{"none", Interval{nanoseconds(1), seconds(1'000'000)}});
  visit.field("attainment", limits.attainment_ppm, Or{"none", Share{}});
  visit.field("goodput", limits.goodput, Or{"none", Decimal{1e-6, 1e9}});
  visit.section("busbw", [&](auto& keys) {
    for (size_t i = 0; i < limits.busbw.size(); ++i)
      keys.field(kLimitedOperations[i], limits.busbw[i], Or{"none", Rate{}});
  });
}

}  // namespace rankwire
