// Sizes, operations and durations that tell less than the exact ones.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

namespace rankwire {

enum class Coarseness : uint8_t {
  kKeep,
  kRounded,   ///< to two significant digits
  kBucketed,  ///< to few values that are the same for every set
  kShifted,   ///< times a secret factor
};

/// What an amount is of. Collectives have their own class each, whose number is that of CollectiveKind.
enum AmountClass : uint8_t { kMessageAmount = 10, kSplitAmount, kTensorAmount, kOperationsAmount };

/// Makes amounts coarse. Those that are equal and of one class stay equal, so that ranks that agreed about a size still
/// do. 0 and what is negative stay as they are. Values stay multiples of the largest power of two up to 256 that
/// divides the original, as far as they are no smaller, so that elements stay whole.
///
/// kBucketed: of a class in one set, each amount becomes one of four constants, by the quarter of the set's operations
/// of that class, sorted by amount, in which the middle of those with this amount lies. So neither a size nor a ratio
/// of sizes survives: 4 KiB, 64 KiB, 1 MiB, 16 MiB; of operations 1e6, 1e8, 1e10, 1e12.
class CoarseAmounts {
 public:
  /// `factor` is for kShifted.
  CoarseAmounts(Coarseness coarseness, double factor) : coarseness_(coarseness), factor_(factor) {}

  /// Of all amounts of the set, then `settle`, then `of`. Memory: some 50 bytes a distinct amount, for kBucketed alone.
  void survey(uint8_t amount_class, int64_t amount);
  void settle();
  int64_t of(uint8_t amount_class, int64_t amount) const;

 private:
  Coarseness coarseness_;
  double factor_;
  /// By class and amount: how often, and from `settle` on what becomes of it.
  std::map<uint8_t, std::map<int64_t, int64_t>> seen_;
};

/// Of a duration in microseconds: two significant digits, or with kBucketed the next power of four.
uint64_t coarse_duration(Coarseness coarseness, uint64_t micros);

}  // namespace rankwire
