#include <algorithm>
#include <numeric>
#include <optional>

#include "emulator/input/compute_schema.h"

namespace rankwire {

NumberRange Numbers::parse(const Tree& scalar) const {
  const std::string_view text = scalar.text;
  const size_t dash = std::min(text.find('-'), text.size());
  const Integer<uint32_t> number{0, (1 << 17) - 1};
  const auto part = [&](std::string_view digits) {
    Tree one = scalar;
    one.text = digits;
    return number.parse(one);
  };
  const uint32_t first = part(text.substr(0, dash));
  const NumberRange range{first, dash == text.size() ? first : part(text.substr(dash + 1))};
  if (range.last < range.first) throw ValueError(fmt::format("'{}' ends before it begins", text));
  return range;
}

int64_t Thousandths::parse(const Tree& scalar) const {
  const std::optional<int64_t> value = parse_decimals(scalar.text, 3);
  if (!value)
    throw ValueError(fmt::format("'{}' is not a number of 0 or more with at most three decimals", scalar.text));
  return *value;
}

ConfigJson Thousandths::print(int64_t value) const {
  if (value % 1'000 == 0) return value / 1'000;
  return fmt::format("{}.{:03}", value / 1'000, value % 1'000);
}

Scale Factor::parse(const Tree& scalar) const {
  constexpr int64_t kUnit = 1'000'000;
  Scale factor;
  if (scalar.text.find('/') != std::string::npos) {
    factor = parse_fraction(scalar.text);
  } else {
    const std::optional<int64_t> value = parse_decimals(scalar.text, 6);
    if (!value) throw ValueError(fmt::format("'{}' is not a factor; write for example 1.5", scalar.text));
    const int64_t common = std::gcd(*value, kUnit);
    factor = {*value / std::max<int64_t>(common, 1), kUnit / std::max<int64_t>(common, 1)};
  }
  if (factor.numerator < factor.denominator || factor.numerator / factor.denominator > 1'000)
    throw ValueError(fmt::format("'{}' is outside 1 .. 1000", scalar.text));
  return factor;
}

}  // namespace rankwire
