#include "emulator/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rankwire {
namespace {

struct Unit {
  double size;
  const char* name;
};

template <size_t N>
std::string scaled(int64_t value, const std::array<Unit, N>& units) {
  const double magnitude = std::abs(static_cast<double>(value));
  for (const Unit& unit : units) {
    if (magnitude >= unit.size && unit.size > 1) {
      return fmt::format("{:.4g} {}", static_cast<double>(value) / unit.size, unit.name);
    }
  }
  return fmt::format("{} {}", value, units.back().name);
}

}  // namespace

std::string readable(Duration duration) {
  static constexpr std::array<Unit, 5> kUnits = {Unit{1e12, "s"}, Unit{1e9, "ms"}, Unit{1e6, "us"}, Unit{1e3, "ns"},
                                                 Unit{1, "ps"}};
  return scaled(duration.ps, kUnits);
}

std::string readable(Bytes bytes) {
  static constexpr std::array<Unit, 5> kUnits = {Unit{0x1p40, "TiB"}, Unit{0x1p30, "GiB"}, Unit{0x1p20, "MiB"},
                                                 Unit{0x1p10, "KiB"}, Unit{1, "B"}};
  return scaled(bytes.count, kUnits);
}

std::string readable_ratio(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "-";
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string readable_gbps(double gbps) {
  return gbps >= 1 ? fmt::format("{:.3f}", gbps) : fmt::format("{:.4g}", gbps);
}

std::string four_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int decimals = 3 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::max(decimals, 0));
}

std::string short_size(Bytes bytes) {
  static constexpr std::array<Unit, 4> kUnits = {Unit{0x1p40, "T"}, Unit{0x1p30, "G"}, Unit{0x1p20, "M"},
                                                 Unit{0x1p10, "K"}};
  for (const Unit& unit : kUnits) {
    const double part = static_cast<double>(bytes.count) / unit.size;
    if (part >= 1) return fmt::format("{:.4g}{}", part, unit.name);
  }
  return fmt::to_string(bytes.count);
}

std::string exact_microseconds(int64_t ps) {
  const uint64_t magnitude = ps < 0 ? 0 - static_cast<uint64_t>(ps) : static_cast<uint64_t>(ps);
  return fmt::format("{}{}.{:06}", ps < 0 ? "-" : "", magnitude / 1'000'000, magnitude % 1'000'000);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

std::string html_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::optional<double> ratio_of(Duration a, Duration b) {
  if (b <= Duration(0)) return std::nullopt;
  return static_cast<double>(a.ps) / static_cast<double>(b.ps);
}

}  // namespace rankwire
