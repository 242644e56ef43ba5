// A run of which only some ranks are on wires: the keys of `hybrid`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace rankwire {

struct HybridConfig {
  std::vector<uint32_t> wired;  ///< hosts whose ranks are on wires; what goes to or from others is modelled
  /// Of the ports of other hosts, where `ports` has none of theirs. Absent once these are written out.
  std::optional<Bandwidth> rate;

  bool operator==(const HybridConfig&) const = default;
};

}  // namespace rankwire
