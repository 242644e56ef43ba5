// Message payloads: a pattern that costs nothing, or words that tell where they belong (checking mode).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace rankwire {

/// The most payload bytes of one packet.
constexpr uint32_t kMaxMtu = 4096;

enum class PayloadMode : uint8_t {
  kPattern,   ///< the same bytes in every packet, by reference
  kChecking,  ///< a function of the message, written by the source and compared at the destination
};

/// What all payloads consist of outside checking mode: kMaxMtu bytes that live as long as the program.
extern const std::array<uint8_t, kMaxMtu> kPayloadPattern;
inline std::span<const uint8_t, kMaxMtu> payload_pattern() noexcept {
  return kPayloadPattern;
}

/// Writes bytes offset .. offset + out.size() - 1 of the payload whose key is `key` (see base/message.h). `offset` is a
/// multiple of 8.
void write_payload(uint64_t key, uint32_t offset, std::span<uint8_t> out) noexcept;

/// Compares a message's payload, piece by piece in order, with the key that its first word carries.
class PayloadCheck {
 public:
  /// The next piece, whose first byte is byte `offset` of the message: a multiple of 8. Offset 0 begins a new message.
  void add(uint32_t offset, std::span<const uint8_t> piece) noexcept;
  /// The message's first min(8, size) bytes, zero-extended.
  uint64_t key() const noexcept { return key_; }
  bool matches() const noexcept { return matches_; }

 private:
  uint64_t key_ = 0;
  bool matches_ = true;
};

}  // namespace rankwire
