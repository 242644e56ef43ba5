// The opcodes of the Base Transport Header and the headers that follow it (IBTA 9.2.1 table 38).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rankwire {

/// Those of the Reliable Connection service, and the congestion notification packet (Annex A17.9.3). Atomics and SEND
/// with invalidate are known so that a responder can refuse them by a NAK.
enum class Opcode : uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImmediate = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImmediate = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImmediate = 0x09,
  kWriteOnly = 0x0A,
  kWriteOnlyImmediate = 0x0B,
  kReadRequest = 0x0C,
  kReadResponseFirst = 0x0D,
  kReadResponseMiddle = 0x0E,
  kReadResponseLast = 0x0F,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
  kCongestionNotification = 0x81,
};

/// What follows BTH: RETH, AETH, ImmDt in this order, then `other` bytes of headers that nobody here reads (AtomicETH,
/// AtomicAckETH, IETH, a CNP's reserved bytes), then the payload if there can be one.
struct OpcodeLayout {
  bool known = false, reth = false, aeth = false, immediate = false, payload = false;
  uint8_t other = 0;
  uint8_t extended_header_bytes = 0;  ///< between BTH and payload
};

namespace detail {

constexpr OpcodeLayout choose_layout(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kSendLast:
    case Opcode::kSendOnly:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
    case Opcode::kReadResponseMiddle:
      return {.known = true, .payload = true};
    case Opcode::kSendLastImmediate:
    case Opcode::kSendOnlyImmediate:
    case Opcode::kWriteLastImmediate:
      return {.known = true, .immediate = true, .payload = true};
    case Opcode::kWriteFirst:
    case Opcode::kWriteOnly:
      return {.known = true, .reth = true, .payload = true};
    case Opcode::kWriteOnlyImmediate:
      return {.known = true, .reth = true, .immediate = true, .payload = true};
    case Opcode::kReadRequest:
      return {.known = true, .reth = true};
    case Opcode::kReadResponseFirst:
    case Opcode::kReadResponseLast:
    case Opcode::kReadResponseOnly:
      return {.known = true, .aeth = true, .payload = true};
    case Opcode::kAcknowledge:
      return {.known = true, .aeth = true};
    case Opcode::kAtomicAcknowledge:
      return {.known = true, .aeth = true, .other = 8};
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
      return {.known = true, .other = 28};
    case Opcode::kSendLastInvalidate:
    case Opcode::kSendOnlyInvalidate:
      return {.known = true, .payload = true, .other = 4};
    case Opcode::kCongestionNotification:
      return {.known = true, .other = 16};
  }
  return {};
}

inline constexpr auto kOpcodeLayouts = [] {
  std::array<OpcodeLayout, 256> layouts{};
  for (size_t i = 0; i < layouts.size(); ++i) {
    OpcodeLayout& layout = layouts[i] = choose_layout(static_cast<Opcode>(i));
    layout.extended_header_bytes = static_cast<uint8_t>((layout.reth ? 16 : 0) + (layout.aeth ? 4 : 0) +
                                                        (layout.immediate ? 4 : 0) + layout.other);
  }
  return layouts;
}();

}  // namespace detail

/// Of any byte: those that are no opcode of this list are not `known`.
constexpr const OpcodeLayout& layout_of(Opcode opcode) noexcept {
  return detail::kOpcodeLayouts[static_cast<size_t>(opcode)];
}

constexpr bool is_read_response(Opcode opcode) noexcept {
  return opcode >= Opcode::kReadResponseFirst && opcode <= Opcode::kReadResponseOnly;
}

/// True for what a responder sends; everything else of the service is a request.
/// A packet of an RDMA WRITE.
constexpr bool is_write(Opcode opcode) noexcept {
  return opcode >= Opcode::kWriteFirst && opcode <= Opcode::kWriteOnlyImmediate;
}
constexpr bool is_response(Opcode opcode) noexcept {
  return opcode >= Opcode::kReadResponseFirst && opcode <= Opcode::kAtomicAcknowledge;
}

}  // namespace rankwire
