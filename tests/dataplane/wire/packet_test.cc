// Packets that are written are the packets that are read, whatever carries them.
#include "dataplane/wire/packet.h"

#include <gtest/gtest.h>

#include "dataplane/wire/icrc.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

using testing::bytewise_icrc;
using testing::Encapsulation;
using testing::encapsulations;
using testing::frame_over;
using testing::FrameBytes;
using testing::linear;
using testing::stored_icrc;

constexpr uint32_t kPacketMtu = 1024;

const FrameBytes& content() {
  static const FrameBytes bytes(kPacketMtu, 0x5A);
  return bytes;
}

/// The packet as a frame whose payload is by reference. `memory` holds its head.
Frame written(const HeaderTemplate& path, const OutboundPacket& packet, FrameBytes& memory) {
  memory.assign(256, 0xEE);
  Frame frame;
  frame.head = memory.data();
  std::memset(frame.tail, 0xEE, sizeof frame.tail);
  write_headers(path, packet, frame);
  frame.payload = content().data();
  frame.payload_length = static_cast<uint16_t>(packet.payload_length);
  seal(frame);
  return frame;
}

void expect_same(const ParsedPacket& parsed, const OutboundPacket& packet, const Encapsulation& as) {
  ASSERT_EQ(parsed.reject, Reject::kNone) << to_string(parsed.reject);
  const OpcodeLayout& layout = layout_of(packet.opcode);
  EXPECT_EQ(parsed.opcode, packet.opcode);
  EXPECT_EQ(parsed.psn, packet.psn);
  EXPECT_EQ(parsed.ack_request, packet.ack_request);
  EXPECT_EQ(parsed.solicited, packet.solicited);
  EXPECT_EQ(parsed.destination_qp, as.path.destination_qp);
  EXPECT_EQ(parsed.payload_length, packet.payload_length);
  EXPECT_EQ(parsed.pad, -packet.payload_length & 3);
  EXPECT_EQ(parsed.address, layout.reth ? packet.address : 0);
  EXPECT_EQ(parsed.rkey, layout.reth ? packet.rkey : 0);
  EXPECT_EQ(parsed.dma_length, layout.reth ? packet.dma_length : 0);
  EXPECT_EQ(parsed.immediate, layout.immediate ? packet.immediate : 0);
  EXPECT_EQ(parsed.syndrome, layout.aeth ? packet.syndrome : 0);
  EXPECT_EQ(parsed.msn, layout.aeth ? packet.msn : 0);
  EXPECT_EQ(parsed.ecn, Ecn::kCapable0);
  EXPECT_EQ(parsed.dscp, 26);
  EXPECT_EQ(parsed.vlan, as.path.vlan.value_or(0));
  EXPECT_EQ(parsed.priority, as.path.vlan ? 3 : 0);
  EXPECT_EQ(parsed.ip_offset, as.ip_offset);
  EXPECT_EQ(parsed.bth_offset, as.bth_offset);
  EXPECT_EQ(parsed.source_ip(), as.path.source_ip);
  EXPECT_EQ(parsed.destination_ip(), as.path.destination_ip);
  EXPECT_EQ(parsed.ethernet().source, as.path.source_mac);
  EXPECT_EQ(parsed.udp().source_port.value(), packet.source_port != 0 ? packet.source_port : as.path.source_port);
}

TEST(Packet, RoundTripOfEveryOpcodeInEveryEncapsulation) {
  size_t packets = 0;
  for (const Encapsulation& as : encapsulations()) {
    const HeaderTemplate path = make_template(as.path);
    for (int value = 0; value < 256; ++value) {
      const auto opcode = static_cast<Opcode>(value);
      const OpcodeLayout& layout = layout_of(opcode);
      if (!layout.known) continue;
      for (const uint32_t length : {0u, 1u, 2u, 3u, 4u, 1021u, kPacketMtu}) {
        if (length > 0 && !layout.payload) continue;
        SCOPED_TRACE(::testing::Message() << as.name << ", opcode " << value << ", " << length << " bytes");
        const OutboundPacket packet{.opcode = opcode,
                                    .ack_request = length % 2 == 0,
                                    .solicited = length % 3 == 0,
                                    .source_port = static_cast<uint16_t>(length == 4 ? 0xFEDC : 0),
                                    .psn = 0xFFFFFF - length,
                                    .payload_length = length,
                                    .immediate = 0xDEADBEEF,
                                    .rkey = 0x1234,
                                    .dma_length = 0x7FFFFFFF,
                                    .address = 0x7F00'1234'5000,
                                    .syndrome = 0x6A,
                                    .msn = 0xABCDEF};
        FrameBytes memory;
        const Frame frame = written(path, packet, memory);
        EXPECT_EQ(frame.length(), frame_bytes(path, opcode, length));
        EXPECT_EQ(header_bytes(path, opcode), as.bth_offset + 12 + layout.extended_header_bytes);

        FrameBytes bytes = linear(frame);
        EXPECT_EQ(stored_icrc(bytes), bytewise_icrc(bytes));
        for (const Frame& form : {frame, frame_over(bytes)}) {
          const ParsedPacket parsed = parse(form);
          expect_same(parsed, packet, as);
          EXPECT_TRUE(icrc_matches(form, parsed));
        }
        ++packets;
      }
    }
  }
  // Of 24 opcodes 18 have a payload: 4 x (18 x 7 + 6 x 1).
  EXPECT_EQ(packets, 528u);
}

TEST(Packet, Ipv4HeaderChecksumIsRightAtEveryLength) {
  for (const Encapsulation& as : {encapsulations()[0], encapsulations()[2]}) {
    const HeaderTemplate path = make_template(as.path);
    const HeaderTemplate middle = make_middle_template(as.path, kPacketMtu);
    for (uint32_t length = 0; length <= kPacketMtu; ++length) {
      for (const HeaderTemplate* from : {&path, &middle}) {
        FrameBytes memory;
        written(*from, {.opcode = Opcode::kWriteLast, .payload_length = length}, memory);
        Ipv4Header ip;
        std::memcpy(&ip, memory.data() + as.ip_offset, sizeof ip);
        ASSERT_EQ(ip.checksum, ipv4_checksum(ip)) << as.name << ", " << length << " bytes";
      }
    }
  }
}

TEST(Packet, MiddleTemplateIsTheHeaderOfAMiddle) {
  for (const Encapsulation& as : encapsulations()) {
    const HeaderTemplate path = make_middle_template(as.path, kPacketMtu);
    FrameBytes memory;
    const Frame frame =
        written(make_template(as.path), {.opcode = Opcode::kWriteMiddle, .payload_length = kPacketMtu}, memory);
    ASSERT_EQ(frame.head_length, path.header_length);
    EXPECT_EQ(std::memcmp(frame.head, path.header(), path.header_length), 0) << as.name;
    EXPECT_EQ(path.icrc.behind_bth, icrc_register(frame.head + as.ip_offset)) << as.name;
  }
}

TEST(Packet, TemplateOfUntaggedIpv4StandsInTheLastCacheLine) {
  const HeaderTemplate path = make_template(encapsulations()[0].path);
  EXPECT_GE(path.header() - reinterpret_cast<const uint8_t*>(&path), 64);
  EXPECT_EQ(path.header_end() - reinterpret_cast<const uint8_t*>(&path), 128);
}

TEST(Packet, AcknowledgementsAndNotificationsHaveTheirOwnMarking) {
  struct Case {
    uint8_t syndrome;
    Marking marking;
  };
  for (const Encapsulation& as : encapsulations()) {
    // Data with an odd length before, so that nothing of a pad may be left over.
    for (const HeaderTemplate& path : {make_template(as.path), make_middle_template(as.path, kPacketMtu)}) {
      const auto expect_marking = [&](const Frame& frame, const ParsedPacket& packet, const Marking& marking) {
        ASSERT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
        EXPECT_TRUE(icrc_matches(frame, packet));
        EXPECT_EQ(stored_icrc(linear(frame)), bytewise_icrc(linear(frame)));
        EXPECT_EQ(packet.dscp, marking.dscp) << as.name;
        EXPECT_EQ(packet.ecn, marking.ecn) << as.name;
        EXPECT_EQ(packet.priority, as.path.vlan ? marking.priority : 0) << as.name;
        EXPECT_EQ(packet.vlan, as.path.vlan.value_or(0));
        EXPECT_EQ(packet.destination_qp, 0x12u);
      };
      const Markings& markings = as.path.markings;
      // ACK without credits, ACK with credit code 3, RNR NAK with timer code 12, sequence NAK, remote access NAK.
      for (const Case& c : {Case{0x1F, markings.ack}, Case{0x03, markings.ack}, Case{0x2C, markings.nak},
                            Case{0x60, markings.nak}, Case{0x62, markings.nak}}) {
        FrameBytes memory(256, 0xEE);
        Frame frame;
        frame.head = memory.data();
        write_acknowledgement(path, {.psn = 0x123456, .msn = 0x654321, .syndrome = c.syndrome}, frame);
        EXPECT_EQ(frame.length(), frame_bytes(path, Opcode::kAcknowledge, 0));
        const ParsedPacket packet = parse(frame);
        expect_marking(frame, packet, c.marking);
        EXPECT_EQ(packet.opcode, Opcode::kAcknowledge);
        EXPECT_EQ(packet.psn, 0x123456u);
        EXPECT_EQ(packet.msn, 0x654321u);
        EXPECT_EQ(packet.syndrome, c.syndrome);
        EXPECT_FALSE(packet.ack_request);
      }
      FrameBytes memory(256, 0xEE);
      Frame frame;
      frame.head = memory.data();
      write_congestion_notification(path, 33, frame);
      const ParsedPacket packet = parse(frame);
      const uint8_t* const ip = packet.head + packet.ip_offset;
      EXPECT_EQ(packet.ip_version == IpVersion::kIpv4 ? reinterpret_cast<const Ipv4Header*>(ip)->time_to_live
                                                      : reinterpret_cast<const Ipv6Header*>(ip)->hop_limit,
                33);
      EXPECT_TRUE(icrc_matches(frame, packet));
      expect_marking(frame, packet, markings.cnp);
      EXPECT_EQ(packet.opcode, Opcode::kCongestionNotification);
      // Annex A17.9.3: BECN and nothing else but the queue pair; M is 0 in the CNPs of ConnectX-4 Lx.
      EXPECT_EQ(packet.bth().congestion, 0x40);
      EXPECT_EQ(packet.bth().flags, 0);
      EXPECT_EQ(packet.psn, 0u);
    }
  }
}

TEST(Packet, SourcePortChangeOfTheIcrcRegister) {
  for (const Encapsulation& as : encapsulations()) {
    for (const uint16_t port : {0x0000, 0x0001, 0x8000, 0xC000, 0xFFFF, 0x5A3C}) {
      PacketPath other = as.path;
      other.source_port = port;
      const auto change = static_cast<uint16_t>(port ^ as.path.source_port);
      EXPECT_EQ(make_template(as.path).icrc.behind_bth ^ icrc_source_port_change(change),
                make_template(other).icrc.behind_bth)
          << as.name << ", port " << port;
    }
  }
}

TEST(Packet, IsAddressedToItsPeerOnly) {
  const auto all = encapsulations();
  for (const Encapsulation& as : all) {
    FrameBytes memory;
    const Frame frame = written(make_template(as.path), {.opcode = Opcode::kSendOnly}, memory);
    const ParsedPacket packet = parse(frame);
    PacketPath back = as.path;
    std::swap(back.source_mac, back.destination_mac);
    std::swap(back.source_ip, back.destination_ip);
    EXPECT_TRUE(is_addressed_to(make_template(back), packet)) << as.name;
    // A router's address instead of the peer's makes no difference.
    PacketPath routed = back;
    routed.destination_mac.bytes[5] ^= 1;
    EXPECT_TRUE(is_addressed_to(make_template(routed), packet)) << as.name;

    const auto refused = [&](auto change) {
      PacketPath path = back;
      change(path);
      return !is_addressed_to(make_template(path), packet);
    };
    for (size_t byte = 0; byte < 6; ++byte)
      EXPECT_TRUE(refused([&](PacketPath& p) { p.source_mac.bytes[byte] ^= 0x40; })) << as.name << ", MAC " << byte;
    for (size_t byte = back.source_ip.is_ipv4() ? 12 : 0; byte < 16; ++byte) {
      EXPECT_TRUE(refused([&](PacketPath& p) { p.source_ip.bytes[byte] ^= 0x40; })) << as.name << ", IP " << byte;
      EXPECT_TRUE(refused([&](PacketPath& p) { p.destination_ip.bytes[byte] ^= 0x40; })) << as.name << ", IP " << byte;
    }
    EXPECT_TRUE(refused([](PacketPath& p) { p.vlan = p.vlan ? 101 : 100; })) << as.name;
    for (const Encapsulation& other : all) {
      if (other.name == as.name) continue;
      FrameBytes other_memory;
      const Frame other_frame = written(make_template(other.path), {.opcode = Opcode::kSendOnly}, other_memory);
      EXPECT_FALSE(is_addressed_to(make_template(back), parse(other_frame))) << other.name << " as " << as.name;
    }
  }
}

TEST(Packet, NextHopIsFilledInLater) {
  for (const Encapsulation& as : encapsulations()) {
    PacketPath unresolved = as.path;
    unresolved.destination_mac = {};
    HeaderTemplate path = make_middle_template(unresolved, kPacketMtu);
    path.set_destination_mac(as.path.destination_mac);
    const HeaderTemplate expected = make_middle_template(as.path, kPacketMtu);
    EXPECT_EQ(std::memcmp(&path, &expected, sizeof path), 0) << as.name;
  }
}

TEST(Packet, PriorityTagIsNoVlan) {
  PacketPath path = encapsulations()[0].path;
  path.vlan = 0;
  FrameBytes memory;
  const Frame frame = written(make_template(path), {.opcode = Opcode::kSendOnly}, memory);
  const ParsedPacket packet = parse(frame);
  EXPECT_EQ(packet.reject, Reject::kNone);
  EXPECT_EQ(packet.vlan, 0);
  EXPECT_EQ(packet.priority, 3);
  EXPECT_EQ(packet.ip_offset, 18);
}

}  // namespace
}  // namespace rankwire
