// RoCEv2 as others wrote it: captures of ConnectX and of Linux soft-RoCE, and vectors derived from the specification.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "dataplane/icrc.h"
#include "dataplane/packet.h"
#include "tests/dataplane/wire_bytes.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::frame_over;
using testing::FrameBytes;
using testing::from_hex;
using testing::linear;

// Where the IP packet begins: behind at most one VLAN tag.
size_t ip_offset(const FrameBytes& frame) {
  return frame[12] == 0x81 && frame[13] == 0x00 ? 18 : 14;
}

uint32_t stored_icrc(const FrameBytes& frame) {
  const uint8_t* const p = frame.data() + frame.size() - 4;
  return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
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
  for (const auto& [name, frame] : vectors) EXPECT_EQ(computed_icrc(frame), stored_icrc(frame)) << name;
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
    EXPECT_EQ(packet.header->udp.source_port.value(), 0xC121);
  }
  EXPECT_EQ(udp_source_port(0x11, 0x11), 0xC121);
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

// Rebuilds the frame from its own fields; `source_qp` is not on the wire, so the port is patched, and so is the IP
// identification, which this side leaves 0.
FrameBytes rebuilt(FrameBytes original, uint32_t source_qp) {
  const ParsedPacket packet = parse(frame_over(original));
  EXPECT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
  const BaseHeader& seen = *packet.header;
  HeaderTemplate path =
      make_template({.source_mac = seen.ethernet.source,
                     .destination_mac = seen.ethernet.destination,
                     .source_ip = Ipv4Address{seen.ip.source.value()},
                     .destination_ip = Ipv4Address{seen.ip.destination.value()},
                     .source_qp = source_qp,
                     .destination_qp = packet.destination_qp,
                     .dscp = static_cast<uint8_t>(seen.ip.type_of_service >> 2),
                     .ecn = packet.ecn,
                     .time_to_live = seen.ip.time_to_live,
                     .migration = (seen.bth.flags & Bth::kMigrated) != 0 ? Migration::kMigrated : Migration::kArmed});
  path.header.udp.source_port = seen.udp.source_port;
  path.header.ip.identification = seen.ip.identification;
  path.header.ip.checksum = ipv4_checksum(path.header.ip);
  FrameBytes memory(original.size() + 16);
  Frame frame;
  frame.head = memory.data();
  if (packet.opcode == Opcode::kAcknowledge) {
    write_acknowledgement(path, {packet.psn, packet.msn, packet.syndrome}, frame);
    return linear(frame);
  }
  write_headers(path,
                {.opcode = packet.opcode,
                 .ack_request = packet.ack_request,
                 .psn = packet.psn,
                 .payload_length = packet.payload_length,
                 .immediate = packet.immediate,
                 .rkey = packet.rkey,
                 .dma_length = packet.dma_length,
                 .address = packet.address},
                frame);
  frame.payload = packet.payload;
  frame.payload_length = static_cast<uint16_t>(packet.payload_length);
  seal(frame);
  return linear(frame);
}

TEST(Capture, BuildersReproduceTheVectorsBitForBit) {
  RANKWIRE_REQUIRE_DATA(path, "roce/vectors.txt");
  const auto vectors = read_vectors(path);
  for (const char* const name : {"A RC WRITE_ONLY v4", "B RC WRITE_ONLY_IMM 3B+pad1 v4", "C RC ACK v4",
                                 "D NAK seq err v4", "live rxe ACK (S41)"}) {
    ASSERT_TRUE(vectors.contains(name)) << name;
    EXPECT_EQ(rebuilt(vectors.at(name), 0x11), vectors.at(name)) << name;
  }
}

TEST(Capture, BuildersReproduceSoftRoceWriteTrafficBitForBit) {
  RANKWIRE_REQUIRE_DATA(path, "roce/rxe_write.pcap");
  size_t compared = 0;
  for (const FrameBytes& frame : testing::read_capture(path)) {
    EXPECT_EQ(rebuilt(frame, 0x11), frame) << "frame " << compared;
    ++compared;
  }
  EXPECT_EQ(compared, 90u);
}

TEST(Capture, VectorsThatAreNotForAQueuePairHere) {
  RANKWIRE_REQUIRE_DATA(path, "roce/vectors.txt");
  auto vectors = read_vectors(path);
  const auto reject = [&](const char* name) { return parse(frame_over(vectors.at(name))).reject; };
  EXPECT_EQ(reject("I RC WRITE_ONLY v4 VLAN pcp3 vid100"), Reject::kVlanTag);
  EXPECT_EQ(reject("H RC WRITE_ONLY v6"), Reject::kEtherType);
  EXPECT_EQ(reject("G UD SEND_ONLY v4"), Reject::kOpcode);
  EXPECT_EQ(reject("UC_SEND_ONLY (scapy roce.uts)"), Reject::kOpcode);
  // A CNP from ConnectX-4 Lx names the queue pair that must slow down.
  const ParsedPacket cnp = parse(frame_over(vectors.at("CX4Lx CNP (scapy roce.uts)")));
  EXPECT_EQ(cnp.reject, Reject::kNone);
  EXPECT_EQ(cnp.opcode, Opcode::kCongestionNotification);
  EXPECT_EQ(cnp.destination_qp, 0x118u);
}

}  // namespace
}  // namespace rankwire
