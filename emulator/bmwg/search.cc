#include "emulator/bmwg/search.h"

#include <algorithm>
#include <cstdint>

namespace rankwire {

double highest_share(const std::function<bool(double share)>& holds, double resolution) {
  if (holds(1)) return 1;
  double good = 0, bad = 1;
  while (bad - good > resolution) {
    const double middle = (good + bad) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

uint64_t largest_count(const std::function<bool(uint64_t count)>& holds, uint64_t most) {
  uint64_t good = 0, next = 1;
  while (next <= most && holds(next)) {
    good = next;
    if (good == most) return most;
    next = std::min(next * 2, most);
  }
  uint64_t bad = next;
  while (bad - good > 1) {
    const uint64_t middle = good + (bad - good) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace rankwire
