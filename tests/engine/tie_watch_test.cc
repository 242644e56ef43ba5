#include "emulator/engine/tie_watch.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

Event event_of(uint32_t connection, bool at_source = true) {
  Event event;
  event.connection = ConnectionId(connection);
  event.at_source = at_source;
  return event;
}

constexpr ConnectionId kThird(2);

TEST(TieWatch, TwoEventsOfARoundThatReleaseMessagesOfOneConnectionTie) {
  TieWatch watch(3, 0);
  watch.begin_round();
  watch.begin_event(event_of(0));
  watch.note_send(kThird);
  watch.note_send(kThird);
  EXPECT_FALSE(watch.tied()) << "the order of what one event releases is the plan's";
  watch.begin_event(event_of(1));
  watch.note_send(ConnectionId(0));
  EXPECT_FALSE(watch.tied()) << "of another connection";
  watch.note_send(kThird);
  EXPECT_TRUE(watch.tied());
}

TEST(TieWatch, TheEndsOfAConnectionAreTwo) {
  TieWatch watch(3, 0);
  watch.begin_round();
  watch.begin_event(event_of(0, true));
  watch.note_send(kThird);
  watch.begin_event(event_of(0, false));
  watch.note_send(kThird);
  EXPECT_TRUE(watch.tied());
}

TEST(TieWatch, TimeOrdersWhatHappensInDifferentRounds) {
  TieWatch watch(3, 0);
  for (const uint32_t connection : {0u, 1u}) {
    watch.begin_round();
    watch.begin_event(event_of(connection));
    watch.note_send(kThird);
    watch.end_event();
  }
  EXPECT_FALSE(watch.tied());
}

TEST(TieWatch, WhatNoEventReleasesHasItsOrder) {
  TieWatch watch(3, 0);
  watch.begin_round();
  watch.note_send(kThird);
  watch.begin_event(event_of(0));
  watch.note_send(kThird);
  watch.end_event();
  watch.note_send(kThird);
  EXPECT_FALSE(watch.tied());
}

TEST(TieWatch, ReducesTieByChannel) {
  TieWatch watch(3, 2);
  watch.begin_round();
  watch.begin_event(event_of(0));
  watch.note_reduce(0);
  watch.begin_event(event_of(1));
  watch.note_reduce(1);
  EXPECT_FALSE(watch.tied());
  watch.note_reduce(0);
  EXPECT_TRUE(watch.tied());
}

TEST(TieWatch, WatchesNothingUnlessTold) {
  TieWatch watch;
  watch.begin_round();
  for (const uint32_t connection : {0u, 1u}) {
    watch.begin_event(event_of(connection));
    watch.note_send(kThird);
    watch.note_reduce(0);
  }
  EXPECT_FALSE(watch.tied());
}

}  // namespace
}  // namespace rankwire
