#include "base/large_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "base/untouched_array.h"

namespace rankwire {
namespace {

uintptr_t address(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

TEST(LargeMemory, IsAlignedToWhatItIsMadeOf) {
  const UntouchedArray<uint8_t> small(kLargeMemory - 1), large(kLargeMemory);
  EXPECT_EQ(address(small.data()) % 64, 0u);
  EXPECT_EQ(address(large.data()) % (2 << 20), 0u) << "a huge page of x86-64 has 2 MiB";
  LargeVector<uint8_t> elements(3 * kLargeMemory, 7);
  EXPECT_EQ(address(elements.data()) % (2 << 20), 0u);
  EXPECT_EQ(elements.back(), 7);
}

/// Resident is what mincore(2) finds: pages that nobody wrote to are not.
TEST(LargeMemory, IsNotTouchedByWhoAllocatesIt) {
  constexpr size_t kBytes = 64 << 20;
  const UntouchedArray<uint8_t> array(kBytes);
  array.data()[0] = 1;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(kBytes / page);
  ASSERT_EQ(mincore(array.data(), kBytes, resident.data()), 0);
  size_t pages = 0;
  for (const unsigned char state : resident) pages += state & 1;
  EXPECT_GE(pages, 1u);
  EXPECT_LE(pages * page, size_t{2 << 20}) << "at most the one huge page that was written to";
}

TEST(LargeMemory, BeginsToBeResidentWhereThatIsAskedFor) {
  UntouchedArray<uint8_t> array(64 << 20);
  unsigned char state = 0;
  array.touch_first();
  ASSERT_EQ(mincore(array.data(), 1, &state), 0);
  EXPECT_EQ(state & 1, 1);
}

TEST(LargeMemory, MoreThanThereIsIsRefused) {
  EXPECT_THROW(allocate_large(SIZE_MAX), std::bad_alloc);
}

}  // namespace
}  // namespace rankwire
