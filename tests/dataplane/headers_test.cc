#include "dataplane/headers.h"

#include <gtest/gtest.h>

#include <cstring>

#include "dataplane/icrc.h"
#include "dataplane/packet.h"
#include "tests/dataplane/wire_bytes.h"

namespace rankwire {
namespace {

using testing::frame_over;
using testing::FrameBytes;
using testing::linear;

const PacketPath kPath{.source_mac = {{2, 0, 0, 0, 0, 1}},
                       .destination_mac = {{2, 0, 0, 0, 0, 2}},
                       .source_ip = Ipv4Address{0xC6120001},
                       .destination_ip = Ipv4Address{0xC6120002},
                       .source_qp = 0x11,
                       .destination_qp = 0x12,
                       .dscp = 26,
                       .ecn = Ecn::kCapable0};

FrameBytes write_only(uint32_t payload) {
  static FrameBytes memory(5000);
  static const FrameBytes content(4096, 0xA5);
  Frame frame;
  frame.head = memory.data();
  write_headers(make_template(kPath),
                {.opcode = Opcode::kWriteOnlyImmediate,
                 .psn = 7,
                 .payload_length = payload,
                 .immediate = 9,
                 .rkey = 3,
                 .dma_length = payload,
                 .address = 0x1000},
                frame);
  frame.payload = content.data();
  frame.payload_length = static_cast<uint16_t>(payload);
  seal(frame);
  return linear(frame);
}

Reject reject_of(FrameBytes frame) {
  return parse(frame_over(frame)).reject;
}

// The IP header checksum made right again after a change that it covers.
FrameBytes resummed(FrameBytes frame) {
  Ipv4Header ip;
  std::memcpy(&ip, frame.data() + 14, sizeof ip);
  ip.checksum = ipv4_checksum(ip);
  std::memcpy(frame.data() + 14, &ip, sizeof ip);
  return frame;
}

FrameBytes with_byte(FrameBytes frame, size_t at, uint8_t value) {
  frame[at] = value;
  return frame;
}

TEST(BigEndian, StoresTheMostSignificantByteFirst) {
  const Be24 psn(0x123456);
  uint8_t bytes[3];
  std::memcpy(bytes, &psn, 3);
  EXPECT_EQ(bytes[0], 0x12);
  EXPECT_EQ(bytes[2], 0x56);
  EXPECT_EQ(psn.value(), 0x123456u);
  EXPECT_EQ(Be64(0x0102030405060708).value(), 0x0102030405060708u);
  EXPECT_EQ(Be16(0xFFFE).value(), 0xFFFE);
  EXPECT_EQ(Be32(0x80000001).value(), 0x80000001u);
}

TEST(Ipv4Checksum, OfAPublishedHeader) {
  // The example header of Wikipedia's "Internet checksum" page: checksum 0xB861.
  Ipv4Header ip;
  ip.total_length = Be16(0x73);
  ip.flags_and_offset = Be16(0x4000);
  ip.time_to_live = 0x40;
  ip.source = Be32(0xC0A80001);
  ip.destination = Be32(0xC0A800C7);
  EXPECT_EQ(ipv4_checksum(ip).value(), 0xB861);
}

TEST(Ipv4Checksum, BuildersAddTheLengthToTheTemplate) {
  for (uint32_t payload = 0; payload <= 4096; payload += 61) {
    const FrameBytes frame = write_only(payload);
    Ipv4Header ip;
    std::memcpy(&ip, frame.data() + 14, sizeof ip);
    ASSERT_EQ(ip.checksum, ipv4_checksum(ip)) << payload;
  }
}

TEST(Packet, RoundTripOfEveryOpcode) {
  struct Case {
    Opcode opcode;
    uint32_t payload, length;  // whole frame: 14 + 20 + 8 + 12 + extended headers + payload + pad + ICRC 4
  };
  const FrameBytes content(1024, 0x5A);
  for (const Case& c : {Case{Opcode::kWriteFirst, 1024, 58 + 16 + 1024}, Case{Opcode::kWriteMiddle, 1024, 58 + 1024},
                        Case{Opcode::kWriteLast, 5, 58 + 8}, Case{Opcode::kWriteLastImmediate, 7, 58 + 4 + 8},
                        Case{Opcode::kWriteOnly, 1, 58 + 16 + 4}, Case{Opcode::kWriteOnlyImmediate, 0, 58 + 20}}) {
    FrameBytes memory(2048);
    Frame frame;
    frame.head = memory.data();
    write_headers(make_template(kPath),
                  {.opcode = c.opcode,
                   .ack_request = true,
                   .psn = 0xFFFFFF,
                   .payload_length = c.payload,
                   .immediate = 0xDEADBEEF,
                   .rkey = 0x1234,
                   .dma_length = c.payload,
                   .address = 0x7F0012345000},
                  frame);
    frame.payload = content.data();
    frame.payload_length = static_cast<uint16_t>(c.payload);
    seal(frame);
    EXPECT_EQ(frame.length(), c.length);

    FrameBytes bytes = linear(frame);
    for (const Frame& form : {frame, frame_over(bytes)}) {
      const ParsedPacket packet = parse(form);
      ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
      EXPECT_TRUE(icrc_matches(form, packet));
      EXPECT_EQ(packet.opcode, c.opcode);
      EXPECT_EQ(packet.psn, 0xFFFFFFu);
      EXPECT_TRUE(packet.ack_request);
      EXPECT_EQ(packet.ecn, Ecn::kCapable0);
      EXPECT_EQ(packet.destination_qp, 0x12u);
      EXPECT_EQ(packet.payload_length, c.payload);
      EXPECT_EQ(packet.pad, -c.payload & 3);
      const bool reth =
          c.opcode == Opcode::kWriteFirst || c.opcode == Opcode::kWriteOnly || c.opcode == Opcode::kWriteOnlyImmediate;
      EXPECT_EQ(packet.address, reth ? 0x7F0012345000u : 0u);
      EXPECT_EQ(packet.rkey, reth ? 0x1234u : 0u);
      EXPECT_EQ(packet.dma_length, reth ? c.payload : 0u);
      const bool immediate = c.opcode == Opcode::kWriteLastImmediate || c.opcode == Opcode::kWriteOnlyImmediate;
      EXPECT_EQ(packet.immediate, immediate ? 0xDEADBEEF : 0u);
    }
  }
}

TEST(Packet, EthernetPaddingBehindTheIpPacketIsIgnored) {
  FrameBytes frame = write_only(8);
  frame.resize(frame.size() + 11, 0xEE);
  const ParsedPacket packet = parse(frame_over(frame));
  EXPECT_EQ(packet.reject, Reject::kNone);
  EXPECT_EQ(packet.payload_length, 8u);
  EXPECT_TRUE(icrc_matches(frame_over(frame), packet));
}

TEST(Packet, EveryRejectReason) {
  // Offsets: Ethernet 0, IP 14, UDP 34, BTH 42, RETH 54, ImmDt 70, payload 74.
  const FrameBytes good = write_only(8);
  ASSERT_EQ(reject_of(good), Reject::kNone);
  EXPECT_EQ(reject_of(FrameBytes(good.begin(), good.begin() + 13)), Reject::kTruncated);
  EXPECT_EQ(reject_of(FrameBytes(good.begin(), good.begin() + 53)), Reject::kTruncated);
  EXPECT_EQ(reject_of(FrameBytes(good.begin(), good.end() - 1)), Reject::kTruncated);
  EXPECT_EQ(reject_of(with_byte(good, 13, 0x06)), Reject::kArp);
  EXPECT_EQ(reject_of(with_byte(with_byte(good, 12, 0x81), 13, 0)), Reject::kVlanTag);
  EXPECT_EQ(reject_of(with_byte(with_byte(good, 12, 0x86), 13, 0xDD)), Reject::kEtherType);
  EXPECT_EQ(reject_of(with_byte(good, 14, 0x46)), Reject::kIpVersion);
  EXPECT_EQ(reject_of(with_byte(good, 22, 63)), Reject::kIpChecksum);
  EXPECT_EQ(reject_of(resummed(with_byte(good, 23, 6))), Reject::kIpProtocol);
  EXPECT_EQ(reject_of(resummed(with_byte(good, 20, 0x20))), Reject::kIpFragment);
  EXPECT_EQ(reject_of(resummed(with_byte(good, 17, 43))), Reject::kIpLength);
  EXPECT_EQ(reject_of(with_byte(good, 36, 0)), Reject::kUdpPort);
  EXPECT_EQ(reject_of(with_byte(good, 39, 60)), Reject::kUdpLength);
  EXPECT_EQ(reject_of(with_byte(good, 43, 0x41)), Reject::kBthVersion);
  EXPECT_EQ(reject_of(with_byte(good, 45, 0xFE)), Reject::kPartitionKey);
  EXPECT_EQ(reject_of(with_byte(good, 42, 0x1F)), Reject::kOpcode);
  // 44 bytes from IP to ICRC hold no RETH: 20 + 8 + 12 + 4.
  EXPECT_EQ(reject_of(resummed(with_byte(with_byte(good, 17, 44), 39, 24))), Reject::kExtendedHeader);
  EXPECT_EQ(reject_of(with_byte(write_only(0), 43, 0x70)), Reject::kPad);
}

TEST(Packet, PayloadReferenceMustHoldExactlyThePayload) {
  FrameBytes bytes = write_only(8);
  Frame frame = frame_over(bytes);
  frame.head_length = 74;
  frame.payload = bytes.data() + 74;
  frame.payload_length = 8;
  frame.tail_length = 4;
  std::memcpy(frame.tail, bytes.data() + 82, 4);
  EXPECT_EQ(parse(frame).reject, Reject::kNone);
  EXPECT_TRUE(icrc_matches(frame, parse(frame)));
  frame.head_length = 78;
  frame.payload += 4;
  frame.payload_length = 4;
  EXPECT_EQ(parse(frame).reject, Reject::kScattered);
}

TEST(Packet, AnyFlippedBitIsRejectedFailsTheIcrcOrIsNotCovered) {
  const FrameBytes good = write_only(21);
  for (size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
    FrameBytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const ParsedPacket packet = parse(frame_over(bad));
    const bool accepted = packet.reject == Reject::kNone && icrc_matches(frame_over(bad), packet);
    // UDP checksum and BTH byte 4 (FECN, BECN): read as ones by the ICRC and covered by nothing else.
    const size_t byte = bit / 8;
    EXPECT_EQ(accepted, byte == 40 || byte == 41 || byte == 46) << "bit " << bit % 8 << " of byte " << byte;
  }
}

TEST(UdpSourcePort, IsSymmetricAndInRange) {
  EXPECT_EQ(udp_source_port(0x11, 0x12), udp_source_port(0x12, 0x11));
  // 0xFFFFFF^2 = 0xFFFFFE000001; ^ >> 20 (0xFFFFFE0) = 0xFFFFF1FFFFE1; ^ >> 40 (0xFF) = 0xFFFFF1FFFF1E; the low 20 bits
  // are 0xFFF1E; its low 14 bits 0x3F1E ^ its upper 6 bits 0x3F = 0x3F21.
  EXPECT_EQ(udp_source_port(0xFFFFFF, 0xFFFFFF), 0xFF21);
}

TEST(ArpAnnouncement, IsAGratuitousRequest) {
  FrameBytes memory(64, 0xEE);
  Frame frame;
  frame.head = memory.data();
  write_arp_announcement({{2, 0, 0, 0, 0, 1}}, {0xC6120001}, frame);
  // RFC 826: Ethernet 1, IPv4 0x0800, 6, 4, request 1; RFC 5227: sender and target protocol address are the same.
  FrameBytes expected = testing::from_hex(
      "ffffffffffff0200000000010806"
      "0001080006040001020000000001c6120001000000000000c6120001");
  expected.resize(60, 0);
  EXPECT_EQ(linear(frame), expected);
}

}  // namespace
}  // namespace rankwire
