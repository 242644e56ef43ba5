// The keys of `transport` as plain values.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "emulator/input/congestion_config.h"

namespace rankwire {

enum class ProfileName : uint8_t { kRankwire, kMlx5, kRxe };
enum class AckPolicy : uint8_t { kMerged, kPerRequest };
enum class VerbName : uint8_t { kWriteImm, kWriteThenImm, kSendImm, kRead };
enum class SpreadName : uint8_t { kSplit, kDeal };
enum class NeighbourChoice : uint8_t { kAuto, kStatic, kResolve };
enum class ReceiveCheckName : uint8_t { kWholeFrame, kHeaderAndTrailer };

/// The UDP source port: a rule, or always `fixed`.
struct SourcePortConfig {
  enum class Rule : uint8_t { kLinux, kPerMessage, kPerPacket, kFixed };
  Rule rule = Rule::kLinux;
  uint16_t fixed = 0;  ///< with kFixed: 49152 .. 65535
};

/// How one kind of packet is marked.
struct MarkingConfig {
  std::optional<uint32_t> dscp;  ///< absent: `dscp` of the transport
  std::optional<bool> ecn;       ///< absent: `ecn` of the transport
  uint32_t priority = 0;         ///< 802.1p, in frames with a VLAN tag
};

/// What only RDMA devices can be told.
struct VerbsConfig {
  uint32_t service_level = 0;         ///< key `sl`, 0 .. 7
  uint32_t send_queue = 64;           ///< work requests that a queue pair has posted at most, 2 .. 32768
  uint32_t signal_every = 16;         ///< every so many of them one asks for a completion, 1 .. send_queue
  Bytes inline_size = Bytes(64);      ///< key `inline`: payloads up to this length travel in the work request
  bool shared_receive_queue = false;  ///< one for all queue pairs of a port
  std::optional<Bytes> max_message;   ///< longest work request; absent: what the device allows
  Bytes memory = Bytes(4LL << 30);    ///< most that may be registered
};

/// The largest path MTU there is (IBTA 9.7.1), bytes.
constexpr uint32_t kLargestPathMtu = 4096;

/// Absent values are the profile's.
struct TransportConfig {
  ProfileName profile = ProfileName::kRankwire;
  std::optional<uint32_t> mtu;  ///< path MTU in bytes: 256, 512, 1024, 2048 or 4096; absent: what all ports carry
  VerbName verb = VerbName::kWriteImm;
  uint32_t queue_pairs = 1;  ///< a connection, 1 .. 256
  SpreadName spread = SpreadName::kSplit;
  SourcePortConfig source_port;
  uint32_t turn = 16;                   ///< packets that a queue pair sends before the next has its turn, 1 .. 1024
  std::optional<uint32_t> window;       ///< unacknowledged packets a queue pair, 1 .. 2^22
  std::optional<uint32_t> timeout;      ///< exponent t of 4.096 us x 2^t; absent: follows from the ports
  std::optional<uint32_t> retry_count;  ///< 1 .. 7
  std::optional<uint32_t> ack_every;    ///< packets without an AckReq, at most; at most `window`
  std::optional<AckPolicy> acks;
  std::optional<uint32_t> rnr_retry;      ///< 0 .. 7; 7: without end
  std::optional<uint32_t> rnr_timer;      ///< code of the time that a receiver not ready asks for, 0 .. 31
  std::optional<uint32_t> receive_queue;  ///< receives posted a queue pair; absent: there is always one
  uint32_t out_of_order = 0;              ///< packets that a receiver places ahead of a missing one
  std::optional<uint32_t> read_depth;     ///< READs outstanding a queue pair, 1 .. 16
  uint32_t dscp = 26;
  std::optional<bool> ecn;  ///< packets are ECN-capable, ECT(0)
  MarkingConfig data, ack, nak, cnp;
  CongestionConfig congestion;  ///< key `congestion_control`
  std::optional<uint32_t> ttl;
  NeighbourChoice neighbours = NeighbourChoice::kAuto;
  Duration resolve_interval = milliseconds(250);
  Duration resolve_deadline = seconds(3);
  ReceiveCheckName receive_check = ReceiveCheckName::kWholeFrame;
  bool checking = false;                  ///< payload is a function of the message and is compared at the receiver
  Duration catch_up = microseconds(100);  ///< how far behind its schedule a port may be and still catch up
  VerbsConfig verbs;
};

}  // namespace rankwire
