#include "dataplane/neighbours/frame_queue.h"

#include <gtest/gtest.h>

#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire {
namespace {

using testing::FrameBytes;

TEST(FrameQueue, KeepsOrderAndBytesAroundItsEnd) {
  FrameQueue queue(1000);
  uint32_t pushed = 0, popped = 0;
  const auto frame = [](uint32_t n) { return FrameBytes(n * 37 % 400, static_cast<uint8_t>(n)); };
  for (int round = 0; round < 2000; ++round) {
    if (round % 3 != 2) {
      if (queue.push(frame(pushed))) ++pushed;
    } else if (!queue.empty()) {
      const auto bytes = queue.pop();
      ASSERT_EQ(FrameBytes(bytes.begin(), bytes.end()), frame(popped)) << popped;
      ++popped;
    }
  }
  for (; !queue.empty(); ++popped) {
    const auto bytes = queue.pop();
    ASSERT_EQ(FrameBytes(bytes.begin(), bytes.end()), frame(popped)) << popped;
  }
  EXPECT_EQ(pushed, popped);
  EXPECT_GT(pushed, 500u);
  EXPECT_FALSE(queue.push(FrameBytes(999)));  // with its length: 1001 bytes
  EXPECT_TRUE(queue.push(FrameBytes(998)));
}

}  // namespace
}  // namespace rankwire
