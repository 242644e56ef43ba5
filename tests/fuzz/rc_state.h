// Bytes as a story of a requester and a responder: posts, packets that arrive, are lost, repeated, reordered or forged,
// and time-outs.
#pragma once

#include <cstdint>
#include <span>

#include "tests/dataplane/protocol/rc_channel.h"
#include "tests/fuzz/input.h"

namespace rankwire {

/// -128 .. 127, as 24 bits: most often what is near is interesting.
inline uint32_t nearby(fuzz::Input& input) {
  return static_cast<uint32_t>(static_cast<int8_t>(input.byte())) & kPsnMask;
}

inline RcChannelOptions read_rc_options(fuzz::Input& input) {
  RcChannelOptions options;
  ReliableOptions& requester = options.requester;
  requester.mtu = 256;
  requester.window = 1 + input.byte() % 32;
  requester.ack_every = 1 + input.byte() % 32;
  const uint32_t retries = input.byte();
  requester.retry_count = (retries & 8) != 0 ? kUnlimitedRetries : retries & 7;
  requester.not_ready_retry_count = (retries & 128) != 0 ? kUnlimitedRetries : retries >> 4 & 7;
  requester.timeout = microseconds(20);
  const uint32_t timeouts = input.byte();
  requester.early.count = timeouts & 3;
  requester.early.waits.fill(microseconds(2));
  requester.withheld_retries = timeouts >> 2 & 1;
  requester.max_reads = 1 + (timeouts >> 4 & 3);
  const uint32_t answers = input.byte();
  options.responder.mtu = 256;
  options.responder.not_ready_code = 1;
  options.responder.requests_per_ack = static_cast<uint8_t>(1 + (answers & 3));
  options.grants_credits = (answers & 4) != 0;
  if ((answers & 8) != 0) options.receives = answers >> 4;
  options.first_psn = uint32_t{input.word()} << 8;
  options.first_psn |= input.byte();
  return options;
}

inline void forge_answer(RcChannel& channel, fuzz::Input& input) {
  constexpr Opcode kAnswers[] = {Opcode::kAcknowledge, Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle,
                                 Opcode::kReadResponseLast, Opcode::kReadResponseOnly};
  channel.forge();
  ParsedPacket packet;
  packet.opcode = kAnswers[input.byte() % 5];
  packet.psn = psn_add(channel.requester().oldest_unacknowledged(), nearby(input));
  packet.syndrome = static_cast<uint8_t>(input.byte());
  packet.msn = psn_add(channel.responder().msn(), nearby(input));
  packet.payload_length = input.word() % 257;
  packet.pad = -packet.payload_length & 3;
  channel.take_answer(packet);
}

inline void forge_request(RcChannel& channel, fuzz::Input& input) {
  channel.forge();
  ParsedPacket packet;
  packet.opcode = static_cast<Opcode>(input.byte() % 0x18);
  packet.psn = psn_add(channel.responder().expected_psn(), nearby(input));
  const uint32_t flags = input.byte();
  packet.ack_request = (flags & 1) != 0;
  packet.payload_length = input.word() % 258;
  packet.pad = (flags & 2) != 0 ? flags >> 4 & 3 : -packet.payload_length & 3;
  packet.dma_length = (flags & 4) != 0 ? uint32_t{input.word()} << (flags >> 6) * 4 : packet.payload_length;
  packet.rkey = RcChannel::kRegion.rkey + ((flags & 8) != 0 ? 1 : 0);
  packet.address = RcChannel::kRegion.address + input.word();
  channel.receive(packet);
}

/// One event of the story.
inline void play_rc_event(RcChannel& channel, fuzz::Input& input) {
  const uint32_t event = input.byte();
  const uint32_t argument = event >> 4;
  switch (event & 15) {
    case 0:
      return channel.post(static_cast<Verb>(argument % 5), input.byte());
    case 1:
      return channel.post(static_cast<Verb>(argument % 5), input.word() % 8192);
    case 2:
    case 3:
      return channel.send(1 + argument);
    case 4:
    case 5:
      return channel.answer(1 + argument);
    case 6:
    case 7:
      return channel.deliver_request(argument >> 1, (argument & 1) != 0);
    case 8:
    case 9:
      return channel.deliver_answer(argument >> 1, (argument & 1) != 0);
    case 10:
      return (argument & 1) != 0 ? channel.drop_request(argument >> 1) : channel.drop_answer(argument >> 1);
    case 11:
      return channel.expire();
    case 12:
      return channel.post_receives(argument);
    case 13:
      channel.now += nanoseconds(100 * (1 + argument));
      return;
    case 14:
      return argument == 15 ? channel.fault() : forge_answer(channel, input);
    default:
      return forge_request(channel, input);
  }
}

/// The rule that the story breaks, or nullptr.
inline const char* play_rc_story(std::span<const uint8_t> story) {
  fuzz::Input input(story.data(), story.size());
  RcChannel channel(read_rc_options(input));
  while (!input.empty() && channel.violation() == nullptr) play_rc_event(channel, input);
  if (!channel.forged()) channel.drain();
  return channel.violation();
}

}  // namespace rankwire
