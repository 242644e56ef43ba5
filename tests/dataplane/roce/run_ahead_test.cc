#include "dataplane/roce/run_ahead.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class RunAheadTest : public PartsTest {
 protected:
  // On the line of 100 Gb/s, 80 ps a byte: 4096 of payload, 58 of headers and ICRC, 24 of the line, and RETH 16.
  static constexpr Duration kFirst = Duration(80 * (4096 + 58 + 24 + 16));
  static constexpr Duration kMiddle = Duration(80 * (4096 + 58 + 24));

  /// Both lanes have nothing to do at time 0.
  void start() {
    make_with_bells();
    parts_->loop.turn(Time());
  }
  /// When the frames were sent that have left the lane.
  std::vector<Time> sent_by(uint32_t lane) {
    std::array<Frame, kQueueFrames> frames;
    const size_t n = far_ends_[lane]->receive(Time::never(), frames);
    std::vector<Time> times;
    for (const Frame& frame : std::span(frames).first(n)) times.push_back(frame.arrival);
    far_ends_[lane]->release(std::span(frames).first(n));
    return times;
  }
};

TEST_F(RunAheadTest, WithoutBellsNothingIsDone) {
  make();
  post(1000);
  EXPECT_EQ(parts_->run_ahead.run(Time() + microseconds(1)), parts_->loop.next_event());
  EXPECT_EQ(parts_->counters.packets_tx(), 0u);
}

// Both lanes send messages of eight packets: what begins before the limit is sent, at its own time.
TEST_F(RunAheadTest, EachLaneGoesOnToTheLimit) {
  start();
  for (const uint32_t connection : {0u, 1u}) post(8 * 4096, Time(), 0, connection);
  const Time limit = Time() + kFirst + kMiddle + Duration(1);
  EXPECT_EQ(parts_->run_ahead.run(limit), Time() + kFirst + kMiddle * 2);
  for (const uint32_t lane : {0u, 1u})
    EXPECT_EQ(sent_by(lane), (std::vector<Time>{Time(), Time() + kFirst, Time() + kFirst + kMiddle}));
  EXPECT_EQ(parts_->loop.now(), limit - Duration(1));
}

// The message arrives at lane 1 while lane 0 has more to send than that takes.
TEST_F(RunAheadTest, NoneGoesBeyondWhatTheApplicationMustHear) {
  start();
  post(1000);
  parts_->loop.turn(Time());
  const Time arrival = Time() + microseconds(2);
  ASSERT_EQ(carry(0, microseconds(2)), 1u);
  post(30 * 4096, Time(), 1);
  EXPECT_EQ(parts_->run_ahead.run(Time() + microseconds(5)), arrival);
  EXPECT_EQ(take_delivered().size(), 1u);
  for (const Time time : sent_by(0)) EXPECT_LE(time, arrival);
}

// 4.096 us x 2 is a time-out. Nothing is answered: both packets go out again when one has passed since the second,
// which asked for an answer.
TEST_F(RunAheadTest, NoLaneGoesOnPastATimeOutThatBeginsMeanwhile) {
  options_.profile.timeout_exponent = 1;
  start();
  post(2 * 4096);
  parts_->run_ahead.run(Time() + microseconds(10));
  const Time again = Time() + kFirst + nanoseconds(8192);
  EXPECT_EQ(sent_by(0), (std::vector<Time>{Time(), Time() + kFirst, again, again + kFirst}));
}

// The second packet is sent in the first step, which goes on to its end.
TEST_F(RunAheadTest, WithoutTimeOutsAStepIsAMillisecond) {
  options_.profile.timeout_exponent = 0;
  start();
  post(2 * 4096);
  EXPECT_EQ(parts_->run_ahead.run(Time() + milliseconds(3)), Time::never());
  EXPECT_EQ(sent_by(0), (std::vector<Time>{Time(), Time() + kFirst}));
  EXPECT_EQ(parts_->loop.now(), Time() + kFirst + milliseconds(1) - Duration(1));
}

}  // namespace
}  // namespace rankwire
