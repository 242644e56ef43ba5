// The contract between the engine and whatever carries its messages: RoCEv2 on ports, RDMA NICs, or the reference
// model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/connection_state.h"
#include "base/event.h"
#include "base/histogram.h"
#include "base/id.h"
#include "base/message.h"
#include "base/time_by_cause.h"
#include "base/units.h"

namespace rankwire {

class ModelledPart;

/// An emulated NIC: the addresses it answers to and the port that it stands behind.
struct Nic {
  NicId id;
  PortId port;
  MacAddress mac;
  IpAddress ip;
  uint8_t prefix_length = 0;     ///< of its subnet: 0 .. 32 of IPv4, 0 .. 128 of IPv6
  std::optional<uint16_t> vlan;  ///< 802.1Q VLAN identifier of its frames, 1 .. 4094
  IpAddress gateway;             ///< next hop to other subnets; none: there are no other subnets
};

enum class Path : uint8_t {
  kWire,   ///< through the device under test
  kLocal,  ///< within a host's scale-up domain or behind one port: the modelled interconnect
  /// From host to host, in a run of which only some ranks are on wires: over links that the model alone has. It has the
  /// queue pair numbers that it would have on the wire, so that those of others are the same.
  kModelled,
};

/// A directed connection: messages flow from `source` to `destination`, acknowledgements back. Queue pairs belong to
/// (job, group or point-to-point, pair, channel), as a communicator's do.
struct Connection {
  ConnectionId id;
  JobId job;
  GroupId group;  ///< invalid for point-to-point
  RankId source, destination;
  NicId source_nic, destination_nic;
  Path path = Path::kWire;
  uint8_t channel = 0;
  /// A connection in the other direction between the same NICs whose queue pairs carry this one's messages as well:
  /// NCCL's clear-to-send travels against the data on the data's queue pairs. Invalid: queue pairs of its own.
  ConnectionId reverse_of;
  /// Short control messages, 4 .. 256 bytes, sent as plain RDMA WRITE: the index stands in the first four payload
  /// bytes, little-endian, instead of in an immediate.
  bool control = false;
  uint32_t messages_per_iteration = 0;
  Bytes bytes_per_iteration;
  Bytes largest_message;
};

/// All that a transport must know before it starts. `connections[i].id.value == i`, `nics[i].id.value == i`.
struct TransportPlan {
  std::vector<Nic> nics;
  std::vector<Connection> connections;
  uint32_t ranks = 0;
  /// The most messages that can be posted and not yet reported as sent, over all connections of this transport.
  uint32_t messages_in_flight = 0;
  /// Sizes of the messages of one iteration, connection by connection, each in index order: what hardware does not tell
  /// a receiver. Empty: not known.
  std::vector<uint32_t> message_bytes;
  /// The same of a connection that has none in an iteration and is used all the same: of its index-th message, not
  /// above `largest_message`. Called by the transport's thread, and must not throw. Empty: not known.
  std::function<Bytes(ConnectionId connection, uint32_t index)> unplanned_bytes = nullptr;
};

/// One end of one queue pair of a connection as its peer must know it: plain data, exchanged in memory or between
/// hosts. Connections that share the queue pairs of another (Connection::reverse_of) have no end points of their own.
struct EndPoint {
  ConnectionId connection;
  uint16_t member = 0;  ///< which of the connection's queue pairs
  bool at_source = false;
  MacAddress mac;
  IpAddress ip;
  uint32_t queue_pair = 0;  ///< 24-bit QPN
  uint32_t psn = 0;         ///< 24-bit first PSN that this end sends with
  uint32_t rkey = 0;
  uint64_t address = 0;  ///< start of the memory that the peer may write
  /// The n-th message, counted from 0, that the peer writes by this queue pair goes to `address` + (n % `slots`) x
  /// `slot_bytes`. A part of a split message stands there at its offset in the message.
  uint32_t slots = 1;
  uint64_t slot_bytes = 0;
};

/// Connections begin .. end - 1 of a plan, as far as it has them.
struct ConnectionRange {
  uint32_t begin = 0, end = UINT32_MAX;
};

struct ConnectFailure {
  ConnectionId connection;
  std::string reason;
};

/// Counters of a whole transport since it started. The names are those of `summary.json`.
struct TransportCounters {
  uint64_t packets_tx = 0, packets_rx = 0;
  uint64_t bytes_tx = 0, bytes_rx = 0;  ///< frame bytes without FCS
  uint64_t data_packets_tx = 0, data_packets_rx = 0;
  uint64_t retransmitted = 0;      ///< data packets sent again
  uint64_t naks_tx = 0, naks = 0;  ///< sequence-error NAKs sent, received
  uint64_t timeouts = 0;
  uint64_t rnr_naks_tx = 0, rnr_naks = 0;  ///< receiver-not-ready NAKs sent, received
  uint64_t implied_naks = 0;               ///< READ responses that a later answer showed to be lost
  uint64_t read_requests_tx = 0, read_requests_rx = 0;
  uint64_t icrc_errors = 0;
  uint64_t malformed = 0;          ///< frames dropped by the parser, ICRC errors apart
  uint64_t unknown_qp = 0;         ///< frames for a queue pair that does not exist
  uint64_t duplicate_packets = 0;  ///< requests behind the expected PSN
  uint64_t out_of_sequence = 0;    ///< requests ahead of the expected PSN
  uint64_t ecn_ce_rx = 0, cnp_tx = 0, cnp_rx = 0;
  uint64_t pause_tx = 0, pause_rx = 0;  ///< PFC and PAUSE frames that the generator sent, received
  uint64_t messages_sent = 0, messages_delivered = 0, messages_failed = 0;
  uint64_t payload_errors = 0;  ///< checking mode: messages whose payload was not what it must be
  uint64_t payload_copies = 0;  ///< data packets whose payload was copied into their frame
  uint64_t post_refused = 0;    ///< messages refused because the pool sized at load was empty
  uint64_t stalls = 0;          ///< times a port with frames to send fell behind its schedule by more than the catch-up
  Duration worst_stall;         ///< the furthest that any port fell behind
  Duration slipped;             ///< the port with the most: line time lost for good, because catching up is bounded
  Duration pacing_slipped;      ///< the queue pair with the most: time of its paced schedule lost in the same way
};

/// What one end of a queue pair counts, or several together, under the names and with the meanings of mlx5's hardware
/// counters (NVIDIA, "Understanding mlx5 Linux counters and status parameters"). `rdma_counters` lists them.
struct RdmaCounters {
  // As a responder; responses to READs count in out_of_sequence as well.
  uint64_t out_of_sequence = 0;    ///< packets received ahead of the expected PSN
  uint64_t duplicate_request = 0;  ///< requests received behind it
  uint64_t out_of_buffer = 0;      ///< requests dropped because no receive was posted
  // As a requester.
  uint64_t packet_seq_err = 0;         ///< sequence-error NAKs received
  uint64_t implied_nak_seq_err = 0;    ///< READ responses that a later answer showed to be lost
  uint64_t local_ack_timeout_err = 0;  ///< expirations of the retransmission timer
  uint64_t rnr_nak_retry_err = 0;      ///< receiver-not-ready NAKs received
  // Congestion notification.
  uint64_t np_ecn_marked_roce_packets = 0;  ///< data packets received that were marked CE, where CNPs are sent
  uint64_t np_cnp_sent = 0;
  uint64_t rp_cnp_handled = 0;
  uint64_t rp_cnp_ignored = 0;  ///< CNPs received that no algorithm heeds, or of a failed queue pair

  bool operator==(const RdmaCounters&) const = default;
};

/// Packets that are an acknowledgement and nothing else, of what the source of a queue pair sends: those that the
/// destination has sent, NAKs of all kinds apart, and the ACKs that the source has received. What a response to a READ
/// acknowledges is not among them.
struct AnswerCounters {
  uint64_t acks_tx = 0, naks_tx = 0, acks_rx = 0;

  bool operator==(const AnswerCounters&) const = default;
};

/// Counters of one queue pair of a connection, in the order of TransportPlan::connections and then of `member`.
struct FlowCounters {
  ConnectionId connection;
  uint16_t member = 0;
  uint32_t source_qp = 0, destination_qp = 0;  ///< QPNs; 0: not known, or there are none
  uint64_t messages = 0, bytes = 0, packets = 0, retransmitted = 0, naks = 0, rnr_naks = 0, timeouts = 0, marks = 0;
  /// Packets that reached the destination intact, in whatever order and however often; absent: not counted.
  std::optional<uint64_t> arrived;
  std::optional<AnswerCounters> answers;  ///< absent: not counted
  uint64_t unacknowledged = 0;            ///< packets that may be under way still; READ responses are not known of
  /// Of the whole queue pair, in whichever direction; connections that share the queue pairs of another
  /// (Connection::reverse_of) have none of their own.
  RdmaCounters source_end, destination_end;
  std::optional<TimeByCause> causes;  ///< where the time of the source went; absent: not recorded
};

/// Data packets of a connection so far, of its ends that are here: what FlowCounters has of them, while a run goes on.
struct FlowPackets {
  uint64_t sent = 0;     ///< by the source, those sent again included
  uint64_t arrived = 0;  ///< at the destination, as FlowCounters::arrived
};

/// Counters of one port of the generator or of the embedded switch.
struct PortCounters {
  PortId port;
  std::string name;
  uint64_t tx_frames = 0, tx_bytes = 0, rx_frames = 0, rx_bytes = 0, tx_refused = 0, rx_missed = 0;
  uint64_t dropped = 0;                 ///< by a switch: no room in the output queue, or random loss
  uint64_t marked = 0;                  ///< by a switch: changed to ECN CE
  uint64_t pause_tx = 0, pause_rx = 0;  ///< PFC and PAUSE frames
  std::array<Duration, 8> paused{};     ///< by priority: how long the port was told not to send it
  RdmaCounters rdma;                    ///< of its queue pairs
  uint64_t rx_icrc_encapsulated = 0;    ///< RoCEv2 packets received whose ICRC is wrong; the name is mlx5's
  bool hardware_time = false;  ///< frames are stamped by the port's hardware; otherwise they arrive when the loop looks
  Duration arrival_error;      ///< with hardware stamps, the error of their conversion to the run's clock; otherwise
                               ///< how late an arrival can have been noticed, at the median of the intervals between
                               ///< two looks at the port
  Duration slipped;            ///< line time lost for good, because catching up is bounded
  /// Which drives the port, where there are several.
  std::optional<uint32_t> worker;
};

/// A counter that only one kind of transport has.
struct NamedCounter {
  std::string_view name;  ///< of static lifetime; lower_case_with_underscores
  uint64_t value = 0;
};

enum class LatencyKind : uint8_t {
  kRoundTrip,  ///< from a packet with AckReq given to the port until the acknowledgement of just this packet has
               ///< arrived
  kOneWay,     ///< from a message's last packet given to the port until it has arrived, where both ends are here
};

/// Latencies that the NICs behind one port measured.
struct PortLatency {
  PortId port;
  LatencyKind kind = LatencyKind::kRoundTrip;
  const Histogram* histogram = nullptr;  ///< the transport's
};

/// One thread owns a transport from `prepare` to `close`. `prepare` and `connect` may throw Error; the rest cannot
/// fail: it counts. Nothing is allocated between `connect` and `close`.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Takes all memory and returns this transport's ends of the plan's connections, but those of which nothing need be
  /// known.
  virtual std::vector<EndPoint> prepare(const TransportPlan& plan) = 0;
  /// Tells the transport the other ends (its own included when both are here). Returns what could not be connected.
  virtual std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) = 0;
  /// Whether every connection is ready to carry messages or has failed. After `connect`, `poll` makes it so: it
  /// resolves next hops, within their deadlines, and announces the NICs.
  virtual bool ready() const noexcept { return true; }
  /// The connections that cannot carry messages, and why: not ready yet, or failed on the way to it.
  virtual std::vector<ConnectFailure> not_ready() const { return {}; }

  /// Queues messages on their own queue pairs; none waits behind another queue pair's. Returns how many of the leading
  /// ones were taken: fewer only when the message pool sized at load is empty, which is counted.
  virtual size_t post(Time now, std::span<const Message> messages) noexcept = 0;
  /// Makes progress (sends, receives, runs timers) and reports up to `events.size()` events.
  virtual size_t poll(Time now, std::span<Event> events) noexcept = 0;
  /// The two halves of `poll`, for a loop in real time that posts between them what follows from the events, so that it
  /// leaves in the same turn. A transport without halves does all in the first.
  virtual size_t receive(Time now, std::span<Event> events) noexcept { return poll(now, events); }
  virtual void send_due([[maybe_unused]] Time now) noexcept {}
  /// From now on all messages of the connection together have no more than the rate, of all that their frames take on
  /// the line; 0: nothing holds them any more. A `now` before that of the last turn is as good as that. A transport
  /// that cannot does nothing.
  virtual void hold([[maybe_unused]] ConnectionId connection, [[maybe_unused]] Bandwidth rate,
                    [[maybe_unused]] Time now) noexcept {}
  /// When `poll` next has something to do if nobody posts: not after `now` when it has something to do at once.
  virtual Time next_event() const noexcept = 0;
  /// In virtual time, when nothing outside the transport happens before `limit` but what its ports know already: makes
  /// progress as `poll` would at every time before then, up to the first at which there is something to report. Returns
  /// `next_event`.
  virtual Time run_ahead([[maybe_unused]] Time limit) noexcept { return next_event(); }

  /// What of it is a model; null where the loop need not tell it from the rest.
  virtual ModelledPart* modelled_part() noexcept { return nullptr; }

  /// Grows whenever `poll` has moved a frame or reported an event: how a busy turn of the loop is told from an idle
  /// one.
  virtual uint64_t activity() const noexcept = 0;
  virtual TransportCounters counters() const = 0;
  /// Of the queue pairs of these connections, in the plan's order. A range costs a look at every queue pair, so take
  /// few ranges: one for all of a large plan is a copy of much.
  virtual std::vector<FlowCounters> flows_of(ConnectionRange range) const = 0;
  std::vector<FlowCounters> flows() const { return flows_of({}); }
  /// After `connect`; costs a look at the messages that the connection has in flight, and takes no memory. Absent: not
  /// counted.
  virtual std::optional<FlowPackets> packets_of([[maybe_unused]] ConnectionId connection) const noexcept {
    return std::nullopt;
  }
  virtual std::vector<PortCounters> ports() const = 0;
  /// What this kind of transport counts beyond TransportCounters, in a fixed order.
  virtual std::vector<NamedCounter> details() const { return {}; }
  virtual std::vector<PortLatency> latencies() const { return {}; }
  /// The state of a connection's two ends in one line, for the person who must find out why a run stands still.
  virtual std::string describe(ConnectionId connection) const = 0;
  /// The same for a program: its queue pairs, in their order; empty where the transport does not know.
  virtual std::vector<QueuePairState> states([[maybe_unused]] ConnectionId connection) const { return {}; }
  virtual void close() noexcept = 0;
};

}  // namespace rankwire
