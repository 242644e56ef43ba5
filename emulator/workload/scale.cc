#include <limits>

#include "emulator/workload/workload.h"

namespace rankwire {
namespace {

using Wide = __int128;

Wide ceiling_quotient(Wide dividend, Wide divisor) {
  return (dividend + divisor - 1) / divisor;
}

int64_t narrow(Wide value, int64_t original, Scale scale) {
  if (value > std::numeric_limits<int64_t>::max()) {
    fail_input("{} scaled by {}/{} does not fit 64 bits", original, scale.numerator, scale.denominator);
  }
  return static_cast<int64_t>(value);
}

}  // namespace

Bytes scaled_size(Bytes size, Scale scale, Bytes element) {
  // One division by the product, so that rounding happens once.
  const Wide elements = ceiling_quotient(Wide{size.count} * scale.numerator, Wide{scale.denominator} * element.count);
  const Wide limit = std::numeric_limits<int64_t>::max();
  return Bytes(narrow(elements > limit ? elements : elements * element.count, size.count, scale));
}

Duration scaled_duration(Duration duration, Scale scale) {
  if (scale.numerator == scale.denominator) return duration;
  return Duration(narrow(ceiling_quotient(Wide{duration.ps} * scale.numerator, scale.denominator), duration.ps, scale));
}

}  // namespace rankwire
