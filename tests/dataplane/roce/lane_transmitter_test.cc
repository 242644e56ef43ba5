#include "dataplane/roce/lane_transmitter.h"

#include <gtest/gtest.h>

#include "dataplane/wire/pause.h"
#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class LaneTransmitterTest : public PartsTest {
 protected:
  /// Lane 1 may send a frame each microsecond, `count` times; what it sends, as opcodes.
  std::vector<Opcode> sent_by_lane_1(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i, now_ += microseconds(1)) parts_->transmitter.transmit(1, now_);
    std::vector<Opcode> opcodes;
    for (const ParsedPacket& packet : take_packets(0)) opcodes.push_back(packet.opcode);
    return opcodes;
  }
  void request(const ParsedPacket& packet) { parts_->requests.on_request(destination(), packet, Time(), Time()); }

  Time now_;
};

TEST_F(LaneTransmitterTest, AnnouncementsThenNotificationsThenAnswersThenData) {
  options_.announcements = Announcements::kSent;
  options_.congestion.notifies = true;
  make();
  post(1000, Time(), 0, 1);
  request(next_write(destination(), 100));
  parts_->notices->on_mark(destination(), Time());
  for (uint32_t i = 0; i < 4; ++i) parts_->transmitter.transmit(1, Time() + microseconds(i));
  const std::vector<ParsedPacket> packets = take_packets(0);
  ASSERT_EQ(packets.size(), 4u);
  EXPECT_EQ(packets[0].reject, Reject::kArp);
  EXPECT_EQ(packets[1].opcode, Opcode::kCongestionNotification);
  EXPECT_EQ(packets[2].opcode, Opcode::kAcknowledge);
  EXPECT_EQ(packets[3].opcode, Opcode::kWriteOnlyImmediate);
}

TEST_F(LaneTransmitterTest, TurnsOfReadersAndSendersAlternate) {
  options_.read_access = ReadAccess::kAlways;
  options_.turn = 1;
  make();
  post(3 * 4096, Time(), 0, 1);
  request(next_read(destination(), 3 * 4096));
  EXPECT_EQ(sent_by_lane_1(6),
            (std::vector<Opcode>{Opcode::kReadResponseFirst, Opcode::kWriteFirst, Opcode::kReadResponseMiddle,
                                 Opcode::kWriteMiddle, Opcode::kReadResponseLast, Opcode::kWriteLastImmediate}));
}

// 100 quanta of 512 bit times at 100 Gb/s are 512 ns. By default data and acknowledgements have one priority.
TEST_F(LaneTransmitterTest, WhatTheFarEndPausesWaitsForItsEnd) {
  make();
  post(1000, Time(), 0, 1);
  request(next_write(destination(), 100));
  std::array<uint8_t, kPauseFrameBytes> bytes{};
  Frame frame;
  frame.head = bytes.data();
  write_pause(plan_.nics[0].mac, priority_pause(parts_->lanes[1].priorities().data, 100), frame);
  frame.arrival = Time();
  ASSERT_TRUE(parts_->lanes.port(1).accept_pause(frame));
  parts_->transmitter.transmit(1, Time());
  EXPECT_TRUE(take_packets(0).empty());
  EXPECT_EQ(parts_->lanes[1].wake(), Time() + nanoseconds(512));
  parts_->transmitter.transmit(1, Time() + nanoseconds(512) - Duration(1));
  EXPECT_TRUE(take_packets(0).empty());
  parts_->transmitter.transmit(1, Time() + nanoseconds(512));
  EXPECT_EQ(take_packets(0).size(), 1u);
}

// A frame of 4096 bytes of payload and 82 of headers, ICRC and line takes 33.424 us at 1 Gb/s, the first, with RETH,
// 33.552 us.
TEST_F(LaneTransmitterTest, APacedQueuePairSendsAtItsRate) {
  options_.congestion.algorithm = CongestionAlgorithm::kStatic;
  options_.congestion.rate = Bandwidth(1'000'000'000);
  make();
  post(3 * 4096);
  const auto sent_at = [this](Duration after) {
    parts_->transmitter.transmit(0, Time() + after);
    return take_packets(1).size();
  };
  EXPECT_EQ(sent_at(Duration()), 1u);
  EXPECT_EQ(sent_at(nanoseconds(33'551)), 0u);
  EXPECT_EQ(sent_at(nanoseconds(33'552)), 1u);
  EXPECT_EQ(sent_at(nanoseconds(33'552 + 33'423)), 0u);
  EXPECT_EQ(sent_at(nanoseconds(33'552 + 33'424)), 1u);
}

TEST_F(LaneTransmitterTest, PacedResponsesAndRequestsAlternate) {
  options_.read_access = ReadAccess::kAlways;
  options_.congestion.algorithm = CongestionAlgorithm::kStatic;
  options_.congestion.rate = Bandwidth(50'000'000'000);
  // The queue pair that receives connection 0 sends connection 1.
  plan_.connections[1].reverse_of = ConnectionId(0);
  make();
  post(2 * 4096, Time(), 0, 1);
  request(next_read(destination(), 2 * 4096));
  EXPECT_EQ(sent_by_lane_1(4), (std::vector<Opcode>{Opcode::kReadResponseFirst, Opcode::kWriteFirst,
                                                    Opcode::kReadResponseLast, Opcode::kWriteLastImmediate}));
}

}  // namespace
}  // namespace rankwire
