#include "converters/model_sizes.h"

#include <limits>

#include "base/error.h"

namespace rankwire {

int64_t checked_size(__int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) fail_input("the model is too large: a size exceeds 2^63 - 1");
  return static_cast<int64_t>(value);
}

int64_t size_product(std::initializer_list<int64_t> factors) {
  int64_t value = 1;
  for (const int64_t factor : factors) value = checked_size(static_cast<__int128>(value) * factor);
  return value;
}

int64_t size_sum(std::initializer_list<int64_t> addends) {
  int64_t value = 0;
  for (const int64_t addend : addends) value = checked_size(static_cast<__int128>(value) + addend);
  return value;
}

uint64_t micros_of(Bytes size, Bandwidth rate) {
  return micros_at_peak(size_product({size.count, 8}), rate.bits_per_second);
}

uint64_t micros_at_peak(int64_t flops, int64_t peak) {
  const __int128 operations = static_cast<__int128>(flops) * 1'000'000;
  const int64_t micros = checked_size((operations + peak - 1) / peak);
  return micros < 1 ? 1 : static_cast<uint64_t>(micros);
}

}  // namespace rankwire
