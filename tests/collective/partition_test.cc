#include "emulator/collective/partition.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// 11 elements of 4 bytes in 4 parts: 3, 3, 3, 2 elements from byte 100 on.
TEST(Partition, GivesTheFirstPartsTheRemainder) {
  const Extent whole{Bytes(100), Bytes(44)};
  EXPECT_EQ(partition(whole, 0, 4, Bytes(4)), (Extent{Bytes(100), Bytes(12)}));
  EXPECT_EQ(partition(whole, 1, 4, Bytes(4)), (Extent{Bytes(112), Bytes(12)}));
  EXPECT_EQ(partition(whole, 2, 4, Bytes(4)), (Extent{Bytes(124), Bytes(12)}));
  EXPECT_EQ(partition(whole, 3, 4, Bytes(4)), (Extent{Bytes(136), Bytes(8)}));
}

TEST(Partition, LeavesTheLastPartsEmptyWhenThereAreFewElements) {
  const Extent whole{Bytes(0), Bytes(4)};
  EXPECT_EQ(partition(whole, 0, 3, Bytes(2)).bytes, Bytes(2));
  EXPECT_EQ(partition(whole, 1, 3, Bytes(2)).bytes, Bytes(2));
  EXPECT_EQ(partition(whole, 2, 3, Bytes(2)), (Extent{Bytes(4), Bytes(0)}));
}

TEST(Partition, CoversTheWholeWithoutGapOrOverlap) {
  for (int64_t elements = 0; elements < 200; elements += 7)
    for (uint32_t n = 1; n < 20; ++n) {
      const Extent whole{Bytes(10), Bytes(elements * 3)};
      Bytes next = whole.offset;
      for (uint32_t i = 0; i < n; ++i) {
        const Extent part = partition(whole, i, n, Bytes(3));
        EXPECT_EQ(part.offset, next);
        EXPECT_EQ(part.bytes.count % 3, 0);
        next = part.offset + part.bytes;
      }
      EXPECT_EQ(next, whole.offset + whole.bytes);
    }
}

}  // namespace
}  // namespace rankwire
