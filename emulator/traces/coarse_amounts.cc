#include "emulator/traces/coarse_amounts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace rankwire {
namespace {

constexpr int kQuarters = 4;
constexpr std::array<int64_t, kQuarters> kSizes = {int64_t{4} << 10, int64_t{64} << 10, int64_t{1} << 20,
                                                   int64_t{16} << 20};
constexpr std::array<int64_t, kQuarters> kOperations = {1'000'000, 100'000'000, 10'000'000'000, 1'000'000'000'000};

/// Half of the last digit that stays goes up.
uint64_t two_digits(uint64_t value) {
  uint64_t unit = 1;
  while (value / unit >= 100) unit *= 10;
  return (value / unit + (value % unit * 2 >= unit && unit > 1 ? 1 : 0)) * unit;
}

/// A multiple of the largest power of two up to 256 that divides `original`; the nearest, but not 0.
int64_t aligned(double value, int64_t original) {
  const int64_t unit = int64_t{1} << std::min(8, std::countr_zero(static_cast<uint64_t>(original)));
  constexpr double kMost = 9e18;  // below 2^63
  return std::max<int64_t>(1, std::llround(std::min(value, kMost) / static_cast<double>(unit))) * unit;
}

}  // namespace

void CoarseAmounts::survey(uint8_t amount_class, int64_t amount) {
  if (coarseness_ == Coarseness::kBucketed && amount > 0) ++seen_[amount_class][amount];
}

void CoarseAmounts::settle() {
  for (auto& [amount_class, counts] : seen_) {
    const auto& values = amount_class == kOperationsAmount ? kOperations : kSizes;
    int64_t all = 0, below = 0;
    for (const auto& [amount, count] : counts) all += count;
    for (auto& [amount, count] : counts) {
      const double middle = (static_cast<double>(below) + static_cast<double>(count) / 2) / static_cast<double>(all);
      below += count;
      count = values[static_cast<size_t>(middle * kQuarters)];
    }
  }
}

int64_t CoarseAmounts::of(uint8_t amount_class, int64_t amount) const {
  if (amount <= 0) return amount;
  switch (coarseness_) {
    case Coarseness::kKeep:
      return amount;
    case Coarseness::kRounded:
      return aligned(static_cast<double>(two_digits(static_cast<uint64_t>(amount))), amount);
    case Coarseness::kBucketed:
      return seen_.at(amount_class).at(amount);
    case Coarseness::kShifted:
      return aligned(static_cast<double>(amount) * factor_, amount);
  }
  return amount;
}

uint64_t coarse_duration(Coarseness coarseness, uint64_t micros) {
  if (micros == 0 || coarseness == Coarseness::kKeep) return micros;
  if (coarseness == Coarseness::kRounded) return two_digits(micros);
  uint64_t power = 1;
  while (power < micros && power <= UINT64_MAX / 4) power *= 4;
  return power;
}

}  // namespace rankwire
