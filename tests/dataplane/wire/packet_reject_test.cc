// Frames that are not packets for a queue pair, and why.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/packet.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

using testing::Encapsulation;
using testing::encapsulations;
using testing::frame_over;
using testing::FrameBytes;
using testing::linear;

FrameBytes write_only(const PacketPath& path, uint32_t payload) {
  FrameBytes memory(256);
  const FrameBytes content(payload, 0xA5);
  Frame frame;
  frame.head = memory.data();
  write_headers(make_template(path),
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

/// A frame whose fields are changed by their offset in a header.
class Changed {
 public:
  explicit Changed(const Encapsulation& as, uint32_t payload = 8)
      : bytes_(write_only(as.path, payload)),
        ip_(as.ip_offset),
        bth_(as.bth_offset),
        v4_(as.path.source_ip.is_ipv4()) {}

  Changed& at(size_t offset, std::initializer_list<int> values) {
    for (const int value : values) bytes_.at(offset++) = static_cast<uint8_t>(value);
    return *this;
  }
  Changed& ether_type(std::initializer_list<int> values) { return at(ip_ - 2, values); }
  /// The IPv4 header checksum is made right again.
  Changed& ip(size_t offset, std::initializer_list<int> values) {
    at(ip_ + offset, values);
    if (v4_) {
      Ipv4Header header;
      std::memcpy(&header, bytes_.data() + ip_, sizeof header);
      header.checksum = ipv4_checksum(header);
      std::memcpy(bytes_.data() + ip_, &header, sizeof header);
    }
    return *this;
  }
  Changed& udp(size_t offset, std::initializer_list<int> values) { return at(bth_ - 8 + offset, values); }
  Changed& bth(size_t offset, std::initializer_list<int> values) { return at(bth_ + offset, values); }
  Changed& cut(size_t length) {
    bytes_.resize(length);
    return *this;
  }
  operator Reject() const { return reject_of(bytes_); }

 private:
  FrameBytes bytes_;
  size_t ip_, bth_;
  bool v4_;
};

TEST(Reject, FieldsThatAllEncapsulationsHave) {
  for (const Encapsulation& as : encapsulations()) {
    SCOPED_TRACE(as.name);
    const auto bad = [&] { return Changed(as); };
    ASSERT_EQ(Reject(bad()), Reject::kNone);
    EXPECT_EQ(Reject(bad().ether_type({0x08, 0x06})), Reject::kArp);
    EXPECT_EQ(Reject(bad().ether_type({0x88, 0xA8})), Reject::kVlanTag);
    EXPECT_EQ(Reject(bad().ether_type({0x89, 0x15})), Reject::kEtherType);  // RoCEv1
    EXPECT_EQ(Reject(bad().udp(2, {0x12, 0xB6})), Reject::kUdpPort);
    EXPECT_EQ(Reject(bad().udp(4, {0, 60})), Reject::kUdpLength);
    EXPECT_EQ(Reject(bad().udp(6, {0x12, 0x34})), Reject::kNone);  // the checksum is nobody's
    EXPECT_EQ(Reject(bad().bth(0, {0x1F})), Reject::kOpcode);
    EXPECT_EQ(Reject(bad().bth(0, {0x64})), Reject::kOpcode);  // UD
    EXPECT_EQ(Reject(bad().bth(1, {0x41})), Reject::kBthVersion);
    EXPECT_EQ(Reject(bad().bth(2, {0xFF, 0xFE})), Reject::kPartitionKey);
    EXPECT_EQ(Reject(bad().bth(2, {0x7F, 0xFF})), Reject::kNone);  // a limited member and a full one
    EXPECT_EQ(Reject(Changed(as, 0).bth(1, {0x70})), Reject::kPad);
    EXPECT_EQ(Reject(bad().bth(0, {0x11})), Reject::kPad);  // an ACK with a payload
  }
}

TEST(Reject, Ipv4) {
  for (const Encapsulation& as : {encapsulations()[0], encapsulations()[2]}) {
    SCOPED_TRACE(as.name);
    const auto bad = [&] { return Changed(as); };
    EXPECT_EQ(Reject(bad().ether_type({0x86, 0xDD})), Reject::kIpVersion);
    EXPECT_EQ(Reject(bad().ip(9, {1})), Reject::kIcmp);
    EXPECT_EQ(Reject(bad().ip(9, {6})), Reject::kIpProtocol);
    EXPECT_EQ(Reject(bad().at(as.ip_offset + 8, {63})), Reject::kIpChecksum);
    EXPECT_EQ(Reject(bad().ip(6, {0x20, 0})), Reject::kIpFragment);  // the first of several
    EXPECT_EQ(Reject(bad().ip(6, {0x20, 1})), Reject::kUdpPort);     // a later one
    // 20 + 8 + 12 + 4 = 44 is the least, and holds no RETH.
    EXPECT_EQ(Reject(bad().ip(2, {0, 43})), Reject::kIpLength);
    EXPECT_EQ(Reject(bad().ip(2, {0, 44}).udp(4, {0, 24})), Reject::kExtendedHeader);
    EXPECT_EQ(Reject(bad().ip(2, {1, 0}).udp(4, {0, 236})), Reject::kTruncated);
    // Options move UDP by four bytes: what stands there now is BTH's place, so the port is looked for there.
    EXPECT_EQ(Reject(bad().ip(0, {0x46})), Reject::kUdpPort);
    EXPECT_EQ(Reject(bad().ip(0, {0x46}).at(as.ip_offset + 26, {0x12, 0xB7})), Reject::kIpVersion);
    EXPECT_EQ(Reject(bad().ip(0, {0x44})), Reject::kIpVersion);
    EXPECT_EQ(Reject(bad().ip(0, {0x46}).ip(9, {6})), Reject::kIpProtocol);
  }
}

TEST(Reject, Ipv6) {
  for (const Encapsulation& as : {encapsulations()[1], encapsulations()[3]}) {
    SCOPED_TRACE(as.name);
    const auto bad = [&] { return Changed(as); };
    EXPECT_EQ(Reject(bad().ether_type({0x08, 0x00})), Reject::kIpVersion);
    EXPECT_EQ(Reject(bad().ip(6, {58})), Reject::kIcmpv6);
    EXPECT_EQ(Reject(bad().ip(6, {6})), Reject::kIpProtocol);
    for (const int extension : {0, 43, 44, 60}) EXPECT_EQ(Reject(bad().ip(6, {extension})), Reject::kIpProtocol);
    // 8 + 12 + 4 = 24 is the least, and holds no RETH.
    EXPECT_EQ(Reject(bad().ip(4, {0, 23})), Reject::kIpLength);
    EXPECT_EQ(Reject(bad().ip(4, {0, 24}).udp(4, {0, 24})), Reject::kExtendedHeader);
    EXPECT_EQ(Reject(bad().ip(4, {0, 236}).udp(4, {0, 236})), Reject::kTruncated);
    EXPECT_EQ(Reject(bad().ip(4, {0, 0})), Reject::kIpLength);  // a jumbogram (RFC 2675)
    EXPECT_EQ(Reject(bad().ip(7, {1})), Reject::kNone);         // any hop limit
  }
}

TEST(Reject, FramesThatEndEarlyAreRoceOnlyOnceThePortIsSeen) {
  for (const Encapsulation& as : encapsulations()) {
    const size_t whole = write_only(as.path, 8).size();
    const size_t port_end = as.bth_offset - 4, headers_end = as.bth_offset + 12;
    for (size_t length = 0; length < whole; ++length) {
      const Reject reject = Changed(as).cut(length);
      const Reject expected = length < port_end ? Reject::kRunt : Reject::kTruncated;
      EXPECT_EQ(reject, expected) << as.name << ", " << length << " of " << whole << " bytes: " << to_string(reject);
      if (length < headers_end) continue;
      EXPECT_FALSE(is_foreign(reject));
    }
  }
}

TEST(Reject, ShortForeignFramesAreForeign) {
  // An unpadded ARP request has 42 bytes, an ICMP echo without data as well, a TCP segment without options 54.
  FrameBytes arp(42), icmp(42), tcp(54);
  arp[12] = 0x08, arp[13] = 0x06;
  for (FrameBytes* ip : {&icmp, &tcp}) (*ip)[12] = 0x08, (*ip)[14] = 0x45;
  icmp[23] = 1, tcp[23] = 6;
  EXPECT_EQ(reject_of(arp), Reject::kArp);
  EXPECT_EQ(reject_of(icmp), Reject::kIcmp);
  EXPECT_EQ(reject_of(tcp), Reject::kIpProtocol);
  EXPECT_TRUE(is_for_neighbours(Reject::kArp) && is_for_neighbours(Reject::kIcmp) &&
              is_for_neighbours(Reject::kIcmpv6));
  EXPECT_FALSE(is_for_neighbours(Reject::kVlanTag) || is_for_neighbours(Reject::kNone));
}

TEST(Reject, StackedTags) {
  FrameBytes frame = write_only(encapsulations()[2].path, 8);
  frame.insert(frame.begin() + 12, {0x81, 0x00, 0x00, 0x07});
  EXPECT_EQ(reject_of(frame), Reject::kVlanTag);
  frame[12] = 0x88, frame[13] = 0xA8;
  EXPECT_EQ(reject_of(frame), Reject::kVlanTag);
}

TEST(Reject, EthernetPaddingBehindTheIpPacketIsIgnored) {
  for (const Encapsulation& as : encapsulations()) {
    FrameBytes frame = write_only(as.path, 8);
    frame.resize(frame.size() + 11, 0xEE);
    const ParsedPacket packet = parse(frame_over(frame));
    EXPECT_EQ(packet.reject, Reject::kNone);
    EXPECT_EQ(packet.payload_length, 8u);
    EXPECT_TRUE(icrc_matches(frame_over(frame), packet));
  }
}

TEST(Reject, PayloadReferenceMustHoldExactlyThePayload) {
  for (const Encapsulation& as : encapsulations()) {
    FrameBytes bytes = write_only(as.path, 8);
    const size_t headers = as.bth_offset + 12 + 16 + 4;
    Frame frame = frame_over(bytes);
    frame.head_length = static_cast<uint16_t>(headers);
    frame.payload = bytes.data() + headers;
    frame.payload_length = 8;
    frame.tail_length = 4;
    std::memcpy(frame.tail, bytes.data() + headers + 8, 4);
    EXPECT_EQ(parse(frame).reject, Reject::kNone);
    EXPECT_TRUE(icrc_matches(frame, parse(frame)));
    frame.head_length += 4;
    frame.payload += 4;
    frame.payload_length = 4;
    EXPECT_EQ(parse(frame).reject, Reject::kScattered);
  }
}

// Bytes that the ICRC reads as ones and that nothing else covers, by their distance from the IP header.
bool is_free(const Encapsulation& as, size_t bit) {
  const size_t byte = bit / 8 - as.ip_offset, udp = as.bth_offset - 8 - as.ip_offset;
  if (byte == udp + 6 || byte == udp + 7 || byte == udp + 12) return true;  // UDP checksum; FECN, BECN, reserved
  if (as.path.source_ip.is_ipv4()) return false;                            // the header checksum covers the others
  return (byte == 0 && bit % 8 < 4) || (byte >= 1 && byte <= 3) || byte == 7;
}

TEST(Reject, AnyFlippedBitIsRejectedFailsTheIcrcOrIsNotCovered) {
  for (const Encapsulation& as : encapsulations()) {
    const FrameBytes good = write_only(as.path, 21);
    for (size_t bit = as.ip_offset * 8; bit < good.size() * 8; ++bit) {
      FrameBytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const ParsedPacket packet = parse(frame_over(bad));
      const bool accepted = packet.reject == Reject::kNone && icrc_matches(frame_over(bad), packet);
      EXPECT_EQ(accepted, is_free(as, bit)) << as.name << ", bit " << bit % 8 << " of byte " << bit / 8;
    }
  }
}

}  // namespace
}  // namespace rankwire
