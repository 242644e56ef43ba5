#include "dataplane/pattern_icrc.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "dataplane/payload.h"
#include "dataplane/request_writer.h"
#include "tests/dataplane/encapsulations.h"

namespace rankwire {
namespace {

constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};

// The four encapsulations in turn.
PacketPath path_of(uint32_t queue_pair) {
  PacketPath path = testing::encapsulations()[queue_pair % 4].path;
  path.destination_qp = 0xABCD00 + queue_pair;
  path.source_port = static_cast<uint16_t>(0xC000 + queue_pair);
  return path;
}

/// By a pass over every byte of the frame.
uint32_t full_icrc(const Frame& headers, uint32_t payload_length) {
  std::vector<uint8_t> bytes(headers.head, headers.head + headers.head_length);
  bytes.insert(bytes.end(), payload_pattern().begin(), payload_pattern().begin() + payload_length);
  bytes.resize(bytes.size() + (-payload_length & 3) + kIcrcBytes);
  return testing::bytewise_icrc(bytes);
}

void expect_full_icrc(const PatternIcrc& pattern, const HeaderTemplate& path, const OutboundPacket& packet) {
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
    for (uint32_t i = 0; i < 12; ++i) {
      const HeaderTemplate path = pattern.make_template(path_of(i));
      for (int opcode = 0; opcode <= static_cast<int>(Opcode::kReadResponseOnly); ++opcode) {
        if (!layout_of(static_cast<Opcode>(opcode)).payload) continue;
        for (const bool flag : {false, true}) {
          expect_full_icrc(pattern, path,
                           {.opcode = static_cast<Opcode>(opcode),
                            .ack_request = flag,
                            .solicited = random.below(2) == 0,
                            .source_port = static_cast<uint16_t>(flag ? random.next() : 0),
                            .psn = static_cast<uint32_t>(random.below(1 << 24)),
                            .payload_length = mtu,
                            .immediate = static_cast<uint32_t>(random.next()),
                            .rkey = static_cast<uint32_t>(random.next()),
                            .dma_length = static_cast<uint32_t>(random.next()),
                            .address = random.next(),
                            .syndrome = static_cast<uint8_t>(random.next()),
                            .msn = static_cast<uint32_t>(random.below(1 << 24))});
        }
      }
    }
  }
}

TEST(PatternIcrc, EqualsAPassOverThePacketForEveryLength) {
  const PatternIcrc pattern(4096);
  const std::array<HeaderTemplate, 4> paths{pattern.make_template(path_of(0)), pattern.make_template(path_of(1)),
                                            pattern.make_template(path_of(2)), pattern.make_template(path_of(3))};
  for (uint32_t length = 0; length <= 4096; ++length)
    expect_full_icrc(pattern, paths[length / 4 % 4],
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
  writer.write(path, message, run, {&owned.frame, 1});
  EXPECT_EQ(owned.frame.tail_length, 3 + kIcrcBytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(owned.frame.tail[i], 0);
  const ParsedPacket packet = parse(owned.frame);
  ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
  EXPECT_TRUE(icrc_matches(owned.frame, packet));
}

TEST(RequestWriter, AMiddleMayAskForAnAcknowledgement) {
  RequestWriter writer(1024, PayloadMode::kPattern);
  const HeaderTemplate path = writer.make_template(path_of(1));
  OutboundMessage message;
  message.bytes = 64 << 10;
  RequestRun run;
  run.opcode = Opcode::kWriteMiddle;
  run.ack_request = true;
  run.psn = 31;
  run.length = 1024;
  OwnFrame owned;
  writer.write(path, message, run, {&owned.frame, 1});
  const ParsedPacket packet = parse(owned.frame);
  ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
  EXPECT_TRUE(packet.ack_request);
  EXPECT_EQ(packet.psn, 31u);
  EXPECT_TRUE(icrc_matches(owned.frame, packet));
}

void expect_whole_run(const PacketPath& packet_path, SourcePortPolicy policy, uint32_t first) {
  RequestWriter writer(1024, PayloadMode::kPattern, policy);
  const HeaderTemplate path = writer.make_template(packet_path);
  OutboundMessage message;
  message.bytes = 64 << 10;
  message.immediate = 77;
  RequestRun run;
  run.opcode = Opcode::kWriteMiddle;
  run.count = 16;
  run.psn = first;
  run.offset = 1024;
  run.length = 1024;
  std::array<OwnFrame, 16> owned;
  std::array<Frame, 16> frames;
  for (size_t i = 0; i < 16; ++i) frames[i] = owned[i].frame;
  writer.write(path, message, run, frames);
  for (uint32_t i = 0; i < 16; ++i) {
    const Frame& frame = frames[i];
    EXPECT_EQ(frame.length(), RequestWriter::frame_length(path, run));
    EXPECT_EQ(frame.head + frame.head_length, owned[i].memory.data() + kHeaderRoom);
    const ParsedPacket packet = parse(frame);
    ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
    EXPECT_EQ(packet.opcode, Opcode::kWriteMiddle);
    EXPECT_EQ(packet.psn, psn_add(first, i));
    EXPECT_EQ(packet.payload_length, 1024u);
    EXPECT_EQ(packet.vlan, packet_path.vlan.value_or(0));
    EXPECT_FALSE(packet.ack_request);
    EXPECT_TRUE(icrc_matches(frame, packet)) << i;
    const uint16_t port = packet.udp().source_port.value();
    switch (policy) {
      case SourcePortPolicy::kLinux:
      case SourcePortPolicy::kFixed:
        EXPECT_EQ(port, packet_path.source_port);
        break;
      case SourcePortPolicy::kPerMessage:
        EXPECT_EQ(port, hashed_source_port(packet_path.destination_qp, 77));
        break;
      case SourcePortPolicy::kPerPacket:
        EXPECT_EQ(port, hashed_source_port(packet_path.destination_qp, packet.psn));
        break;
    }
  }
}

TEST(RequestWriter, EveryPacketOfARunIsWhole) {
  for (const testing::Encapsulation& as : testing::encapsulations()) {
    for (const SourcePortPolicy policy :
         {SourcePortPolicy::kLinux, SourcePortPolicy::kPerMessage, SourcePortPolicy::kPerPacket}) {
      SCOPED_TRACE(as.name);
      // Over the ends of the last and of all three bytes of the sequence number.
      for (const uint32_t first : {0u, 0x12FBu, 0xFFFFF8u}) expect_whole_run(as.path, policy, first);
    }
  }
}

}  // namespace
}  // namespace rankwire
