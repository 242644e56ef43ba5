// The four ways in which a RoCEv2 packet travels, and its ICRC by the letter of the specification.
#pragma once

#include <array>
#include <string>

#include "dataplane/wire/packet.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire::testing {

struct Encapsulation {
  std::string name;
  PacketPath path;
  size_t ip_offset;   // bytes
  size_t bth_offset;  // ip_offset + 20 or 40 + UDP 8
};

/// 2001:db8::`last`, the documentation prefix of RFC 3849.
inline IpAddress ipv6(uint8_t last) {
  return IpAddress(std::array<uint8_t, 16>{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
}

inline std::array<Encapsulation, 4> encapsulations() {
  PacketPath v4{.source_mac = {{2, 0, 0, 0, 0, 1}},
                .destination_mac = {{2, 0, 0, 0, 0, 2}},
                .source_ip = Ipv4Address{0xC6120001},
                .destination_ip = Ipv4Address{0xC6120002},
                .source_port = 0xC123,
                .destination_qp = 0x12,
                .markings = {.data = {.dscp = 26, .ecn = Ecn::kCapable0, .priority = 3},
                             .ack = {.dscp = 34, .ecn = Ecn::kNotCapable, .priority = 4},
                             .nak = {.dscp = 46, .ecn = Ecn::kCapable1, .priority = 5},
                             .cnp = {.dscp = 48, .ecn = Ecn::kNotCapable, .priority = 6}}};
  PacketPath v6 = v4;
  v6.source_ip = ipv6(1);
  v6.destination_ip = ipv6(2);
  v6.flow_label = 0x12345;
  PacketPath tagged_v4 = v4, tagged_v6 = v6;
  tagged_v4.vlan = tagged_v6.vlan = 100;
  return {{{"IPv4", v4, 14, 42},
           {"IPv6", v6, 14, 62},
           {"VLAN and IPv4", tagged_v4, 18, 46},
           {"VLAN and IPv6", tagged_v6, 18, 66}}};
}

/// IBTA Annex A17.3.3, a bit at a time, over all of `frame` but its last four bytes.
inline uint32_t bytewise_icrc(FrameBytes frame) {
  const size_t ip = frame[12] == 0x81 && frame[13] == 0x00 ? 18 : 14;
  const bool v6 = frame[ip] >> 4 == 6;
  const size_t udp = ip + (v6 ? 40 : 20);
  if (v6) {
    frame[ip] |= 0x0F;  // traffic class and flow label
    for (const size_t byte : {1, 2, 3, 7}) frame[ip + byte] = 0xFF;
  } else {
    for (const size_t byte : {1, 8, 10, 11}) frame[ip + byte] = 0xFF;
  }
  for (const size_t byte : {6, 7, 12}) frame[udp + byte] = 0xFF;  // UDP checksum; BTH byte 4
  uint32_t crc = 0xFFFFFFFF;
  const auto take = [&crc](uint8_t byte) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
  };
  for (int i = 0; i < 8; ++i) take(0xFF);
  for (size_t i = ip; i < frame.size() - 4; ++i) take(frame[i]);
  return ~crc;
}

/// The last four bytes, little-endian.
inline uint32_t stored_icrc(const FrameBytes& frame) {
  const uint8_t* const p = frame.data() + frame.size() - 4;
  return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
}

}  // namespace rankwire::testing
