// Large arrays in large pages.
#pragma once

#include <cstddef>
#include <vector>

namespace rankwire {

/// Asks the kernel to put `[begin, begin + bytes)` into huge pages where it touches whole ones (madvise(2),
/// MADV_HUGEPAGE), so that filling an array of many megabytes is not one page fault for each 4 KiB. To be called before
/// the memory is written to. Without effect where the kernel has none or declines.
void prefer_huge_pages(void* begin, size_t bytes) noexcept;

/// Reserves room for `count` values, in huge pages if it is much.
template <class Value>
void reserve_large(std::vector<Value>& values, size_t count) {
  if (count <= values.capacity()) return;
  values.reserve(count);
  prefer_huge_pages(values.data() + values.size(), (count - values.size()) * sizeof(Value));
}

}  // namespace rankwire
