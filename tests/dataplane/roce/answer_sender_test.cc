#include "dataplane/roce/answer_sender.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class AnswerSenderTest : public PartsTest {
 protected:
  /// The lane's line is free from `begin` on; what may start by `now` is sent, call by call.
  template <class Transmit>
  void transmit(Time begin, Time now, Transmit transmit) {
    TransmitLane& lane = parts_->lanes[1];
    ASSERT_TRUE(lane.begin(begin));
    transmit(lane, now);
    lane.finish(now);
  }
  void request(const ParsedPacket& packet, uint32_t queue_pair) {
    parts_->requests.on_request(queue_pair, packet, Time(), Time());
  }
  /// The packets that have reached the sources, as queue pair and opcode.
  std::vector<std::pair<uint32_t, Opcode>> sent() {
    std::vector<std::pair<uint32_t, Opcode>> sent;
    for (const ParsedPacket& packet : take_packets(0))
      sent.push_back({packet.destination_qp - QueuePairNumbers::kFirst, packet.opcode});
    return sent;
  }
};

// Ethernet 14, IPv4 20, UDP 8, BTH 12, AETH 4, ICRC 4.
TEST_F(AnswerSenderTest, AReplySaysWhatHasArrivedByThen) {
  make();
  const uint32_t first = parts_->pairs.responders[destination()].expected_psn();
  request(next_write(destination(), 100, 0), destination());
  request(next_write(destination(), 100, 1), destination());
  transmit(Time(), Time(), [this](TransmitLane& lane, Time now) {
    EXPECT_TRUE(parts_->answer_sender.transmit_reply(lane, now));
    EXPECT_FALSE(lane.owes_answer()) << "one acknowledgement answers both";
  });
  const std::vector<ParsedPacket> packets = take_packets(0);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].opcode, Opcode::kAcknowledge);
  EXPECT_EQ(packets[0].destination_qp, QueuePairNumbers::kFirst + source());
  EXPECT_EQ(packets[0].psn, psn_add(first, 1));
  EXPECT_EQ(packets[0].msn, 2u);
  EXPECT_EQ(packets[0].syndrome, static_cast<uint8_t>(Syndrome::kAck));
  EXPECT_EQ(parts_->counters.totals.bytes_tx, 62u);
  EXPECT_EQ(parts_->counters.packets_tx(), 1u);
}

TEST_F(AnswerSenderTest, WhatWasDecidedBeforeGoesFirst) {
  plan_ = testing::pair_plan(2);
  make();
  request(next_write(destination(0), 100), destination(0));
  parts_->lanes[1].answers.push({destination(1), {.psn = 5, .syndrome = static_cast<uint8_t>(Syndrome::kNakSequence)}});
  transmit(Time(), Time() + microseconds(1), [this](TransmitLane& lane, Time now) {
    while (lane.owes_answer()) EXPECT_TRUE(parts_->answer_sender.transmit_reply(lane, now));
  });
  const std::vector<ParsedPacket> packets = take_packets(0);
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].destination_qp, QueuePairNumbers::kFirst + source(1));
  EXPECT_EQ(packets[1].destination_qp, QueuePairNumbers::kFirst + source(0));
  EXPECT_EQ(parts_->counters.totals.naks_tx, 1u);
}

TEST_F(AnswerSenderTest, WithoutASlotTheAnswerStaysOwed) {
  plan_ = testing::pair_plan(2);
  make();
  for (const uint32_t connection : {0u, 1u}) request(next_write(destination(connection), 100), destination(connection));
  transmit(Time(), Time(), [this](TransmitLane& lane, Time now) {
    EXPECT_TRUE(parts_->answer_sender.transmit_reply(lane, now));
    EXPECT_FALSE(parts_->answer_sender.transmit_reply(lane, now)) << "the line is busy with the first";
  });
  EXPECT_EQ(owed(1), 1u);
}

// Three packets and two, of which a turn has one: it ends with a run of packets alike.
TEST_F(AnswerSenderTest, ReadersAnswerInTurns) {
  options_.read_access = ReadAccess::kAlways;
  plan_ = testing::pair_plan(2);
  make();
  request(next_read(destination(0), 3 * 4096), destination(0));
  request(next_read(destination(1), 2 * 4096), destination(1));
  transmit(Time(), Time() + microseconds(5), [this](TransmitLane& lane, Time now) {
    while (!lane.readers.empty()) ASSERT_TRUE(parts_->answer_sender.transmit_reader(lane, now));
  });
  const uint32_t a = source(0), b = source(1);
  EXPECT_EQ(sent(), (std::vector<std::pair<uint32_t, Opcode>>{{a, Opcode::kReadResponseFirst},
                                                              {b, Opcode::kReadResponseFirst},
                                                              {a, Opcode::kReadResponseMiddle},
                                                              {b, Opcode::kReadResponseLast},
                                                              {a, Opcode::kReadResponseLast}}));
  EXPECT_EQ(parts_->counters.totals.data_packets_tx, 5u);
  EXPECT_EQ(parts_->pairs.ends[destination(0)].packets, 3u);
  EXPECT_EQ(parts_->pairs.ends[destination(1)].packets, 2u);
}

TEST_F(AnswerSenderTest, ResponsesOfAPacedTurnEndWithIt) {
  options_.read_access = ReadAccess::kAlways;
  make();
  request(next_read(destination(), 4 * 4096), destination());
  parts_->lanes[1].readers.pop();
  transmit(Time(), Time() + microseconds(5), [this](TransmitLane& lane, Time now) {
    EXPECT_TRUE(parts_->answer_sender.transmit_responses(lane, destination(), 3, now));
    EXPECT_EQ(lane.run, 3u);
    EXPECT_EQ(lane.readers.size(), 1u) << "one packet is left for another turn";
  });
  EXPECT_EQ(sent().size(), 3u);
}

}  // namespace
}  // namespace rankwire
