#include "emulator/suite/metric_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/error.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

constexpr std::array kShares = {Unit{"ppm", 1}, Unit{"%", 10'000}};
constexpr std::array kHundredths = {Unit{"%", 1}};

/// A kind of figure: its units, and how many of the least of them the figure counts in.
struct FigureKind {
  std::string_view ending;
  std::span<const Unit> units;
  double own = 1;
};

FigureKind kind_of_name(std::string_view name) {
  const std::array kinds = {
      FigureKind{"_ps", kDurationScale.units, 1},   FigureKind{"_ns", kDurationScale.units, 1e3},
      FigureKind{"_us", kDurationScale.units, 1e6}, FigureKind{"_ms", kDurationScale.units, 1e9},
      FigureKind{"_gbps", kRateScale.units, 1e9},   FigureKind{"_bps", kRateScale.units, 1},
      FigureKind{"bytes", kSizeScale.units, 1},     FigureKind{"ppm", kShares, 1},
      FigureKind{"_s", kDurationScale.units, 1e12},
  };
  for (const FigureKind& kind : kinds)
    if (name.ends_with(kind.ending)) return kind;
  // Of a measurement of whatever unit.
  if (name == "variation") return {name, kHundredths, 100};
  if (name.starts_with("bytes")) return {"bytes", kSizeScale.units, 1};
  return {"", kHundredths, 100};
}

/// Without what stands in brackets, whatever dots it has.
std::string without_brackets(std::string_view path) {
  std::string text;
  bool is_inside = false;
  for (const char c : path) {
    is_inside |= c == '[';
    if (!is_inside) text += c;
    is_inside &= c != ']';
  }
  return text;
}

FigureKind kind_of(std::string_view whole) {
  const std::string bare = without_brackets(whole);
  std::string_view path = bare;
  FigureKind kind;
  do {
    const size_t dot = path.rfind('.');
    const std::string_view part = path.substr(dot == std::string_view::npos ? 0 : dot + 1);
    kind = kind_of_name(part);
    path = path.substr(0, dot == std::string_view::npos ? 0 : dot);
  } while (kind.ending.empty() && !path.empty());
  return kind;
}

/// "Gbit/s" as the scale has it, "Gbps".
std::string with_usual_name(std::string_view unit) {
  constexpr std::string_view kLong = "bit/s";
  if (!unit.ends_with(kLong)) return std::string(unit);
  std::string prefix(unit.substr(0, unit.size() - kLong.size()));
  return (prefix == "k" ? "K" : prefix) + "bps";
}

}  // namespace

double units_in(std::string_view path, std::string_view unit) {
  const FigureKind kind = kind_of(path);
  if (unit.empty()) return 1;
  const auto found = std::ranges::find(kind.units, with_usual_name(unit), &Unit::suffix);
  if (found != kind.units.end()) return static_cast<double>(found->multiplier) / kind.own;
  if (kind.ending.empty()) fail_input("'{}' is a bare number, not in {}", path, unit);
  std::string known;
  for (const Unit& each : kind.units) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.suffix);
  fail_input("'{}' is not in {}, but in one of {}", path, unit, known);
}

}  // namespace rankwire
