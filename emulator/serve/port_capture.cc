#include "emulator/serve/port_capture.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

namespace rankwire {
namespace {

// Blocks, options and flags of PCAP Next Generation (draft-ietf-opsawg-pcapng), written as dataplane/switch/capture.h
// has them: in the byte order of this machine, times in picoseconds.
constexpr uint32_t kSectionHeader = 0x0A0D0D0A, kInterface = 1, kEnhancedPacket = 6, kByteOrder = 0x1A2B3C4D;
constexpr uint16_t kEthernetLink = 1, kInterfaceName = 2, kPacketFlags = 2, kTimeResolution = 9;
constexpr uint32_t kInbound = 1, kOutbound = 2;
constexpr uint32_t kLongestFrame = 65535;
/// Of pcap with times in nanoseconds (draft-ietf-opsawg-pcap).
constexpr uint32_t kPcapNanoseconds = 0xA1B23C4D;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& out) {
  out.append((4 - out.size() % 4) % 4, '\0');
}

uint32_t word_at(std::string_view bytes, size_t at) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

uint16_t half_at(std::string_view bytes, size_t at) {
  uint16_t half = 0;
  std::memcpy(&half, bytes.data() + at, sizeof half);
  return half;
}

/// A block of `type` around `body`, whose length is a multiple of four.
void put_block(std::string& out, uint32_t type, std::string_view body) {
  const auto length = static_cast<uint32_t>(body.size() + 12);
  put(out, type), put(out, length);
  out += body;
  put(out, length);
}

void put_option(std::string& body, uint16_t code, std::string_view value) {
  put(body, code), put(body, static_cast<uint16_t>(value.size()));
  body += value;
  pad(body);
}

/// The value of an option, empty where it is not there.
std::string_view option_of(std::string_view options, uint16_t wanted) {
  while (options.size() >= 4) {
    const uint16_t code = half_at(options, 0), length = half_at(options, 2);
    const size_t whole = 4 + (size_t{length} + 3) / 4 * 4;
    if (code == 0 || whole > options.size()) break;
    if (code == wanted) return options.substr(4, length);
    options.remove_prefix(whole);
  }
  return {};
}

std::string head(const CaptureSettings& settings, const std::string& name) {
  const uint32_t snap_length = settings.packet_size.value_or(kLongestFrame);
  std::string out;
  if (!settings.is_pcapng) {
    put(out, kPcapNanoseconds), put(out, uint16_t{2}), put(out, uint16_t{4});
    put(out, uint64_t{0});  // no time zone, no accuracy
    put(out, snap_length), put(out, uint32_t{kEthernetLink});
    return out;
  }
  std::string section;
  put(section, kByteOrder), put(section, uint16_t{1}), put(section, uint16_t{0}), put(section, int64_t{-1});
  put_block(out, kSectionHeader, section);
  std::string interface;
  put(interface, kEthernetLink), put(interface, uint16_t{0}), put(interface, snap_length);
  put_option(interface, kInterfaceName, name);
  put_option(interface, kTimeResolution, "\x0c");
  put_option(interface, 0, "");
  put_block(out, kInterface, interface);
  return out;
}

/// An enhanced packet block's parts.
struct Packet {
  uint32_t interface = 0, length = 0;  // `length` of the frame on the wire
  uint64_t at = 0;
  bool is_sent = false;  // by the switch
  std::string_view frame;
};

Packet packet_of(std::string_view body) {
  constexpr size_t kFields = 20;
  Packet packet;
  if (body.size() < kFields) return packet;
  packet.interface = word_at(body, 0);
  packet.at = uint64_t{word_at(body, 4)} << 32 | word_at(body, 8);
  packet.length = word_at(body, 16);
  packet.frame = body.substr(kFields, word_at(body, 12));
  const size_t options = std::min(body.size(), kFields + (packet.frame.size() + 3) / 4 * 4);
  const std::string_view flags = option_of(body.substr(options), kPacketFlags);
  packet.is_sent = flags.size() == sizeof kOutbound && word_at(flags, 0) == kOutbound;
  return packet;
}

void put_packet(std::string& out, const Packet& packet, const CaptureSettings& settings) {
  constexpr uint64_t kSecond = 1'000'000'000'000, kNanosecond = 1'000;  // in picoseconds
  const std::string_view kept = packet.frame.substr(0, settings.packet_size.value_or(kLongestFrame));
  const auto size = static_cast<uint32_t>(kept.size());
  if (!settings.is_pcapng) {
    put(out, static_cast<uint32_t>(packet.at / kSecond));
    put(out, static_cast<uint32_t>(packet.at % kSecond / kNanosecond));
    put(out, size), put(out, packet.length);
    out += kept;
    return;
  }
  std::string body;
  put(body, uint32_t{0}), put(body, static_cast<uint32_t>(packet.at >> 32)),
      put(body, static_cast<uint32_t>(packet.at));
  put(body, size), put(body, packet.length);
  body += kept;
  pad(body);
  const uint32_t direction = packet.is_sent ? kInbound : kOutbound;
  put_option(body, kPacketFlags, {reinterpret_cast<const char*>(&direction), sizeof direction});
  put_option(body, 0, "");
  put_block(out, kEnhancedPacket, body);
}

}  // namespace

PortCapture read_port_capture(const std::filesystem::path& file, const std::string& interface, const std::string& name,
                              const CaptureSettings& settings, const CaptureSelection& selection) {
  PortCapture capture{.file = head(settings, name)};
  std::ifstream stream(file, std::ios::binary);
  uint32_t interfaces = 0, wanted = UINT32_MAX;
  uint64_t matching = 0;
  std::string body;
  uint32_t begin[2];
  while (stream.read(reinterpret_cast<char*>(begin), sizeof begin)) {
    const uint32_t type = begin[0], length = begin[1];
    if (length < 12 || length % 4 != 0 || length > 4 * kLongestFrame) break;
    body.resize(length - 8);
    if (!stream.read(body.data(), static_cast<std::streamsize>(body.size()))) break;  // the rest is not written yet
    const std::string_view fields = std::string_view(body).substr(0, body.size() - 4);
    if (type == kInterface && fields.size() >= 8) {
      if (option_of(fields.substr(8), kInterfaceName) == interface) wanted = interfaces;
      ++interfaces;
    }
    if (type != kEnhancedPacket) continue;
    const Packet packet = packet_of(fields);
    capture.bytes += length;
    capture.last = std::max(capture.last, packet.at);
    if (packet.interface != wanted || packet.at < selection.from || packet.at > selection.to) continue;
    if (!std::all_of(settings.filters.begin(), settings.filters.end(),
                     [&](const FrameField& field) { return field.matches(packet.frame); }))
      continue;
    ++matching;
    if (matching >= selection.first && matching - selection.first < selection.most)
      put_packet(capture.file, packet, settings);
  }
  return capture;
}

}  // namespace rankwire
