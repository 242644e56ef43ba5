// Every pair of request opcodes in sequence at a responder (IBTA 9.7.4.1).
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "dataplane/protocol/responder.h"

namespace rankwire {
namespace {

constexpr uint32_t kTargetMtu = 256;
constexpr ResponderOptions kTargetOptions{.mtu = kTargetMtu};
constexpr MemoryRegion kTargetRegion{.address = 0x1000, .bytes = 1 << 20, .rkey = 7};

// By number, as in table 38: SEND 00-05, WRITE 06-0B, READ request 0C, atomics 13 14, SEND with invalidate 16 17.
constexpr std::array<uint8_t, 17> kRequests = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                               0x09, 0x0A, 0x0B, 0x0C, 0x13, 0x14, 0x16, 0x17};

// What may stand where. An operation that is not offered here (atomics, invalidate) is invalid wherever it stands.
enum class Place { kFirst, kMiddle, kLast, kOnly, kNotOffered };

struct Row {
  char message;  // 'S', 'W', or 'R'
  Place place;
};

constexpr Row row(uint8_t opcode) {
  switch (opcode) {
    case 0x00:
      return {'S', Place::kFirst};
    case 0x01:
      return {'S', Place::kMiddle};
    case 0x02:
    case 0x03:
      return {'S', Place::kLast};
    case 0x04:
    case 0x05:
      return {'S', Place::kOnly};
    case 0x06:
      return {'W', Place::kFirst};
    case 0x07:
      return {'W', Place::kMiddle};
    case 0x08:
    case 0x09:
      return {'W', Place::kLast};
    case 0x0A:
    case 0x0B:
      return {'W', Place::kOnly};
    case 0x0C:
      return {'R', Place::kOnly};
    default:
      return {'-', Place::kNotOffered};
  }
}

constexpr bool begins(Place place) {
  return place == Place::kFirst || place == Place::kOnly;
}

// Whether `next` may follow, when `previous` was legal where it stood.
constexpr bool may_follow(Row previous, Row next) {
  if (next.place == Place::kNotOffered) return false;
  const bool inside = previous.place == Place::kFirst || previous.place == Place::kMiddle;
  return inside ? !begins(next.place) && next.message == previous.message : begins(next.place);
}

class Sequence {
 public:
  Arrival send(uint8_t opcode) {
    const Row r = row(opcode);
    ParsedPacket packet;
    packet.opcode = static_cast<Opcode>(opcode);
    packet.psn = psn_;
    packet.rkey = kTargetRegion.rkey;
    packet.address = kTargetRegion.address;
    const bool full = r.place == Place::kFirst || r.place == Place::kMiddle;
    packet.payload_length = full ? kTargetMtu : 8;
    if (r.message == 'R') packet.payload_length = 0;
    packet.dma_length = r.place == Place::kFirst ? write_bytes_ : 8;
    const Arrival arrival = responder_.receive(kTargetOptions, packet).arrival;
    psn_ = psn_add(psn_, 1);
    return arrival;
  }
  /// The length in the RETH of the next WRITE of several packets.
  void announce_write_of(uint32_t bytes) { write_bytes_ = bytes; }
  Responder& responder() { return responder_; }

 private:
  std::array<ReadResource, 4> reads_;
  Responder responder_{0xFFFFFF, kTargetRegion, {.reads = reads_}};
  uint32_t psn_ = 0xFFFFFF;
  uint32_t write_bytes_ = 0;
};

std::string name(uint8_t a, uint8_t b) {
  return std::to_string(a) + " then " + std::to_string(b);
}

TEST(OpcodeOrder, EveryPair) {
  int legal = 0;
  for (const uint8_t previous : kRequests) {
    const Row before = row(previous);
    if (before.place == Place::kNotOffered) continue;  // ends the queue pair: see below
    for (const uint8_t next : kRequests) {
      Sequence sequence;
      // What follows decides how long a WRITE must be: behind a MIDDLE something must be missing, a LAST brings the
      // remaining 8 bytes.
      const bool in_message = !begins(before.place);
      const uint32_t packets_before = before.place == Place::kMiddle ? 2 : 1;
      const bool another_middle = before.place != Place::kLast && row(next).place == Place::kMiddle;
      sequence.announce_write_of((packets_before + (another_middle ? 1 : 0)) * kTargetMtu + 8);
      if (in_message) {
        ASSERT_EQ(sequence.send(before.message == 'S' ? 0x00 : 0x06), Arrival::kAccepted);
      }
      ASSERT_EQ(sequence.send(previous), Arrival::kAccepted) << int{previous};

      sequence.announce_write_of(2 * kTargetMtu);
      const bool expected = may_follow(before, row(next));
      legal += expected ? 1 : 0;
      EXPECT_EQ(sequence.send(next), expected ? Arrival::kAccepted : Arrival::kRefused) << name(previous, next);
      if (expected) continue;
      EXPECT_EQ(sequence.responder().state(), Responder::State::kError) << name(previous, next);
      while (sequence.responder().response_pending())
        sequence.responder().responded(sequence.responder().next_response(kTargetOptions, 1));
      ASSERT_TRUE(sequence.responder().reply_owed()) << name(previous, next);
      EXPECT_EQ(sequence.responder().take_reply().syndrome, 0x61) << name(previous, next);
    }
  }
  // FIRST and MIDDLE of SEND or WRITE (4) are followed by MIDDLE or the two LASTs of their kind; the 9 that end a
  // message (LAST and ONLY of SEND and WRITE with and without immediate, READ) by any of the 7 that begin one.
  EXPECT_EQ(legal, 4 * 3 + 9 * 7);
}

TEST(OpcodeOrder, WhatCannotComeFirst) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    Sequence sequence;
    sequence.announce_write_of(2 * kTargetMtu);
    const Row r = row(static_cast<uint8_t>(opcode));
    EXPECT_EQ(sequence.send(static_cast<uint8_t>(opcode)), begins(r.place) ? Arrival::kAccepted : Arrival::kRefused)
        << opcode;
  }
}

}  // namespace
}  // namespace rankwire
