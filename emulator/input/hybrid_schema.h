// The keys of `hybrid`.
#pragma once

#include "emulator/input/hybrid_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

template <class Visitor>
void describe_hybrid(Visitor& visit, HybridConfig& hybrid) {
  visit.list("wired", hybrid.wired, Integer<uint32_t>{0, 65'535});
  visit.field("rate", hybrid.rate, Or{"none", Rate{}});
}

}  // namespace rankwire
