#include "dataplane/wire/pattern_icrc.h"

#include "dataplane/wire/load_word.h"
#include "dataplane/wire/payload.h"

namespace rankwire {
namespace {

constexpr uint32_t kOne = 0x80000000;                                             // x^0
constexpr std::array<uint32_t, PatternIcrc::kKinds> kExtendedBytes = {0, 4, 16};  // by PatternIcrc::Kind
constexpr uint32_t kMostExtendedBytes = kMaxHeaderBytes - kMaxBaseHeaderBytes;
constexpr IpVersion kVersions[] = {IpVersion::kIpv4, IpVersion::kIpv6};

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

PatternIcrc::PatternIcrc(uint32_t mtu) : mtu_(mtu), power_(mtu + kMostExtendedBytes + 1, kOne), pattern_(mtu + 1, 0) {
  constexpr uint8_t kZero = 0;
  for (uint32_t n = 0; n + 1 < power_.size(); ++n) power_[n + 1] = crc32_update_tables(power_[n], {&kZero, 1});
  for (uint32_t n = 0; n < mtu; ++n)
    pattern_[n + 1] = crc32_update_tables(pattern_[n], payload_pattern().subspan(n, 1));

  fill_changes_at_bth();
  for (const Kind kind : {kBare, kWord, kReth}) fill_full(kind);
  for (uint32_t value = 0; value < 256; ++value) {
    // A byte leaves the same of the register wherever it stands, but for the bytes behind it.
    const auto byte = static_cast<uint8_t>(value);
    const uint32_t crc = crc32_update_tables(0, {&byte, 1});
    for (uint32_t i = 0; i < last_word_.size(); ++i) last_word_[i][value] = crc32_multiply(crc, power_[3 - i]);
    for (uint32_t i = 0; i < word_.size(); ++i) word_[i][value] = crc32_multiply(crc, power_[3 - i + mtu]);
    for (uint32_t i = 0; i < reth_.size(); ++i) reth_[i][value] = crc32_multiply(crc, power_[15 - i + mtu]);
  }
}

// The changes are the same whatever the addresses.
void PatternIcrc::fill_changes_at_bth() {
  for (const IpVersion version : kVersions) {
    const HeaderTemplate path = make_middle_template(path_over(version), mtu_);
    for (size_t i = 0; i < kOpcodes; ++i) {
      const auto opcode = static_cast<Opcode>(i);
      const OutboundPacket packet{.opcode = opcode, .payload_length = opcode == Opcode::kAcknowledge ? 0 : mtu_};
      at_bth_.opcode[static_cast<size_t>(version)][i] = register_behind(path, packet) ^ path.icrc.behind_bth;
    }
  }
  const HeaderTemplate path = make_middle_template(path_over(IpVersion::kIpv4), mtu_);
  const auto change = [&](OutboundPacket packet) {
    packet.opcode = Opcode::kWriteMiddle;
    packet.payload_length = mtu_;
    return register_behind(path, packet) ^ path.icrc.behind_bth;
  };
  at_bth_.ack_request = change({.ack_request = true});
  at_bth_.solicited = change({.solicited = true});
  for (uint32_t value = 0; value < 256; ++value)
    for (size_t byte = 0; byte < at_bth_.psn.size(); ++byte)
      at_bth_.psn[byte][value] = change({.psn = value << (8 * byte)});
  for (size_t byte = 0; byte < acknowledged_.size(); ++byte)
    for (uint32_t value = 0; value < 256; ++value)
      acknowledged_[byte][value] = crc32_multiply(at_bth_.psn[byte][value], power_[sizeof(Aeth)]);
}

void PatternIcrc::fill_full(Kind kind) {
  Changes& full = full_[kind];
  const uint32_t behind_bth = power_[kExtendedBytes[kind] + mtu_];
  const auto carry = [&](uint32_t change) { return crc32_multiply(change, behind_bth); };
  for (const IpVersion version : kVersions) {
    const auto v = static_cast<size_t>(version);
    for (size_t i = 0; i < kOpcodes; ++i) full.opcode[v][i] = carry(at_bth_.opcode[v][i]);
  }
  full.ack_request = carry(at_bth_.ack_request);
  full.solicited = carry(at_bth_.solicited);
  for (size_t byte = 0; byte < full.psn.size(); ++byte)
    for (uint32_t value = 0; value < 256; ++value) full.psn[byte][value] = carry(at_bth_.psn[byte][value]);
}

HeaderTemplate PatternIcrc::make_template(const PacketPath& path) const {
  HeaderTemplate result = make_middle_template(path, mtu_);
  for (const Kind kind : {kBare, kWord, kReth})
    result.icrc.full[kind] =
        ~(crc32_multiply(result.icrc.behind_bth, power_[kExtendedBytes[kind] + mtu_]) ^ pattern_[mtu_]);
  return result;
}

PeerIcrcBase PatternIcrc::make_peer(const PacketPath& path) const {
  const IcrcBase base = make_template(path).icrc;
  return {.behind_bth = base.behind_bth, .full = base.full[kBare]};
}

uint32_t PatternIcrc::behind_pattern(uint32_t crc, uint32_t length) const noexcept {
  crc = crc32_multiply(crc, power_[length]) ^ pattern_[length];
  constexpr std::array<uint8_t, 3> kPad{};
  return ~crc32_update_tables(crc, std::span(kPad).first(-length & 3));
}

// Whatever the extended headers.
uint32_t PatternIcrc::full(const HeaderTemplate& path, const BthChange& bth,
                           std::span<const uint8_t> extended) const noexcept {
  const IcrcBase& base = path.icrc;
  const IpVersion version = path.ip_version;
  switch (extended.size()) {
    case kExtendedBytes[kBare]:
      return full(base.full[kBare], version, kBare, bth);
    case kExtendedBytes[kWord]:
      return full_with_word(path, bth, load_word<uint32_t>(extended.data()));
    case kExtendedBytes[kReth]:
      return full_with_reth(path, bth, load_word<uint64_t>(extended.data()),
                            load_word<uint64_t>(extended.data() + sizeof(uint64_t)));
    default:
      return behind_pattern(crc32_update_tables(behind_bth(base.behind_bth, version, bth), extended), mtu_);
  }
}

uint32_t PatternIcrc::icrc(const HeaderTemplate& path, const OutboundPacket& packet,
                           std::span<const uint8_t> headers) const noexcept {
  const auto extended = headers.subspan(path.header_length);
  if (packet.payload_length != mtu_) {
    const uint32_t crc = icrc_register(headers.data() + (path.ip() - path.header()));
    return behind_pattern(crc32_update_tables(crc, extended), packet.payload_length);
  }
  const BthChange bth{packet.opcode, packet.ack_request, packet.solicited, packet.psn};
  const uint32_t icrc = full(path, bth, extended);
  if (packet.source_port == 0) return icrc;
  const uint16_t port = path.transport().udp.source_port.value();
  const uint32_t change = icrc_source_port_change(static_cast<uint16_t>(port ^ packet.source_port));
  return icrc ^ crc32_multiply(change, power_[extended.size() + mtu_]);
}

}  // namespace rankwire
