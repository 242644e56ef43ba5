#include "emulator/input/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace rankwire {
namespace {

constexpr int64_t kKilo = 1'000, kMega = 1'000'000, kGiga = 1'000'000'000, kTera = 1'000'000'000'000;

constexpr std::array kSizeUnits = {
    Unit{"B", 1},      Unit{"KB", kKilo},      Unit{"KiB", 1LL << 10}, Unit{"MB", kMega},      Unit{"MiB", 1LL << 20},
    Unit{"GB", kGiga}, Unit{"GiB", 1LL << 30}, Unit{"TB", kTera},      Unit{"TiB", 1LL << 40},
};
constexpr std::array kDurationUnits = {
    Unit{"ps", 1}, Unit{"ns", kKilo}, Unit{"us", kMega}, Unit{"ms", kGiga}, Unit{"s", kTera},
};
constexpr std::array kRateUnits = {
    Unit{"bps", 1}, Unit{"Kbps", kKilo}, Unit{"Mbps", kMega}, Unit{"Gbps", kGiga}, Unit{"Tbps", kTera},
};
constexpr std::array kFlopsUnits = {
    Unit{"flops", 1},      Unit{"Kflops", kKilo},        Unit{"Mflops", kMega},        Unit{"Gflops", kGiga},
    Unit{"Tflops", kTera}, Unit{"Pflops", kKilo* kTera}, Unit{"Eflops", kMega* kTera},
};
constexpr std::array kShareUnits = {Unit{"ppm", 1}, Unit{"%", 10'000}};
constexpr UnitScale kShareScale = {kShareUnits, "parts per million", "%"};

std::string suffixes(const UnitScale& scale) {
  std::string text;
  for (const Unit& unit : scale.units) text += fmt::format("{}{}", text.empty() ? "" : ", ", unit.suffix);
  return text;
}

/// A decimal number as digits / 10^decimals.
struct ScaledNumber {
  __int128 digits = 0;
  int decimals = 0;
  size_t length = 0;  ///< characters read
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A number below zero, which nothing here may be.
void refuse_negative(std::string_view text) {
  if (text.size() > 1 && text[0] == '-' && (is_digit(text[1]) || text[1] == '.'))
    throw ValueError(fmt::format("'{}' is negative", text));
}

ScaledNumber parse_decimal(std::string_view text, std::string_view example_suffix) {
  refuse_negative(text);
  constexpr int kMaxDigits = 24;  // far below 10^38, so that the product with a unit of 10^12 cannot overflow
  ScaledNumber number;
  int digits = 0;
  size_t point = std::string_view::npos;
  size_t i = 0;
  for (; i < text.size() && digits <= kMaxDigits; ++i) {
    if (text[i] == '.' && point == std::string_view::npos && i > 0) {
      point = i;
    } else if (is_digit(text[i])) {
      number.digits = number.digits * 10 + (text[i] - '0');
      ++digits;
    } else {
      break;
    }
  }
  if (digits == 0 || text[i - 1] == '.') {
    throw ValueError(fmt::format("'{}' is not a number with a unit; write for example 100{}", text, example_suffix));
  }
  if (digits > kMaxDigits) throw ValueError(fmt::format("'{}' has too many digits", text));
  number.decimals = point == std::string_view::npos ? 0 : static_cast<int>(i - point - 1);
  number.length = i;
  return number;
}

}  // namespace

const UnitScale kSizeScale = {kSizeUnits, "bytes", "KiB"};
const UnitScale kDurationScale = {kDurationUnits, "picoseconds", "us"};
const UnitScale kRateScale = {kRateUnits, "bits per second", "Gbps"};
const UnitScale kFlopsScale = {kFlopsUnits, "flop/s", "Tflops"};

int64_t parse_quantity(std::string_view text, const UnitScale& scale) {
  const ScaledNumber number = parse_decimal(text, scale.usual_suffix);
  const std::string_view suffix = text.substr(number.length);
  if (suffix.empty()) {
    throw ValueError(fmt::format("'{0}' has no unit; write for example {0}{1}", text, scale.usual_suffix));
  }
  const auto unit = std::ranges::find(scale.units, suffix, &Unit::suffix);
  if (unit == scale.units.end()) {
    throw ValueError(fmt::format("'{}' has the unknown unit '{}'; the units are {}", text, suffix, suffixes(scale)));
  }
  __int128 value = number.digits;
  int64_t multiplier = unit->multiplier;
  for (int i = 0; i < number.decimals; ++i) {
    if (multiplier % 10 == 0) {
      multiplier /= 10;
    } else if (value % 10 == 0) {
      value /= 10;
    } else {
      value *= multiplier;
      multiplier = 1;
      if (value % 10 != 0) throw ValueError(fmt::format("'{}' is not a whole number of {}", text, scale.whole));
      value /= 10;
    }
  }
  constexpr __int128 kMax = std::numeric_limits<int64_t>::max();
  if (value > kMax / multiplier) throw ValueError(fmt::format("'{}' is too large", text));
  return static_cast<int64_t>(value * multiplier);
}

std::string print_quantity(int64_t value, const UnitScale& scale) {
  const Unit* best = &scale.units.front();
  for (const Unit& unit : scale.units) {
    if (value != 0 && value % unit.multiplier == 0) best = &unit;
  }
  return fmt::format("{}{}", value / best->multiplier, best->suffix);
}

std::optional<int64_t> parse_decimals(std::string_view text, size_t decimals) {
  constexpr size_t kMostDigits = 15;
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view behind = text.substr(std::min(point + 1, text.size()));
  if (point == 0 || point > kMostDigits || behind.size() > decimals) return std::nullopt;
  if (point < text.size() && behind.empty()) return std::nullopt;
  std::string digits(text.substr(0, point));
  digits.append(behind).append(decimals - behind.size(), '0');
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

uint64_t parse_integer(std::string_view text) {
  refuse_negative(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) throw ValueError(fmt::format("'{}' is too large", text));
  if (error != std::errc() || end != text.data() + text.size()) {
    throw ValueError(fmt::format("'{}' is not a whole number", text));
  }
  return value;
}

Scale parse_fraction(std::string_view text) {
  constexpr uint64_t kMax = kGiga;
  const size_t slash = text.find('/');
  const auto part = [&](std::string_view digits) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > kMax) {
      throw ValueError(
          fmt::format("'{}' is not a fraction of whole numbers from 1 to 10^9; write for example 1/64", text));
    }
    return static_cast<int64_t>(value);
  };
  return {part(text.substr(0, slash)), slash == std::string_view::npos ? 1 : part(text.substr(slash + 1))};
}

std::string print_fraction(Scale scale) {
  if (scale.denominator == 1) return fmt::format("{}", scale.numerator);
  return fmt::format("{}/{}", scale.numerator, scale.denominator);
}

uint32_t parse_share(std::string_view text) {
  const int64_t parts = parse_quantity(text, kShareScale);
  if (parts > 1'000'000) throw ValueError(fmt::format("'{}' is more than 100%", text));
  return static_cast<uint32_t>(parts);
}

std::string print_share(uint32_t parts_per_million) {
  std::string text = fmt::format("{}.{:04}", parts_per_million / 10'000, parts_per_million % 10'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

}  // namespace rankwire
