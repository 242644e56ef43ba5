#include "dataplane/switch/outputs.h"

#include <vector>

#include "dataplane/switch/transit.h"
#include "tests/dataplane/switch/parts.h"

namespace rankwire {
namespace {

using FabricOutputsTest = testing::FabricPartsTest;

TEST_F(FabricOutputsTest, AFreeLineTakesAFrameAtOnceABusyOneWhenItIsFree) {
  FabricParts& parts = make(star(lines(2)));
  parts.outputs.enqueue(1, hold(0, 0), Time());
  EXPECT_EQ(parts.outputs.hops(), 1u);
  EXPECT_EQ(parts.hosts.next_delivery(), Time(kThousandByteTime + 100'000));
  EXPECT_EQ(parts.agenda.size(), 0u);
  parts.outputs.enqueue(1, hold(0, 0), Time());
  EXPECT_EQ(parts.outputs.hops(), 1u);
  EXPECT_EQ(parts.tables.ports[1].waiting, priority_bit(0));
  EXPECT_EQ(parts.tables.switches[0].buffer.used(), Bytes(1'000));  // of a frame that has begun to leave nothing
  const FabricEvent event = next_event();
  EXPECT_EQ(event.kind(), FabricEventKind::kWake);
  EXPECT_EQ(event.at, Time(kThousandByteTime));
  parts.outputs.handle(event);
  EXPECT_EQ(parts.outputs.hops(), 2u);
  EXPECT_EQ(parts.tables.ports[1].waiting, 0);
  EXPECT_EQ(parts.tables.switches[0].buffer.used(), Bytes());
  EXPECT_EQ(parts.agenda.size(), 0u);
}

TEST_F(FabricOutputsTest, APausedPriorityWaitsForItsTime) {
  device_.classes.lossless = kThree;
  FabricParts& parts = make(star(lines(2)));
  parts.outputs.obey(1, priority_pause(kThree, 100), Time());
  parts.outputs.enqueue(1, hold(0, 3), Time());
  EXPECT_EQ(parts.outputs.hops(), 0u);
  parts.outputs.enqueue(1, hold(0, 0), Time());  // another priority is not held up
  EXPECT_EQ(parts.outputs.hops(), 1u);
  std::vector<FabricEvent> events;
  while (parts.agenda.size() > 0) {
    events.push_back(next_event());
    parts.outputs.handle(events.back());
  }
  // With its queue alone the port waits for the pause. (The line is free long before then.)
  EXPECT_EQ(events.back().kind(), FabricEventKind::kExpire);
  EXPECT_EQ(events.back().at, Time(100 * kQuantum));
  EXPECT_EQ(parts.outputs.hops(), 2u);
}

/// On a leaf a frame from the spine fills its group, and leaves towards the host at once. XOFF is on the line by then,
/// and XON follows it; either takes its line, latency and the spine's.
TEST_F(FabricOutputsTest, WhatFillsAGroupIsToldToTheOtherEndAndWhatEmptiesItToo) {
  device_.latency = microseconds(1);
  device_.classes.lossless = kThree;
  device_.buffer.ingress.fixed = Bytes(1'000);
  FabricParts& parts = make(leaf_spine({.leaves = 2, .spines = 1, .uplink = kTenGigabit}, lines(2)));
  const uint32_t host = parts.tables.first_host_port;
  const uint32_t leaf = parts.tables.ports[host].device;
  uint32_t uplink = 0;
  while (parts.tables.ports[uplink].device != leaf) ++uplink;
  parts.outputs.enqueue(host, hold(uplink, 3), Time());
  EXPECT_EQ(parts.tables.counters(uplink).pauses_tx, 1u);
  EXPECT_EQ(parts.pauses.asked(uplink), 0);  // as of now
  EXPECT_EQ(parts.tables.ports[uplink].untold, kThree);

  const FabricEvent wake = next_event();
  EXPECT_EQ(wake.kind(), FabricEventKind::kWake);
  EXPECT_EQ(wake.at, Time(kPauseTime));
  parts.outputs.handle(wake);
  EXPECT_EQ(parts.tables.counters(uplink).pauses_tx, 2u);
  for (const int64_t frames : {1, 2}) {
    const FabricEvent pause = next_event();
    EXPECT_EQ(pause.kind(), FabricEventKind::kPause);
    EXPECT_EQ(pause.port(), uplink ^ 1);
    EXPECT_EQ(pause.at, Time(frames * kPauseTime + 100'000 + 1'000'000));
    parts.outputs.handle(pause);
    EXPECT_EQ(parts.pauses.paused(uplink ^ 1, pause.at), frames == 1 ? kThree : 0);
  }
}

/// The first is on the line, the second waits, and the third is for a cable that is not there.
TEST_F(FabricOutputsTest, WhatWaitsForACableThatFailsIsLost) {
  FabricParts& parts = make(star(lines(2)));
  for (int i = 0; i < 2; ++i) parts.outputs.enqueue(1, hold(0, 0), Time());
  parts.outputs.change(1, kDownCable, Time(10));
  EXPECT_EQ(drops(1, FabricDrop::kCableDown), 1u);
  EXPECT_EQ(parts.tables.ports[1].waiting, 0);
  EXPECT_EQ(parts.tables.switches[0].buffer.used(), Bytes());
  parts.outputs.enqueue(1, hold(0, 0), Time(10));
  EXPECT_EQ(drops(1, FabricDrop::kCableDown), 2u);
  EXPECT_EQ(parts.tables.packets.used(), 1u);
  parts.outputs.change(1, kWholeCable, Time(kThousandByteTime));
  parts.outputs.enqueue(1, hold(0, 0), Time(kThousandByteTime));
  EXPECT_EQ(parts.outputs.hops(), 2u);
}

/// At half of the rate a frame takes twice its time, and a microsecond more on the line. When the cable is whole again
/// its line says nothing for that microsecond, so that the next frame does not pass the one before.
TEST_F(FabricOutputsTest, ADegradedCableIsSlowAndNoFrameOvertakesAnotherWhenItIsWhole) {
  const CableCondition slow{.rate = Bandwidth(5'000'000'000), .latency = microseconds(1)};
  options_.schedule = {{Time(), 0, slow}};
  FabricParts& parts = make(leaf_spine({.leaves = 2, .spines = 1, .uplink = kTenGigabit}, lines(2)));
  const uint32_t leaf_host = parts.tables.first_host_port;
  ASSERT_EQ(parts.tables.ports[0].device, parts.tables.ports[leaf_host].device);
  parts.outputs.change(0, slow, Time());
  parts.outputs.enqueue(0, hold(leaf_host, 0), Time());
  const FabricEvent first = next_event();
  EXPECT_EQ(first.kind(), FabricEventKind::kArrive);
  EXPECT_EQ(first.at, Time(2 * kThousandByteTime + 100'000 + 1'000'000) + device_.latency);
  const Time free(2 * kThousandByteTime);
  parts.outputs.change(0, kWholeCable, free);
  parts.outputs.enqueue(0, hold(leaf_host, 0), free);
  const FabricEvent wake = next_event();
  EXPECT_EQ(wake.kind(), FabricEventKind::kWake);
  EXPECT_EQ(wake.at, free + microseconds(1));
  parts.outputs.handle(wake);
  const FabricEvent second = next_event();
  EXPECT_EQ(second.at, wake.at + Duration(kThousandByteTime + 100'000) + device_.latency);
  EXPECT_GT(second.at, first.at);
}

}  // namespace
}  // namespace rankwire
