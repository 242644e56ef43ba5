#include "base/large_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace rankwire {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = 2 << 20;

constexpr size_t aligned(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

void prefer_huge_pages(void* begin, size_t bytes) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = aligned(address, kHugePage), end = (address + bytes) / kHugePage * kHugePage;
  // Where the system has none, or refuses, small pages do as well.
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

void* allocate_large(size_t bytes) {
  const size_t alignment = bytes < kLargeMemory ? kCacheLine : kHugePage;
  const size_t size = aligned(bytes, alignment);
  if (size < bytes) throw std::bad_alloc();
  void* const memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr && size > 0) throw std::bad_alloc();
  if (size >= kLargeMemory) prefer_huge_pages(memory, size);
  return memory;
}

}  // namespace rankwire
