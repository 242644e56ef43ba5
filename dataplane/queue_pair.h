// What the two halves of a Reliable Connection share: sequence numbers and limits (IBTA 9.7).
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

constexpr uint32_t kPsnMask = 0xFFFFFF;
constexpr uint32_t kQueuePairMask = 0xFFFFFF;

constexpr uint32_t psn_add(uint32_t psn, uint32_t n) {
  return (psn + n) & kPsnMask;
}

/// How far `to` is ahead of `from` in the circle of 2^24 sequence numbers: -2^23 .. 2^23 - 1.
constexpr int32_t psn_distance(uint32_t from, uint32_t to) {
  return static_cast<int32_t>((to - from) << 8) >> 8;
}

/// The local ACK timeout 4.096 us x 2^exponent (IBTA 9.7.6.1.3), exponent 1 .. 31.
constexpr Duration ack_timeout(uint32_t exponent) {
  return Duration(int64_t{4'096'000} << exponent);
}

/// Packets of a message: one even when it is empty.
constexpr uint32_t packets_of(uint32_t bytes, uint32_t mtu) {
  return bytes == 0 ? 1 : (bytes - 1) / mtu + 1;
}

/// The limits of a Reliable Connection, the same for all queue pairs of a transport.
struct ReliableOptions {
  uint32_t mtu = 4096;       ///< payload bytes of a packet: 256, 512, 1024, 2048 or 4096
  uint32_t window = 64;      ///< unacknowledged packets, 1 .. 2^22
  uint32_t ack_every = 32;   ///< at most this many packets up to and with one that asks for an acknowledgement, >= 1
  uint32_t retry_count = 7;  ///< time-outs and sequence NAKs in a row without progress that are survived, 0 .. 7
  Duration timeout = ack_timeout(14);
};

}  // namespace rankwire
