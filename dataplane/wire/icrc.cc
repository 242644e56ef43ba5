#include "dataplane/wire/icrc.h"

// What g++ 12 reads uninitialised in this header is what it says is undefined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <iterator>

#include "dataplane/wire/headers.h"
#include "dataplane/wire/load_word.h"

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
  return sixteen_bytes(crc, load_word<uint64_t>(p), load_word<uint64_t>(p + 8));
}

uint32_t four_zero_bytes(uint32_t crc) noexcept {
  return kTables[3][crc & 0xFF] ^ kTables[2][(crc >> 8) & 0xFF] ^ kTables[1][(crc >> 16) & 0xFF] ^
         kTables[0][crc >> 24];
}

uint32_t four_bytes(uint32_t crc, const uint8_t* p) noexcept {
  return four_zero_bytes(crc ^ load_word<uint32_t>(p));
}

// x^n modulo the polynomial, reflected and shifted by one as a carry-less product of reflected operands needs it.
constexpr uint64_t folding_constant(unsigned n) {
  uint32_t r = 0x80000000;  // x^0
  for (unsigned i = 0; i < n; ++i) r = (r >> 1) ^ ((r & 1) != 0 ? kPolynomial : 0);
  return uint64_t{r} << 1;
}

// By which the halves of a register of 128 bits are multiplied so that it may be added to what stands `bytes` behind
// it.
struct FoldingPair {
  constexpr explicit FoldingPair(unsigned bytes)
      : low(folding_constant(8 * bytes + 32)), high(folding_constant(8 * bytes - 32)) {}
  uint64_t low, high;
};

// x^64 divided by the polynomial, reflected.
constexpr uint64_t reduction_quotient() {
  uint64_t quotient = 0;
  uint32_t r = kPolynomial;  // what is left of x^32
  for (int bit = 0; bit <= 32; ++bit) {
    const bool divides = bit == 0 || (r & 1) != 0;
    if (bit > 0) r = (r >> 1) ^ (divides ? kPolynomial : 0);
    quotient |= uint64_t{divides} << bit;
  }
  return quotient;
}

constexpr FoldingPair kFold256(256), kFold64(64), kFold16(16);
constexpr uint64_t kFoldWord = folding_constant(64);
constexpr uint64_t kWholePolynomial = uint64_t{kPolynomial} << 1 | 1;
constexpr uint64_t kQuotient = reduction_quotient();
// The constants that Gopal et al. print for this polynomial.
static_assert(kFold64.low == 0x154442bd4 && kFold64.high == 0x1c6e41596);
static_assert(kFold16.low == 0x1751997d0 && kFold16.high == 0x0ccaa009e);
static_assert(kFoldWord == 0x163cd6124 && kWholePolynomial == 0x1db710641 && kQuotient == 0x1f7011641);

#define RANKWIRE_PCLMUL __attribute__((target("sse4.1,pclmul")))

RANKWIRE_PCLMUL inline __m128i load(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

RANKWIRE_PCLMUL inline __m128i fold(__m128i x, __m128i constants, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(x, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// The register behind 16 bytes, when it is 0 in front of them: folded to 12 and to 8 bytes and then divided as by
// Barrett, where the quotient is a product. Tables would take half of the innermost cache.
RANKWIRE_PCLMUL inline uint32_t reduce(__m128i x) {
  const __m128i by16 = _mm_set_epi64x(kFold16.high, kFold16.low);
  const __m128i low_word = _mm_set_epi32(0, 0, 0, -1);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by16, 0x10));
  x = _mm_xor_si128(_mm_srli_si128(x, 4),
                    _mm_clmulepi64_si128(_mm_and_si128(x, low_word), _mm_set_epi64x(0, kFoldWord), 0x00));
  const __m128i division = _mm_set_epi64x(kQuotient, kWholePolynomial);
  const __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, low_word), division, 0x10);
  x = _mm_xor_si128(x, _mm_clmulepi64_si128(_mm_and_si128(quotient, low_word), division, 0x00));
  return static_cast<uint32_t>(_mm_extract_epi32(x, 1));
}

// Takes whole blocks of 16 behind `x`; what is left in one register is congruent to all of them.
RANKWIRE_PCLMUL inline uint32_t fold_rest(__m128i x, const uint8_t* p, size_t size) {
  const __m128i by16 = _mm_set_epi64x(kFold16.high, kFold16.low);
  for (; size >= 16; p += 16, size -= 16) x = fold(x, by16, load(p));
  return reduce(x);
}

// Needs at least 64 bytes and takes whole blocks of 16.
RANKWIRE_PCLMUL uint32_t fold_blocks(uint32_t crc, const uint8_t* p, size_t size) noexcept {
  const __m128i by64 = _mm_set_epi64x(kFold64.high, kFold64.low);
  const __m128i by16 = _mm_set_epi64x(kFold16.high, kFold16.low);
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

RANKWIRE_VPCLMUL inline __m512i in_all_lanes(FoldingPair pair) {
  const auto low = static_cast<int64_t>(pair.low), high = static_cast<int64_t>(pair.high);
  return _mm512_set4_epi64(high, low, high, low);
}

// The sum of the four lanes, each folded to the place of the last.
RANKWIRE_VPCLMUL inline __m128i fold_lanes(__m512i x) {
  constexpr FoldingPair kFold48(48), kFold32(32);
  const __m512i to_last =
      _mm512_set_epi64(0, 0, kFold16.high, kFold16.low, kFold32.high, kFold32.low, kFold48.high, kFold48.low);
  const __m512i last = _mm512_maskz_mov_epi64(0xC0, x);
  const __m512i folded = fold_wide(x, to_last, last);
  const __m256i halves = _mm256_xor_si256(_mm512_castsi512_si256(folded), _mm512_extracti64x4_epi64(folded, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

// Needs at least 256 bytes and takes whole blocks of 16. Nothing in it depends on the bytes, so the next string begins
// while this one ends.
RANKWIRE_VPCLMUL inline uint32_t fold_wide_blocks(uint32_t crc, const uint8_t* p, size_t size) noexcept {
  constexpr FoldingPair kFold192(192), kFold128(128);
  const __m512i by256 = in_all_lanes(kFold256);
  const __m512i by64 = in_all_lanes(kFold64);
  const __m512i start = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc)));
  __m512i x0 = _mm512_xor_si512(load_wide(p), start);
  __m512i x1 = load_wide(p + 64), x2 = load_wide(p + 128), x3 = load_wide(p + 192);
  for (p += 256, size -= 256; size >= 256; p += 256, size -= 256) {
    x0 = fold_wide(x0, by256, load_wide(p));
    x1 = fold_wide(x1, by256, load_wide(p + 64));
    x2 = fold_wide(x2, by256, load_wide(p + 128));
    x3 = fold_wide(x3, by256, load_wide(p + 192));
  }
  const __m512i first_two = fold_wide(x0, in_all_lanes(kFold192), fold_wide(x1, in_all_lanes(kFold128), x3));
  __m512i x = fold_wide(x2, by64, first_two);
  for (; size >= 64; p += 64, size -= 64) x = fold_wide(x, by64, load_wide(p));
  return fold_rest(fold_lanes(x), p, size);
}

RANKWIRE_VPCLMUL void fold_wide_strings(std::span<uint32_t> crcs, const uint8_t* const* strings, size_t size) noexcept {
  for (uint32_t& crc : crcs) crc = fold_wide_blocks(crc, *strings++, size);
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
  for (size_t i = 0; i < std::size(kMasks); ++i) words[i] = load_word<uint64_t>(ip + 8 * i) | kMasks[i];
  uint32_t crc = sixteen_bytes(kCrcStart, ~uint64_t{0}, words[0]);
  crc = sixteen_bytes(crc, words[1], words[2]);
  return sixteen_bytes(crc, words[3], words[4]);
}

uint32_t masked_ipv6_headers(const uint8_t* ip) noexcept {
  constexpr uint64_t kTrafficClassAndFlowLabel = 0xFFFF'FF0F;  // but not the version, the upper half of byte 0
  constexpr uint64_t kFirstMask = kTrafficClassAndFlowLabel | ones_at({7});  // hop limit
  uint32_t crc = sixteen_bytes(kCrcStart, ~uint64_t{0}, load_word<uint64_t>(ip) | kFirstMask);
  crc = sixteen_bytes(crc, ip + 8);
  crc = sixteen_bytes(crc, ip + 24);
  // UDP checksum; BTH FECN, BECN, reserved.
  crc = sixteen_bytes(crc, load_word<uint64_t>(ip + 40) | ones_at({6, 7}), load_word<uint64_t>(ip + 48) | ones_at({4}));
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

void crc32_update_all(std::span<uint32_t> crcs, const uint8_t* const* strings, size_t size) noexcept {
  if (kUpdate == crc32_update_wide_folding && size >= 256 && size % 16 == 0)
    return fold_wide_strings(crcs, strings, size);
  for (uint32_t& crc : crcs) crc = kUpdate(crc, {*strings++, size});
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
