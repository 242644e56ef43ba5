#include "emulator/input/size_table.h"

#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/input_file.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

constexpr std::string_view kSizeHeading = "bytes,cumulative";

SizePoint size_point(const std::string& line, const SizePoint* before) {
  const size_t comma = line.find(',');
  if (comma == std::string::npos || line.find(',', comma + 1) != std::string::npos)
    throw ValueError(fmt::format("'{}' is not a number of bytes, a comma and a part of 1, as in 4000,0.25", line));
  const std::string_view bytes = std::string_view(line).substr(0, comma),
                         part = std::string_view(line).substr(comma + 1);
  const uint64_t count = parse_integer(bytes);
  if (count >= uint64_t{1} << 31) throw ValueError(fmt::format("bytes: {} is above {}", count, INT32_MAX));
  const std::optional<int64_t> cumulative = parse_decimals(part, 9);
  if (!cumulative || static_cast<uint64_t>(*cumulative) > SizeDistribution::kWhole)
    throw ValueError(fmt::format("cumulative: '{}' is not 0 .. 1 with at most nine decimals", part));
  const SizePoint point{Bytes(static_cast<int64_t>(count)), static_cast<uint64_t>(*cumulative)};
  if (before != nullptr && point.bytes < before->bytes)
    throw ValueError(fmt::format("bytes: {} is below {} of the point before", point.bytes.count, before->bytes.count));
  if (before != nullptr && point.cumulative < before->cumulative)
    throw ValueError(fmt::format("cumulative: '{}' is below that of the point before", part));
  return point;
}

}  // namespace

std::vector<SizePoint> read_size_table(const std::filesystem::path& file) {
  std::ifstream in = open_input(file, "a table of sizes");
  std::vector<SizePoint> points;
  bool has_heading = false;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    try {
      if (!has_heading) {
        if (line != kSizeHeading) throw ValueError(fmt::format("'{}' is not the first line '{}'", line, kSizeHeading));
        has_heading = true;
      } else {
        points.push_back(size_point(line, points.empty() ? nullptr : &points.back()));
      }
    } catch (const ValueError& error) {
      fail_input("{}:{}: {}", file.string(), number, error.what());
    }
  }
  if (points.empty()) fail_input("{}: the table of sizes has no points", file.string());
  if (points.back().cumulative != SizeDistribution::kWhole)
    fail_input("{}:{}: cumulative: the last point must be 1: no message is larger", file.string(), number);
  return points;
}

}  // namespace rankwire
