// What a run folder's record holds, as plain values: written by RunRecorder, read by RunReader.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/id.h"
#include "base/record.h"
#include "base/transport.h"
#include "base/units.h"
#include "emulator/record/certificate.h"
#include "emulator/record/device_rows.h"
#include "emulator/record/rate_rows.h"
#include "emulator/record/wrong_messages_row.h"

namespace rankwire {

/// What produced a run of the record. A twin fills the emulated side of every comparison.
enum class Fidelity : uint8_t { kEmulated, kReference, kTwin };

/// "emulated", "reference", "twin": the values of `runs.fidelity`.
const char* to_string(Fidelity fidelity);
/// "round_trip", "one_way": the values of `latency.kind`.
const char* to_string(LatencyKind kind);
/// "wire", "local": the values of `flows.path`.
const char* to_string(Path path);

/// A node of one rank's trace. `kind` is a node kind ("compute", "host", "memory", "send", "receive") or, for a
/// collective, the collective's ("all_reduce", ...). A node of kind "none" is never in a report.
struct NodeInfo {
  RankId rank;
  uint32_t node = 0;  ///< index in the rank's table of nodes, as in OperationRecord
  uint64_t id = 0;    ///< the trace's own
  std::string name;
  std::string kind;
  std::string group;                 ///< empty when it has none
  uint32_t group_size = 0;           ///< members; 2 for point-to-point; 0 when it has no group
  Bytes bytes;                       ///< communication: the rank's input
  std::optional<Duration> recorded;  ///< the trace's own duration
  JobId job;
  uint32_t sequence = 0;  ///< MessageId::sequence of its messages; 0 where it has none, or in an old record
  RankId peer;            ///< the other end of a SEND or RECV; root of a collective; invalid: none, or an old record
  uint32_t tag = 0;       ///< SEND, RECV: ordinal of the tag among those of both ranks
  std::string timed_by;   ///< what gives the node its duration; empty where nothing does, or in an old record
};

/// One of the workloads that share the runs of a record.
struct JobInfo {
  JobId job;
  std::string name;
  uint32_t first_rank = 0, ranks = 0;
  uint32_t iterations = 1;
  JobId after;        ///< the job at whose end its time began to count; invalid: the beginning of the run
  Duration start;     ///< counted from there
  std::string color;  ///< "#rrggbb"; empty: the report's choice
};

/// What a node's end means for a request to an inference service. `node` as in NodeInfo.
struct RequestMarkInfo {
  RankId rank;
  uint32_t node = 0;
  int64_t request = 0;
  bool arrives = false;  ///< else one more output token is known
  JobId job;
  std::optional<int64_t> input_tokens;
  std::optional<int64_t> held_batches;  ///< that began without it because memory was full when it was its turn
};

/// What all marks together say of a request, whether or not it was carried out.
struct RequestInfo {
  JobId job;
  int64_t request = 0;
  uint64_t output_tokens = 0;
  std::optional<int64_t> input_tokens;
  std::optional<int64_t> held_batches;  ///< that began without it because memory was full when it was its turn
};

/// When a node was carried out that has such a mark.
struct RequestEvent {
  RequestMarkInfo mark;
  uint32_t iteration = 0;
  Time at;
};

/// How long each request may take to be served well; absent: as long as it likes.
struct ServiceObjectives {
  std::optional<Duration> ttft, tpot, latency;

  bool any() const { return ttft || tpot || latency; }
};

/// What the configuration asks of the emulated side, to be called good.
struct LimitInfo {
  std::string name;  ///< key of the configuration: "ratio", "busbw.all_reduce"
  double value = 0;  ///< times in picoseconds, bandwidths in bits a second
};

/// A job's completion time when a model runs it without the others, at its places.
struct JobAlone {
  JobId job;
  std::string model;  ///< as RunStart::model
  Duration completion;
  /// With all others, while no cable fails or gets worse; absent where none does in the run.
  std::optional<Duration> unharmed;
};

/// Message completion times of one flow, or of the whole run: posted at the source to delivered at the destination.
/// Quantiles are at most 1/32 above the true value (base/histogram.h).
struct MessageLatency {
  uint64_t count = 0;
  Duration p50, p95, p99, p999, max;
};

/// Traffic without a trace: flows that are alike.
struct BackgroundInfo {
  JobId job;  ///< of its queue pairs: behind those of the jobs
  std::string name, pattern;
  uint32_t flows = 0;
  Bytes mean;                     ///< of a message
  std::optional<Bandwidth> rate;  ///< of each flow; absent: a closed loop
  uint32_t limit = 0;             ///< messages of a flow that are outstanding, at most
  Time start;
  std::optional<Time> stop;
};

/// What became of the messages of one of them in one run.
struct BackgroundRow {
  uint64_t offered = 0, posted = 0, acknowledged = 0, delivered = 0, failed = 0;
  Bytes bytes_offered, bytes_posted, bytes_delivered;
  uint64_t payload_errors = 0, failed_flows = 0;
  MessageLatency completion;  ///< from the post to the acknowledgement
  std::optional<Time>
      first_arrival;  ///< of the first packet of a message that was delivered; absent: none, or an old record
  std::optional<Time> last_delivery;

  /// Neither acknowledged nor failed when the run ended.
  uint64_t under_way() const { return posted - acknowledged - failed; }
};

/// Which of several emulated runs of one configuration a run is.
struct Repetition {
  uint32_t number = 1;   ///< from 1
  uint32_t planned = 1;  ///< how many there are to be; 1: the run is not repeated
};

/// RunStart::model of the messages that share links, and of its member at the median of the ensemble, which is recorded
/// where the first is far from it.
inline constexpr const char* kFlowModel = "flow";
inline constexpr const char* kMedianOfFlow = "flow, median";

struct RunStart {
  Fidelity fidelity = Fidelity::kEmulated;
  std::string clock = "real";  ///< "real": rows are dropped and counted when the writer falls behind; "virtual": the
                               ///< run waits for the writer, nothing is lost
  uint32_t ranks = 0;
  uint64_t seed = 0;
  uint32_t shards = 1;         ///< engine shards, each with a sink of its own
  uint64_t rows = UINT64_MAX;  ///< at most so many of a kind are written; more places are not made for them
  std::string model;           ///< of one of `simulation.fidelity`: "flow", "alpha_beta", "twin", ...; else empty
  Repetition repetition = {};
};

/// A queue pair of a connection with what it carried.
struct FlowRow {
  Connection connection;
  std::string group;  ///< name; empty for point-to-point
  FlowCounters counters;
};

/// Nodes of a rank that take their times from one model.
struct ComputeTimeRow {
  RankId rank;
  std::string model;  ///< as NodeInfo::timed_by
  uint64_t nodes = 0;
  Duration time;  ///< without what varies it
};

/// What was added to the times of a rank's nodes.
struct ComputeVariationRow {
  RankId rank;
  Duration jitter;  ///< negative where more was taken away
  Duration noise, slowed;
};

/// A rank that computed slowly on purpose, or not at all.
struct StragglerRow {
  RankId rank;
  Time from;
  std::optional<Time> until;           ///< absent: to the end of the run
  std::optional<uint64_t> factor_ppm;  ///< absent: a pause
};

/// A counter of the transport beyond TransportCounters.
struct DetailRow {
  std::string name;
  uint64_t value = 0;
};

/// Packet latencies of one kind, of one port or of all ports together. Quantiles are at most 1/32 above the true value
/// (base/histogram.h), the other figures exact but for the clock.
struct LatencyRow {
  PortId port;  ///< invalid: all ports
  LatencyKind kind = LatencyKind::kRoundTrip;
  uint64_t count = 0;
  Duration min, mean, p50, p90, p99, p999, max;
  bool hardware_time = false;              ///< arrivals are stamped by the hardware of every port
  Duration error;                          ///< of the clock that arrivals are read from; the largest of the ports
  std::vector<Histogram::Bucket> buckets;  ///< those that are not empty, smallest values first
};

/// The rows of what a transport measured: for each kind all ports together, then each port that has values.
std::vector<LatencyRow> latency_rows(std::span<const PortLatency> latencies, std::span<const PortCounters> ports);

/// The NIC that a rank uses; several ranks may share one.
struct RankNic {
  NicId nic;
  PortId port;
  std::string mac, ip;
  std::optional<uint32_t> host;  ///< absent: in an old record
};

/// What the queue pairs of one job's group, or of point-to-point, sent from one rank to another over the wire.
struct PairTraffic {
  JobId job;
  std::string group;  ///< its name; empty for point-to-point
  RankId source, destination;
  uint64_t queue_pairs = 0, packets = 0, retransmitted = 0, naks = 0, rnr_naks = 0, timeouts = 0, marks = 0;
  Bytes bytes;           ///< of the payload of its messages, but control messages
  uint64_t counted = 0;  ///< of `packets`, those of queue pairs whose arrivals were counted
  uint64_t lost = 0;     ///< of those: neither arrived intact nor unacknowledged when the run ended
};

/// Payload that one rank sent to another, messages that were sent again counted once.
struct RankPairBytes {
  RankId source, destination;
  Bytes wire, local;  ///< through ports, and over what the model joins them by
};

/// How long messages of one kind took, from post to delivery: those at some places of their order, shortest first.
struct MessageTimes {
  std::string kind;    ///< of the operation that they were sent for, as NodeInfo::kind; "unknown" where nothing says it
  uint64_t count = 0;  ///< messages
  struct Placed {
    uint64_t place;  ///< 1 .. count
    Duration time;
  };
  std::vector<Placed> at;  ///< the places that were asked for, rising
};

/// The first message that failed on a connection.
struct FailureRow {
  Connection connection;
  std::string operation;  ///< name of the node that sends it
  std::string message;    ///< its identity
  std::string reason;
  std::string state;  ///< of the connection's two ends when the run ended, in the transport's words
};

/// What the reference model `flow` takes if one thing takes no time.
struct WhatIfRow {
  std::string kind;  ///< "compute", "wires", "local", "group", "point_to_point" or "port"
  std::string name;  ///< of a port; pattern of groups' names, '#' for numbers; otherwise empty
  Duration completion;
};

/// Why a rank of a run that stood still did not go on.
struct StallWait {
  std::string kind;  ///< "message", "acknowledgement", "order", "place" or "iteration"
  RankId rank;
  RankId peer;            ///< invalid where it waits for nobody in particular
  std::string operation;  ///< name of its node; empty where there is none
  std::string group;      ///< of a collective; otherwise empty
  uint32_t iteration = 0;
  ConnectionId connection;                     ///< invalid where there is none
  uint32_t source_qp = 0, destination_qp = 0;  ///< QPNs of the connection's queue pair that is stuck; 0: not known
  uint32_t retries = 0;                        ///< its time-outs since the last progress
  std::string state;                           ///< of the connection's two ends, in the transport's words
};

/// What a run that stood still had come to.
struct StallRow {
  static constexpr size_t kMostWaits = 4096;

  std::string kind;      ///< "dead_peer", ...; see docs/metrics.md
  RankId culprit;        ///< invalid where it is no rank's doing
  uint32_t behind = 0;   ///< ranks that wait for it, whether or not directly
  uint32_t accused = 0;  ///< waits that end at it
  bool is_cycle = false;
  Time last_progress;            ///< run time
  std::vector<StallWait> chain;  ///< from afar to the culprit; in a cycle the last waits for the first
  std::vector<StallWait> waits;  ///< of all ranks, kMostWaits at most
  /// That the culprit is on, or whose loop stood still; empty where there is one, or none to blame.
  std::string machine = {};
};

/// What a port's device counts by itself, before and after the run.
struct HardwareCounterRow {
  PortId port;
  std::string name;
  uint64_t before = 0, after = 0;

  /// A device may have been reset in between.
  uint64_t change() const { return after >= before ? after - before : after; }
};

/// Firmware, driver and settings of a port's device, before and after the run.
struct PortSettingRow {
  PortId port;
  std::string name, before, after;
};

/// A packet that was impaired on purpose, or a pause frame that was sent.
struct ImpairmentRow {
  Time time;
  uint32_t rule = 0;   ///< its place in the configuration
  std::string action;  ///< "drop", "corrupt_icrc", ...
  PortId port;
  std::string direction;           ///< "transmit", "receive"
  Connection connection;           ///< only its id, source and destination are kept; invalid for a pause frame
  std::string operation, message;  ///< name of the node that sends it, and its identity; empty when not known
  std::optional<uint32_t> packet;  ///< of the message
  std::optional<uint32_t> psn;
  std::string opcode;
};

/// What became of a rule. Its events beyond those that are kept are counted here.
struct ImpairmentRuleRow {
  uint32_t rule = 0;
  std::string action;
  uint64_t done = 0, not_done = 0;
};

/// A priority's output queue of a port of the embedded switch or fabric at the end of an interval in which something
/// happened to it; without a row nothing did, and the length is that of the row before.
struct QueueSampleRow {
  Time time;          ///< end of the interval
  uint32_t port = 0;  ///< place of its name in QueueSampling::ports
  uint8_t priority = 0;
  bool paused = false;                ///< by the other end
  Bytes length;                       ///< of the frames that wait
  uint32_t marks = 0, drops = 0;      ///< frames of the queue marked CE and dropped, in the interval
  uint32_t xoff_rx = 0, xoff_tx = 0;  ///< times that the other end began to pause it, and that the port began to ask
                                      ///< the other end not to send the priority, in the interval
};

/// The queues of the embedded switch over time.
struct QueueSampling {
  Duration interval;                 ///< as doubled when rows ran out
  uint64_t lost = 0;                 ///< rows for which even that made no room
  std::vector<std::string> ports;    ///< "SWITCH.NEIGHBOUR"
  std::vector<QueueSampleRow> rows;  ///< in the order of time
};

/// A pause storm: an output queue of the embedded fabric that a PFC watchdog took.
struct StormRow {
  std::string name;  ///< of the port, "SWITCH.NEIGHBOUR"
  uint8_t priority = 0;
  Time stuck;               ///< since when the queue had sent nothing
  Time begin;               ///< the watchdog took it
  std::optional<Time> end;  ///< and gave it back; absent: it had it when the run ended
  uint64_t dropped = 0;     ///< frames of the queue, by the watchdog
  uint64_t forwarded = 0;   ///< frames sent although the other end forbade it
};

/// What one job sent over a link that another used at the same time. Bytes are of the line, headers included.
struct SharedLinkRow {
  std::string link;
  JobId job, other;
  Duration time;       ///< in which the job sent there
  Duration shared;     ///< in which the other did, too
  Bytes bytes;         ///< that the job sent there
  Bytes shared_bytes;  ///< and while the other did, too
};

struct RunEnd {
  std::string verdict = "ok";  ///< "ok", "failed", "stalled" or "interrupted"
  std::string reason;
  Duration completion;             ///< of the slowest rank
  std::vector<Duration> per_rank;  ///< by RankId
  std::vector<JobSpan> jobs;       ///< by JobId; empty where the record has no jobs
  uint64_t messages = 0;           ///< of the plan, all iterations
  Bytes bytes, bytes_wire, bytes_local;
  uint64_t messages_lost = 0, messages_duplicated = 0;
  TransportCounters counters;
  std::vector<DetailRow> details;
  std::vector<LatencyRow> latencies;
  std::vector<FlowRow> flows;
  std::vector<RankNic> rank_nics;  ///< by RankId; may be empty
  std::vector<PortCounters> ports;
  std::vector<FailureRow> failures;              ///< of the first connections that failed
  std::vector<WrongMessagesRow> wrong_messages;  ///< by name; none where payload was not compared
  std::optional<StallRow> stall;                 ///< where the run did not end by itself
  std::vector<HardwareCounterRow> hardware_counters;
  std::vector<PortSettingRow> port_settings;
  std::vector<ImpairmentRow> impairments;  ///< the first of them, oldest first
  std::vector<ImpairmentRuleRow> impairment_rules;
  std::optional<QueueSampling> queue_samples;
  std::optional<RateSampling> rates;
  DeviceCounters device_counters;
  std::vector<StormRow> storms;                        ///< in the order in which they began
  std::vector<SharedLinkRow> shared_links;             ///< by link, job and other, where a model tells
  std::vector<ComputeTimeRow> compute_times;           ///< by rank; models with nodes
  std::vector<ComputeVariationRow> compute_variation;  ///< by rank; ranks whose times varied
  std::vector<StragglerRow> stragglers;                ///< by rank
  std::vector<BackgroundRow> background;               ///< in the order of the record's; may be empty
  std::vector<double> core_busy;                       ///< by worker: the part of its loops that found work, 0 .. 1
  std::vector<Histogram::Bucket> turns;  ///< how long turns of the loop took, shortest first; empty in virtual time
};

/// Rows that a record does not have.
struct RecordLoss {
  uint64_t operations = 0;  ///< dropped because the ring to the writer was full
  uint64_t messages = 0;    ///< halves of messages dropped for the same reason
  uint64_t unjoined = 0;    ///< halves whose other half never came or had no room to wait for it
};

/// How long the messages of one flow took in two runs.
struct FlowTimes {
  JobId job;
  RankId source, destination;
  uint64_t messages = 0;   ///< of the first run
  Duration first, second;  ///< from post to delivery, P50 of each run
};

/// Both ends of a message. What is not known is `Time::never()`.
struct JoinedMessage {
  MessageId id;
  Bytes bytes;
  Time posted = Time::never(), acked = Time::never(), first_rx = Time::never(), delivered = Time::never();
  uint32_t retransmissions = 0, marks = 0;
  bool failed = false;
  /// Of RunReader::slowest_messages: what the source's node is called, and the process group ("" point-to-point). With
  /// `#` for numbers where several SENDs or RECVs may be meant; empty where the record does not say.
  std::string operation, kind, group;

  bool complete() const { return posted != Time::never() && delivered != Time::never() && !failed; }
  Duration completion() const { return delivered - posted; }
};

/// Whether data was on the wire, local, or both.
struct TrafficPath {
  JobId job;
  std::string group;  ///< process group; empty for the SENDs of `source`
  RankId source;      ///< invalid for a process group
  bool wire = false, local = false;
};

/// How much of the messages is kept. Latency histograms need both halves, so they exist unless kNone.
enum class MessageDetail : uint8_t {
  kNone,
  kSampled,  ///< histograms, the slowest messages and the first that failed
  kAll,      ///< histograms and every message
};

}  // namespace rankwire
