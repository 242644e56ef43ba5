// Numbers and texts for people and for files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/name_pattern.h"
#include "base/units.h"

namespace rankwire {

/// With the largest unit that leaves at least 1, four significant digits: "12.35 us", "0 ps".
std::string readable(Duration duration);
/// Powers of two: "1.5 MiB", "17 B".
std::string readable(Bytes bytes);
/// "1.034", or "-" when absent.
std::string readable_ratio(std::optional<double> ratio);
/// "1 step", "3 steps".
std::string counted(uint64_t count, std::string_view noun);
/// A bandwidth in Gbit/s: "1.325", and below 1 four significant digits, "0.0001234".
std::string readable_gbps(double gbps);
/// Without an exponent and with four significant digits or all before the point: "0.0001235", "12.35", "123457", "0".
std::string four_digits(double value);
/// A size in the way of nccl-tests: "8", "1K", "1.5M", by powers of 1024.
std::string short_size(Bytes bytes);
/// Microseconds as an exact decimal, "-1.000001": a `double` would lose picoseconds after two hours.
std::string exact_microseconds(int64_t ps);

/// A field of RFC 4180: quoted only where it must be.
std::string csv_field(std::string_view text);
/// For element content and quoted attributes.
std::string html_escaped(std::string_view text);

/// a / b, absent unless b is positive.
std::optional<double> ratio_of(Duration a, Duration b);

}  // namespace rankwire
