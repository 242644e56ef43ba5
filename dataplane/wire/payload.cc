#include "dataplane/wire/payload.h"

#include <bit>
#include <cstring>

#include "base/message.h"
#include "dataplane/wire/load_word.h"

namespace rankwire {
namespace {

static_assert(std::endian::native == std::endian::little, "payload words are little-endian in memory");

constexpr std::array<uint8_t, kMaxMtu> make_pattern() {
  std::array<uint8_t, kMaxMtu> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  return bytes;
}

}  // namespace

constinit const std::array<uint8_t, kMaxMtu> kPayloadPattern = make_pattern();

void write_payload(uint64_t key, uint32_t offset, std::span<uint8_t> out) noexcept {
  uint64_t i = offset / 8;
  uint8_t* p = out.data();
  size_t left = out.size();
  for (; left >= 8; p += 8, left -= 8, ++i) {
    const uint64_t word = payload_word(key, i);
    std::memcpy(p, &word, 8);
  }
  if (left > 0) {
    const uint64_t word = payload_word(key, i);
    std::memcpy(p, &word, left);
  }
}

void PayloadCheck::add(uint32_t offset, std::span<const uint8_t> piece) noexcept {
  if (offset == 0) {
    key_ = 0;
    matches_ = true;
    std::memcpy(&key_, piece.data(), piece.size() < 8 ? piece.size() : 8);
  }
  uint64_t i = offset / 8;
  const uint8_t* p = piece.data();
  size_t left = piece.size();
  uint64_t difference = 0;
  for (; left >= 8; p += 8, left -= 8, ++i) {
    difference |= load_word<uint64_t>(p) ^ payload_word(key_, i);
  }
  if (left > 0) {
    const uint64_t word = payload_word(key_, i);
    matches_ = matches_ && std::memcmp(p, &word, left) == 0;
  }
  matches_ = matches_ && difference == 0;
}

}  // namespace rankwire
