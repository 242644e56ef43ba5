// A run of which only some ranks are on wires: the keys of `hybrid`.
#pragma once

#include <cstdint>
#include <vector>

namespace rankwire {

struct HybridConfig {
  std::vector<uint32_t> wired;  ///< hosts whose ranks are on wires; what goes to or from others is modelled

  bool operator==(const HybridConfig&) const = default;
};

}  // namespace rankwire
