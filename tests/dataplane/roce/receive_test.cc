// Frames that a transport must not take for its own, sent by a peer that this test plays.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::RocePair;

class RoceReceiveTest : public ::testing::Test {
 protected:
  RoceReceiveTest() { pair_.connect(); }

  static RoceOptions options() {
    RoceOptions options;
    options.payload = PayloadMode::kChecking;
    return options;
  }
  const EndPoint& end(uint32_t connection, bool at_source) {
    return *std::ranges::find_if(pair_.ends(), [&](const EndPoint& e) {
      return e.connection == ConnectionId(connection) && e.at_source == at_source;
    });
  }
  /// What a sends to b on connection 0.
  PacketPath path() {
    return {.source_mac = end(0, true).mac,
            .destination_mac = end(0, false).mac,
            .source_ip = end(0, true).ip,
            .destination_ip = end(0, false).ip,
            .destination_qp = end(0, false).queue_pair};
  }
  Frame write_only(const PacketPath& path, const std::vector<uint8_t>& payload) {
    Frame frame;
    EXPECT_EQ(pair_.port_a().allocate({&frame, 1}), 1u);
    const auto length = static_cast<uint32_t>(payload.size());
    write_headers(make_template(path),
                  {.opcode = Opcode::kWriteOnlyImmediate,
                   .ack_request = true,
                   .psn = end(0, true).psn,
                   .payload_length = length,
                   .immediate = 3,
                   .rkey = end(0, false).rkey,
                   .dma_length = length,
                   .address = end(0, false).address},
                  frame);
    std::memcpy(frame.head + frame.head_length, payload.data(), length);
    frame.head_length = static_cast<uint16_t>(frame.head_length + length);
    seal(frame);
    return frame;
  }
  void send(const Frame& frame) {
    ASSERT_EQ(pair_.port_a().transmit(pair_.now(), {&frame, 1}), 1u);
    pair_.run_until();
  }

  RocePair pair_{options(), {}};
};

TEST_F(RoceReceiveTest, ForgedPeerIsGoodEnoughToBeTakenForReal) {
  send(write_only(path(), std::vector<uint8_t>(8)));
  EXPECT_EQ(pair_.b().counters().messages_delivered, 1u);
  const auto received = pair_.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].index, 3u);
  EXPECT_EQ(received[0].received.payload_key, 0u);
  // a never sent the packet that b's ACK names.
  EXPECT_EQ(RocePair::detail(pair_.a(), "ghost_acks"), 1u);
}

TEST_F(RoceReceiveTest, WrongPayloadIsReportedWithTheComplementOfItsKey) {
  // The key is 0, so word 1 should be payload_word(0, 1).
  std::vector<uint8_t> payload(16);
  send(write_only(path(), payload));
  EXPECT_EQ(pair_.b().counters().payload_errors, 1u);
  ASSERT_EQ(pair_.events(EventKind::kReceived).size(), 1u);
  EXPECT_EQ(pair_.events(EventKind::kReceived)[0].received.payload_key, ~uint64_t{0});
}

TEST_F(RoceReceiveTest, UnknownQueuePair) {
  PacketPath other = path();
  other.destination_qp = 0x500;
  send(write_only(other, std::vector<uint8_t>(8)));
  EXPECT_EQ(pair_.b().counters().unknown_qp, 1u);
  EXPECT_EQ(pair_.b().counters().packets_tx, 0u);
}

TEST_F(RoceReceiveTest, FloodedFramesAreNotTaken) {
  PacketPath other_mac = path(), other_ip = path(), other_source = path();
  other_mac.destination_mac.bytes[5] = 99;
  other_ip.destination_ip.bytes[15] += 5;
  other_source.source_ip.bytes[15] += 5;
  for (const PacketPath& wrong : {other_mac, other_ip, other_source}) send(write_only(wrong, std::vector<uint8_t>(8)));
  EXPECT_EQ(RocePair::detail(pair_.b(), "misdirected"), 3u);
  EXPECT_EQ(pair_.b().counters().messages_delivered, 0u);
}

TEST_F(RoceReceiveTest, DamagedFramesAreDroppedSilently) {
  Frame frame = write_only(path(), std::vector<uint8_t>(8));
  frame.head[frame.head_length - 1] ^= 1;
  send(frame);
  EXPECT_EQ(pair_.b().counters().icrc_errors, 1u);
  EXPECT_EQ(pair_.b().ports()[0].rx_icrc_encapsulated, 1u);
  frame = write_only(path(), std::vector<uint8_t>(8));
  frame.head[22] ^= 1;  // time to live, which the header checksum covers
  send(frame);
  EXPECT_EQ(pair_.b().counters().malformed, 1u);
  EXPECT_EQ(RocePair::detail(pair_.b(), "rejected_ip_checksum"), 1u);
  EXPECT_EQ(pair_.b().counters().packets_tx, 0u);
}

TEST_F(RoceReceiveTest, CongestionNotificationsAreCounted) {
  // Annex A17.9.3: opcode 0x81, BECN, sixteen reserved bytes.
  Frame frame = write_only(path(), std::vector<uint8_t>(12));
  auto& header = *reinterpret_cast<testing::UntaggedIpv4*>(frame.head);
  header.bth.opcode = Opcode::kCongestionNotification;
  header.bth.congestion = 0x40;
  header.ip.total_length = Be16(60);
  header.ip.checksum = ipv4_checksum(header.ip);
  header.udp.length = Be16(40);
  std::memset(frame.head + sizeof(testing::UntaggedIpv4), 0, 16);
  frame.head_length = sizeof(testing::UntaggedIpv4) + 16;
  seal(frame);
  send(frame);
  EXPECT_EQ(pair_.b().counters().cnp_rx, 1u);
}

}  // namespace
}  // namespace rankwire
