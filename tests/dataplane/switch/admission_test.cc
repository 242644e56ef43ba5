#include "dataplane/switch/admission.h"

#include <optional>
#include <vector>

#include "tests/dataplane/switch/parts.h"

namespace rankwire {
namespace {

class FabricAdmissionTest : public testing::FabricPartsTest {
 protected:
  static constexpr uint32_t kInput = 0, kOutput = 1;  ///< of a star

  /// What comes of a frame of 1000 B: it is admitted, and put into the queue as far as lengths go; or not, and why.
  std::optional<FabricDrop> offer(uint8_t priority, const testing::FrameText& text = {}) {
    const FabricTransit frame = parts_->tables.transit(kOutput, hold(kInput, priority, text));
    FabricDrop reason;
    if (!parts_->admission.admit(frame, reason)) return reason;
    frame.queue.queued += frame.length;
    frame.output.waiting |= frame.bit;
    admitted_.push_back(frame.handle);
    return std::nullopt;
  }
  FabricTransit admitted(size_t n) { return parts_->tables.transit(kOutput, admitted_.at(n)); }
  Bytes used() const { return parts_->tables.switches[0].buffer.used(); }

  std::vector<uint32_t> admitted_;
};

/// An output queue may have as much as is free: of 10 kB with n frames in the queue one more is admitted when
/// 1000 (n + 1) <= 10000 - 1000 n, which 5 frames are.
TEST_F(FabricAdmissionTest, ALossyQueueHasItsShareOfWhatIsFree) {
  device_.buffer.shared = Bytes(10'000);
  device_.buffer.egress = {.exponent = 0, .fixed = std::nullopt};
  make(star(lines(2)));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(offer(0), std::nullopt) << i;
  EXPECT_EQ(offer(0), FabricDrop::kTail);
  EXPECT_EQ(used(), Bytes(5'000));
  EXPECT_FALSE(FabricAdmission::pauses_group(admitted(4)));  // lossy
}

/// A group may have 3 frames of the shared buffer, which is XOFF, then 2 in its headroom. It goes on at a frame below
/// the limit: when, headroom first, 3 of the 5 have left.
TEST_F(FabricAdmissionTest, ALosslessGroupIsPausedAndGoesOn) {
  device_.classes.lossless = priority_bit(3);
  device_.buffer.ingress.fixed = Bytes(3'000);
  device_.buffer.headroom = Bytes(2'000);
  device_.buffer.resume_offset = Bytes(1'000);
  make(star(lines(2)));
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(offer(3), std::nullopt) << i;
    EXPECT_EQ(FabricAdmission::pauses_group(admitted(i)), i == 2) << i;  // once
  }
  EXPECT_EQ(offer(3), FabricDrop::kHeadroom);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(FabricAdmission::releases_group(admitted(i)), i == 2) << i;
  EXPECT_EQ(used(), Bytes());
}

TEST_F(FabricAdmissionTest, AQueueHasNoMoreThanItsBound) {
  device_.buffer.queue_limit = Bytes(2'500);
  make(star(lines(2)));
  EXPECT_EQ(offer(0), std::nullopt);
  EXPECT_EQ(offer(0), std::nullopt);
  EXPECT_EQ(offer(0), FabricDrop::kTail);
  EXPECT_EQ(offer(0, {.length = 500}), std::nullopt);
}

/// A threshold of one frame: the third to come finds two.
TEST_F(FabricAdmissionTest, RedMarksOrDropsWhatFindsMoreThanItsThreshold) {
  device_.red = RedOptions{.minimum = Bytes(1'000), .maximum = Bytes(1'000), .not_capable = NotCapable::kDrop};
  FabricParts& parts = make(star(lines(2)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(offer(0), std::nullopt) << i;
  for (const size_t i : {0, 1, 2})
    EXPECT_EQ(parts.tables.packets.frame(admitted_[i]).head[15] & 3, i == 2 ? 3 : 2) << i;  // CE or ECT(0)
  EXPECT_EQ(parts.tables.counters(kOutput).marks, 1u);
  EXPECT_EQ(offer(0, {.ecn = 0}), FabricDrop::kEarly);
  EXPECT_EQ(used(), Bytes(3'000));  // not charged
}

TEST_F(FabricAdmissionTest, NothingIsForACableThatIsDown) {
  make(star(lines(2))).tables.ports[kOutput].up = false;
  EXPECT_EQ(offer(0), FabricDrop::kCableDown);
  EXPECT_EQ(used(), Bytes());
}

}  // namespace
}  // namespace rankwire
