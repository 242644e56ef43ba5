// Frames as bytes: hexadecimal text, captures, and frames over a vector.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataplane/ports/frame_port.h"
#include "dataplane/wire/headers.h"

namespace rankwire::testing {

using FrameBytes = std::vector<uint8_t>;

inline FrameBytes from_hex(const std::string& text) {
  FrameBytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// The fields of an untagged frame over IPv4, to be read and changed in place.
struct UntaggedIpv4 {
  EthernetHeader ethernet;
  Ipv4Header ip;
  UdpHeader udp;
  Bth bth;
};
static_assert(sizeof(UntaggedIpv4) == kMinBaseHeaderBytes && alignof(UntaggedIpv4) == 1);

/// A frame wholly in `head`, over bytes that must outlive it.
inline Frame frame_over(FrameBytes& bytes) {
  Frame frame;
  frame.head = bytes.data();
  frame.head_length = static_cast<uint16_t>(bytes.size());
  return frame;
}

/// The frame as it would leave: head, payload, tail.
inline FrameBytes linear(const Frame& frame) {
  FrameBytes bytes(frame.head, frame.head + frame.head_length);
  bytes.insert(bytes.end(), frame.payload, frame.payload + frame.payload_length);
  bytes.insert(bytes.end(), frame.tail, frame.tail + frame.tail_length);
  return bytes;
}

/// The frames of a little-endian pcap file of Ethernet (libpcap's file format 2.4).
inline std::vector<FrameBytes> read_capture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const FrameBytes bytes{std::istreambuf_iterator<char>(file), {}};
  const auto word = [&](size_t at) {
    return uint32_t{bytes.at(at)} | uint32_t{bytes.at(at + 1)} << 8 | uint32_t{bytes.at(at + 2)} << 16 |
           uint32_t{bytes.at(at + 3)} << 24;
  };
  if (word(0) != 0xA1B2C3D4) throw std::runtime_error("not a little-endian pcap file: " + path.string());
  std::vector<FrameBytes> frames;
  for (size_t at = 24; at < bytes.size();) {
    const size_t length = word(at + 8);
    frames.emplace_back(&bytes.at(at + 16), &bytes.at(at + 16) + length);
    at += 16 + length;
  }
  return frames;
}

}  // namespace rankwire::testing
