#include "dataplane/wire/headers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "dataplane/wire/source_port.h"

namespace rankwire {
namespace {

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

TEST(Opcode, HeadersThatFollow) {
  // IBTA table 38: RETH 16, AETH 4, ImmDt 4, IETH 4, AtomicETH 28, AtomicAckETH 8; Annex A17.9.3: 16 reserved bytes.
  const auto bytes = [](uint8_t opcode) { return layout_of(static_cast<Opcode>(opcode)).extended_header_bytes; };
  constexpr uint32_t kBytes[] = {0,  0, 0, 4, 0, 4, 16, 0,  0, 4, 16, 20,  // SEND 00 .. 05, WRITE 06 .. 0B
                                 16, 4, 0, 4, 4, 4, 12, 28, 28};           // READ 0C .. 10, ACK, atomics 12 .. 14
  for (uint8_t opcode = 0; opcode < std::size(kBytes); ++opcode) EXPECT_EQ(bytes(opcode), kBytes[opcode]) << +opcode;
  EXPECT_EQ(bytes(0x16), 4u);
  EXPECT_EQ(bytes(0x17), 4u);
  EXPECT_EQ(bytes(0x81), 16u);
  size_t known = 0;
  for (int opcode = 0; opcode < 256; ++opcode) known += layout_of(static_cast<Opcode>(opcode)).known ? 1 : 0;
  EXPECT_EQ(known, std::size(kBytes) + 3);
}

TEST(SourcePort, LinuxRuleByHand) {
  EXPECT_EQ(linux_source_port(0x11, 0x12), linux_source_port(0x12, 0x11));
  // 0xFFFFFF^2 = 0xFFFFFE000001; ^ >> 20 (0xFFFFFE0) = 0xFFFFF1FFFFE1; ^ >> 40 (0xFF) = 0xFFFFF1FFFF1E; the low 20 bits
  // are 0xFFF1E; its low 14 bits 0x3F1E ^ its upper 6 bits 0x3F = 0x3F21.
  EXPECT_EQ(linux_flow_label(0xFFFFFF, 0xFFFFFF), 0xFFF1Eu);
  EXPECT_EQ(linux_source_port(0xFFFFFF, 0xFFFFFF), 0xFF21);
  EXPECT_EQ(linux_source_port(0xFFF1E), 0xFF21);
}

TEST(SourcePort, HashedPortsAreSpreadEvenly) {
  // 64 buckets of 2^14 / 64 ports, 64000 numbers: binomial with mean 1000 and deviation 31; 5 deviations.
  std::array<uint32_t, 64> buckets{};
  for (uint32_t number = 0; number < 64'000; ++number) {
    const uint16_t port = hashed_source_port(0x12, number);
    ASSERT_GE(port, kFirstEntropyPort);
    ++buckets[(port & kEntropyPortMask) >> 8];
  }
  for (const uint32_t count : buckets) EXPECT_NEAR(count, 1000, 155);
  EXPECT_NE(hashed_source_port(0x12, 7), hashed_source_port(0x13, 7));
}

}  // namespace
}  // namespace rankwire
