// The keys of `dilation`.
#pragma once

#include "emulator/input/dilation_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

template <class Visitor>
void describe_dilation(Visitor& visit, DilationConfig& dilation) {
  visit.field("factor", dilation.factor, Integer<uint32_t>{1, kLargestDilation});
  visit.section("device", [&](auto& keys) {
    const Or latency{"switch", Interval{Duration(), seconds(1)}};
    const Or size{"switch", Size{Bytes(1), Bytes(1LL << 40)}};
    keys.field("latency", dilation.device.latency, latency);
    keys.field("link_latency", dilation.device.link_latency, latency);
    keys.field("buffer", dilation.device.buffer, size);
    keys.field("ecn_threshold", dilation.device.ecn_threshold, size);
  });
}

}  // namespace rankwire
