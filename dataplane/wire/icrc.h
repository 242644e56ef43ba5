// The invariant CRC of RoCEv2 (IBTA Annex A17.3.3, InfiniBand 7.8.1): CRC-32/ISO-HDLC over eight bytes of ones and the
// packet from its IP header on, with the fields that a router may change read as ones. On the wire it is little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/wire/frame.h"

namespace rankwire {

/// The CRC register before the first byte; the CRC is the register inverted after the last.
constexpr uint32_t kCrcStart = 0xFFFFFFFF;

/// Runs `bytes` through the register. Chosen once for the machine: carry-less multiplication where it has it.
uint32_t crc32_update(uint32_t crc, std::span<const uint8_t> bytes) noexcept;

/// Runs strings of `size` bytes each through a register each: `crcs[i]` through those at `strings[i]`. The next
/// begins while one ends.
void crc32_update_all(std::span<uint32_t> crcs, const uint8_t* const* strings, size_t size) noexcept;

/// The implementations behind `crc32_update`: sixteen tables (Kounavis, Berry 2005); folding of 64 bytes at a time by
/// PCLMULQDQ (Gopal et al., Intel 2009), which may be called only where `has_carryless_multiply()`; and folding of 256
/// bytes at a time by VPCLMULQDQ on AVX-512 registers, only where `has_wide_carryless_multiply()`.
uint32_t crc32_update_tables(uint32_t crc, std::span<const uint8_t> bytes) noexcept;
uint32_t crc32_update_folding(uint32_t crc, std::span<const uint8_t> bytes) noexcept;
uint32_t crc32_update_wide_folding(uint32_t crc, std::span<const uint8_t> bytes) noexcept;
bool has_carryless_multiply() noexcept;
bool has_wide_carryless_multiply() noexcept;

/// The product of two polynomials modulo that of the CRC. Both are reflected as registers are: bit 31 is x^0. A
/// register times x^(8 n) is the register after n zero bytes.
uint32_t crc32_multiply(uint32_t a, uint32_t b) noexcept;
uint32_t crc32_multiply_bitwise(uint32_t a, uint32_t b) noexcept;

/// The register behind the BTH of an IPv4 or IPv6 packet that begins at `ip` and is at least that long: 40 or 60 bytes.
uint32_t icrc_register(const uint8_t* ip) noexcept;

/// What the register behind BTH changes by when the bits of `change` in the UDP source port do.
uint32_t icrc_source_port_change(uint16_t change) noexcept;

/// The ICRC of a contiguous IPv4 or IPv6 packet that begins with its IP header and ends before the ICRC. The packet
/// must hold its IP, UDP and BTH headers (40 or 60 bytes).
uint32_t icrc(std::span<const uint8_t> ip_packet) noexcept;

/// The ICRC of the first `covered` bytes of a frame whose IP header stands at `ip_offset`. What is in front of it
/// counts in `covered` but is not in the ICRC. `head` must hold the headers up to BTH.
uint32_t icrc(const Frame& frame, uint32_t ip_offset, uint32_t covered) noexcept;
/// The same from the register behind the BTH, when that is known. The first `headers` bytes of the frame end there.
uint32_t icrc_behind(uint32_t crc, const Frame& frame, uint32_t headers, uint32_t covered) noexcept;

}  // namespace rankwire
