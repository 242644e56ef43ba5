// What the two halves of a Reliable Connection share: sequence numbers, operations, limits (IBTA 9.7).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "dataplane/wire/opcode.h"

namespace rankwire {

constexpr uint32_t kPsnMask = 0xFFFFFF;
constexpr uint32_t kQueuePairMask = 0xFFFFFF;

constexpr uint32_t psn_add(uint32_t psn, uint32_t n) {
  return (psn + n) & kPsnMask;
}

/// How far `to` is ahead of `from` in the circle of 2^24 sequence numbers: -2^23 .. 2^23 - 1. Message sequence numbers
/// (MSN, SSN, LSN) are compared in the same way.
constexpr int32_t psn_distance(uint32_t from, uint32_t to) {
  return static_cast<int32_t>((to - from) << 8) >> 8;
}

/// The local ACK timeout 4.096 us x 2^exponent (IBTA 9.7.6.1.3), exponent 1 .. 31.
constexpr Duration ack_timeout(uint32_t exponent) {
  return Duration(int64_t{4'096'000} << exponent);
}

/// Packets of a message: one even when it is empty. `mtu` is a power of two.
constexpr uint32_t packets_of(uint32_t bytes, uint32_t mtu) {
  return bytes == 0 ? 1 : ((bytes - 1) >> std::countr_zero(mtu)) + 1;
}

/// One operation of a queue pair: what one message is on the wire.
enum class Verb : uint8_t { kSend, kSendImmediate, kWrite, kWriteImmediate, kRead };

constexpr bool has_immediate(Verb verb) {
  return verb == Verb::kSendImmediate || verb == Verb::kWriteImmediate;
}
/// Whether the receiver must have posted a receive for it (IBTA 9.7.7.2).
constexpr bool consumes_receive(Verb verb) {
  return verb == Verb::kSend || has_immediate(verb);
}

/// The opcodes of a verb's packets by their place in the message (IBTA 9.2.1 table 38).
struct VerbOpcodes {
  Opcode first, middle, last, only;
};
inline constexpr VerbOpcodes kVerbOpcodes[] = {
    {Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLast, Opcode::kSendOnly},
    {Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLastImmediate, Opcode::kSendOnlyImmediate},
    {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast, Opcode::kWriteOnly},
    {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLastImmediate, Opcode::kWriteOnlyImmediate},
    {Opcode::kReadRequest, Opcode::kReadRequest, Opcode::kReadRequest, Opcode::kReadRequest},
};
constexpr const VerbOpcodes& opcodes_of(Verb verb) {
  return kVerbOpcodes[static_cast<size_t>(verb)];
}

/// How long a requester that got an RNR NAK with this 5-bit code waits at least (IBTA 9.7.5.2.8).
constexpr Duration not_ready_wait(uint32_t code) {
  constexpr std::array<int32_t, 32> kTensOfMicroseconds = {
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return microseconds(10) * kTensOfMicroseconds[code & 31];
}

/// The credit field of an ACK that grants no credits: end-to-end flow control is not in use (IBTA 9.7.7.2).
constexpr uint8_t kCreditsInvalid = 0x1F;
/// Receives that the credit codes 0 .. 0x1E stand for (IBTA 9.7.5, AETH).
constexpr std::array<uint16_t, 31> kCredits = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
                                               48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
                                               2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// The code for the most credits that are not more than `receives`.
constexpr uint8_t credit_code(uint32_t receives) {
  uint8_t code = 0;
  while (code + 1u < kCredits.size() && kCredits[code + 1u] <= receives) ++code;
  return code;
}

/// How often ConnectX repeats before its regular time-outs begin.
struct EarlyTimeouts {
  std::array<Duration, 10> waits{};
  uint32_t count = 0;  ///< of `waits`; 0: every time-out is a regular one
};

constexpr uint32_t kUnlimitedRetries = UINT32_MAX;
/// The longest READ in packets. A READ may overshoot the window, and no more than 2^23 - 1 sequence numbers may be
/// outstanding (IBTA 9.7.1): window and READ share them.
constexpr uint32_t kMaxReadPackets = 1u << 22;

/// The limits of a requester, the same for all queue pairs of a transport.
struct ReliableOptions {
  uint32_t mtu = 4096;       ///< payload bytes of a packet: 256, 512, 1024, 2048 or 4096
  uint32_t window = 64;      ///< unacknowledged packets, 1 .. 2^22; the last READ within it may go beyond
  uint32_t ack_every = 32;   ///< at most this many packets up to and with one that asks for an acknowledgement, >= 1
  uint32_t retry_count = 7;  ///< time-outs and sequence NAKs in a row without progress that are survived, 0 .. 7, or
                             ///< kUnlimitedRetries
  Duration timeout = ack_timeout(14);  ///< the regular one; max(): none
  /// The first time-outs in a row; only the last of them costs a retry.
  EarlyTimeouts early = {};
  uint32_t withheld_retries = 0;                       ///< how many fewer time-outs than sequence NAKs are survived
  uint32_t not_ready_retry_count = kUnlimitedRetries;  ///< RNR NAKs in a row that are survived, 0 .. 6 or unlimited
  uint32_t max_reads = 1;                              ///< READs outstanding (max_rd_atomic), 1 .. 128
};

/// The shortest time-out.
constexpr Duration first_timeout(const ReliableOptions& options) {
  return options.early.count > 0 ? options.early.waits[0] : options.timeout;
}

/// What a responder answers, the same for all queue pairs of a transport.
struct ResponderOptions {
  uint32_t mtu = 4096;
  uint32_t receive_bytes = INT32_MAX;  ///< of the buffer of a posted receive: longer SENDs are refused
  uint8_t not_ready_code = 12;         ///< of the RNR timer, 0 .. 31: 12 is 0.64 ms
  /// Packets with AckReq that one ACK may answer, 1 .. 255; 1: each has its own.
  uint8_t requests_per_ack = 255;
};

}  // namespace rankwire
