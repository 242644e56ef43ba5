#include "dataplane/switch/pauses.h"

#include <span>

#include "tests/dataplane/switch/parts.h"

namespace rankwire {
namespace {

class FabricPausesTest : public testing::FabricPartsTest {
 protected:
  static constexpr uint32_t kPort = 0;  ///< of a star

  FabricPauses& make_pauses() {
    device_.classes.lossless = kThree | kFour;
    return make(star(lines(2))).pauses;
  }
  FabricPort& port() { return parts_->tables.ports[kPort]; }
};

TEST_F(FabricPausesTest, ALosslessPriorityIsPausedForItsQuanta) {
  FabricPauses& pauses = make_pauses();
  EXPECT_TRUE(pauses.obey(kPort, priority_pause(kThree, 100), Time(1'000)));
  EXPECT_EQ(pauses.paused(kPort, Time(1'000)), kThree);
  EXPECT_EQ(pauses.paused(kPort, Time(1'000 + 100 * kQuantum - 1)), kThree);
  EXPECT_EQ(pauses.paused(kPort, Time(1'000 + 100 * kQuantum)), 0);
  EXPECT_EQ(pauses.paused(kPort + 1, Time(1'000)), 0);
  EXPECT_EQ(pauses.time_paused(kPort, 3, Time(1'000 + 200 * kQuantum)), Duration(100 * kQuantum));
}

TEST_F(FabricPausesTest, ALossyPriorityIsNotPaused) {
  FabricPauses& pauses = make_pauses();
  EXPECT_FALSE(pauses.obey(kPort, priority_pause(priority_bit(0), 100), Time()));
  EXPECT_EQ(pauses.paused(kPort, Time()), 0);
  EXPECT_EQ(parts_->tables.counters(kPort).pauses_rx, 1u);
  PauseFrame global{.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities};
  global.quanta.fill(100);
  EXPECT_TRUE(pauses.obey(kPort, global, Time()));  // but with the whole line
  EXPECT_EQ(pauses.paused(kPort, Time()), kAllPriorities);
}

TEST_F(FabricPausesTest, EachPriorityGoesOnAtItsTime) {
  FabricPauses& pauses = make_pauses();
  PauseFrame pause = priority_pause(kThree | kFour, 100);
  pause.quanta[4] = 200;
  pauses.obey(kPort, pause, Time());
  EXPECT_EQ(pauses.paused(kPort, Time(100 * kQuantum - 1)), kThree | kFour);
  EXPECT_EQ(pauses.paused(kPort, Time(100 * kQuantum)), kFour);
  EXPECT_EQ(pauses.paused(kPort, Time(200 * kQuantum)), 0);
  // The first is waited for, once.
  pauses.await_expiry(kPort, Time());
  pauses.await_expiry(kPort, Time());
  EXPECT_EQ(parts_->agenda.size(), 1u);
  const FabricEvent event = next_event();
  EXPECT_EQ(event.kind(), FabricEventKind::kExpire);
  EXPECT_EQ(event.at, Time(100 * kQuantum));
}

TEST_F(FabricPausesTest, TellsAgainWhenHalfOfThePauseIsOver) {
  device_.pause_quanta = 100;
  FabricPauses& pauses = make_pauses();
  pauses.ask(kPort, 3, Time());
  EXPECT_EQ(pauses.asked(kPort), kThree);
  EXPECT_EQ(port().untold, kThree);
  pauses.note_told(kPort, Time(1'000));
  EXPECT_EQ(port().untold, 0);
  const FabricEvent event = next_event();
  EXPECT_EQ(event.kind(), FabricEventKind::kRefresh);
  EXPECT_EQ(event.at, Time(1'000 + 50 * kQuantum));
  EXPECT_TRUE(pauses.repeat(kPort));
  EXPECT_EQ(port().untold, kThree);
  pauses.let_go_on(kPort, 3);
  EXPECT_EQ(pauses.asked(kPort), 0);
  EXPECT_EQ(port().untold, kThree);  // of which the other end is to know that it may go on
  pauses.note_told(kPort, event.at);
  EXPECT_EQ(parts_->agenda.size(), 0u);
  EXPECT_FALSE(pauses.repeat(kPort));
}

/// Looks every 12.5 us, a quarter of the shorter time. The queue waits from the pause at 0 on, and 100 us are a storm;
/// the pause ends at 110 us, the look at 120 us is the first without one, and 50 us later the storm is over.
TEST_F(FabricPausesTest, AStormTakesAQueueUntilItIsOver) {
  device_.watchdog = WatchdogOptions{.detection = microseconds(100), .restoration = microseconds(50)};
  FabricPauses& pauses = make_pauses();
  pauses.obey(kPort, priority_pause(kThree, kMaxQuanta), Time());
  const FabricEvent look = next_event();
  EXPECT_EQ(look.kind(), FabricEventKind::kWatchdog);
  EXPECT_EQ(look.at, Time() + Duration(12'500'000));
  const FabricTransit frame = parts_->tables.transit(kPort, hold(1, 3));
  port().waiting = kThree;
  EXPECT_EQ(pauses.look_for_storms(kPort, Time() + microseconds(99)), 0);
  EXPECT_FALSE(pauses.discards(frame));
  EXPECT_EQ(pauses.look_for_storms(kPort, Time() + microseconds(100)), kThree);
  EXPECT_TRUE(pauses.discards(frame));
  const std::span<const FabricStorm> storms = parts_->storms.rows();
  ASSERT_EQ(storms.size(), 1u);
  EXPECT_EQ(storms[0],
            (FabricStorm{.port = kPort, .priority = 3, .stuck = Time(), .begin = Time() + microseconds(100)}));
  FabricDrop reason;
  EXPECT_FALSE(parts_->admission.admit(frame, reason));
  EXPECT_EQ(reason, FabricDrop::kWatchdog);

  pauses.obey(kPort, priority_pause(kThree, 0), Time() + microseconds(110));
  for (const int64_t time : {120, 169}) EXPECT_EQ(pauses.look_for_storms(kPort, Time() + microseconds(time)), 0);
  EXPECT_EQ(storms[0].end, Time::never());
  pauses.look_for_storms(kPort, Time() + microseconds(170));
  EXPECT_EQ(storms[0].end, Time() + microseconds(170));
  EXPECT_FALSE(pauses.discards(frame));
}

TEST_F(FabricPausesTest, AStormMayLetAQueueSend) {
  device_.watchdog =
      WatchdogOptions{.detection = microseconds(100), .restoration = microseconds(50), .action = StormAction::kForward};
  FabricPauses& pauses = make_pauses();
  pauses.obey(kPort, priority_pause(kThree | kFour, kMaxQuanta), Time());
  port().waiting = kThree;
  const Time found = Time() + microseconds(100);
  EXPECT_EQ(pauses.look_for_storms(kPort, found), 0);  // nothing is to be discarded
  EXPECT_EQ(pauses.paused(kPort, found), kFour);
  pauses.note_progress(kPort, 3, found);
  EXPECT_EQ(parts_->storms.rows()[0].forwarded, 1u);
}

TEST_F(FabricPausesTest, NoPauseSurvivesACable) {
  FabricPauses& pauses = make_pauses();
  pauses.obey(kPort, priority_pause(kThree, 100), Time());
  pauses.ask(kPort, 4, Time());
  parts_->tables.ingress(kPort, 4).group.paused = true;
  pauses.silence(kPort, Time(1));
  EXPECT_EQ(pauses.paused(kPort, Time(1)), 0);
  EXPECT_EQ(pauses.asked(kPort), 0);
  EXPECT_EQ(port().untold, 0);
  EXPECT_FALSE(parts_->tables.ingress(kPort, 4).group.paused);
}

}  // namespace
}  // namespace rankwire
