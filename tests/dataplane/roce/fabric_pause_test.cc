// Flow control between transports and a switch: which traffic a pause stops, and for how long. Virtual time.
#include <gtest/gtest.h>

#include <vector>

#include "tests/dataplane/roce/fabric.h"

namespace rankwire {
namespace {

using testing::incast_shape;
using testing::RoceFabric;
using testing::RoceFabricShape;

constexpr Line kPausedLine{Bandwidth(10'000'000'000), nanoseconds(500)};
constexpr uint8_t kDscpOfThree = 26, kDscpOfFour = 34, kDscpOfAnswers = 48;
constexpr uint32_t kReceiver = 2;

/// Data in the priority of `dscp`, and answers in priority 6.
RoceOptions options_marked(uint8_t dscp) {
  RoceOptions options;
  const Marking other{.dscp = kDscpOfAnswers};
  options.markings = {.data = {.dscp = dscp}, .ack = other, .nak = other, .cnp = other};
  options.profile.timeout_exponent = 14;  // 67 ms
  return options;
}

/// Host 0 sends in priority 3, host 1 in priority 4, to host 2 behind the same switch; both priorities are lossless.
class RoceFabricPause : public ::testing::Test {
 protected:
  static constexpr PrioritySet kThree = priority_bit(3), kFour = priority_bit(4);

  explicit RoceFabricPause(std::optional<WatchdogOptions> watchdog = std::nullopt) : network_(shape(watchdog)) {
    network_.start(0), network_.start(1);
    run_for(milliseconds(1));
    network_.take_delivered();
  }

  void run_for(Duration time) { network_.run_until(network_.now() + time); }
  void pause(PrioritySet priorities, uint16_t quanta) {
    Frame frame;
    ASSERT_EQ(network_.port(kReceiver).allocate({&frame, 1}), 1u);
    write_pause(MacAddress(), priority_pause(priorities, quanta), frame);
    ASSERT_EQ(network_.port(kReceiver).transmit(network_.now(), {&frame, 1}), 1u);
  }
  /// Parts of the receiver's line that the flows' payload had since the last call.
  std::vector<double> shares(Duration time) {
    std::vector<double> shares;
    for (const int64_t bytes : network_.take_delivered()) {
      const double most =
          static_cast<double>(kPausedLine.rate.bits_per_second) / 8 * static_cast<double>(time.ps) / 1e12;
      shares.push_back(static_cast<double>(bytes) * 4178 / 4096 / most);
    }
    return shares;
  }

  RoceFabric network_;

 private:
  static RoceFabricShape shape(const std::optional<WatchdogOptions>& watchdog) {
    FabricSwitchOptions device{.latency = microseconds(1)};
    device.classes.lossless = kThree | kFour;
    device.buffer.shared = Bytes(1 << 20);
    device.buffer.ingress.fixed = Bytes(64 << 10);
    device.buffer.headroom = Bytes(32 << 10);
    device.buffer.resume_offset = Bytes(8 << 10);
    device.watchdog = watchdog;
    RoceFabricShape shape = incast_shape(kReceiver, kPausedLine, device, {});
    shape.sides = {{.options = options_marked(kDscpOfThree), .hosts = {0}},
                   {.options = options_marked(kDscpOfFour), .hosts = {1}},
                   {.options = options_marked(kDscpOfThree), .hosts = {kReceiver}}};
    shape.message = 4 * 4096;
    shape.posted = 16;
    return shape;
  }
};

// A pause of 65535 quanta is 3.36 ms at 10 Gb/s.
TEST_F(RoceFabricPause, StopsThePausedPriorityFromHostToHost) {
  std::vector<double> before = shares(milliseconds(1));
  run_for(milliseconds(2));
  before = shares(milliseconds(2));
  EXPECT_NEAR(before[0], 0.5, 0.05);
  EXPECT_NEAR(before[1], 0.5, 0.05);
  pause(kThree, kMaxQuanta);
  run_for(microseconds(100));  // what was on its way, and a message that had begun
  network_.take_delivered();
  const Duration paused_before = network_.side(1).ports()[0].paused[4];
  run_for(milliseconds(3));
  const std::vector<double> during = shares(milliseconds(3));
  EXPECT_EQ(during[0], 0);
  EXPECT_NEAR(during[1], 1, 0.02);
  // The switch has told host 0 to stop, and nobody else anything.
  EXPECT_GT(network_.host_port(0).pauses_tx, 0u);
  EXPECT_GT(network_.side(0).ports()[0].paused[3], milliseconds(2));
  EXPECT_EQ(network_.side(0).ports()[0].paused[4], Duration());
  EXPECT_EQ(network_.side(1).ports()[0].paused[3], Duration());
  EXPECT_LT(network_.side(1).ports()[0].paused[4] - paused_before, microseconds(30));
  EXPECT_EQ(network_.host_port(kReceiver).paused[4], Duration());
  EXPECT_EQ(network_.drops(), 0u);
  // And then it goes on.
  run_for(milliseconds(1));
  network_.take_delivered();
  run_for(milliseconds(2));
  const std::vector<double> after = shares(milliseconds(2));
  EXPECT_NEAR(after[0], 0.5, 0.05);
  EXPECT_NEAR(after[1], 0.5, 0.05);
  EXPECT_EQ(network_.side(0).counters().timeouts, 0u);
  EXPECT_EQ(network_.side(0).counters().retransmitted, 0u);
}

class RoceFabricStorm : public RoceFabricPause {
 protected:
  static constexpr Duration kDetection = milliseconds(4);
  RoceFabricStorm() : RoceFabricPause(WatchdogOptions{.detection = kDetection, .restoration = kDetection}) {}
};

// The receiver pauses priority 3 every millisecond. When the watchdog has found that, the frames of the storm no longer
// hold the buffer, so host 0 is let go; its frames are dropped, and host 1's never are.
TEST_F(RoceFabricStorm, IsEndedByTheWatchdogAndPassesNoPauseOn) {
  for (int i = 0; i < 20; ++i) {
    pause(kThree, kMaxQuanta);
    run_for(milliseconds(1));
  }
  EXPECT_EQ(network_.host_port(kReceiver).storms, 1u);
  EXPECT_GT(network_.drops(FabricDrop::kWatchdog), 0u);
  EXPECT_EQ(network_.drops(), network_.drops(FabricDrop::kWatchdog));
  // Paused by the switch until the storm was found, 5 ms after it began at the latest.
  const Duration paused = network_.side(0).ports()[0].paused[3];
  EXPECT_GT(paused, milliseconds(2));
  EXPECT_LT(paused, milliseconds(5));
  const std::vector<double> shares_of_20_ms = shares(milliseconds(20));
  EXPECT_NEAR(shares_of_20_ms[1], 1, 0.02);
  EXPECT_EQ(network_.side(1).counters().retransmitted, 0u);
  // The storm is over: 4 ms later the watchdog lets the queue go, and the time-out of 67 ms repairs what was dropped.
  pause(kThree, 0);
  run_for(milliseconds(200));
  network_.take_delivered();
  run_for(milliseconds(5));
  const std::vector<double> after = shares(milliseconds(5));
  EXPECT_NEAR(after[0], 0.5, 0.05);
  EXPECT_NEAR(after[1], 0.5, 0.05);
  EXPECT_EQ(network_.messages_failed(0), 0u);
}

}  // namespace
}  // namespace rankwire
