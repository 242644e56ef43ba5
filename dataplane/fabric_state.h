// The parts that a virtual fabric is made of: its ports and its switches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dataplane/fabric_buffer.h"
#include "dataplane/fabric_options.h"
#include "dataplane/fabric_packets.h"
#include "dataplane/fabric_scheduler.h"
#include "dataplane/frame_port.h"
#include "dataplane/line_times.h"

namespace rankwire {

/// Why a frame ended in the fabric. Whose port counts it: (i) that by which it came, (o) that for which it was meant.
enum class FabricDrop : uint8_t {
  kRandomLoss,  ///< (i)
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
  // What every frame counts stands in front. Bytes are without FCS.
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

/// The output queue of a priority.
struct FabricQueue {
  PacketList packets;
  Bytes bytes;  ///< of the frames that wait; one that is being sent has left
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

  PauseTimers pauses;      ///< of this port's output
  PrioritySet asked = 0;   ///< what this port has told the other end to pause, or is going to
  PrioritySet storms = 0;  ///< outputs that the watchdog has taken
  bool refresh_due = false, expiry_due = false, look_due = false;  ///< an event of this kind is waiting
  std::array<Time, kPriorities> progress;    ///< when the output last sent, began to wait or was paused
  std::array<Time, kPriorities> calm_since;  ///< in a storm: since when it has not been paused
};

/// What every frame needs stands in the first cache line, as far as the rate in `line_times` and what follows from it,
/// and in the first of the counters.
struct alignas(64) FabricPort {
  static constexpr uint8_t kUnsettled = UINT8_MAX;

  FabricPort(FramePort* host_port, const LineTimes& times, uint32_t device_number)
      : host(host_port), device(device_number), line_times(times) {}

  FramePort* host;                       ///< null: the port at the other end of the cable is this one's number ^ 1
  Time free_at = Time::long_ago();       ///< of the output line
  Time paused_until = Time::long_ago();  ///< no pause lasts longer
  Duration latency;                      ///< of the line
  Duration next_latency;                 ///< of the switch at the other end of the cable
  uint32_t device;                       ///< its switch
  PrioritySet waiting = 0;               ///< priorities with frames
  PrioritySet untold = 0;                ///< priorities of which the next PFC frame tells the other end the state
  uint8_t settled = kUnsettled;          ///< the priority that `scheduler` picked last, from no others
  bool up : 1 = true;
  bool was_down : 1 = false;                            ///< `down_at` tells when last
  bool wake_due : 1 = false, delivery_due : 1 = false;  ///< an event of this kind is waiting
  bool next_cuts_through : 1 = false;                   ///< the switch at the other end of the cable
  LineTimes line_times;
  alignas(64) FabricPortCounters counters;
  alignas(64) std::array<PriorityGroup, kPriorities> groups;
  alignas(64) std::array<FabricQueue, kPriorities> queues;
  PacketList line;  ///< to the host; frame.arrival: last bit there
  PortScheduler scheduler;
  Time input_free = Time::long_ago();  ///< of a host's input line
  Time down_at = Time::long_ago();     ///< when its cable went down last
};
static_assert(offsetof(FabricPort, line_times) == 48, "the rate follows in the same cache line");

/// The latest choice of a flow.
struct Flowlet {
  Time last = Time::long_ago();
  uint32_t member = 0;
};

/// What every frame needs stands in front.
struct alignas(64) FabricSwitch {
  FabricSwitch(const FabricSwitchOptions& with, uint64_t random_seed, uint64_t seed_of_hash)
      : buffer(with.buffer),
        hash_seed(seed_of_hash),
        lossless(with.classes.lossless),
        strict(with.scheduler.strict),
        loses(with.loss_ppm > 0),
        marks_arrivals(with.red && with.red->at == MarkAt::kEnqueue),
        marks_departures(with.red && with.red->at == MarkAt::kDequeue),
        watched(with.watchdog),
        options(with),
        random(random_seed) {}

  SharedBuffer buffer;
  uint64_t hash_seed;
  uint32_t turn = 0;           ///< of spraying
  const PrioritySet lossless;  ///< of the options, as what follows
  const PrioritySet strict;
  const bool loses, marks_arrivals, marks_departures, watched;
  const FabricSwitchOptions options;
  Random random;
  std::vector<uint32_t> ports;    ///< its own
  std::vector<Flowlet> flowlets;  ///< by low bits of the flow's hash
};

}  // namespace rankwire
