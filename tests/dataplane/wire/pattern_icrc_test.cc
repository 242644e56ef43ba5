#include "dataplane/wire/pattern_icrc.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "dataplane/wire/payload.h"
#include "tests/dataplane/wire/encapsulations.h"

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

}  // namespace
}  // namespace rankwire
