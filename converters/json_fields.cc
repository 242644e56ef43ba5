#include "converters/json_fields.h"

#include <charconv>
#include <cmath>

namespace rankwire {

std::optional<int64_t> integer_in(std::string_view text) {
  int64_t number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> nanoseconds_of(std::string_view micros) {
  const char* const end = micros.data() + micros.size();
  int64_t whole;
  const auto [point, error] = std::from_chars(micros.data(), end, whole);
  int64_t nanos;
  if (error == std::errc() && (point == end || *point == '.')) {
    if (__builtin_mul_overflow(whole, int64_t{1000}, &nanos)) return std::nullopt;
    int64_t unit = micros.front() == '-' ? -100 : 100;
    for (const char* digit = point == end ? end : point + 1; digit != end; ++digit, unit /= 10) {
      if (*digit < '0' || *digit > '9') return std::nullopt;
      if (__builtin_add_overflow(nanos, (*digit - '0') * unit, &nanos)) return std::nullopt;
    }
    return nanos;
  }
  double real;  // with an exponent
  const auto [rest, failed] = std::from_chars(micros.data(), end, real);
  if (failed != std::errc() || rest != end || !(std::abs(real) < 9e15)) return std::nullopt;
  return static_cast<int64_t>(real * 1000);
}

}  // namespace rankwire
