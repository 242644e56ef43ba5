#include "dataplane/pattern_icrc.h"

#include "dataplane/payload.h"

namespace rankwire {
namespace {

constexpr uint32_t kOne = 0x80000000;  // x^0

uint32_t register_behind(const HeaderTemplate& path, const WritePacket& packet) {
  std::array<uint8_t, kMaxHeaderBytes> bytes;
  Frame frame;
  frame.head = bytes.data();
  write_headers(path, packet, frame);
  return icrc_register(*reinterpret_cast<const BaseHeader*>(frame.head));
}

}  // namespace

PatternIcrc::PatternIcrc(uint32_t mtu) : mtu_(mtu), power_(mtu + 1, kOne), pattern_(mtu + 1, 0) {
  constexpr uint8_t kZero = 0;
  for (uint32_t n = 0; n < mtu; ++n) {
    power_[n + 1] = crc32_update_tables(power_[n], {&kZero, 1});
    pattern_[n + 1] = crc32_update_tables(pattern_[n], payload_pattern().subspan(n, 1));
  }

  // The changes are the same whatever the addresses.
  const HeaderTemplate path = make_middle_template({}, mtu);
  const WritePacket middle{.opcode = Opcode::kWriteMiddle, .payload_length = mtu};
  const auto change = [&](const WritePacket& packet) { return register_behind(path, packet) ^ path.icrc_register; };
  WritePacket other = middle;
  for (const Opcode opcode :
       {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLastImmediate, Opcode::kWriteOnlyImmediate}) {
    other.opcode = opcode;
    opcode_[static_cast<size_t>(opcode)] = change(other);
  }
  other = middle;
  other.ack_request = true;
  ack_request_ = change(other);
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
  const std::span headers(reinterpret_cast<const uint8_t*>(&result.header), sizeof result.header);
  result.middle_icrc = icrc(result, {.opcode = Opcode::kWriteMiddle, .payload_length = mtu_}, headers);
  return result;
}

uint32_t PatternIcrc::base_register(const HeaderTemplate& path, const WritePacket& packet,
                                    const uint8_t* headers) const noexcept {
  if (packet.payload_length != mtu_) return icrc_register(*reinterpret_cast<const BaseHeader*>(headers));
  return path.icrc_register ^ opcode_[static_cast<size_t>(packet.opcode)] ^ (packet.ack_request ? ack_request_ : 0) ^
         at_psn(psn_, packet.psn);
}

uint32_t PatternIcrc::icrc(const HeaderTemplate& path, const WritePacket& packet,
                           std::span<const uint8_t> headers) const noexcept {
  const uint32_t length = packet.payload_length;
  uint32_t crc = base_register(path, packet, headers.data());
  crc = crc32_update_tables(crc, headers.subspan(sizeof(BaseHeader)));
  crc = crc32_multiply(crc, power_[length]) ^ pattern_[length];
  constexpr std::array<uint8_t, 3> kPad{};
  return ~crc32_update_tables(crc, std::span(kPad).first(-length & 3));
}

}  // namespace rankwire
