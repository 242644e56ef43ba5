// ICRCs of packets whose payload is known beforehand, without a pass over it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/icrc.h"
#include "dataplane/packet.h"

namespace rankwire {

/// The CRC is linear: the registers behind two headers of the same length differ by a function of the bytes in which
/// the headers differ, and n bytes of payload turn the register r in front of them into r x^(8n) + c, where c is what
/// they leave of a register that is 0. So the ICRC of a packet comes from the register behind its queue pair's
/// template, and from tables for opcode, flags, PSN, source port and length.
///
/// Immutable after construction.
class PatternIcrc {
 public:
  /// For payloads that are the beginning of `payload_pattern()`, at most `mtu` bytes.
  explicit PatternIcrc(uint32_t mtu);

  /// The header of a WRITE_MIDDLE with a full payload and PSN 0, and its ICRC.
  HeaderTemplate make_template(const PacketPath& path) const;

  /// The ICRC of the WRITE_MIDDLE that differs from `path`, a template of `make_template`, by its PSN alone.
  uint32_t middle(const HeaderTemplate& path, uint32_t psn) const noexcept {
    return path.middle_icrc ^ at_psn(middle_psn_, psn);
  }
  /// What that ICRC changes by when the source port is `port` instead.
  uint32_t middle_port_change(const HeaderTemplate& path, uint16_t port) const noexcept;
  /// The ICRC of any packet with the pattern as payload. `headers` are what `write_headers` wrote for it from `path`.
  uint32_t icrc(const HeaderTemplate& path, const OutboundPacket& packet,
                std::span<const uint8_t> headers) const noexcept;

 private:
  using PsnTables = std::array<std::array<uint32_t, 256>, 3>;  // by byte, the last of the PSN first

  static uint32_t at_psn(const PsnTables& tables, uint32_t psn) noexcept {
    return tables[0][psn & 0xFF] ^ tables[1][(psn >> 8) & 0xFF] ^ tables[2][psn >> 16];
  }
  static constexpr size_t kOpcodes = static_cast<size_t>(Opcode::kReadResponseOnly) + 1;

  uint32_t base_register(const HeaderTemplate& path, const OutboundPacket& packet,
                         const uint8_t* headers) const noexcept;

  const uint32_t mtu_;
  // Changes of the register behind BTH from that of a WRITE_MIDDLE with PSN 0: by another opcode with a full payload
  // (over IPv4 and IPv6, whose length fields differ in place), by AckReq, by SE, by the PSN.
  std::array<std::array<uint32_t, kOpcodes>, 2> opcode_{};  // by IpVersion
  uint32_t ack_request_ = 0;
  uint32_t solicited_ = 0;
  PsnTables psn_{};
  PsnTables middle_psn_{};         // change of the ICRC of a WRITE_MIDDLE
  std::vector<uint32_t> power_;    // x^(8n) for n = 0 .. mtu
  std::vector<uint32_t> pattern_;  // what the first n bytes of the pattern leave of a register that is 0
};

}  // namespace rankwire
