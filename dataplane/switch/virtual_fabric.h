// The embedded device under test: Ethernet switches, the cables between them and the hosts' ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/device.h"
#include "base/units.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/state.h"
#include "dataplane/switch/storms.h"
#include "fabric/topology.h"

namespace rankwire {

struct FabricParts;

/// Time is computed from the frames' arrival stamps, so a late `step` delays what it hands out but not what follows,
/// and virtual and real time agree. A frame that a host began to send at `arrival`
///   is in whole at      in = max(arrival + line latency, input line free) + line_bytes / rate,
///   enters its queue at in + switch latency, in the order of that time over all ports (Forwarding::kStoreAndForward),
///   leaves when the line is free, its priority is not paused and PortScheduler picks it,
///   is in whole at the next switch a serialization and the line's latency later, and so on,
///   and is handed to the host's port when it has arrived there in whole.
/// A frame occupies its queue and the buffer until its first bit leaves.
///
/// Switches are handled one after the other, each for a window of time: the shortest in which nothing that one of them,
/// or a host, does can be noticed by another. What happens to one switch at one time happens in an order that is drawn
/// by lot, always alike.
///
/// Stations are known from the options or learned from the source of the frames that hosts send; all switches know them
/// within a window. What is for a station that is not known, or for a group, follows a spanning tree to all other
/// hosts. Frames to a reserved group address end here; PAUSE is obeyed, PFC in lossless priorities (IEEE 802.1Qbb). PFC
/// frames of the fabric wait for the frame on the line, pass all others and take 84 bytes of line; between switches
/// they are no frames but events with the same times. A pause takes effect a switch latency after the last bit.
///
/// One thread calls everything. All memory is taken by the constructor.
class VirtualFabric final : public Device {
 public:
  /// `hosts`: the fabric's ends of the hosts' links, in the order of Topology::hosts, borrowed; all of one kind, and
  /// frames of one must be good for another (FramePort). `devices`: options of every switch, or one for all. Throws
  /// Error(kInput) for values out of range.
  VirtualFabric(const Topology& topology, std::span<FramePort* const> hosts,
                std::span<const FabricSwitchOptions> devices, const FabricOptions& options);
  ~VirtualFabric() override;
  VirtualFabric(const VirtualFabric&) = delete;
  VirtualFabric& operator=(const VirtualFabric&) = delete;

  /// Handles everything that happened up to `now`; before the time that run_ahead has returned nothing of it can be
  /// noticed, and is left for the next run_ahead. A frame that a host's port refuses is offered again by the next step.
  bool step(Time now) noexcept override;
  Time next_event() const noexcept override;
  /// Hands out what arrives at hosts later, where their ports take it ahead (FramePort::send_ahead); otherwise this
  /// ends with the next frame for a host. Never quiet for so long that a host could send more than kHostFrames
  /// meanwhile: for so many its port needs room.
  Time run_ahead(Time limit) noexcept override;

  const Topology& topology() const;
  /// By port number (see Topology), up to the last step.
  std::vector<FabricPortCounters> counters() const;
  /// Frames that are in switches or on lines.
  size_t held() const noexcept;
  /// Whether every frame is accounted for.
  bool conserved() const;
  /// Times that a frame has been sent on a line, by switches.
  uint64_t hops() const noexcept;

  /// Output queues of one priority in a cycle in which each is paused and waits for the next, which is paused: the
  /// frames there hold the buffer that keeps it paused. None when there is no such cycle. A cycle that stays is a
  /// deadlock. Not for the hot path.
  std::vector<FabricQueueId> deadlocked() const;

  /// What the watchdogs did.
  const FabricStorms& storms() const noexcept;

  /// Samples the interval under way, when no further step follows. Does nothing without FabricOptions::series.
  void finish_series() noexcept;
  /// The sampled queues; null without FabricOptions::series.
  const FabricSeries* series() const noexcept;

 private:
  /// See run_ahead.
  static constexpr uint32_t kHostFrames = 1024;

  bool handle_window(Time limit) noexcept;
  void change_next() noexcept;
  void change_cable(const CableEvent& change) noexcept;
  void catch_up(Time now) noexcept;
  void sample(Time now) noexcept;
  uint64_t handled() const noexcept;

  const std::unique_ptr<FabricParts> parts_;
  Time now_ = Time::long_ago();
  Time quiet_until_ = Time::long_ago();  ///< what the last run_ahead returned
  uint64_t handled_ = 0;                 ///< events and changes of cables
  uint64_t told_ = 0;                    ///< `handled()` when the last step ended
};

}  // namespace rankwire
