#include "dataplane/roce/frame_receiver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>

#include "dataplane/neighbours/frames.h"
#include "dataplane/wire/pause.h"
#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class FrameReceiverTest : public PartsTest {
 protected:
  /// Sends a message of one packet of connection 0 from lane 0.
  void send_message() {
    post(1000);
    parts_->transmitter.transmit(0, Time());
  }
  /// The frames that stand at lane 1's port are changed, and put there again, or at another lane's.
  template <class Change>
  void change_frames(size_t count, Change change, uint32_t to_lane = 1) {
    std::array<Frame, kQueueFrames> frames;
    ASSERT_EQ(ports_[1]->receive(Time::never(), frames), count);
    for (Frame& frame : std::span(frames).first(count)) change(frame);
    ASSERT_EQ(ports_[1 - to_lane]->transmit(Time(), std::span(frames).first(count)), count);
  }
  /// Nothing stands behind `head`.
  static void make_whole(Frame& frame) {
    uint8_t* const end = frame.head + frame.head_length;
    std::memcpy(end, frame.payload, frame.payload_length);
    std::memcpy(end + frame.payload_length, frame.tail, frame.tail_length);
    frame.head_length = static_cast<uint16_t>(frame.length());
    frame.payload = nullptr;
    frame.payload_length = 0;
    frame.tail_length = 0;
  }
  /// A frame that `write` writes arrives at lane 1.
  template <class Write>
  void send_frame(Write write) {
    Frame frame;
    ASSERT_EQ(ports_[0]->allocate({&frame, 1}), 1u);
    write(frame);
    ASSERT_EQ(ports_[0]->transmit(Time(), {&frame, 1}), 1u);
    parts_->receiver.receive(1, Time());
  }
  const TransportCounters& totals() const { return parts_->counters.totals; }
};

// A WRITE_ONLY with immediate: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ImmDt 4, payload 1000, ICRC 4.
TEST_F(FrameReceiverTest, APacketGoesToTheQueuePairThatItNames) {
  make();
  send_message();
  parts_->receiver.receive(1, Time() + nanoseconds(50));
  EXPECT_EQ(totals().packets_rx, 1u);
  EXPECT_EQ(totals().data_packets_rx, 1u);
  EXPECT_EQ(totals().bytes_rx, 1078u);
  const std::vector<Event> events = take_delivered();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].connection, ConnectionId(0));
  EXPECT_EQ(events[0].received.delivered, Time()) << "when it arrived, not when it was looked at";
}

// First, three in the middle, last. A device hands frames over whole: those in the middle are then taken at once.
TEST_F(FrameReceiverTest, PacketsInARowCountEach) {
  for (const bool whole : {false, true}) {
    make();
    post(5 * 4096);
    const uint32_t first = parts_->pairs.responders[destination()].expected_psn();
    for (uint32_t i = 0; i < 5; ++i) parts_->transmitter.transmit(0, Time() + microseconds(i));
    if (whole) change_frames(5, make_whole);
    parts_->receiver.receive(1, Time() + microseconds(5));
    EXPECT_EQ(totals().data_packets_rx, 5u) << whole;
    EXPECT_EQ(parts_->pairs.arrived[destination()], 5u) << whole;
    // 58 bytes beside the payload, RETH 16 in the first and ImmDt 4 in the last.
    EXPECT_EQ(totals().bytes_rx, 5u * (4096 + 58) + 16 + 4);
    EXPECT_EQ(parts_->pairs.responders[destination()].expected_psn(), psn_add(first, 5));
    EXPECT_EQ(take_delivered().size(), 1u);
  }
}

TEST_F(FrameReceiverTest, AnAcknowledgementGoesToTheRequester) {
  make();
  send_message();
  parts_->receiver.receive(1, Time());
  parts_->transmitter.transmit(1, Time());
  parts_->receiver.receive(0, Time() + nanoseconds(70));
  EXPECT_EQ(totals().packets_rx, 2u);
  EXPECT_EQ(totals().data_packets_rx, 1u);
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].sent.acked, Time() + nanoseconds(70));
}

TEST_F(FrameReceiverTest, ADamagedPacketIsDropped) {
  make();
  send_message();
  change_frames(1, [](Frame& frame) { frame.head[frame.head_length - 1] ^= 1; });
  parts_->receiver.receive(1, Time());
  EXPECT_EQ(totals().icrc_errors, 1u);
  EXPECT_EQ(parts_->lanes.port(1).icrc_errors, 1u);
  EXPECT_EQ(parts_->lanes.port(0).icrc_errors, 0u);
  EXPECT_TRUE(take_delivered().empty());
}

TEST_F(FrameReceiverTest, ANumberThatNobodyHasIsCounted) {
  make();
  send_message();
  change_frames(1, [this](Frame& frame) {
    ParsedPacket packet = parse(frame);
    reinterpret_cast<Bth*>(frame.head + packet.bth_offset)->destination_qp =
        Be24(QueuePairNumbers::kFirst + parts_->pairs.size());
    frame.tail_length = 0;
    seal(frame);
  });
  parts_->receiver.receive(1, Time());
  EXPECT_EQ(totals().unknown_qp, 1u);
  EXPECT_EQ(totals().icrc_errors, 0u);
}

// The packet is good, but the queue pair is not behind this port: a switch that does not know the address floods it.
TEST_F(FrameReceiverTest, AnotherPortsPacketIsNotTaken) {
  make();
  send_message();
  change_frames(
      1, [](Frame&) {}, 0);
  parts_->receiver.receive(0, Time());
  EXPECT_EQ(detail("misdirected"), 1u);
  EXPECT_TRUE(take_delivered().empty());
}

TEST_F(FrameReceiverTest, NeighboursAndPausesAreThePorts) {
  make();
  send_frame([this](Frame& frame) { write_solicitation(plan_.nics[0], plan_.nics[1].ip, frame); });
  EXPECT_EQ(parts_->lanes.port(1).neighbours.counters().arp_requests_rx, 1u);
  EXPECT_EQ(detail("arp_rx"), 1u);
  send_frame([this](Frame& frame) { write_pause(plan_.nics[0].mac, priority_pause(0xFF, 100), frame); });
  EXPECT_EQ(parts_->lanes.port(1).pause_rx, 1u);
  EXPECT_EQ(parts_->lanes.port(1).pauses.paused(Time()), 0xFF);
  EXPECT_EQ(totals().packets_rx, 0u) << "none was a packet";
}

TEST_F(FrameReceiverTest, OnlyMarkedDataIsAnswered) {
  options_.congestion.notifies = true;
  make();
  send_message();
  change_frames(1, [](Frame& frame) {
    auto& ip = *reinterpret_cast<Ipv4Header*>(frame.head + sizeof(EthernetHeader));
    // RFC 1624: the checksum of what has one bit more, in a field whose two bits were 10.
    ip.type_of_service |= 3;
    ip.checksum = Be16(static_cast<uint16_t>(ip.checksum.value() - 1));
  });
  parts_->receiver.receive(1, Time());
  EXPECT_EQ(totals().ecn_ce_rx, 1u);
  EXPECT_TRUE(parts_->lanes[1].owes_notification);
}

TEST_F(FrameReceiverTest, WithoutRoomForEventsFramesWaitInThePort) {
  make();
  send_message();
  fill_deliveries(ReceiveBatch::kFrames - 1);
  parts_->receiver.receive(1, Time());
  EXPECT_EQ(totals().packets_rx, 0u);
  take_delivered();
  parts_->receiver.receive(1, Time());
  EXPECT_EQ(totals().packets_rx, 1u);
}

}  // namespace
}  // namespace rankwire
