#include "dataplane/icrc.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <iterator>

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

uint64_t load_word(const uint8_t* p) noexcept {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint32_t sixteen_bytes(uint32_t crc, uint64_t low, uint64_t high) noexcept {
  low ^= crc;
  uint32_t next = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    next ^= kTables[15 - i][(low >> (8 * i)) & 0xFF];
    next ^= kTables[7 - i][(high >> (8 * i)) & 0xFF];
  }
  return next;
}

uint32_t sixteen_bytes(uint32_t crc, const uint8_t* p) noexcept {
  return sixteen_bytes(crc, load_word(p), load_word(p + 8));
}

uint32_t four_zero_bytes(uint32_t crc) noexcept {
  return kTables[3][crc & 0xFF] ^ kTables[2][(crc >> 8) & 0xFF] ^ kTables[1][(crc >> 16) & 0xFF] ^
         kTables[0][crc >> 24];
}

uint32_t four_bytes(uint32_t crc, const uint8_t* p) noexcept {
  uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return four_zero_bytes(crc ^ word);
}

// x^n modulo the polynomial, reflected and shifted by one as a carry-less product of reflected operands needs it.
constexpr uint64_t folding_constant(unsigned n) {
  uint32_t r = 0x80000000;  // x^0
  for (unsigned i = 0; i < n; ++i) r = (r >> 1) ^ ((r & 1) != 0 ? kPolynomial : 0);
  return uint64_t{r} << 1;
}

constexpr uint64_t kFold256Low = folding_constant(16 * 128 + 32);
constexpr uint64_t kFold256High = folding_constant(16 * 128 - 32);
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

// Takes whole blocks of 16 behind `x`; what is left in one register is congruent to all of them.
RANKWIRE_PCLMUL inline uint32_t fold_rest(__m128i x, const uint8_t* p, size_t size) {
  const __m128i by16 = _mm_set_epi64x(kFold16High, kFold16Low);
  for (; size >= 16; p += 16, size -= 16) x = fold(x, by16, load(p));
  return sixteen_bytes(0, static_cast<uint64_t>(_mm_cvtsi128_si64(x)), static_cast<uint64_t>(_mm_extract_epi64(x, 1)));
}

// Needs at least 64 bytes and takes whole blocks of 16.
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
  return fold_rest(fold(fold(fold(x0, by16, x1), by16, x2), by16, x3), p, size);
}

// The carry-less product of reflected operands is one bit short of 64; its lower half is what stands above x^31.
RANKWIRE_PCLMUL uint32_t multiply_carryless(uint32_t a, uint32_t b) noexcept {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0x00);
  const uint64_t bits = static_cast<uint64_t>(_mm_cvtsi128_si64(product)) << 1;
  return static_cast<uint32_t>(bits >> 32) ^ four_zero_bytes(static_cast<uint32_t>(bits));
}

#define RANKWIRE_VPCLMUL __attribute__((target("sse4.1,pclmul,avx512f,vpclmulqdq")))

RANKWIRE_VPCLMUL inline __m512i load_wide(const uint8_t* p) {
  return _mm512_loadu_si512(p);
}

RANKWIRE_VPCLMUL inline __m512i fold_wide(__m512i x, __m512i constants, __m512i next) {
  constexpr int kXor3 = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, constants, 0x00),
                                   _mm512_clmulepi64_epi128(x, constants, 0x11), next, kXor3);
}

// Needs at least 256 bytes and takes whole blocks of 16.
RANKWIRE_VPCLMUL uint32_t fold_wide_blocks(uint32_t crc, const uint8_t* p, size_t size) noexcept {
  const __m512i by256 = _mm512_set4_epi64(kFold256High, kFold256Low, kFold256High, kFold256Low);
  const __m512i by64 = _mm512_set4_epi64(kFold64High, kFold64Low, kFold64High, kFold64Low);
  const __m128i by16 = _mm_set_epi64x(kFold16High, kFold16Low);
  const __m512i start = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc)));
  __m512i x0 = _mm512_xor_si512(load_wide(p), start);
  __m512i x1 = load_wide(p + 64), x2 = load_wide(p + 128), x3 = load_wide(p + 192);
  for (p += 256, size -= 256; size >= 256; p += 256, size -= 256) {
    x0 = fold_wide(x0, by256, load_wide(p));
    x1 = fold_wide(x1, by256, load_wide(p + 64));
    x2 = fold_wide(x2, by256, load_wide(p + 128));
    x3 = fold_wide(x3, by256, load_wide(p + 192));
  }
  __m512i x = fold_wide(fold_wide(fold_wide(x0, by64, x1), by64, x2), by64, x3);
  for (; size >= 64; p += 64, size -= 64) x = fold_wide(x, by64, load_wide(p));
  alignas(64) uint8_t lanes[64];
  _mm512_store_si512(lanes, x);
  const __m128i first_two = fold(load(lanes), by16, load(lanes + 16));
  return fold_rest(fold(fold(first_two, by16, load(lanes + 32)), by16, load(lanes + 48)), p, size);
}

#undef RANKWIRE_VPCLMUL
#undef RANKWIRE_PCLMUL

using Update = uint32_t (*)(uint32_t, std::span<const uint8_t>) noexcept;
const Update kUpdate = has_wide_carryless_multiply() ? crc32_update_wide_folding
                       : has_carryless_multiply()    ? crc32_update_folding
                                                     : crc32_update_tables;

using Multiply = uint32_t (*)(uint32_t, uint32_t) noexcept;
const Multiply kMultiply = has_carryless_multiply() ? multiply_carryless : crc32_multiply_bitwise;

constexpr size_t kIpv4Headers = sizeof(Ipv4Header) + sizeof(TransportHeader);
constexpr size_t kIpv6Headers = sizeof(Ipv6Header) + sizeof(TransportHeader);

// The word that has ones where the listed bytes are.
constexpr uint64_t ones_at(std::initializer_list<int> bytes) {
  uint64_t mask = 0;
  for (const int byte : bytes) mask |= uint64_t{0xFF} << (8 * byte);
  return mask;
}

// Eight bytes of ones stand for the local routing header that RoCEv2 does not have. Masked as words: bytes written to
// memory and read back as words would wait for the stores.
uint32_t masked_ipv4_headers(const uint8_t* ip) noexcept {
  constexpr uint64_t kMasks[] = {
      ones_at({1}),        // type of service
      ones_at({0, 2, 3}),  // time to live, header checksum
      0,
      ones_at({2, 3}),  // UDP checksum
      ones_at({0}),     // BTH FECN, BECN, reserved
  };
  static_assert(sizeof kMasks == kIpv4Headers);
  uint64_t words[std::size(kMasks)];
#pragma GCC unroll 5
  for (size_t i = 0; i < std::size(kMasks); ++i) words[i] = load_word(ip + 8 * i) | kMasks[i];
  uint32_t crc = sixteen_bytes(kCrcStart, ~uint64_t{0}, words[0]);
  crc = sixteen_bytes(crc, words[1], words[2]);
  return sixteen_bytes(crc, words[3], words[4]);
}

uint32_t masked_ipv6_headers(const uint8_t* ip) noexcept {
  constexpr uint64_t kTrafficClassAndFlowLabel = 0xFFFF'FF0F;  // but not the version, the upper half of byte 0
  constexpr uint64_t kFirstMask = kTrafficClassAndFlowLabel | ones_at({7});  // hop limit
  uint32_t crc = sixteen_bytes(kCrcStart, ~uint64_t{0}, load_word(ip) | kFirstMask);
  crc = sixteen_bytes(crc, ip + 8);
  crc = sixteen_bytes(crc, ip + 24);
  // UDP checksum; BTH FECN, BECN, reserved.
  crc = sixteen_bytes(crc, load_word(ip + 40) | ones_at({6, 7}), load_word(ip + 48) | ones_at({4}));
  return four_bytes(crc, ip + 56);
}

// By bit of the source port: its byte, and the rest of UDP and BTH behind it.
constexpr auto kSourcePortChanges = [] {
  std::array<std::array<uint32_t, 256>, 2> changes{};
  for (size_t byte = 0; byte < 2; ++byte) {
    for (size_t value = 0; value < 256; ++value) {
      uint32_t crc = kTables[0][value];
      for (size_t i = byte + 1; i < sizeof(TransportHeader); ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
      changes[byte][value] = crc;
    }
  }
  return changes;
}();

}  // namespace

bool has_carryless_multiply() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

bool has_wide_carryless_multiply() noexcept {
  __builtin_cpu_init();
  return has_carryless_multiply() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0;
}

uint32_t crc32_update_tables(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  const uint8_t* p = bytes.data();
  size_t size = bytes.size();
  for (; size >= 16; p += 16, size -= 16) crc = sixteen_bytes(crc, p);
  for (; size >= 4; p += 4, size -= 4) crc = four_bytes(crc, p);
  for (; size > 0; ++p, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xFF];
  return crc;
}

uint32_t crc32_update_folding(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  if (bytes.size() < 64) return crc32_update_tables(crc, bytes);
  crc = fold_blocks(crc, bytes.data(), bytes.size());
  return crc32_update_tables(crc, bytes.last(bytes.size() % 16));
}

uint32_t crc32_update_wide_folding(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  if (bytes.size() < 256) return crc32_update_folding(crc, bytes);
  crc = fold_wide_blocks(crc, bytes.data(), bytes.size());
  return crc32_update_tables(crc, bytes.last(bytes.size() % 16));
}

uint32_t crc32_update(uint32_t crc, std::span<const uint8_t> bytes) noexcept {
  return kUpdate(crc, bytes);
}

uint32_t crc32_word(uint32_t crc, uint32_t word) noexcept {
  return four_zero_bytes(crc ^ word);
}

uint32_t crc32_multiply_bitwise(uint32_t a, uint32_t b) noexcept {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & 0x80000000) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

uint32_t crc32_multiply(uint32_t a, uint32_t b) noexcept {
  return kMultiply(a, b);
}

uint32_t icrc_register(const uint8_t* ip) noexcept {
  return ip[0] >> 4 == 6 ? masked_ipv6_headers(ip) : masked_ipv4_headers(ip);
}

uint32_t icrc_source_port_change(uint16_t change) noexcept {
  return kSourcePortChanges[0][change >> 8] ^ kSourcePortChanges[1][change & 0xFF];
}

uint32_t icrc(std::span<const uint8_t> ip_packet) noexcept {
  const size_t headers = ip_packet[0] >> 4 == 6 ? kIpv6Headers : kIpv4Headers;
  return ~crc32_update(icrc_register(ip_packet.data()), ip_packet.subspan(headers));
}

uint32_t icrc(const Frame& frame, uint32_t ip_offset, uint32_t covered) noexcept {
  const uint8_t* const ip = frame.head + ip_offset;
  const auto headers = ip_offset + static_cast<uint32_t>(ip[0] >> 4 == 6 ? kIpv6Headers : kIpv4Headers);
  return icrc_behind(icrc_register(ip), frame, headers, covered);
}

uint32_t icrc_behind(uint32_t crc, const Frame& frame, uint32_t headers, uint32_t covered) noexcept {
  uint32_t left = covered - headers;
  const auto take = [&](const uint8_t* bytes, uint32_t size) {
    size = std::min(size, left);
    if (size > 0) crc = crc32_update(crc, {bytes, size});
    left -= size;
  };
  take(frame.head + headers, frame.head_length - headers);
  take(frame.payload, frame.payload_length);
  take(frame.tail, frame.tail_length);
  return ~crc;
}

}  // namespace rankwire
