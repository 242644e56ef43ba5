// Small workloads that show one thing each, whose end follows by hand from one operation's time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "converters/node_list.h"

namespace rankwire {

/// What a case is made of. Cases say of how many ranks they are where `ranks` does not decide.
struct MicroSizes {
  uint32_t ranks = 4;                     ///< n, 2 or more
  Bytes size = Bytes(1 << 20);            ///< S: of a message, or of each rank's input of a collective
  Duration duration = microseconds(100);  ///< D: of a computation, whole microseconds

  bool operator==(const MicroSizes&) const = default;
};

struct MicroCase {
  std::string_view name;
  /// When it ends, or that it is refused. T(x): the time of x alone.
  std::string_view expected;
  std::vector<ListedNode> (*nodes)(const MicroSizes& sizes);
};

std::span<const MicroCase> micro_cases();
/// Null where there is none of this name.
const MicroCase* find_micro_case(std::string_view name);

}  // namespace rankwire
