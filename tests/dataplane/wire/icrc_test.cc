#include "dataplane/wire/icrc.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

std::vector<uint8_t> random_bytes(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<uint8_t> bytes(n);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}

// The definition, one bit at a time.
uint32_t bitwise(uint32_t crc, std::span<const uint8_t> bytes) {
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
  }
  return crc;
}

TEST(Crc32, CheckValueOfTheCatalogue) {
  // CRC-32/ISO-HDLC of "123456789" is 0xCBF43926 (RevEng catalogue of parametrised CRC algorithms).
  const char* const text = "123456789";
  const std::span bytes(reinterpret_cast<const uint8_t*>(text), 9);
  EXPECT_EQ(~crc32_update_tables(kCrcStart, bytes), 0xCBF43926u);
  EXPECT_EQ(~crc32_update(kCrcStart, bytes), 0xCBF43926u);
}

TEST(Crc32, RegisterAfterEightOnes) {
  // The seed of Linux's rxe: the register after the eight bytes that stand for the local routing header.
  const std::vector<uint8_t> ones(8, 0xFF);
  EXPECT_EQ(crc32_update_tables(kCrcStart, ones), 0xDEBB20E3u);
}

TEST(Crc32, ImplementationsAgreeWithTheDefinitionAtEveryLengthAndAlignment) {
  const std::vector<uint8_t> bytes = random_bytes(800, 1);
  for (size_t length = 0; length <= 700; ++length) {
    for (const size_t offset : {0, 1, 7, 15}) {
      const std::span piece(bytes.data() + offset, length);
      const uint32_t expected = bitwise(0x12345678, piece);
      ASSERT_EQ(crc32_update_tables(0x12345678, piece), expected) << length << " bytes at " << offset;
      if (has_carryless_multiply()) {
        ASSERT_EQ(crc32_update_folding(0x12345678, piece), expected) << length << " bytes at " << offset;
      }
      if (has_wide_carryless_multiply()) {
        ASSERT_EQ(crc32_update_wide_folding(0x12345678, piece), expected) << length << " bytes at " << offset;
      }
    }
  }
}

TEST(Crc32, ManyStringsAreRunThroughTheirOwnRegisters) {
  Random random(3);
  const std::vector<uint8_t> bytes = random_bytes(8192, 4);
  for (const size_t size : {0u, 15u, 64u, 255u, 256u, 272u, 1000u, 1024u, 4096u}) {
    for (const size_t strings : {1u, 2u, 7u, 32u}) {
      std::vector<uint32_t> crcs, expected;
      std::vector<const uint8_t*> begins;
      for (size_t i = 0; i < strings; ++i) {
        crcs.push_back(static_cast<uint32_t>(random.next()));
        begins.push_back(bytes.data() + 61 * i);
        expected.push_back(crc32_update_tables(crcs[i], {begins[i], size}));
      }
      crc32_update_all(crcs, begins.data(), size);
      EXPECT_EQ(crcs, expected) << strings << " strings of " << size << " bytes";
    }
  }
}

TEST(Crc32, PiecesGiveTheWhole) {
  const std::vector<uint8_t> bytes = random_bytes(4200, 2);
  const std::span<const uint8_t> all(bytes);
  const uint32_t expected = bitwise(kCrcStart, all);
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const size_t cut = random.below(bytes.size() + 1);
    ASSERT_EQ(crc32_update(crc32_update(kCrcStart, all.first(cut)), all.subspan(cut)), expected) << cut;
  }
}

TEST(Icrc, FrameInPiecesEqualsContiguousPacket) {
  // 54 bytes of headers with 20 of extended headers, 101 of payload, 3 of pad; the first byte of IP says version 4.
  std::vector<uint8_t> bytes = random_bytes(54 + 20 + 101 + 3, 4);
  bytes[14] = 0x45;
  const uint32_t expected = icrc(std::span<const uint8_t>(bytes).subspan(14));
  const auto covered = static_cast<uint32_t>(bytes.size());

  Frame whole;
  whole.head = bytes.data();
  whole.head_length = static_cast<uint16_t>(covered);
  EXPECT_EQ(icrc(whole, 14, covered), expected);

  Frame pieces;
  pieces.head = bytes.data();
  pieces.head_length = 74;
  pieces.payload = bytes.data() + 74;
  pieces.payload_length = 101;
  pieces.tail_length = 3;
  std::memcpy(pieces.tail, bytes.data() + 175, 3);
  EXPECT_EQ(icrc(pieces, 14, covered), expected);
}

TEST(Icrc, CoversEverythingButWhatRoutersChange) {
  // Annex A17.3.3: type of service, time to live, header checksum, UDP checksum and BTH byte 4 are read as ones, and
  // the Ethernet header is not covered.
  std::vector<uint8_t> bytes = random_bytes(54 + 64, 5);
  bytes[14] = 0x45;
  Frame frame;
  frame.head = bytes.data();
  frame.head_length = static_cast<uint16_t>(bytes.size());
  const auto covered = static_cast<uint32_t>(bytes.size());
  const uint32_t before = icrc(frame, 14, covered);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool masked = i < 14 || i == 15 || i == 22 || i == 24 || i == 25 || i == 40 || i == 41 || i == 46;
    bytes[i] ^= 0x10;
    EXPECT_EQ(icrc(frame, 14, covered) == before, masked) << "byte " << i;
    bytes[i] ^= 0x10;
  }
}

TEST(Icrc, CoversEverythingButWhatRoutersChangeOverIpv6) {
  // The same for the traffic class and flow label, and the hop limit; behind a VLAN tag, which is not covered either.
  std::vector<uint8_t> bytes = random_bytes(78 + 64, 6);
  bytes[18] = 0x6A;
  Frame frame;
  frame.head = bytes.data();
  frame.head_length = static_cast<uint16_t>(bytes.size());
  const auto covered = static_cast<uint32_t>(bytes.size());
  const uint32_t before = icrc(frame, 18, covered);
  EXPECT_EQ(before, icrc(std::span<const uint8_t>(bytes).subspan(18)));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const size_t i = bit / 8;
    // The upper half of the first byte is the version, by which the reader knows the masks.
    if (i == 18 && bit % 8 >= 4) continue;
    // UDP begins at 18 + 40 = 58, BTH at 66.
    const bool masked = i < 18 || (i >= 18 && i <= 21) || i == 25 || i == 64 || i == 65 || i == 70;
    bytes[i] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_EQ(icrc(frame, 18, covered) == before, masked) << "bit " << bit % 8 << " of byte " << i;
    bytes[i] ^= static_cast<uint8_t>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace rankwire
