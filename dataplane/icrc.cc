#include "dataplane/icrc.h"

#include <emmintrin.h>
#include <smmintrin.h>
#include <wmmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "dataplane/headers.h"

namespace rankwire {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // x^32 + x^26 + ... + 1, reflected

using Tables = std::array<std::array<uint32_t, 256>, 16>;

// tables[k][b]: the register after byte b and k zero bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k)
    for (uint32_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t sixteen_bytes(uint32_t crc, const uint8_t* p) noexcept {
  uint64_t low, high;
  std::memcpy(&low, p, 8);
  std::memcpy(&high, p + 8, 8);
  low ^= crc;
  uint32_t next = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    next ^= kTables[15 - i][(low >> (8 * i)) & 0xFF];
    next ^= kTables[7 - i][(high >> (8 * i)) & 0xFF];
  }
  return next;
}

// x^n modulo the polynomial, reflected and shifted by one as a carry-less product of reflected operands needs it.
constexpr uint64_t folding_constant(unsigned n) {
  uint32_t r = 0x80000000;  // x^0
  for (unsigned i = 0; i < n; ++i) r = (r >> 1) ^ ((r & 1) != 0 ? kPolynomial : 0);
  return uint64_t{r} << 1;
}

constexpr uint64_t kFold64Low = folding_constant(4 * 128 + 32);
constexpr uint64_t kFold64High = folding_constant(4 * 128 - 32);
constexpr uint64_t kFold16Low = folding_constant(128 + 32);
constexpr uint64_t kFold16High = folding_constant(128 - 32);
// The constants that Gopal et al. print for this polynomial.
static_assert(kFold64Low == 0x154442bd4 && kFold64High == 0x1c6e41596);
static_assert(kFold16Low == 0x1751997d0 && kFold16High == 0x0ccaa009e);

#define RANKWIRE_PCLMUL __attribute__((target("sse4.1,pclmul")))

RANKWIRE_PCLMUL inline __m128i load(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

RANKWIRE_PCLMUL inline __m128i fold(__m128i x, __m128i constants, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(x, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Needs at least 64 bytes and takes whole blocks of 16; what is left in one register is congruent to all of them.
RANKWIRE_PCLMUL uint32_t fold_blocks(uint32_t crc, const uint8_t* p, size_t size) noexcept {
  const __m128i by64 = _mm_set_epi64x(kFold64High, kFold64Low);
  const __m128i by16 = _mm_set_epi64x(kFold16High, kFold16Low);
  __m128i x0 = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i x1 = load(p + 16), x2 = load(p + 32), x3 = load(p + 48);
  for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
    x0 = fold(x0, by64, load(p));
    x1 = fold(x1, by64, load(p + 16));
    x2 = fold(x2, by64, load(p + 32));
    x3 = fold(x3, by64, load(p + 48));
  }
  __m128i x = fold(fold(fold(x0, by16, x1), by16, x2), by16, x3);
  for (; size >= 16; p += 16, size -= 16) x = fold(x, by16, load(p));
  alignas(16) uint8_t rest[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(rest), x);
  return sixteen_bytes(0, rest);
}

#undef RANKWIRE_PCLMUL

using Update = uint32_t (*)(uint32_t, std::span<const uint8_t>) noexcept;
const Update kUpdate = has_carryless_multiply() ? crc32_update_folding : crc32_update_tables;

constexpr size_t kIpv4Covered = sizeof(Ipv4Header) + sizeof(UdpHeader) + sizeof(Bth);
constexpr size_t kIpv6HeaderBytes = 40;

// Eight bytes of ones stand for the local routing header that RoCEv2 does not have.
uint32_t masked_ipv4_headers(const uint8_t* ip) noexcept {
  uint8_t bytes[8 + kIpv4Covered];
  std::memset(bytes, 0xFF, 8);
  uint8_t* const p = bytes + 8;
  std::memcpy(p, ip, kIpv4Covered);
  p[1] = p[8] = p[10] = p[11] = 0xFF;  // type of service, time to live, header checksum
  p[26] = p[27] = 0xFF;                // UDP checksum
  p[32] = 0xFF;                        // BTH FECN, BECN, reserved
  // Three blocks are too short to fold.
  static_assert(sizeof bytes == 48);
  return sixteen_bytes(sixteen_bytes(sixteen_bytes(kCrcStart, bytes), bytes + 16), bytes + 32);
}

uint32_t masked_ipv6_headers(const uint8_t* ip) noexcept {
  uint8_t bytes[8 + kIpv6HeaderBytes + sizeof(UdpHeader) + sizeof(Bth)];
  std::memset(bytes, 0xFF, 8);
  uint8_t* const p = bytes + 8;
  std::memcpy(p, ip, sizeof bytes - 8);
  p[0] |= 0x0F;  // traffic class and flow label
  p[1] = p[2] = p[3] = 0xFF;
  p[7] = 0xFF;  // hop limit
  p[kIpv6HeaderBytes + 6] = p[kIpv6HeaderBytes + 7] = 0xFF;
  p[kIpv6HeaderBytes + 12] = 0xFF;
  return crc32_update_tables(kCrcStart, bytes);
}

}  // namespace

bool has_carryless_multiply() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

uint32_t crc32_update_tables(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  const uint8_t* p = bytes.data();
  size_t size = bytes.size();
  for (; size >= 16; p += 16, size -= 16) crc = sixteen_bytes(crc, p);
  for (; size > 0; ++p, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xFF];
  return crc;
}

uint32_t crc32_update_folding(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  if (bytes.size() < 64) return crc32_update_tables(crc, bytes);
  crc = fold_blocks(crc, bytes.data(), bytes.size());
  return crc32_update_tables(crc, bytes.last(bytes.size() % 16));
}

uint32_t crc32_update(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  return kUpdate(crc, bytes);
}

uint32_t icrc(std::span<const uint8_t> ip_packet) noexcept {
  if (ip_packet[0] >> 4 == 6) {
    const size_t headers = kIpv6HeaderBytes + sizeof(UdpHeader) + sizeof(Bth);
    return ~crc32_update(masked_ipv6_headers(ip_packet.data()), ip_packet.subspan(headers));
  }
  return ~crc32_update(masked_ipv4_headers(ip_packet.data()), ip_packet.subspan(kIpv4Covered));
}

uint32_t icrc(const Frame& frame, uint32_t covered) noexcept {
  uint32_t crc = masked_ipv4_headers(frame.head + sizeof(EthernetHeader));
  uint32_t left = covered - sizeof(BaseHeader);
  const auto take = [&](const uint8_t* bytes, uint32_t size) {
    size = std::min(size, left);
    if (size > 0) crc = crc32_update(crc, {bytes, size});
    left -= size;
  };
  take(frame.head + sizeof(BaseHeader), frame.head_length - uint32_t{sizeof(BaseHeader)});
  take(frame.payload, frame.payload_length);
  take(frame.tail, frame.tail_length);
  return ~crc;
}

}  // namespace rankwire
