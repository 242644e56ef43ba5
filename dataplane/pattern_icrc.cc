#include "dataplane/pattern_icrc.h"

#include "dataplane/payload.h"

namespace rankwire {
namespace {

constexpr uint32_t kOne = 0x80000000;  // x^0

uint32_t register_behind(const HeaderTemplate& path, const OutboundPacket& packet) {
  std::array<uint8_t, kMaxHeaderBytes> bytes;
  Frame frame;
  frame.head = bytes.data();
  write_headers(path, packet, frame);
  return icrc_register(frame.head + (path.ip() - path.header()));
}

PacketPath path_over(IpVersion version) {
  PacketPath path;
  if (version == IpVersion::kIpv4) path.source_ip = path.destination_ip = Ipv4Address{};
  return path;
}

}  // namespace

PatternIcrc::PatternIcrc(uint32_t mtu) : mtu_(mtu), power_(mtu + 1, kOne), pattern_(mtu + 1, 0) {
  constexpr uint8_t kZero = 0;
  for (uint32_t n = 0; n < mtu; ++n) {
    power_[n + 1] = crc32_update_tables(power_[n], {&kZero, 1});
    pattern_[n + 1] = crc32_update_tables(pattern_[n], payload_pattern().subspan(n, 1));
  }

  // The changes are the same whatever the addresses.
  const OutboundPacket middle{.opcode = Opcode::kWriteMiddle, .payload_length = mtu};
  OutboundPacket other = middle;
  for (const IpVersion version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
    const HeaderTemplate path = make_middle_template(path_over(version), mtu);
    for (size_t opcode = 0; opcode < kOpcodes; ++opcode) {
      other.opcode = static_cast<Opcode>(opcode);
      opcode_[static_cast<size_t>(version)][opcode] = register_behind(path, other) ^ path.icrc_register;
    }
  }
  const HeaderTemplate path = make_middle_template(path_over(IpVersion::kIpv4), mtu);
  const auto change = [&](const OutboundPacket& packet) { return register_behind(path, packet) ^ path.icrc_register; };
  other = middle;
  other.ack_request = true;
  ack_request_ = change(other);
  other = middle;
  other.solicited = true;
  solicited_ = change(other);
  for (uint32_t value = 0; value < 256; ++value) {
    for (size_t byte = 0; byte < psn_.size(); ++byte) {
      other = middle;
      other.psn = value << (8 * byte);
      psn_[byte][value] = change(other);
      middle_psn_[byte][value] = crc32_multiply(psn_[byte][value], power_[mtu]);
    }
  }
}

HeaderTemplate PatternIcrc::make_template(const PacketPath& path) const {
  HeaderTemplate result = make_middle_template(path, mtu_);
  result.middle_icrc =
      icrc(result, {.opcode = Opcode::kWriteMiddle, .payload_length = mtu_}, {result.header(), result.header_length});
  return result;
}

uint32_t PatternIcrc::middle_port_change(const HeaderTemplate& path, uint16_t port) const noexcept {
  const auto change = static_cast<uint16_t>(path.transport().udp.source_port.value() ^ port);
  return crc32_multiply(icrc_source_port_change(change), power_[mtu_]);
}

uint32_t PatternIcrc::base_register(const HeaderTemplate& path, const OutboundPacket& packet,
                                    const uint8_t* headers) const noexcept {
  if (packet.payload_length != mtu_) return icrc_register(headers + (path.ip() - path.header()));
  uint32_t crc =
      path.icrc_register ^ opcode_[static_cast<size_t>(path.ip_version)][static_cast<size_t>(packet.opcode)] ^
      (packet.ack_request ? ack_request_ : 0) ^ (packet.solicited ? solicited_ : 0) ^ at_psn(psn_, packet.psn);
  if (packet.source_port != 0) {
    const uint16_t port = path.transport().udp.source_port.value();
    crc ^= icrc_source_port_change(static_cast<uint16_t>(port ^ packet.source_port));
  }
  return crc;
}

uint32_t PatternIcrc::icrc(const HeaderTemplate& path, const OutboundPacket& packet,
                           std::span<const uint8_t> headers) const noexcept {
  const uint32_t length = packet.payload_length;
  uint32_t crc = base_register(path, packet, headers.data());
  crc = crc32_update_tables(crc, headers.subspan(path.header_length));
  crc = crc32_multiply(crc, power_[length]) ^ pattern_[length];
  constexpr std::array<uint8_t, 3> kPad{};
  return ~crc32_update_tables(crc, std::span(kPad).first(-length & 3));
}

}  // namespace rankwire
