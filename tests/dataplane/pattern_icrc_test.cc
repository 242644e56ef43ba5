#include "dataplane/pattern_icrc.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "dataplane/payload.h"
#include "dataplane/request_writer.h"

namespace rankwire {
namespace {

constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};

PacketPath path_of(uint32_t queue_pair) {
  return {.source_mac = {{2, 0, 0, 0, 0, 1}},
          .destination_mac = {{2, 0, 0, 0, 0, 2}},
          .source_ip = Ipv4Address{0xC6120001},
          .destination_ip = Ipv4Address{0xC6120002 + queue_pair},
          .source_qp = 0x10 + queue_pair,
          .destination_qp = 0xABCD00 + queue_pair,
          .dscp = 26,
          .ecn = Ecn::kCapable0};
}

/// By a pass over every byte of the frame.
uint32_t full_icrc(const Frame& headers, uint32_t payload_length) {
  std::vector<uint8_t> bytes(headers.head, headers.head + headers.head_length);
  bytes.insert(bytes.end(), payload_pattern().begin(), payload_pattern().begin() + payload_length);
  bytes.resize(bytes.size() + (-payload_length & 3));
  return icrc(std::span<const uint8_t>(bytes).subspan(sizeof(EthernetHeader)));
}

void expect_full_icrc(const PatternIcrc& pattern, const HeaderTemplate& path, const WritePacket& packet) {
  std::array<uint8_t, kMaxHeaderBytes> bytes;
  Frame frame;
  frame.head = bytes.data();
  write_headers(path, packet, frame);
  ASSERT_EQ(pattern.icrc(path, packet, {frame.head, frame.head_length}), full_icrc(frame, packet.payload_length))
      << "opcode " << static_cast<int>(packet.opcode) << " psn " << packet.psn << " length " << packet.payload_length;
}

TEST(PatternIcrc, MultiplicationIsPolynomial) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<uint32_t>(random.next()), b = static_cast<uint32_t>(random.next());
    EXPECT_EQ(crc32_multiply(a, b), crc32_multiply_bitwise(a, b));
    // x^0 is the unit, and x^8 is what a zero byte does to the register.
    EXPECT_EQ(crc32_multiply(a, 0x80000000), a);
    const uint8_t zero = 0;
    EXPECT_EQ(crc32_multiply(a, 0x00800000), crc32_update_tables(a, {&zero, 1}));
  }
}

TEST(PatternIcrc, EqualsAPassOverThePacketForEveryKindAndSequenceNumber) {
  Random random(2);
  for (const uint32_t mtu : kMtus) {
    const PatternIcrc pattern(mtu);
    for (uint32_t i = 0; i < 200; ++i) {
      const HeaderTemplate path = pattern.make_template(path_of(i));
      WritePacket packet{.psn = static_cast<uint32_t>(random.below(1 << 24)),
                         .payload_length = mtu,
                         .immediate = static_cast<uint32_t>(random.next()),
                         .rkey = static_cast<uint32_t>(random.next()),
                         .dma_length = static_cast<uint32_t>(random.next()),
                         .address = random.next()};
      for (const Opcode opcode :
           {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLastImmediate, Opcode::kWriteOnlyImmediate}) {
        packet.opcode = opcode;
        for (const bool ack_request : {false, true}) {
          packet.ack_request = ack_request;
          expect_full_icrc(pattern, path, packet);
        }
      }
    }
  }
}

TEST(PatternIcrc, EqualsAPassOverThePacketForEveryLength) {
  const PatternIcrc pattern(4096);
  const HeaderTemplate path = pattern.make_template(path_of(3));
  for (uint32_t length = 0; length <= 4096; ++length)
    expect_full_icrc(pattern, path,
                     {.opcode = Opcode::kWriteLastImmediate,
                      .ack_request = true,
                      .psn = length * 4093,
                      .payload_length = length,
                      .immediate = ~length});
}

/// A frame whose memory is its own.
struct OwnFrame {
  alignas(64) std::array<uint8_t, 2 * kHeaderRoom> memory{};
  Frame frame;
  OwnFrame() { frame.head = memory.data(); }
};

TEST(RequestWriter, PadIsZeroWhateverTheFrameHeldBefore) {
  RequestWriter writer(1024, PayloadMode::kPattern);
  const HeaderTemplate path = writer.make_template(path_of(1));
  OutboundMessage message;
  message.bytes = 1001;
  RequestRun run;
  run.length = 1001;
  OwnFrame owned;
  std::memset(owned.frame.tail, 0xEE, sizeof owned.frame.tail);
  writer.write(path, {}, message, run, {&owned.frame, 1});
  EXPECT_EQ(owned.frame.tail_length, 3 + kIcrcBytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(owned.frame.tail[i], 0);
  const ParsedPacket packet = parse(owned.frame);
  ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
  EXPECT_TRUE(icrc_matches(owned.frame, packet));
}

TEST(RequestWriter, EveryPacketOfARunIsWhole) {
  RequestWriter writer(1024, PayloadMode::kPattern);
  const HeaderTemplate path = writer.make_template(path_of(1));
  OutboundMessage message;
  message.bytes = 64 << 10;
  // Over the ends of the last and of all three bytes of the sequence number.
  for (const uint32_t first : {0u, 0x12FBu, 0xFFFFF8u}) {
    RequestRun run;
    run.opcode = Opcode::kWriteMiddle;
    run.count = 16;
    run.psn = first;
    run.offset = 1024;
    run.length = 1024;
    std::array<OwnFrame, 16> owned;
    std::array<Frame, 16> frames;
    for (size_t i = 0; i < 16; ++i) frames[i] = owned[i].frame;
    writer.write(path, {}, message, run, frames);
    for (uint32_t i = 0; i < 16; ++i) {
      const Frame& frame = frames[i];
      EXPECT_EQ(frame.length(), RequestWriter::frame_length(run));
      EXPECT_EQ(frame.head + frame.head_length, owned[i].memory.data() + kHeaderRoom);
      const ParsedPacket packet = parse(frame);
      ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
      EXPECT_EQ(packet.opcode, Opcode::kWriteMiddle);
      EXPECT_EQ(packet.psn, psn_add(first, i));
      EXPECT_EQ(packet.payload_length, 1024u);
      EXPECT_FALSE(packet.ack_request);
      EXPECT_TRUE(icrc_matches(frame, packet)) << i;
    }
  }
}

}  // namespace
}  // namespace rankwire
