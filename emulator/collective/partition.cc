#include "emulator/collective/partition.h"

#include <algorithm>

namespace rankwire {

Extent partition(Extent whole, uint32_t i, uint32_t n, Bytes element) {
  const int64_t elements = whole.bytes.count / element.count;
  const int64_t quotient = elements / n, remainder = elements % n;
  const int64_t first = quotient * i + std::min<int64_t>(i, remainder);
  const int64_t length = quotient + (i < remainder ? 1 : 0);
  return {whole.offset + Bytes(first * element.count), Bytes(length * element.count)};
}

}  // namespace rankwire
