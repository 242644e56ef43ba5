// Replaces the global operator new of a test binary by one that counts, for tests of code that must take no memory.
// Include it in one source file of the binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace rankwire::testing {

/// Calls of operator new by the current thread so far.
inline thread_local uint64_t allocations = 0;

inline void* counted_memory(std::size_t size, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

}  // namespace rankwire::testing

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = rankwire::testing::counted_memory(size, alignof(std::max_align_t))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = rankwire::testing::counted_memory(size, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return rankwire::testing::counted_memory(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
