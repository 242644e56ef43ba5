#include "dataplane/congestion/rate_holds.h"

namespace rankwire {

bool RateHolds::set(uint32_t hold, Bandwidth rate, Time now) noexcept {
  Hold& held = holds_[hold];
  const Time before = held.next;
  const Bandwidth old = std::exchange(held.rate, rate);
  if (rate == Bandwidth()) {
    held.next = Time::long_ago();
  } else if (old == Bandwidth()) {
    held.next = now;
  } else if (held.next > now) {
    const __int128 left = (held.next - now).ps;
    held.next = now + Duration(static_cast<int64_t>(left * old.bits_per_second / rate.bits_per_second));
  }
  return held.next < before;
}

}  // namespace rankwire
