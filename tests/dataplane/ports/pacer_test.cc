#include "dataplane/ports/pacer.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// At 8 Gbit/s a byte takes 1 ns on the line: a frame of 60 bytes 84 ns, with FCS, preamble and gap.
constexpr Bandwidth kRate(8'000'000'000);
constexpr Duration kSlot = nanoseconds(84);

TEST(Pacer, SlotsFollowEachOtherAtLineRate) {
  Pacer pacer(kRate, microseconds(1));
  EXPECT_EQ(pacer.line_time(60), kSlot);
  pacer.resume(Time());
  EXPECT_TRUE(pacer.due(Time()));
  pacer.start(kSlot, 1);
  EXPECT_FALSE(pacer.due(Time() + kSlot - Duration(1)));
  EXPECT_TRUE(pacer.due(Time() + kSlot));
  EXPECT_EQ(pacer.next_due(), Time() + kSlot);
  // Slots 1, 2 and 3 begin at 84, 168 and 252 ns.
  EXPECT_EQ(pacer.slots(Time() + nanoseconds(251), kSlot, 9), 2u);
  EXPECT_EQ(pacer.slots(Time() + nanoseconds(252), kSlot, 9), 3u);
}

// With a lead of 200 ns the slots of 84 and 168 ns may be taken at 0 as well, that of 252 ns from 52 ns on. The line is
// as busy as without it.
TEST(Pacer, FramesMayStartAheadOfTheirSlots) {
  Pacer pacer(kRate, microseconds(1), nanoseconds(200));
  pacer.resume(Time());
  EXPECT_EQ(pacer.slots(Time(), kSlot, 9), 3u);
  pacer.start(kSlot, 3);
  EXPECT_EQ(pacer.schedule(), Time() + nanoseconds(252));
  EXPECT_EQ(pacer.next_due(), Time() + nanoseconds(52));
  EXPECT_FALSE(pacer.due(Time() + nanoseconds(51)));
  EXPECT_TRUE(pacer.due(Time() + nanoseconds(52)));
}

// Behind by 1500 ns, of which 1000 can be made good: 500 are lost. A lead changes nothing of that.
TEST(Pacer, WhatIsBeyondTheCatchUpIsLost) {
  for (const Duration lead : {Duration(), nanoseconds(200)}) {
    Pacer pacer(kRate, microseconds(1), lead);
    pacer.resume(Time());
    pacer.keep_up(Time() + nanoseconds(1500));
    EXPECT_EQ(pacer.schedule(), Time() + nanoseconds(500));
    EXPECT_EQ(pacer.slipped(), nanoseconds(500));
    EXPECT_EQ(pacer.worst_stall(), nanoseconds(1500));
    EXPECT_EQ(pacer.stalls(), 1u);
  }
}

}  // namespace
}  // namespace rankwire
