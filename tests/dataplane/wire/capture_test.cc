// RoCEv2 as others wrote it: captures of ConnectX and of Linux soft-RoCE, and vectors derived from the specification.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/packet.h"
#include "dataplane/wire/source_port.h"
#include "tests/dataplane/wire/encapsulations.h"
#include "tests/dataplane/wire/packet_again.h"
#include "tests/dataplane/wire/wire_bytes.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::frame_over;
using testing::FrameBytes;
using testing::from_hex;
using testing::linear;
using testing::stored_icrc;

// Where the IP packet begins: behind at most one VLAN tag.
size_t ip_offset(const FrameBytes& frame) {
  return frame[12] == 0x81 && frame[13] == 0x00 ? 18 : 14;
}

uint32_t computed_icrc(const FrameBytes& frame) {
  const size_t begin = ip_offset(frame);
  return icrc(std::span<const uint8_t>(frame).subspan(begin, frame.size() - begin - 4));
}

std::map<std::string, FrameBytes> read_vectors(const std::filesystem::path& path) {
  std::map<std::string, FrameBytes> vectors;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string kind, name, hex;
    if (std::getline(fields, kind, '\t') && std::getline(fields, name, '\t') && std::getline(fields, hex, '\t'))
      vectors[name] = from_hex(hex);
  }
  return vectors;
}

TEST(Capture, EveryIcrcOfTheVectors) {
  RANKWIRE_REQUIRE_DATA(path, "roce/vectors.txt");
  const auto vectors = read_vectors(path);
  ASSERT_EQ(vectors.size(), 12u);
  for (const auto& [name, frame] : vectors) {
    EXPECT_EQ(computed_icrc(frame), stored_icrc(frame)) << name;
    EXPECT_EQ(testing::bytewise_icrc(frame), stored_icrc(frame)) << name;
  }
}

TEST(Capture, EveryIcrcOfTheVectorCapture) {
  RANKWIRE_REQUIRE_DATA(path, "roce/roce_vectors.pcap");
  const auto frames = testing::read_capture(path);
  ASSERT_EQ(frames.size(), 11u);
  for (size_t i = 0; i < frames.size(); ++i)
    EXPECT_EQ(computed_icrc(frames[i]), stored_icrc(frames[i])) << "frame " << i;
}

void expect_soft_roce(const std::filesystem::path& path, size_t packets) {
  auto frames = testing::read_capture(path);
  ASSERT_EQ(frames.size(), packets);
  for (size_t i = 0; i < frames.size(); ++i) {
    const ParsedPacket packet = parse(frame_over(frames[i]));
    ASSERT_EQ(packet.reject, Reject::kNone) << "frame " << i << ": " << to_string(packet.reject);
    EXPECT_TRUE(icrc_matches(frame_over(frames[i]), packet)) << "frame " << i;
    EXPECT_EQ(packet.destination_qp, 0x11u);
    // Both queue pairs of the captures have number 0x11: 0x11 x 0x11 = 0x121.
    EXPECT_EQ(packet.udp().source_port.value(), 0xC121);
  }
  EXPECT_EQ(linux_source_port(0x11, 0x11), 0xC121);
}

TEST(Capture, SoftRoceSendPingPong) {
  RANKWIRE_REQUIRE_DATA(path, "roce/rxe_pingpong.pcap");
  expect_soft_roce(path, 100);
}

TEST(Capture, SoftRoceWrite) {
  RANKWIRE_REQUIRE_DATA(path, "roce/rxe_write.pcap");
  expect_soft_roce(path, 90);
}

TEST(Capture, SoftRoceWriteFirstInWords) {
  RANKWIRE_REQUIRE_DATA(path, "roce/rxe_write.pcap");
  // 8192 bytes at path MTU 1024: eight packets, AckReq on the last only, and one ACK of its PSN.
  auto frames = testing::read_capture(path);
  const ParsedPacket first = parse(frame_over(frames[0]));
  EXPECT_EQ(first.opcode, Opcode::kWriteFirst);
  EXPECT_EQ(first.psn, 0x2C192Au);
  EXPECT_EQ(first.address, 0x561308342000u);
  EXPECT_EQ(first.rkey, 0x2B9u);
  EXPECT_EQ(first.dma_length, 8192u);
  EXPECT_EQ(first.payload_length, 1024u);
  const ParsedPacket last = parse(frame_over(frames[7]));
  EXPECT_EQ(last.opcode, Opcode::kWriteLast);
  EXPECT_TRUE(last.ack_request);
  const ParsedPacket ack = parse(frame_over(frames[8]));
  EXPECT_EQ(ack.opcode, Opcode::kAcknowledge);
  EXPECT_EQ(ack.psn, last.psn);
  EXPECT_EQ(ack.syndrome, 0x1F);
  EXPECT_EQ(ack.msn, 1u);
}

uint8_t& ip_byte(FrameBytes& frame, size_t at) {
  return frame[ip_offset(frame) + at];
}

// The path that the frame came along.
PacketPath whole_path_of(const ParsedPacket& packet) {
  PacketPath path = testing::path_of(packet);
  path.migration = (packet.bth().flags & Bth::kMigrated) != 0 ? Migration::kMigrated : Migration::kArmed;
  if (packet.ip_version == IpVersion::kIpv4) {
    path.time_to_live = packet.head[packet.ip_offset + 8];
  } else {
    Ipv6Header ip;
    std::memcpy(&ip, packet.head + packet.ip_offset, sizeof ip);
    path.time_to_live = ip.hop_limit;
    path.flow_label = ip.version_class_flow.value() & Ipv6Header::kFlowLabelMask;
  }
  return path;
}

// Rebuilds the frame from its own fields; the IPv4 identification, which this side leaves 0, is patched before the
// frame is sealed again.
FrameBytes rebuilt(FrameBytes original) {
  const ParsedPacket packet = parse(frame_over(original));
  EXPECT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
  const HeaderTemplate path = make_template(whole_path_of(packet));
  FrameBytes memory(original.size() + 16);
  Frame frame;
  frame.head = memory.data();
  if (packet.opcode == Opcode::kAcknowledge) {
    write_acknowledgement(path, {packet.psn, packet.msn, packet.syndrome}, frame);
  } else if (packet.opcode == Opcode::kCongestionNotification) {
    write_congestion_notification(path, whole_path_of(packet).time_to_live, frame);
  } else {
    write_headers(path, testing::outbound_of(packet), frame);
    frame.payload = packet.payload;
    frame.payload_length = static_cast<uint16_t>(packet.payload_length);
    seal(frame);
  }
  if (packet.ip_version == IpVersion::kIpv6) return linear(frame);
  if (frame.payload_length == 0) frame.head_length -= kIcrcBytes;
  auto& ip = *reinterpret_cast<Ipv4Header*>(memory.data() + packet.ip_offset);
  ip.identification = Be16(static_cast<uint16_t>(ip_byte(original, 4) << 8 | ip_byte(original, 5)));
  ip.checksum = ipv4_checksum(ip);
  frame.tail_length = 0;
  seal(frame);
  return linear(frame);
}

TEST(Capture, BuildersReproduceTheVectorsBitForBit) {
  RANKWIRE_REQUIRE_DATA(path, "roce/vectors.txt");
  size_t compared = 0;
  for (const auto& [name, frame] : read_vectors(path)) {
    // UC and UD are not spoken here.
    if (name.starts_with("UC_") || name.starts_with("G UD")) continue;
    EXPECT_EQ(rebuilt(frame), frame) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 10u);
}

TEST(Capture, BuildersReproduceSoftRoceWriteTrafficBitForBit) {
  RANKWIRE_REQUIRE_DATA(path, "roce/rxe_write.pcap");
  size_t compared = 0;
  for (const FrameBytes& frame : testing::read_capture(path)) {
    EXPECT_EQ(rebuilt(frame), frame) << "frame " << compared;
    ++compared;
  }
  EXPECT_EQ(compared, 90u);
}

TEST(Capture, VectorsInWords) {
  RANKWIRE_REQUIRE_DATA(path, "roce/vectors.txt");
  auto vectors = read_vectors(path);
  const auto parsed = [&](const char* name) { return parse(frame_over(vectors.at(name))); };
  EXPECT_EQ(parsed("G UD SEND_ONLY v4").reject, Reject::kOpcode);
  EXPECT_EQ(parsed("UC_SEND_ONLY (scapy roce.uts)").reject, Reject::kOpcode);

  const ParsedPacket tagged = parsed("I RC WRITE_ONLY v4 VLAN pcp3 vid100");
  EXPECT_EQ(tagged.vlan, 100);
  EXPECT_EQ(tagged.priority, 3);
  const ParsedPacket v6 = parsed("H RC WRITE_ONLY v6");
  EXPECT_EQ(v6.source_ip(), parse_ip("fd00::1"));
  EXPECT_EQ(v6.destination_ip(), parse_ip("fd00::2"));
  EXPECT_EQ(v6.dscp, 26);
  for (const ParsedPacket& packet : {parsed("A RC WRITE_ONLY v4"), tagged, v6}) {
    EXPECT_EQ(packet.opcode, Opcode::kWriteOnly);
    EXPECT_EQ(packet.ecn, Ecn::kCapable0);
    EXPECT_EQ(packet.destination_qp, 0x12u);
    EXPECT_EQ(packet.address, 0x7F0012345000u);
    EXPECT_EQ(packet.rkey, 0x1234u);
    EXPECT_EQ(packet.dma_length, 16u);
    EXPECT_EQ(packet.payload_length, 16u);
  }
  const ParsedPacket read = parsed("F RC READ_REQ v4");
  EXPECT_EQ(read.opcode, Opcode::kReadRequest);
  EXPECT_EQ(read.dma_length, 8192u);
  EXPECT_EQ(read.psn, 3u);
  // A CNP from ConnectX-4 Lx names the queue pair that must slow down.
  const ParsedPacket cnp = parsed("CX4Lx CNP (scapy roce.uts)");
  EXPECT_EQ(cnp.opcode, Opcode::kCongestionNotification);
  EXPECT_EQ(cnp.destination_qp, 0x118u);
  EXPECT_EQ(cnp.dscp, 48);
}

}  // namespace
}  // namespace rankwire
