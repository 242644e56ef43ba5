// What a RoCEv2 transport can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/port_tally.h"
#include "base/transport.h"
#include "base/units.h"
#include "dataplane/congestion/options.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/protocol/carriage.h"
#include "dataplane/protocol/nic_profile.h"
#include "dataplane/roce/receive_buffer.h"
#include "dataplane/wire/header_template.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/payload.h"
#include "dataplane/wire/priority.h"
#include "dataplane/wire/receive_check.h"
#include "dataplane/wire/source_port.h"

namespace rankwire {

struct RateSeries;

/// What becomes of a foreign peer's SENDs, WRITEs and READs, which name no message.
enum class UnindexedMessages : uint8_t {
  kIgnored,
  kReported,  ///< as kReceived, a READ when it is accepted; the index counts those of the queue pair
};

/// Whose memory may be read. What stands there is the pattern or, in checking mode, the payload whose key is 0. A queue
/// pair that may be read from remembers NicProfile::max_responder_reads READs.
enum class ReadAccess : uint8_t {
  kForRendezvous,  ///< sources' of DataVerb::kRead
  kAlways,         ///< everybody's
};

/// Where the link addresses of next hops come from.
enum class NeighbourMode : uint8_t {
  kStatic,   ///< the plan: every peer is on the link
  kResolve,  ///< ARP and IPv6 neighbour discovery, of the peer or of the gateway to it
};

constexpr Marking kDefaultMarking{.dscp = 26, .ecn = Ecn::kCapable0, .priority = 0};

/// Congestion control of some connections instead of RoceOptions::congestion, whose notification holds for all.
struct CongestionException {
  JobId job;      ///< whose; invalid: any
  GroupId group;  ///< whose; invalid: any, and point-to-point
  CongestionOptions options;
};

/// How the data packets of one job are marked instead of RoceOptions::markings. Ports obey pauses by the priority of
/// those alone.
struct JobMarking {
  JobId job;
  Marking data;
};

/// Whether FlowCounters::causes are kept: 96 bytes a queue pair, and every packet takes a longer way.
enum class CauseRecording : uint8_t { kOff, kOn };

struct RoceOptions {
  static constexpr uint32_t kMaxOutOfOrder = 1024;

  uint32_t mtu = 4096;  ///< path MTU in bytes: 256, 512, 1024, 2048 or 4096
  /// Its data_ecn is the caller's to put into `markings`.
  NicProfile profile;

  /// Packets that a queue pair sends in a row before the next has its turn, >= 1: a visit costs more than a packet.
  uint32_t turn = 16;
  uint32_t queue_pairs = 1;  ///< of each connection that has its own, 1 .. 256
  Spread spread = Spread::kSplit;
  DataVerb verb = DataVerb::kWriteImm;
  UnindexedMessages unindexed = UnindexedMessages::kIgnored;
  /// Receives that each queue pair has posted when it is connected, 1 .. 65535; each is posted again when the
  /// application has taken the event of the message that consumed it. Absent: there is always one.
  std::optional<uint32_t> receive_queue;
  ReadAccess read_access = ReadAccess::kForRendezvous;
  /// How far ahead of a missing packet those of WRITEs are placed in memory all the same, for networks that do not keep
  /// order, packets up to kMaxOutOfOrder; 0: what comes too early is dropped and asked for again (go back N). ConnectX
  /// NICs do so with adaptive routing. A loss is asked for again only when more than these have come, else by a
  /// time-out.
  uint32_t out_of_order = 0;

  /// With DataVerb::kRead not an algorithm that follows acknowledgements: READ responses have none.
  CongestionOptions congestion;
  std::vector<CongestionException> congestion_exceptions;  ///< the first that is a connection's holds for it

  Markings markings{kDefaultMarking, kDefaultMarking, kDefaultMarking, kDefaultMarking};
  std::vector<JobMarking> job_markings;  ///< a job once at most
  /// By which the switches that the ports are cabled to tell priorities, and so the NICs, which must obey their pauses;
  /// absent: by the tag of tagged frames and DSCP / 8 of others.
  std::optional<ClassOptions> classes;
  SourcePortPolicy source_port = SourcePortPolicy::kLinux;
  uint16_t fixed_source_port = 0xC000;  ///< with SourcePortPolicy::kFixed

  NeighbourMode neighbours = NeighbourMode::kStatic;
  Announcements announcements = Announcements::kSent;
  Duration resolve_interval = milliseconds(250);  ///< between two requests for the same address, > 0
  Duration resolve_deadline = seconds(3);         ///< after which a next hop is unreachable, > 0

  PayloadMode payload = PayloadMode::kPattern;
  ReceiveCheck receive_check = ReceiveCheck::kWholeFrame;  ///< of packets between ends with the same options
  /// How far behind its schedule a port, or a queue pair that congestion control paces, may be and still catch up; >=
  /// 0.
  Duration catch_up = microseconds(100);
  /// How long before its slot on the line a frame may be given to its port, >= 0: a turn of the loop lasts, and what
  /// follows in it should not wait for the next one. 0 in virtual time, where turns take none.
  Duration lead;
  /// A gap between two polls that is longer is the generator's own standstill, not the network's: time-outs that ran
  /// out in it start again, unless every turn of the loop is that slow. max() in virtual time, where gaps are idle
  /// time.
  Duration standstill = Duration::max();
  uint64_t seed = 1;  ///< of first PSNs and keys
  CauseRecording causes = CauseRecording::kOff;
  /// By NicId: whose queue pairs the transport has, of the NICs behind its ports; the others' are another transport's,
  /// which has queues of the same ports. Empty: all.
  std::vector<bool> nics;
  /// By PortId: what has passed each port in real time, for whoever looks on in the transport's thread; outlives it.
  /// Empty: nobody does, and nothing is counted by port.
  std::span<PortTally> tally;
  /// Is told what passes over time; borrowed. Null: nobody wants to know.
  RateSeries* rates = nullptr;
  /// Whether connections may be held to rates from outside (Transport::hold). Then packets take the way of those that
  /// congestion control paces.
  bool held = false;
};

/// What a port does about PFC and PAUSE frames.
enum class PauseMode : uint8_t {
  kSoftware,  ///< the transport obeys them, and sends those of a receive buffer
  kHardware,  ///< the device obeys them; the transport sends those of a receive buffer
  kOff,       ///< received ones are counted and have no effect, none is sent
};

/// A port of the plan, or one of several queues of a port: these share its `id`. It must outlive the transport. `rate`
/// is the line rate at which it is paced; of a port's queues the sum is the line rate, by which quanta count. The first
/// queue says what holds for the port: `pause`, and how slow a receiver it is (absent: as fast as the line). Up to
/// 2 x TransmitLane::kHandful frames of the port's pool are in the transport's hands.
struct PortBinding {
  PortId id;
  FramePort* port = nullptr;
  Bandwidth rate;
  PauseMode pause = PauseMode::kSoftware;
  std::optional<ReceiveBufferOptions> receive_buffer;
};

/// The priority, as a set, by which packets of a marking are paused at their NIC. `tagged`: their frames have a VLAN
/// tag. `classes` as in RoceOptions.
PrioritySet priority_of(const Marking& marking, bool tagged, const std::optional<ClassOptions>& classes);

/// Whether any of the algorithms follows acknowledgements.
bool follows_acknowledgements(const RoceOptions& options);

/// Whether any queue pair has an algorithm.
bool has_congestion_control(const RoceOptions& options);

/// Throws Error(kInput) naming the first value out of its range.
void check_options(const RoceOptions& options);
/// Throws Error(kInput) when a transport with these options has no use of a port, or cannot carry out the plan.
void check_plan(const RoceOptions& options, std::span<const PortBinding> bindings, const TransportPlan& plan);

}  // namespace rankwire
