#include "dataplane/switch/hosts.h"

#include "tests/dataplane/switch/parts.h"

namespace rankwire {
namespace {

class FabricHostsTest : public testing::FabricPartsTest {
 protected:
  void send(uint32_t host, Time now) {
    const Frame frame = write({.source = station(host), .destination = station(1 - host)});
    ASSERT_EQ(hosts_[host]->transmit(now, {&frame, 1}), 1u);
  }
  /// The port of a star sends a frame, which is with its host at `whole`.
  void put_on_line(uint32_t port, Time whole) {
    const uint32_t handle = hold(1 - port, 0);
    parts_->tables.packets[handle].arrival = whole;
    parts_->hosts.put_on_line(port, handle, whole);
  }
};

/// Two frames that are sent at once are on the line one after the other.
TEST_F(FabricHostsTest, AFrameIsInTheSwitchALatencyAfterItsLastBit) {
  device_.latency = microseconds(1);
  FabricParts& parts = make(star(lines(2)));
  send(0, Time());
  send(0, Time());
  parts.hosts.listen(Time());
  for (const int64_t frames : {1, 2}) {
    const FabricEvent event = next_event();
    EXPECT_EQ(event.kind(), FabricEventKind::kArrive);
    EXPECT_EQ(event.port(), 0u);
    EXPECT_EQ(event.at, Time(100'000 + frames * kThousandByteTime + 1'000'000));
    EXPECT_EQ(parts.tables.packets[event.argument()].arrival, Time(100'000 + frames * kThousandByteTime));
  }
  EXPECT_EQ(parts.tables.host_of(0).rx_frames, 2u);
  EXPECT_EQ(parts.hosts.handled(), 2u);
}

/// At half of the rate from the time 0 on, and at all of it again when the first frame has left: the second one, which
/// waited at its port for that, takes half as long.
TEST_F(FabricHostsTest, ASlowerCableTakesAFrameAtATime) {
  const CableCondition slow{.rate = Bandwidth(5'000'000'000)};
  options_.schedule = {{Time(), 0, slow}};
  FabricParts& parts = make(star(lines(2)));
  parts.outputs.change(0, slow, Time());
  send(0, Time());
  send(0, Time());
  parts.hosts.listen(Time());
  EXPECT_EQ(parts.tables.host_of(0).rx_frames, 1u);
  const Time free(100'000 + 2 * kThousandByteTime);
  EXPECT_EQ(next_event().at, free + device_.latency);
  EXPECT_EQ(parts.hosts.next_outside(), free);
  parts.hosts.listen(free - Duration(1));
  EXPECT_EQ(parts.tables.host_of(0).rx_frames, 1u);
  parts.outputs.change(0, kWholeCable, free);
  parts.hosts.listen(free);
  EXPECT_EQ(next_event().at, free + Duration(kThousandByteTime) + device_.latency);
  EXPECT_EQ(parts.hosts.next_outside(), Time::never());
}

/// Decides with 64 of the bytes, 72 with the preamble and 88 with FCS and gap.
TEST_F(FabricHostsTest, ACutThroughSwitchDecidesByTheHeaders) {
  device_.forwarding = Forwarding::kCutThrough;
  FabricParts& parts = make(star(lines(2)));
  send(0, Time());
  parts.hosts.listen(Time());
  EXPECT_EQ(parts.agenda.next(), Time(100'000 + 88 * 800));
}

TEST_F(FabricHostsTest, WithoutRoomHostsAreNotHeard) {
  options_.frames = 64;
  FabricParts& parts = make(star(lines(2)));
  for (int i = 0; i < 63; ++i) hold(0, 0);
  send(0, Time());
  send(0, Time());
  parts.hosts.listen(Time());
  EXPECT_EQ(parts.tables.host_of(0).rx_frames, 1u);
  EXPECT_EQ(parts.hosts.next_outside(), Time());  // the other still waits
}

TEST_F(FabricHostsTest, AFrameIsHandedOutWhenItHasArrived) {
  FabricParts& parts = make(star(lines(2)));
  put_on_line(1, Time(5'000));
  put_on_line(1, Time(6'000));
  EXPECT_EQ(parts.hosts.next_delivery(), Time(5'000));
  parts.hosts.hand_out(Time(4'999));
  EXPECT_EQ(receive(1, Time(4'999)), 0u);
  parts.hosts.hand_out(Time(5'000));
  EXPECT_EQ(receive(1, Time(5'000)), 1u);
  EXPECT_EQ(parts.hosts.next_delivery(), Time(6'000));
  EXPECT_EQ(parts.tables.packets.used(), 1u);
}

TEST_F(FabricHostsTest, WhatAHostRefusesIsOfferedAgain) {
  link_frames_ = 2;
  FabricParts& parts = make(star(lines(2)));
  for (const int64_t whole : {1'000, 2'000, 3'000}) put_on_line(1, Time(whole));
  parts.hosts.hand_out(Time(3'000));
  EXPECT_EQ(parts.tables.host_of(1).tx_frames, 2u);
  EXPECT_EQ(parts.hosts.next_outside(), Time(3'000));
  EXPECT_EQ(receive(1, Time(3'000)), 2u);
  parts.hosts.hand_out(Time(4'000));
  EXPECT_EQ(receive(1, Time(4'000)), 1u);
  EXPECT_EQ(parts.hosts.next_outside(), Time::never());
}

TEST_F(FabricHostsTest, AheadOfItsTimeAFrameIsHeldBackAtTheHost) {
  FabricParts& parts = make(star(lines(2)));
  parts.hosts.begin_ahead(Time(7'000));
  EXPECT_EQ(parts.hosts.first_outside(), Time(7'000));
  put_on_line(1, Time(5'000));
  EXPECT_EQ(parts.hosts.first_outside(), Time(5'000));
  EXPECT_EQ(parts.hosts.next_delivery(), Time::never());
  parts.hosts.hand_out_ahead();
  EXPECT_EQ(parts.tables.packets.used(), 0u);
  EXPECT_EQ(receive(1, Time(4'999)), 0u);
  EXPECT_EQ(receive(1, Time(5'000)), 1u);
  put_on_line(1, Time(8'000));  // not ahead any more
  EXPECT_EQ(parts.hosts.next_delivery(), Time(8'000));
}

}  // namespace
}  // namespace rankwire
