#include "emulator/peer/perftest_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace rankwire {
namespace {

using Kind = PerftestMessage::Kind;
using ::testing::HasSubstr;

template <size_t Bytes>
std::string text_of(const std::array<char, Bytes>& field) {
  return {field.data(), field.size()};
}

std::string big_endian(uint64_t number, size_t bytes) {
  std::string field;
  for (size_t i = bytes; i > 0; --i) field += static_cast<char>(number >> (8 * (i - 1)));
  return field;
}

// Sent by ib_read_bw 6.06 of Debian 12 on a soft-RoCE device with the address 10.5.0.1.
const std::string kVersion("6.06\0\0\0\0\0\0\0\0\0\0\0\0", 16);
const std::string kBufferGranularity("\0\0\x10\0", 4);
const std::string kCacheLine("\0\0\0@", 4);
const std::string kMtu4096("5\0", 2);
const std::string kKeys(
    "0000:0080:000015:6fed49:000005ee:00007f9fb1424000:"
    "00:00:00:00:00:00:00:00:00:00:ff:ff:0a:05:00:01:00000000:\0",
    108);
const std::string kPreamble = kVersion + kBufferGranularity + kCacheLine + kMtu4096;

PerftestKeys read_bw_keys() {
  return {.outstanding_reads = 128,
          .queue_pair = 0x15,
          .psn = 0x6FED49,
          .rkey = 0x5EE,
          .address = 0x7F9FB1424000,
          .gid = Ipv4Address{0x0A050001}};
}

// The messages of `bytes`; what is left over is incomplete.
std::vector<PerftestMessage> messages_of(std::string_view bytes) {
  PerftestReader reader;
  std::vector<PerftestMessage> messages;
  while (const auto message = reader.next(bytes)) {
    messages.push_back(*message);
    bytes.remove_prefix(message->bytes);
  }
  return messages;
}

std::string refusal(const std::string& bytes) {
  try {
    messages_of(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(PerftestProtocol, ReadsWhatAClientSends) {
  const std::vector<PerftestMessage> messages = messages_of(kPreamble + kKeys);
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].kind, Kind::kVersion);
  EXPECT_EQ(messages[1].kind, Kind::kBufferGranularity);
  EXPECT_EQ(messages[1].number, 4096u);
  EXPECT_EQ(messages[2].kind, Kind::kCacheLine);
  EXPECT_EQ(messages[2].number, 64u);
  EXPECT_EQ(messages[3].kind, Kind::kMtu);
  EXPECT_EQ(messages[3].number, 4096u);
  EXPECT_EQ(messages[4].kind, Kind::kKeys);
  EXPECT_EQ(messages[4].keys, read_bw_keys());
}

TEST(PerftestProtocol, AMessageIsTakenOnlyWhole) {
  const std::string bytes = kPreamble + kKeys + big_endian(65536, 8);
  size_t complete = 0, taken = 0;
  PerftestReader reader;
  for (size_t n = 0; n <= bytes.size(); ++n) {
    while (const auto message = reader.next(std::string_view(bytes).substr(complete, n - complete))) {
      complete += message->bytes;
      EXPECT_EQ(complete, n) << "no earlier than with its last byte";
      ++taken;
    }
  }
  EXPECT_EQ(taken, 6u);
}

TEST(PerftestProtocol, FormatsItsOwnAsAClientDoes) {
  EXPECT_EQ(text_of(format_perftest_keys(read_bw_keys())), kKeys);
  EXPECT_EQ(text_of(format_perftest_version()), kVersion);
  EXPECT_EQ(text_of(format_perftest_number(4096)), kBufferGranularity);
  EXPECT_EQ(text_of(format_perftest_mtu(4096)), kMtu4096);
  EXPECT_EQ(text_of(format_perftest_mtu(256)), std::string("1\0", 2));
}

TEST(PerftestProtocol, KeysOfAnIpv6GidKeepEveryField) {
  PerftestKeys keys{.lid = 0xABCD,
                    .outstanding_reads = 0xFFFF,
                    .queue_pair = 0xFFFFFF,
                    .psn = 0xFFFFFE,
                    .rkey = 0xFFFFFFFF,
                    .address = ~uint64_t{0},
                    .gid = *parse_ip("2001:db8:5::1"),
                    .shared_receive_queue = 0x12345678};
  const std::vector<PerftestMessage> messages = messages_of(kPreamble + text_of(format_perftest_keys(keys)));
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages.back().keys, keys);
}

// xchg_bw_reports: size, iterations, peak, average and 10^6 messages a second, eight bytes each, most significant
// first.
TEST(PerftestProtocol, AReportGivesItsBandwidthWhateverItsUnit) {
  std::string report = big_endian(65536, 8) + big_endian(5000, 8);
  for (const double number : {99.5, 98.25, 0.0125}) report += big_endian(std::bit_cast<uint64_t>(number), 8);
  PerftestReader reader;
  std::string bytes = kPreamble + kKeys + report + kKeys;
  size_t keys = 0;
  while (const auto message = reader.next(bytes)) {
    keys += message->kind == Kind::kKeys;
    EXPECT_EQ(reader.report().has_value(), bytes.size() - message->bytes <= kKeys.size());
    bytes.erase(0, message->bytes);
  }
  EXPECT_EQ(keys, 2u) << "in front of the report and behind it";
  ASSERT_TRUE(reader.report());
  EXPECT_EQ(reader.report()->message_bytes, 65536u);
  EXPECT_EQ(reader.report()->iterations, 5000u);
  EXPECT_DOUBLE_EQ(reader.report()->messages_per_second, 12500);
  EXPECT_DOUBLE_EQ(reader.report()->bandwidth(), 819'200'000);  // 65536 x 12500
}

TEST(PerftestProtocol, StrangersAreToldApart) {
  EXPECT_THAT(refusal("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("no perftest client"));
  EXPECT_THAT(refusal(std::string("SSH-2.0-OpenSSH_9.2\r\n")), HasSubstr("'SSH-2.0-OpenSSH_'"));
  EXPECT_THAT(refusal(std::string(16, '\0')), HasSubstr("no perftest client"));
  EXPECT_THAT(refusal(std::string("6.06x\0\0\0\0\0\0\0\0\0\0\0", 16)), HasSubstr("no perftest client"));
  EXPECT_THAT(refusal(std::string("nan\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)), HasSubstr("no perftest client"));
}

TEST(PerftestProtocol, VersionsThatPerftestNoLongerSpeaksAreRefused) {
  EXPECT_THAT(refusal(std::string("5.69\0\0\0\0\0\0\0\0\0\0\0\0", 16)), HasSubstr("older than 5.70"));
  // Newer ones speak like the older end: 6.29 asks for nothing that 6.06 does not know.
  for (const char* version : {"5.70", "6.29", "7.1"}) {
    std::string field = version;
    field.resize(16, '\0');
    EXPECT_EQ(refusal(field), "taken") << version;
  }
}

TEST(PerftestProtocol, KeysOfAnotherFormAreExplained) {
  // Without GID, 59 bytes; with the address behind the memory that data validation adds, 125.
  const std::string head = kKeys.substr(0, 50);
  EXPECT_THAT(refusal(kPreamble + head + std::string("00000000\0", 9)), HasSubstr("no GID"));
  EXPECT_THAT(refusal(kPreamble + head + "00007f9fb1424fff:" + kKeys.substr(50)), HasSubstr("data validation"));
}

TEST(PerftestProtocol, EveryByteOfTheKeysCounts) {
  for (size_t at = 0; at < kKeys.size(); ++at) {
    std::string keys = kKeys;
    keys[at] = 'x';
    EXPECT_NE(refusal(kPreamble + keys), "taken") << "at " << at;
  }
  EXPECT_THAT(refusal(kPreamble + std::string(108, '-')), HasSubstr("not readable"));
}

TEST(PerftestProtocol, PathMtusOutsideTheEnumAreRefused) {
  for (const char* wrong : {"0", "6", "-", "55", " 5"}) {
    std::string field = wrong;
    field.resize(2, '\0');
    EXPECT_THAT(refusal(kVersion + kBufferGranularity + kCacheLine + field), HasSubstr("no path MTU")) << wrong;
  }
}

TEST(PerftestProtocol, WhatIsTakenForKeysSaysNothingElse) {
  Random random(1);
  size_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string keys = kKeys;
    for (int flips = 0; flips < 2; ++flips) keys[random.below(keys.size())] = "0123456789abcdefx:-"[random.below(19)];
    PerftestReader reader;
    std::string bytes = kPreamble + keys;
    try {
      while (const auto message = reader.next(bytes)) {
        if (message->kind == Kind::kKeys) {
          EXPECT_EQ(text_of(format_perftest_keys(message->keys)), keys);
          ++taken;
        }
        bytes.erase(0, message->bytes);
      }
    } catch (const Error&) {
    }
  }
  // 82 of the 108 characters are digits, which 16 of the 19 characters may replace: 0.76^2 x 0.84^2 = 0.41.
  EXPECT_NEAR(static_cast<double>(taken), 0.41 * 20'000, 1000);
}

TEST(PerftestProtocol, TruncatedNoiseIsNeverReadBehindItsEnd) {
  Random random(2);
  const std::string whole = kPreamble + kKeys + big_endian(65536, 8) + kKeys;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int flips = 0; flips < 3; ++flips) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    bytes.resize(random.below(bytes.size() + 1));
    // A copy of exactly its size, so that a sanitizer sees every byte too far.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    std::string_view rest(exact.data(), exact.size());
    PerftestReader reader;
    try {
      while (const auto message = reader.next(rest)) {
        ASSERT_LE(message->bytes, rest.size());
        rest.remove_prefix(message->bytes);
      }
    } catch (const Error& error) {
      EXPECT_LT(std::string_view(error.what()).size(), 200u);
    }
  }
}

}  // namespace
}  // namespace rankwire
