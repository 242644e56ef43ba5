// Memory of large arrays, in huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace rankwire {

/// From this size on arrays are aligned to huge pages, and the system is asked for them (madvise(2), MADV_HUGEPAGE).
/// What is looked up all over an array of many MiB then costs no walk through the page tables, whose own entries no
/// longer take room in the caches. The price is that memory becomes resident in steps of 2 MiB.
constexpr size_t kLargeMemory = 4 << 20;

/// Asks for huge pages where `[begin, begin + bytes)` has whole ones, before the memory is written to. Without effect
/// where the system has none or declines.
void prefer_huge_pages(void* begin, size_t bytes) noexcept;

/// Reserves room for `count` values, in huge pages if it is much.
template <class Value>
void reserve_large(std::vector<Value>& values, size_t count) {
  if (count <= values.capacity()) return;
  values.reserve(count);
  prefer_huge_pages(values.data() + values.size(), (count - values.size()) * sizeof(Value));
}

/// `bytes` of undefined contents, aligned to 64 bytes at least; to be given to std::free. Throws std::bad_alloc.
void* allocate_large(size_t bytes);

/// For containers that may be large: allocate_large, with the alignment that it has.
template <class T>
struct LargeAllocator {
  static_assert(alignof(T) <= 64);
  using value_type = T;

  LargeAllocator() = default;
  template <class Other>
  explicit(false) LargeAllocator(const LargeAllocator<Other>&) noexcept {}

  T* allocate(size_t count) { return static_cast<T*>(allocate_large(sizeof(T) * count)); }
  void deallocate(T* elements, size_t) noexcept { std::free(elements); }
  bool operator==(const LargeAllocator&) const = default;
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace rankwire
