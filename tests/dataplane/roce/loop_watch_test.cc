#include "dataplane/roce/loop_watch.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

constexpr Duration kStandstill = microseconds(100), kGrace = microseconds(500);

constexpr Time at(int64_t us) {
  return Time() + microseconds(us);
}

TEST(LoopWatch, PutsTimeOutsOffAfterALongGap) {
  LoopWatch watch(kStandstill, kGrace, false);
  for (const int64_t us : {0, 100, 200}) watch.look(at(us));
  EXPECT_EQ(watch.hold_until(), Time::long_ago()) << "no gap is longer than 100 us";
  watch.look(at(301));
  EXPECT_EQ(watch.hold_until(), at(301 + 500));
}

TEST(LoopWatch, TheFirstLookAndTheJumpToRunTimeAreNoGaps) {
  LoopWatch watch(kStandstill, kGrace, false);
  watch.look(at(-5'000'000));
  watch.look(at(-5'000'000 + 50));
  watch.look(at(0));
  EXPECT_EQ(watch.hold_until(), Time::long_ago());
  watch.look(at(101));
  EXPECT_EQ(watch.hold_until(), at(101 + 500)) << "the next gap is one";
}

TEST(LoopWatch, ALoopThatIsAlwaysSlowIsBelieved) {
  LoopWatch watch(kStandstill, kGrace, false);
  int64_t us = 0;
  watch.look(at(us));
  for (uint32_t i = 0; i < LoopWatch::kMostInARow; ++i) watch.look(at(us += 101));
  const Time last_hold = at(us) + kGrace;
  EXPECT_EQ(watch.hold_until(), last_hold);
  for (int i = 0; i < 20; ++i) watch.look(at(us += 101));
  EXPECT_EQ(watch.hold_until(), last_hold);
  watch.look(at(us += 1));  // a short gap ends the row
  watch.look(at(us += 101));
  EXPECT_EQ(watch.hold_until(), at(us) + kGrace);
}

// A short look after each long gap is no time to look: time-outs would be put off for ever.
TEST(LoopWatch, ALoopThatIsSlowInTurnsIsBelieved) {
  LoopWatch watch(kStandstill, kGrace, false);
  int64_t us = 0;
  watch.look(at(us));
  for (uint32_t i = 0; i < LoopWatch::kMostInARow; ++i) watch.look(at(us += 101)), watch.look(at(us += 1));
  const Time last_hold = at(us - 1) + kGrace;
  EXPECT_EQ(watch.hold_until(), last_hold);
  watch.look(at(us += 101));
  EXPECT_EQ(watch.hold_until(), last_hold);
  for (int64_t passed = 0; passed < 500; passed += 50) watch.look(at(us += 50));
  watch.look(at(us += 101));
  EXPECT_EQ(watch.hold_until(), at(us) + kGrace) << "as long as it is put off for it was quick";
}

TEST(LoopWatch, WhatWasLookedAtElsewhereIsNoGap) {
  LoopWatch watch(kStandstill, kGrace, false);
  watch.look(at(0));
  watch.skip_to(at(1000));
  watch.look(at(1001));
  EXPECT_EQ(watch.hold_until(), Time::long_ago());
}

TEST(LoopWatch, MeasuresIntervalsWhenAsked) {
  LoopWatch measuring(kStandstill, kGrace, true), other(kStandstill, kGrace, false);
  for (LoopWatch* watch : {&measuring, &other})
    for (const int64_t us : {10, 11, 13, 17}) watch->look(at(us));
  EXPECT_EQ(measuring.intervals().count(), 3u);
  EXPECT_EQ(measuring.intervals().min(), microseconds(1));
  EXPECT_EQ(measuring.intervals().max(), microseconds(4));
  EXPECT_EQ(other.intervals().count(), 0u);
}

}  // namespace
}  // namespace rankwire
