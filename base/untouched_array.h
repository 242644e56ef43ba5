// Memory of which only the pages that are used become resident.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "base/large_memory.h"

namespace rankwire {

/// Elements with undefined contents, aligned to cache lines, or large_memory. Nothing is written before the owner
/// writes it, or asks for it.
template <class T>
class UntouchedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  /// Throws std::bad_alloc.
  explicit UntouchedArray(size_t count) : elements_(static_cast<T*>(allocate_large(sizeof(T) * count))) {}

  /// Makes the page of the first element resident, whose contents stay undefined: a huge page that is touched in the
  /// middle of a run makes it wait for 2 MiB of zeros. The array is not empty.
  void touch_first() noexcept { *reinterpret_cast<volatile unsigned char*>(elements_.get()) = 0; }

  T* data() const noexcept { return elements_.get(); }
  T& operator[](size_t i) noexcept { return elements_.get()[i]; }
  const T& operator[](size_t i) const noexcept { return elements_.get()[i]; }

 private:
  struct Free {
    void operator()(T* elements) const { std::free(elements); }
  };
  std::unique_ptr<T, Free> elements_;
};

}  // namespace rankwire
