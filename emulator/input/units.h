// Quantities as text: "400Gbps", "1MiB", "1.5us", "312Tflops", "1/64", "0.1%". G = 10^9, Gi = 2^30.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/units.h"

namespace rankwire {

/// Why a text is not a value; says nothing of where it stands, which the reader of the file adds.
class ValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Unit {
  std::string_view suffix;
  int64_t multiplier;  ///< in the base unit of its scale
};

/// The units of one dimension. Suffixes are exact, case included.
struct UnitScale {
  std::span<const Unit> units;    ///< by rising multiplier; the first is the base unit
  std::string_view whole;         ///< what a value must be a whole number of: "bytes"
  std::string_view usual_suffix;  ///< for the example in an error
};

extern const UnitScale kSizeScale;      ///< B, KB .. TB, KiB .. TiB
extern const UnitScale kDurationScale;  ///< ps, ns, us, ms, s
extern const UnitScale kRateScale;      ///< bps, Kbps .. Tbps
extern const UnitScale kFlopsScale;     ///< flops, Kflops .. Eflops: floating-point operations a second

/// A non-negative decimal number and a unit, in base units. Throws ValueError for a missing or unknown unit, a value
/// that is not a whole number of base units, and one beyond 2^63 - 1.
int64_t parse_quantity(std::string_view text, const UnitScale& scale);
/// In the largest unit that needs no decimals; `parse_quantity` gives `value` (>= 0) back.
std::string print_quantity(int64_t value, const UnitScale& scale);

/// "N" or "N/D", both 1 .. 10^9.
Scale parse_fraction(std::string_view text);
std::string print_fraction(Scale scale);

/// "1%", "0.0001%" or "100ppm" as parts per million, 0 .. 1,000,000.
uint32_t parse_share(std::string_view text);
/// In percent.
std::string print_share(uint32_t parts_per_million);

/// A decimal number without a unit and with at most `decimals` digits behind the point, times 10^decimals; nothing when
/// the text is something else, or has more than 15 digits before the point or does not fit 64 bits.
std::optional<int64_t> parse_decimals(std::string_view text, size_t decimals);

/// Digits only, 0 .. 2^64 - 1.
uint64_t parse_integer(std::string_view text);

}  // namespace rankwire
