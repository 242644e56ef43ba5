// What the switches of a virtual fabric are like.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/units.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/wire/pause.h"
#include "dataplane/wire/priority.h"
#include "fabric/cable_event.h"

namespace rankwire {

enum class Forwarding : uint8_t {
  kStoreAndForward,  ///< the latency counts from the last bit in
  kCutThrough,       ///< from the 64th byte in; a faster output line still ends no earlier than the input's
};

/// When the queue is looked at for marking.
enum class MarkAt : uint8_t {
  kEnqueue,  ///< what the frame finds in front of it
  kDequeue,  ///< what it leaves behind it
};

/// What RED does to a frame of a lossy priority that is not ECN-capable.
enum class NotCapable : uint8_t { kPass, kDrop };

/// Random early detection by the instantaneous length q of a priority's output queue: probability 0 for q <= minimum,
/// most (q - minimum) / (maximum - minimum) up to maximum, 1 above (DCQCN: Zhu et al., SIGCOMM 2015, section 3; with
/// minimum = maximum DCTCP's threshold: Alizadeh et al., SIGCOMM 2010).
struct RedOptions {
  Bytes minimum, maximum;
  uint32_t most_ppm = 1'000'000;  ///< parts per million
  PrioritySet priorities = kAllPriorities;
  MarkAt at = MarkAt::kEnqueue;
  NotCapable not_capable = NotCapable::kPass;
};

enum class StormAction : uint8_t {
  kDrop,     ///< frames of the queue are dropped until the storm is over
  kForward,  ///< frames are sent as if there were no pause
};

/// The PFC watchdog of SONiC (`pfcwd`): a queue that has been paused with frames in it for `detection` without sending
/// any is in a storm; the storm is over when it has not been paused for `restoration`. Looked at every quarter of the
/// shorter, so either comes up to so much later.
struct WatchdogOptions {
  Duration detection = milliseconds(200), restoration = milliseconds(200);
  StormAction action = StormAction::kDrop;
};

/// A share of what is left of the shared buffer, T = 2^exponent x (B - used) (Choudhury and Hahne, IEEE/ACM ToN 6(2),
/// 1998; exponents as of SAI), or a fixed limit.
struct BufferLimit {
  int8_t exponent = 0;  ///< -8 .. 8
  std::optional<Bytes> fixed;

  Bytes of(Bytes free) const noexcept {
    if (fixed) return *fixed;
    if (free.count <= 0) return Bytes();
    return Bytes(exponent < 0 ? free.count >> -exponent : free.count << exponent);
  }
};

/// The buffer of one switch. A frame is charged to the priority group (input port and priority) by which it came: to
/// the group's reserve, then to the shared buffer, and in a lossless priority to the group's headroom beyond the limit.
/// All sizes count frames without FCS.
struct BufferOptions {
  Bytes shared = Bytes(1LL << 50);                           ///< B
  Bytes reserve;                                             ///< of each priority group
  std::optional<Bytes> queue_limit;                          ///< most bytes of any output queue
  BufferLimit egress{.exponent = 8, .fixed = std::nullopt};  ///< of an output queue of a lossy priority
  BufferLimit ingress;                                       ///< of a priority group of a lossless priority: XOFF
  Bytes headroom;       ///< of each priority group: what arrives between XOFF and silence
  Bytes resume_offset;  ///< XON when a paused group is this much below its limit
};

/// Priorities in `strict` go first, the highest first of all; the others share what is left by deficit round robin
/// (Shreedhar and Varghese, SIGCOMM 1995) as their weights are to each other.
struct SchedulerOptions {
  PrioritySet strict = 0;
  std::array<uint8_t, kPriorities> weights{1, 1, 1, 1, 1, 1, 1, 1};  ///< 1 .. 100
};

struct FabricSwitchOptions {
  Duration latency;  ///< until a frame is eligible for output, >= 0; see Forwarding
  Forwarding forwarding = Forwarding::kStoreAndForward;
  BufferOptions buffer;
  ClassOptions classes;
  SchedulerOptions scheduler;
  std::optional<RedOptions> red;
  std::optional<WatchdogOptions> watchdog;
  uint16_t pause_quanta = kMaxQuanta;  ///< asked for by XOFF, which is repeated when half of them are over; > 0
  uint32_t loss_ppm = 0;               ///< random loss of received frames, parts per million, 0 .. 10^6
};

enum class Spreading : uint8_t {
  kFlow,     ///< ECMP: the hash of the flow chooses
  kFlowlet,  ///< chosen anew, at random, when the flow has paused for `flowlet_gap` (CONGA, SIGCOMM 2014)
  kPacket,   ///< spraying: ports in turn
};

struct LoadBalancingOptions {
  Spreading spreading = Spreading::kFlow;
  bool hash_queue_pair = false;  ///< RoCEv2's destination QP is hashed beside the 5-tuple
  bool seed_per_switch = true;   ///< otherwise all switches choose alike
  Duration flowlet_gap = microseconds(50);
};

/// Known from the start: a station behind a host's port.
struct FabricStation {
  MacAddress mac;
  uint32_t host = 0;
};

/// How the lengths of queues are sampled.
struct SeriesOptions {
  Duration interval;      ///< > 0
  uint32_t rows = 65536;  ///< >= 2
};

/// Told of frames while they pass: of a switch in the order of time, of several in that order up to a window (see
/// VirtualFabric). Looks at them during the call alone.
class FabricObserver {
 public:
  virtual ~FabricObserver() = default;
  /// A host's frame is going to be in whole at `frame.arrival`, at the port number `port` (see Topology).
  virtual void received(uint32_t port, const Frame& frame) noexcept = 0;
  /// The port begins to send. PFC frames between switches are no frames and not told.
  virtual void sent(uint32_t port, Time begun, const Frame& frame) noexcept = 0;
};

struct FabricOptions {
  LoadBalancingOptions balancing;
  std::vector<CableEvent> schedule;         ///< in the order of time
  Duration convergence;                     ///< from a cable's change until routes follow it, >= 0
  std::span<const FabricStation> stations;  ///< looked at by the constructor alone
  size_t addresses = 65536;                 ///< stations that can be known; beyond them the fabric floods
  uint32_t frames = 1 << 20;                ///< most that are in the fabric; beyond them hosts are not heard
  std::optional<SeriesOptions> series;
  FabricObserver* observer = nullptr;  ///< outlives the fabric; null: none
  std::vector<bool> served;            ///< by host: gets frames from here, and not from another switch; empty: all do
  Doorbells* bells = nullptr;          ///< rung, by host, by all hosts' links; null: every step asks every host's port
  uint64_t seed = 1;                   ///< of loss, marks, flowlets and hashes
};

}  // namespace rankwire
