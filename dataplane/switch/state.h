// The rows of a fabric's tables: its ports, its switches, and what they count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/ports/line_times.h"
#include "dataplane/switch/buffer.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/packets.h"
#include "dataplane/switch/scheduler.h"

namespace rankwire {

/// Why a frame ended in the fabric. Whose port counts it: (i) that by which it came, (o) that for which it was meant.
enum class FabricDrop : uint8_t {
  kRandomLoss,  ///< (i) of a switch or a cable; (o) on the cable to a host
  kFiltered,    ///< (i) destination behind the same port, reserved group address, runt
  kNoRoute,     ///< (i) no path of cables in use
  kHeadroom,    ///< (i) of a lossless priority, beyond the group's limit and headroom
  kTail,        ///< (o) of a lossy priority beyond the limits, or beyond BufferOptions::queue_limit
  kEarly,       ///< (o) by RED
  kWatchdog,    ///< (o) in a pause storm
  kCableDown,   ///< (o) queued for a cable, (i) on a cable that went down
};
constexpr size_t kFabricDrops = 8;

/// Over all ports, rx_frames + flood_copies + pauses_made = tx_frames + drops + pauses_rx + frames held by the fabric,
/// where rx_frames, tx_frames and pauses_rx are those of host ports: see VirtualFabric::conserved.
struct FabricPortCounters {
  // Bytes are without FCS.
  uint64_t rx_frames = 0, rx_bytes = 0;  ///< as an input
  uint64_t tx_frames = 0, tx_bytes = 0;  ///< as an output
  Bytes peak_queue;                      ///< most bytes in a priority's queue, the newest frame included
  // As an input.
  uint64_t flooded = 0;        ///< frames sent to all other ports: unknown or group destination
  uint64_t flood_copies = 0;   ///< frames that flooding added
  uint64_t copy_failures = 0;  ///< copies not made because the frame pool or the fabric was full
  uint64_t pauses_rx = 0;      ///< PAUSE and PFC frames
  // As an output.
  uint64_t marks = 0;                          ///< frames whose ECN field was changed to CE
  uint64_t pauses_tx = 0;                      ///< PFC frames
  uint64_t pauses_made = 0;                    ///< those of them that became frames, for a host
  uint64_t pause_failures = 0;                 ///< PFC frames put off because the frame pool or the fabric was full
  uint64_t storms = 0;                         ///< pause storms that the watchdog found
  std::array<Duration, kPriorities> paused{};  ///< by priority: how long the other end has forbidden to send it
  std::array<uint64_t, kFabricDrops> drops{};

  uint64_t dropped(FabricDrop reason) const { return drops[static_cast<size_t>(reason)]; }
  uint64_t dropped() const;
};

/// Names an output queue.
struct FabricQueueId {
  uint32_t port = 0;  ///< number, see Topology
  uint32_t priority = 0;

  bool operator==(const FabricQueueId&) const = default;
};

/// Flow control of a port: what the other end forbids, and what it is forbidden.
struct FabricFlowControl {
  explicit FabricFlowControl(Bandwidth rate) : pauses(rate) {
    progress.fill(Time::long_ago());
    calm_since.fill(Time::never());
  }

  PauseTimers pauses;                          ///< of this port's output
  PrioritySet asked = 0;                       ///< what this port has told the other end to pause, or is going to
  PrioritySet storms = 0;                      ///< outputs that the watchdog has taken
  bool refresh_due = false, look_due = false;  ///< an event of this kind is waiting
  std::array<Time, kPriorities> progress;      ///< when the output last sent, began to wait or was paused
  std::array<Time, kPriorities> calm_since;    ///< in a storm: since when it has not been paused
};

// What every frame touches of a port is small, and apart from what is seldom needed: of thousands of ports it must stay
// in the caches.

/// What a line is like, and where it leads; most ports share it with others.
struct alignas(64) FabricLine {
  LineTimes times;
  Duration latency;
  Duration next_latency;   ///< of the switch at the other end of the cable
  bool next_cuts_through;  ///< the same
  bool is_slowed;          ///< to a host, and slower than its port: there frames wait until it is free

  bool is_like(const FabricLine& other) const noexcept {
    return times.rate() == other.times.rate() && latency == other.latency && next_latency == other.next_latency &&
           next_cuts_through == other.next_cuts_through && is_slowed == other.is_slowed;
  }
};

/// A port, sending; the port at the other end of a cable has its number ^ 1.
struct alignas(32) FabricPort {
  static constexpr uint8_t kUnsettled = UINT8_MAX;

  FabricPort(uint32_t device_number, uint32_t line_number, bool leads_to_host)
      : device(device_number), line(line_number), is_host(leads_to_host) {}

  Time free_at = Time::long_ago();       ///< of the output line
  Time paused_until = Time::long_ago();  ///< when the last pause is over
  uint32_t device;                       ///< its switch
  uint32_t line;                         ///< number
  PrioritySet waiting = 0;               ///< priorities with frames
  PrioritySet untold = 0;                ///< priorities of which the next PFC frame tells the other end the state
  uint8_t settled = kUnsettled;          ///< the priority that the scheduler picked last, from no others
  bool is_host : 1;
  bool up : 1 = true;
  bool was_down : 1 = false;                          ///< FabricPortDetails::down_at tells when last
  bool wake_due : 1 = false, expiry_due : 1 = false;  ///< an event of this kind is waiting
  bool pauses_differ : 1 = false;                     ///< not all that are paused go on at `paused_until`
  bool loses : 1 = false;                             ///< the cable does, FabricPortDetails::loss_ppm
  PrioritySet paused = 0;                             ///< until `paused_until`, unless `pauses_differ`
};
static_assert(sizeof(FabricPort) == 32);

/// What comes by a port in one priority.
struct FabricIngress {
  PriorityGroup group;
  uint64_t frames = 0, bytes = 0;  ///< received from another switch
};

/// What leaves by a port in one priority.
struct FabricEgress {
  PacketList packets;              ///< waiting
  Bytes queued;                    ///< by them; a frame that is being sent has left
  Bytes peak;                      ///< most of that, the newest frame included
  uint64_t frames = 0, bytes = 0;  ///< sent to another switch
};

/// A host's port.
struct alignas(64) FabricHost {
  FramePort* port;
  Time input_free = Time::long_ago();  ///< of the line from the host
  PacketList line;                     ///< to the host; frame.arrival: last bit there
  uint64_t rx_frames = 0, rx_bytes = 0, tx_frames = 0, tx_bytes = 0;
  uint64_t station = UINT64_MAX;  ///< the last known one that it sent from, as FrameHeaders::source
};
static_assert(sizeof(FabricHost) == 64);

/// What is seldom needed of a port.
struct FabricPortDetails {
  FabricPortCounters counters;  ///< but for what FabricIngress, FabricEgress and FabricHost count
  PortScheduler scheduler;
  Time down_at = Time::long_ago();  ///< when its cable went down last
  uint32_t loss_ppm = 0;            ///< of its cable, in either direction
};

/// The latest choice of a flow.
struct Flowlet {
  Time last = Time::long_ago();
  uint32_t member = 0;
};

/// What every frame needs stands in front.
struct alignas(64) FabricSwitch {
  static constexpr uint32_t kHeaderBytes = 64;  ///< what a cut-through switch has read when it decides

  FabricSwitch(const FabricSwitchOptions& with, uint64_t random_seed, uint64_t seed_of_hash)
      : buffer(with.buffer),
        hash_seed(seed_of_hash),
        lossless(with.classes.lossless),
        strict(with.scheduler.strict),
        loses(with.loss_ppm > 0),
        marks_arrivals(with.red && with.red->at == MarkAt::kEnqueue),
        marks_departures(with.red && with.red->at == MarkAt::kDequeue),
        watched(with.watchdog),
        plain(!loses && !marks_arrivals && !marks_departures && !watched && !with.buffer.queue_limit),
        options(with),
        random(random_seed) {}

  SharedBuffer buffer;
  uint64_t hash_seed;
  uint32_t turn = 0;           ///< of spraying
  const PrioritySet lossless;  ///< of the options, as what follows
  const PrioritySet strict;
  const bool loses, marks_arrivals, marks_departures, watched;
  bool plain;  ///< none of these, no limit of queues, and nobody takes samples
  const FabricSwitchOptions options;
  Random random;
  std::vector<uint32_t> ports;    ///< its own
  std::vector<Flowlet> flowlets;  ///< by low bits of the flow's hash
};

/// A frame at an output, with what it changes there found once.
struct FabricTransit {
  FabricSwitch& device;
  FabricPort& output;
  FabricEgress& queue;
  PriorityGroup& group;  ///< what it is charged to
  FabricPacket& packet;
  uint32_t number;  ///< of the output
  uint32_t handle;  ///< of the packet
  Bytes length;
  PrioritySet bit;  ///< its priority
};

}  // namespace rankwire
