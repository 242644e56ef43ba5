// A message: the unit that the engine hands to a transport, and the identity that both of its ends compute alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// The identity of a message, computed by source and destination from their own traces alone; two runs are joined by
/// it.
///
/// For a collective, `group` is the process group and `sequence` says that it is the n-th collective of that group in
/// file order. For point-to-point `group` is `kPointToPoint`, `sequence` is n in (source, destination, tag, n-th), and
/// `step` is the ordinal of the tag among the sorted tags of (source, destination).
struct MessageId {
  static constexpr uint64_t kPointToPoint = 0xFFFF;
  static constexpr uint64_t kMaxGroups = 0xFFFF;  ///< groups are 0..kMaxGroups-1
  static constexpr uint64_t kMaxSequence = 1 << 22;
  static constexpr uint64_t kMaxIterations = 1 << 14;
  static constexpr uint64_t kMaxJobs = 1 << 7;
  static constexpr uint64_t kMaxChannels = 1 << 5;
  static constexpr uint64_t kMaxRanks = 1 << 17;
  static constexpr uint64_t kMaxSteps = 1 << 16;
  static constexpr uint64_t kMaxSlices = 1 << 13;

  uint64_t group : 16 = 0;
  uint64_t sequence : 22 = 0;
  uint64_t iteration : 14 = 0;
  uint64_t job : 7 = 0;
  uint64_t channel : 5 = 0;
  uint64_t source : 17 = 0;       ///< rank
  uint64_t destination : 17 = 0;  ///< rank
  uint64_t step : 16 = 0;
  uint64_t slice : 13 = 0;
  uint64_t control : 1 = 0;  ///< the receiver's clear-to-send for the message of the same step, channel and slice that
                             ///< travels the other way

  friend bool operator==(const MessageId& a, const MessageId& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};
static_assert(sizeof(MessageId) == 16 && std::is_trivially_copyable_v<MessageId>);

/// "job 0 group 3 #12 iteration 0 rank 1 -> 2 step 4 channel 0 slice 0".
std::string to_string(const MessageId& id);

/// One message of a connection. `index` counts the messages of the connection's plan; both ends derive it, and it is
/// all that travels on the wire. Indexes of one connection may be posted out of order (point-to-point).
struct Message {
  MessageId id;
  Bytes bytes;  ///< 0 .. 2^31 - 1
  ConnectionId connection;
  uint32_t index = 0;
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) <= 64);

/// A bijective mix of 64 bits (splitmix64 finaliser; Steele, Lea, Flood, OOPSLA 2014).
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The payload of a message in checking mode, as 64-bit little-endian words: word 0 is the key, word i is
/// `payload_word(key, i)`. A receiver recovers the key from the first word, checks all others against it, and the owner
/// of the plan compares it with the key of the message that it expects.
inline uint64_t payload_key(const MessageId& id) {
  uint64_t words[2];
  std::memcpy(words, &id, sizeof words);
  return mix64(words[0] + 0x9E3779B97F4A7C15u * mix64(words[1] + 1));
}

/// Word `i` (bytes 8i .. 8i+7) of the payload whose key is `key`. Cheap enough for every byte of a run: an odd step, so
/// that no two words of a message are equal.
constexpr uint64_t payload_word(uint64_t key, uint64_t i) {
  return key + i * 0x9E3779B97F4A7C15u;
}

}  // namespace rankwire
