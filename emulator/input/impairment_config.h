// What a configuration says of impairments: docs/configuration.md, section Impairments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/input/job_choice.h"

namespace rankwire {

enum class ImpairmentActionName : uint8_t {
  kDrop,
  kDuplicate,
  kDelay,
  kReorder,
  kCorrupt,
  kMarkCe,
  kForgeAck,
  kForgeNak,
  kForgeRnr,
  kForgeCnp,
  kPause,
};
enum class PacketClassName : uint8_t { kAny, kData, kAck, kNak, kCnp, kReadRequest, kReadResponse };
enum class CorruptTarget : uint8_t { kPayload, kHeader, kIcrc };

/// Which packet of a message: the n-th, or the last.
struct PacketNumber {
  static constexpr uint32_t kLast = UINT32_MAX;
  uint32_t number = 0;

  bool operator==(const PacketNumber&) const = default;
};

/// One item of `impairments`. Absent conditions hold for everything.
struct ImpairmentConfig {
  ImpairmentActionName action = ImpairmentActionName::kDrop;  ///< required
  PacketClassName packets = PacketClassName::kAny;            ///< key `class`
  bool on_receive = false;                                    ///< key `direction`
  bool all_transmissions = false;                             ///< key `transmissions`
  std::optional<std::string> port;                            ///< name
  std::optional<JobChoice> job;                               ///< of the message
  std::optional<uint32_t> rank, peer;                         ///< its source and its destination
  std::optional<std::string> operation;                       ///< shell pattern of node names
  std::optional<std::string> group;                           ///< name
  std::optional<uint32_t> step, iteration;
  std::optional<uint32_t> message;  ///< of those of one operation from `rank` to `peer` on a channel, from 0
  std::optional<PacketNumber> packet;
  uint64_t every = 1;
  uint32_t probability_ppm = 1'000'000;
  Duration from;
  std::optional<Duration> until;
  std::optional<uint64_t> count;

  std::optional<Duration> delay;        ///< kDelay
  std::optional<uint32_t> behind;       ///< kReorder; absent: 1
  std::optional<CorruptTarget> target;  ///< kCorrupt; absent: the payload
  std::vector<uint32_t> priorities;     ///< kPause
  std::optional<uint32_t> quanta;       ///< kPause; absent: the most
  std::optional<Duration> interval;     ///< kPause; absent: one frame

  /// Where each key of the item is written, "FILE:LINE", for errors that only the workload shows; "" is the item.
  std::map<std::string, std::string> places;

  /// What chooses messages rather than connections.
  bool names_messages() const { return operation || group || step || iteration || message || packet; }
};

}  // namespace rankwire
