// ICRCs of packets whose payload is known beforehand, without a pass over it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// What of BTH differs from packet to packet of a queue pair; but for the pad.
struct BthChange {
  Opcode opcode = Opcode::kWriteMiddle;
  bool ack_request = false;
  bool solicited = false;
  uint32_t psn = 0;
};

/// Memory of the peer that WRITEs go to, and what the two fields contribute to the ICRC of a full packet with a RETH
/// that names them: `PatternIcrc::region`.
struct RemoteRegion {
  uint64_t address = 0;
  uint32_t key = 0;
  uint32_t icrc_change = 0;
};

/// The CRC is linear: the ICRCs of two packets of the same queue pair differ by a sum of contributions of the fields in
/// which they differ, each a function of the field's change and of its distance from the packet's end. So does the
/// register at any place behind them. Of packets with a full payload, whose distances are those of their kind, the
/// contributions stand in tables; for the others, n bytes of payload turn the register r in front of them into
/// r x^(8n) + c, where c is what they leave of a register that is 0.
///
/// A kind is the extended headers between BTH and payload: none, one word (immediate or AETH), or RETH. Immutable after
/// construction.
class PatternIcrc {
 public:
  enum Kind : uint8_t { kBare, kWord, kReth, kKinds };
  /// Beyond it nothing is known beforehand.
  static constexpr Opcode kLastOpcode = Opcode::kAcknowledge;

  /// For payloads that are the beginning of `payload_pattern()`, at most `mtu` bytes.
  explicit PatternIcrc(uint32_t mtu);

  /// The header of a WRITE_MIDDLE with a full payload and PSN 0, and its `icrc`.
  HeaderTemplate make_template(const PacketPath& path) const;
  /// `path` is that of the peer's packets.
  PeerIcrcBase make_peer(const PacketPath& path) const;

  /// The ICRC of a full packet over IP of this version whose extended headers are zero. `base` is that of the kind.
  uint32_t full(uint32_t base, IpVersion version, Kind kind, const BthChange& bth) const noexcept {
    return base ^ at(full_[kind], version, bth);
  }

  /// The same of a packet of kind kWord or kReth, whose extended headers are given as words as they stand in memory.
  uint32_t full_with_word(const HeaderTemplate& path, const BthChange& bth, uint32_t word) const noexcept {
    return full(path.icrc.full[kWord], path.ip_version, kWord, bth) ^ word_change(word);
  }
  uint32_t full_with_reth(const HeaderTemplate& path, const BthChange& bth, uint64_t first,
                          uint64_t second) const noexcept {
    return full(path.icrc.full[kReth], path.ip_version, kReth, bth) ^ reth_change(first, second);
  }
  /// The same where the RETH names `region` and this DMA length: what is known of the region is not looked up again.
  uint32_t full_with_reth(const HeaderTemplate& path, const BthChange& bth, const RemoteRegion& region,
                          uint32_t length) const noexcept {
    return full(path.icrc.full[kReth], path.ip_version, kReth, bth) ^ region.icrc_change ^ reth_[12][length >> 24] ^
           reth_[13][(length >> 16) & 0xFF] ^ reth_[14][(length >> 8) & 0xFF] ^ reth_[15][length & 0xFF];
  }
  RemoteRegion region(uint64_t address, uint32_t key) const noexcept {
    return {address, key, reth_change(byte_swapped(address), byte_swapped(uint64_t{key} << 32))};
  }

  /// For runs of full packets without extended headers: the ICRC with a last PSN byte of 0, and its change by that
  /// byte.
  uint32_t block(uint32_t base, IpVersion version, Opcode opcode, uint32_t psn) const noexcept {
    return full(base, version, kBare, {.opcode = opcode, .psn = psn & ~uint32_t{0xFF}});
  }
  uint32_t block(const HeaderTemplate& path, Opcode opcode, uint32_t psn) const noexcept {
    return block(path.icrc.full[kBare], path.ip_version, opcode, psn);
  }
  std::span<const uint32_t, 256> change_in_block() const noexcept { return full_[kBare].psn[0]; }

  /// The register behind the BTH of any packet that is as long as its opcode allows at most. `base` is one behind BTH.
  uint32_t behind_bth(uint32_t base, IpVersion version, const BthChange& bth) const noexcept {
    return base ^ at(at_bth_, version, bth);
  }
  /// The ICRC of an ACK or NAK, whose AETH is given as the word that stands in memory.
  uint32_t acknowledgement(uint32_t base, IpVersion version, uint32_t psn, uint32_t aeth,
                           bool ack_request = false) const noexcept {
    const uint32_t at_bth =
        base ^ at_bth_.opcode[static_cast<size_t>(version)][static_cast<size_t>(Opcode::kAcknowledge)];
    const uint32_t word = at_bth ^ (ack_request ? at_bth_.ack_request : 0) ^ aeth;
    return ~(last_word_[0][word & 0xFF] ^ last_word_[1][(word >> 8) & 0xFF] ^ last_word_[2][(word >> 16) & 0xFF] ^
             last_word_[3][word >> 24] ^ acknowledged_[0][psn & 0xFF] ^ acknowledged_[1][(psn >> 8) & 0xFF] ^
             acknowledged_[2][psn >> 16]);
  }
  /// The ICRC of a packet with `length` bytes of the pattern as payload, from the register behind its last header.
  uint32_t behind_pattern(uint32_t crc, uint32_t length) const noexcept;
  /// The ICRC of any packet with the pattern as payload. `headers` are what `write_headers` wrote for it from `path`.
  uint32_t icrc(const HeaderTemplate& path, const OutboundPacket& packet,
                std::span<const uint8_t> headers) const noexcept;

 private:
  using PsnTables = std::array<std::array<uint32_t, 256>, 3>;  // by byte, the last of the PSN first
  static constexpr size_t kOpcodes = static_cast<size_t>(kLastOpcode) + 1;

  // Changes from a WRITE_MIDDLE with PSN 0: by another opcode and the length of its extended headers (over IPv4 and
  // IPv6, whose length fields differ in place), by AckReq, by SE, by PSN.
  struct Changes {
    std::array<std::array<uint32_t, kOpcodes>, 2> opcode{};  // by IpVersion
    uint32_t ack_request = 0;
    uint32_t solicited = 0;
    PsnTables psn{};
  };
  static uint32_t at(const Changes& changes, IpVersion version, const BthChange& bth) noexcept {
    return changes.opcode[static_cast<size_t>(version)][static_cast<size_t>(bth.opcode)] ^
           (bth.ack_request ? changes.ack_request : 0) ^ (bth.solicited ? changes.solicited : 0) ^
           changes.psn[0][bth.psn & 0xFF] ^ changes.psn[1][(bth.psn >> 8) & 0xFF] ^ changes.psn[2][bth.psn >> 16];
  }
  void fill_changes_at_bth();
  void fill_full(Kind kind);
  uint32_t full(const HeaderTemplate& path, const BthChange& bth, std::span<const uint8_t> extended) const noexcept;
  // The change of a full packet's ICRC by the word in front of its payload, as it stands in memory.
  uint32_t word_change(uint32_t word) const noexcept {
    return word_[0][word & 0xFF] ^ word_[1][(word >> 8) & 0xFF] ^ word_[2][(word >> 16) & 0xFF] ^ word_[3][word >> 24];
  }
  // The change of the ICRC of a full packet of kind kReth by its RETH, whose two halves are given as they stand in
  // memory.
  uint32_t reth_change(uint64_t first, uint64_t second) const noexcept {
    uint32_t change = 0;
#pragma GCC unroll 8
    for (int byte = 0; byte < 8; ++byte)
      change ^= reth_[byte][(first >> (8 * byte)) & 0xFF] ^ reth_[byte + 8][(second >> (8 * byte)) & 0xFF];
    return change;
  }

  const uint32_t mtu_;
  Changes at_bth_;                    // of the register
  std::array<Changes, kKinds> full_;  // of the ICRC, by Kind
  PsnTables acknowledged_{};          // of the register behind an AETH, by PSN
  // What a word leaves of a register that is 0, by byte, the first in memory first.
  std::array<std::array<uint32_t, 256>, 4> last_word_{};
  std::array<std::array<uint32_t, 256>, 4> word_{};   // by byte, the first in memory first
  std::array<std::array<uint32_t, 256>, 16> reth_{};  // likewise
  std::vector<uint32_t> power_;                       // x^(8n) for n = 0 .. mtu + 20
  std::vector<uint32_t> pattern_;  // what the first n bytes of the pattern leave of a register that is 0
};

}  // namespace rankwire
