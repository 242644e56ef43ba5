#include "dataplane/roce/report_forecast.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class ReportForecastTest : public PartsTest {
 protected:
  /// Whether a frame to the queue pair may be heard of, of which nothing but this stands in it.
  bool may_report(Opcode opcode, uint32_t queue_pair, uint32_t psn = 0, uint8_t syndrome = 0) {
    std::array<uint8_t, 128> bytes{};
    constexpr size_t kBth = sizeof(EthernetHeader) + sizeof(Ipv4Header) + sizeof(UdpHeader);
    reinterpret_cast<EthernetHeader*>(bytes.data())->ether_type = Be16(kEtherTypeIpv4);
    Bth& bth = *reinterpret_cast<Bth*>(&bytes[kBth]);
    bth.opcode = opcode;
    bth.destination_qp = Be24(QueuePairNumbers::kFirst + queue_pair);
    bth.psn = Be24(psn);
    bytes[kBth + sizeof(Bth)] = syndrome;
    Frame frame;
    frame.head = bytes.data();
    frame.head_length = bytes.size();
    return parts_->forecast.may_report(frame);
  }
};

TEST_F(ReportForecastTest, WhatEndsNoMessageIsNotHeardOf) {
  make();
  for (const Opcode opcode :
       {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kSendMiddle, Opcode::kCongestionNotification})
    EXPECT_FALSE(may_report(opcode, destination())) << static_cast<int>(opcode);
  EXPECT_TRUE(may_report(Opcode::kWriteLastImmediate, destination()));
  EXPECT_TRUE(may_report(Opcode::kSendOnly, destination()));
}

TEST_F(ReportForecastTest, APacketThatFillsAGapMayEndAMessage) {
  options_.out_of_order = 16;
  make();
  EXPECT_TRUE(may_report(Opcode::kWriteMiddle, destination()));
}

TEST_F(ReportForecastTest, AnAcknowledgementIsHeardOfWhenItEndsAMessage) {
  make();
  const uint32_t first = parts_->pairs.requesters[source()].next_psn();
  EXPECT_FALSE(may_report(Opcode::kAcknowledge, source(), first)) << "nothing is posted";
  post(3 * 4096);
  send_silently(source(), 3);
  EXPECT_FALSE(may_report(Opcode::kAcknowledge, source(), first));
  EXPECT_TRUE(may_report(Opcode::kAcknowledge, source(), psn_add(first, 2))) << "the last of three packets";
  EXPECT_TRUE(may_report(Opcode::kAcknowledge, source(), first, static_cast<uint8_t>(Syndrome::kNakSequence)));
  EXPECT_TRUE(may_report(Opcode::kAcknowledge, parts_->pairs.size(), first)) << "nobody's";
}

// Of three packets the last ends the message. They begin 335.52 ns, with RETH, and 334.24 ns apart.
TEST_F(ReportForecastTest, NothingIsReportedBeforeTheFirstFrameThatEndsAMessage) {
  make_with_bells();
  EXPECT_EQ(parts_->forecast.next_report_of(1), Time::never()) << "nothing is there";
  post(3 * 4096);
  for (uint32_t i = 0; i < 2; ++i) parts_->transmitter.transmit(0, Time() + nanoseconds(400) * i);
  ASSERT_EQ(carry(0, microseconds(5)), 2u);
  EXPECT_EQ(parts_->forecast.next_report_of(1), Time::never());
  parts_->transmitter.transmit(0, Time() + nanoseconds(800));
  ASSERT_EQ(carry(0, microseconds(5)), 1u);
  EXPECT_EQ(parts_->forecast.next_report_of(1), Time() + nanoseconds(800) + microseconds(5));
}

// Such a port does not say what waits behind the first frame.
TEST_F(ReportForecastTest, WhereFramesCannotBeLookedAtTheFirstMayBeReported) {
  make();
  post(3 * 4096);
  parts_->transmitter.transmit(0, Time() + nanoseconds(100));
  EXPECT_EQ(parts_->forecast.next_report_of(1), Time() + nanoseconds(100));
}

}  // namespace
}  // namespace rankwire
