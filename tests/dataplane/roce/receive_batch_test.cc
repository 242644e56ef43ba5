#include "dataplane/roce/receive_batch.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"

namespace rankwire {
namespace {

class ReceiveBatchTest : public ::testing::Test {
 protected:
  static constexpr size_t kPool = 64;

  void send(size_t count) {
    std::vector<Frame> frames(count);
    ASSERT_EQ(links_.first->allocate(frames), count);
    for (Frame& frame : frames) frame.head_length = 60;
    ASSERT_EQ(links_.first->transmit(Time(), frames), count);
  }
  FramePort& port() { return *links_.second; }

  FramePool pool_{kPool};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_ = make_memory_link(pool_, kPool, "link");
  ReceiveBatch batch_;
};

TEST_F(ReceiveBatchTest, GivesAllBackWhenNoneIsKept) {
  send(ReceiveBatch::kFrames + 3);
  const std::span<Frame> first = batch_.receive(port(), Time());
  EXPECT_EQ(first.size(), ReceiveBatch::kFrames);
  batch_.release(port(), first);
  EXPECT_EQ(pool_.available(), kPool - 3);
  const std::span<Frame> rest = batch_.receive(port(), Time());
  EXPECT_EQ(rest.size(), 3u);
  batch_.release(port(), rest);
  EXPECT_EQ(pool_.available(), kPool);
  EXPECT_TRUE(batch_.receive(port(), Time()).empty());
}

TEST_F(ReceiveBatchTest, ThoseThatAreKeptAreTheirKeepers) {
  send(ReceiveBatch::kFrames);
  const std::span<Frame> frames = batch_.receive(port(), Time());
  ASSERT_EQ(frames.size(), ReceiveBatch::kFrames);
  const Frame first = frames.front(), last = frames.back();
  batch_.keep(frames.front());
  batch_.keep(frames.back());
  batch_.release(port(), frames);
  EXPECT_EQ(pool_.available(), kPool - 2);
  for (const Frame& frame : {first, last}) port().release({&frame, 1});
  EXPECT_EQ(pool_.available(), kPool);

  send(1);
  batch_.release(port(), batch_.receive(port(), Time()));
  EXPECT_EQ(pool_.available(), kPool) << "what was kept of one batch is not of the next";
}

}  // namespace
}  // namespace rankwire
