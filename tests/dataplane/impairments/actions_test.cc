// Each impairment by what then stands on the wire and what the protocol makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/impairments/pair.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::field;
using testing::FrameBytes;
using testing::ImpairmentPair;
using testing::is_sealed;
using testing::kAfterBth;
using testing::kBthAt;
using testing::kIpAt;
using testing::opcode_of;
using testing::psn_of;

constexpr uint32_t kAcknowledgeOpcode = 0x11, kCnpOpcode = 0x81;

/// Packet `packet` of message 0 of connection 0, once.
ImpairmentRule at_packet(ImpairmentAction action, uint32_t packet) {
  return {.action = action,
          .packets = PacketClass::kData,
          .messages = std::vector<MessageRange>{{ConnectionId(0), 0, 0}},
          .packet = packet,
          .limit = 1};
}

/// Of the data frames, counted from the connection's first PSN.
std::vector<int> psns(const ImpairmentPair& pair, size_t side) {
  std::vector<int> result;
  for (const FrameBytes& frame : pair.sent(side))
    if (opcode_of(frame) < kAcknowledgeOpcode)
      result.push_back(static_cast<int>((psn_of(frame) - pair.first_psn()) & 0xFFFFFF));
  return result;
}

/// Places of the bits that differ.
std::vector<size_t> differing_bits(const FrameBytes& a, const FrameBytes& b) {
  std::vector<size_t> bits;
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size() * 8; ++i)
    if (((a[i / 8] ^ b[i / 8]) >> i % 8 & 1) != 0) bits.push_back(i);
  return bits;
}

void expect_delivered_once(const ImpairmentPair& pair, size_t messages) {
  EXPECT_EQ(pair.count(EventKind::kSent), messages);
  EXPECT_EQ(pair.count(EventKind::kReceived), messages);
  EXPECT_EQ(pair.counters().payload_errors, 0u);
}

TEST(ImpairmentActions, RulesThatNeverActChangeNoByte) {
  ImpairmentPair plain({}), watched({{.action = ImpairmentAction::kDrop, .probability_ppm = 0}});
  for (ImpairmentPair* pair : {&plain, &watched}) pair->send(40);
  EXPECT_EQ(plain.sent(0), watched.sent(0));
  EXPECT_EQ(plain.sent(1), watched.sent(1));
  EXPECT_EQ(plain.sent(0).size(), 40u);
}

// Lumina's go-back-N example. At 100 Gbps a packet of 1024 B takes 89 ns and a way 500 ns: all 8 packets have left long
// before the NAK for number 3 is back, so that 3 .. 7 go again and nothing else.
TEST(ImpairmentActions, DroppedPacketCausesOneNakAndGoBackN) {
  ImpairmentPair pair({at_packet(ImpairmentAction::kDrop, 3)});
  pair.send(8);
  expect_delivered_once(pair, 1);
  EXPECT_THAT(psns(pair, 0), ElementsAre(0, 1, 2, 4, 5, 6, 7, 3, 4, 5, 6, 7));
  const TransportCounters counters = pair.counters();
  EXPECT_EQ(counters.naks_tx, 1u);
  EXPECT_EQ(counters.naks, 1u);
  EXPECT_EQ(counters.retransmitted, 5u);
  EXPECT_EQ(counters.out_of_sequence, 4u);
  EXPECT_EQ(counters.timeouts, 0u);
  ASSERT_EQ(pair.impairments().events().size(), 1u);
  const ImpairmentEvent& event = pair.impairments().events()[0];
  EXPECT_EQ(event.rule, 0u);
  EXPECT_EQ(event.port, PortId(0));
  EXPECT_EQ(event.connection, ConnectionId(0));
  EXPECT_EQ(event.message, 0u);
  EXPECT_EQ(event.packet, 3u);
  EXPECT_EQ(event.psn, (pair.first_psn() + 3) & 0xFFFFFF);
  EXPECT_EQ(event.opcode, Opcode::kWriteMiddle);
}

// Nobody misses the last packet but the sender's timer.
TEST(ImpairmentActions, TailDropIsRepairedByTimeoutOnly) {
  ImpairmentPair pair({at_packet(ImpairmentAction::kDrop, ImpairmentRule::kLastPacket)});
  pair.send(8);
  expect_delivered_once(pair, 1);
  EXPECT_EQ(pair.counters().naks_tx, 0u);
  EXPECT_EQ(pair.counters().timeouts, 1u);
  EXPECT_EQ(psns(pair, 0).back(), 7);
  EXPECT_EQ(pair.impairments().events()[0].packet, 7u);
}

TEST(ImpairmentActions, DuplicatesFollowAtOnceAndAreCounted) {
  ImpairmentRule rule = at_packet(ImpairmentAction::kDuplicate, 2);
  for (const PortSide side : {PortSide::kTransmit, PortSide::kReceive}) {
    rule.side = side;
    ImpairmentPair pair({rule});
    pair.send(4);
    expect_delivered_once(pair, 1);
    if (side == PortSide::kTransmit) {
      EXPECT_THAT(psns(pair, 0), ElementsAre(0, 1, 2, 2, 3));
    }
    EXPECT_EQ(pair.counters().duplicate_packets, 1u);
    EXPECT_EQ(pair.counters().retransmitted, 0u);
    EXPECT_EQ(pair.frames_missing(), 0u);
  }
}

TEST(ImpairmentActions, DelayIsExact) {
  constexpr Duration kDelay = microseconds(7);
  const auto delivered = [](std::vector<ImpairmentRule> rules) {
    ImpairmentPair pair(std::move(rules));
    pair.send(1);
    expect_delivered_once(pair, 1);
    const auto event = std::ranges::find(pair.events(), EventKind::kReceived, &Event::kind);
    EXPECT_EQ(pair.frames_missing(), 0u);
    return event->received.delivered;
  };
  ImpairmentRule rule = at_packet(ImpairmentAction::kDelay, 0);
  rule.delay = kDelay;
  const Time plain = delivered({});
  EXPECT_EQ(delivered({rule}) - plain, kDelay);
  rule.side = PortSide::kReceive;
  EXPECT_EQ(delivered({rule}) - plain, kDelay);
}

// A receiver without reordering misses 1 when 2 arrives, and 2 when 4 arrives behind 1: two NAKs.
TEST(ImpairmentActions, ReorderedPacketIsOvertakenByAsManyAsItSays) {
  ImpairmentRule rule = at_packet(ImpairmentAction::kReorder, 1);
  rule.behind = 2;
  ImpairmentPair pair({rule});
  pair.send(8);
  expect_delivered_once(pair, 1);
  const std::vector<int> order = psns(pair, 0);
  EXPECT_THAT(std::vector<int>(order.begin(), order.begin() + 8), ElementsAre(0, 2, 3, 1, 4, 5, 6, 7));
  EXPECT_EQ(pair.counters().naks_tx, 2u);
  EXPECT_EQ(pair.frames_missing(), 0u);
}

// The same seed writes the same packets, so that those of a run without rules tell what was changed.
class ImpairmentChanges : public ::testing::Test {
 protected:
  /// Bits of frame 1 that the action changed.
  std::vector<size_t> changed_bits(ImpairmentAction action) {
    ImpairmentPair plain({}), changed({at_packet(action, 1)});
    plain.send(3);
    changed.send(3);
    counters_ = changed.counters();
    expect_delivered_once(changed, 1);
    EXPECT_EQ(changed.impairments().counts()[0].done, 1u);
    frame_ = changed.sent(0)[1];
    EXPECT_EQ(plain.sent(0)[0], changed.sent(0)[0]);
    EXPECT_EQ(plain.sent(0)[2], changed.sent(0)[2]);
    EXPECT_TRUE(is_sealed(plain.sent(0)[1]));
    return differing_bits(plain.sent(0)[1], frame_);
  }

  FrameBytes frame_;
  TransportCounters counters_;
};

TEST_F(ImpairmentChanges, CorruptPayloadInvertsOneBitOfIt) {
  const std::vector<size_t> bits = changed_bits(ImpairmentAction::kCorruptPayload);
  ASSERT_EQ(bits.size(), 1u);
  EXPECT_GE(bits[0] / 8, kAfterBth);
  EXPECT_LT(bits[0] / 8, kAfterBth + 1024);
  EXPECT_EQ(counters_.icrc_errors, 1u);
}

TEST_F(ImpairmentChanges, CorruptIcrcInvertsOneBitOfIt) {
  const std::vector<size_t> bits = changed_bits(ImpairmentAction::kCorruptIcrc);
  ASSERT_EQ(bits.size(), 1u);
  EXPECT_GE(bits[0] / 8, kAfterBth + 1024);
  EXPECT_EQ(counters_.icrc_errors, 1u);
}

TEST_F(ImpairmentChanges, CorruptHeaderInvertsOneBitOfBth) {
  const std::vector<size_t> bits = changed_bits(ImpairmentAction::kCorruptHeader);
  ASSERT_EQ(bits.size(), 1u);
  EXPECT_GE(bits[0] / 8, kBthAt);
  EXPECT_LT(bits[0] / 8, kBthAt + 12);
  EXPECT_NE(bits[0] / 8, kBthAt + 4);
  EXPECT_FALSE(is_sealed(frame_));
  // Whether the ICRC or a field gives it away depends on the bit.
  EXPECT_EQ(counters_.icrc_errors + counters_.malformed + counters_.unknown_qp, 1u);
}

TEST_F(ImpairmentChanges, MarkIsCeWithRightChecksums) {
  for (const size_t bit : changed_bits(ImpairmentAction::kMarkCe))
    EXPECT_TRUE(bit / 8 == kIpAt + 1 || bit / 8 == kIpAt + 10 || bit / 8 == kIpAt + 11) << bit;
  EXPECT_EQ(frame_[kIpAt + 1] & 3, 3);
  EXPECT_TRUE(is_sealed(frame_));
  EXPECT_EQ(counters_.ecn_ce_rx, 1u);
  EXPECT_EQ(counters_.icrc_errors, 0u);
  EXPECT_EQ(counters_.retransmitted, 0u);
}

// A packet without payload is left alone, and counted.
TEST(ImpairmentActions, WhatHasNoPayloadCannotBeCorruptedThere) {
  ImpairmentPair pair({{.action = ImpairmentAction::kCorruptPayload, .packets = PacketClass::kAck}});
  pair.send(1);
  expect_delivered_once(pair, 1);
  EXPECT_EQ(pair.impairments().counts()[0].done, 0u);
  EXPECT_EQ(pair.impairments().counts()[0].not_done, 1u);
  EXPECT_EQ(pair.counters().icrc_errors, 0u);
  EXPECT_EQ(pair.frames_missing(), 0u);
}

// The peer has everything already: what is sent again are duplicates.
TEST(ImpairmentActions, ForgedNakRewindsTheSender) {
  for (const PortSide side : {PortSide::kTransmit, PortSide::kReceive}) {
    ImpairmentRule rule = at_packet(ImpairmentAction::kForgeNak, 2);
    rule.side = side;
    ImpairmentPair pair({rule});
    pair.send(4);
    expect_delivered_once(pair, 1);
    EXPECT_EQ(pair.counters().naks, 1u);
    EXPECT_EQ(pair.counters().naks_tx, 0u);
    EXPECT_GE(pair.counters().retransmitted, 1u);
    EXPECT_EQ(pair.counters().icrc_errors, 0u);
    if (side == PortSide::kTransmit) continue;
    // It left the receiver's port.
    std::vector<FrameBytes> naks;
    for (const FrameBytes& frame : pair.sent(1))
      if (opcode_of(frame) == kAcknowledgeOpcode && field(frame, kAfterBth, 1) == 0x60) naks.push_back(frame);
    ASSERT_EQ(naks.size(), 1u);
    EXPECT_TRUE(is_sealed(naks[0]));
    EXPECT_EQ(psn_of(naks[0]), (pair.first_psn() + 2) & 0xFFFFFF);
    EXPECT_EQ(field(naks[0], kBthAt + 5, 3), field(pair.sent(1)[0], kBthAt + 5, 3)) << "another queue pair";
  }
}

// The sender waits for 0.64 ms, and then the peer has everything already.
TEST(ImpairmentActions, ForgedRnrNakLetsTheSenderWait) {
  ImpairmentRule rule = at_packet(ImpairmentAction::kForgeRnr, 2);
  rule.side = PortSide::kReceive;
  ImpairmentPair pair({rule});
  pair.send(4);
  expect_delivered_once(pair, 1);
  EXPECT_EQ(pair.counters().rnr_naks, 1u);
  EXPECT_EQ(pair.counters().rnr_naks_tx, 0u);
  EXPECT_EQ(pair.counters().naks, 0u);
  EXPECT_EQ(pair.counters().icrc_errors, 0u);
  std::vector<FrameBytes> naks;
  for (const FrameBytes& frame : pair.sent(1))
    if (opcode_of(frame) == kAcknowledgeOpcode && field(frame, kAfterBth, 1) == 0x2C) naks.push_back(frame);
  ASSERT_EQ(naks.size(), 1u) << "0x20, RNR NAK, with timer code 12";
  EXPECT_EQ(psn_of(naks[0]), (pair.first_psn() + 2) & 0xFFFFFF);
}

TEST(ImpairmentActions, ForgedAckStandsForOneThatIsSuppressed) {
  ImpairmentPair pair({at_packet(ImpairmentAction::kForgeAck, ImpairmentRule::kLastPacket),
                       {.action = ImpairmentAction::kDrop, .packets = PacketClass::kAck}});
  pair.send(4);
  expect_delivered_once(pair, 1);
  EXPECT_EQ(pair.counters().timeouts, 0u);
  EXPECT_GE(pair.impairments().counts()[1].done, 1u);
  EXPECT_TRUE(pair.sent(1).empty());
}

TEST(ImpairmentActions, SuppressedAckIsRepairedByTimeout) {
  ImpairmentPair pair({{.action = ImpairmentAction::kDrop, .packets = PacketClass::kAck, .limit = 1}});
  pair.send(1);
  expect_delivered_once(pair, 1);
  EXPECT_EQ(pair.counters().timeouts, 1u);
  EXPECT_EQ(pair.counters().duplicate_packets, 1u);
  EXPECT_EQ(pair.impairments().events()[0].message, 0u);
}

TEST(ImpairmentActions, ForgedCnpIsCounted) {
  ImpairmentRule rule = at_packet(ImpairmentAction::kForgeCnp, 0);
  rule.side = PortSide::kReceive;
  ImpairmentPair pair({rule});
  pair.send(4);
  expect_delivered_once(pair, 1);
  EXPECT_EQ(pair.counters().cnp_rx, 1u);
  ASSERT_FALSE(pair.sent(1).empty());
  EXPECT_EQ(opcode_of(pair.sent(1)[0]), kCnpOpcode);
  EXPECT_TRUE(is_sealed(pair.sent(1)[0]));
}

// IEEE 802.1Qbb: to 01-80-C2-00-00-01, EtherType 0x8808, opcode 0x0101, class-enable vector, eight times.
TEST(ImpairmentActions, PauseFramesLeaveAtTheirTimes) {
  ImpairmentPair pair({{.action = ImpairmentAction::kPause,
                        .port = PortId(1),
                        .from = Time() + microseconds(10),
                        .limit = 3,
                        .pause = priority_pause(priority_bit(3) | priority_bit(5), 700),
                        .interval = microseconds(50)}});
  const std::vector<FrameBytes> frames = pair.sent(1);
  ASSERT_EQ(pair.impairments().counts()[0].done, 3u);
  const auto events = pair.impairments().events();
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(events[i].time, Time() + microseconds(10) + microseconds(50) * static_cast<int64_t>(i));
  EXPECT_EQ(pair.counters().pause_rx, 3u);
  EXPECT_EQ(pair.counters().pause_tx, 3u);
  std::vector<FrameBytes> pauses;
  for (const FrameBytes& frame : pair.port(1).sent())
    if (field(frame, 12, 2) == 0x8808) pauses.push_back(frame);
  ASSERT_EQ(pauses.size(), 3u);
  EXPECT_EQ(field(pauses[0], 0, 4), 0x0180C200u);
  EXPECT_EQ(field(pauses[0], 4, 2), 0x0001u);
  EXPECT_EQ(field(pauses[0], 14, 2), 0x0101u);
  EXPECT_EQ(field(pauses[0], 16, 2), 0x0028u);
  for (size_t priority = 0; priority < 8; ++priority)
    EXPECT_EQ(field(pauses[0], 18 + 2 * priority, 2), priority == 3 || priority == 5 ? 700u : 0u);
}

}  // namespace
}  // namespace rankwire
