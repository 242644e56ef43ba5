// The embedded device under test: Ethernet switches, the cables between them and the hosts' ports.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/index_queue.h"
#include "base/units.h"
#include "dataplane/switch/agenda.h"
#include "dataplane/switch/mac_table.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/state.h"
#include "dataplane/switch/storms.h"
#include "fabric/routing.h"
#include "fabric/topology.h"

namespace rankwire {

struct FrameHeaders;

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

  const Topology& topology() const { return topology_; }
  /// By port number (see Topology), up to the last step.
  std::vector<FabricPortCounters> counters() const;
  /// Frames that are in switches or on lines.
  size_t held() const noexcept { return packets_.used(); }
  /// Whether every frame is accounted for.
  bool conserved() const;
  /// Times that a frame has been sent on a line, by switches.
  uint64_t hops() const noexcept { return hops_; }

  /// Output queues of one priority in a cycle in which each is paused and waits for the next, which is paused: the
  /// frames there hold the buffer that keeps it paused. None when there is no such cycle. A cycle that stays is a
  /// deadlock. Not for the hot path.
  std::vector<FabricQueueId> deadlocked() const;

  /// What the watchdogs did.
  const FabricStorms& storms() const noexcept { return storms_; }

  /// Samples the interval under way, when no further step follows. Does nothing without FabricOptions::series.
  void finish_series() noexcept;
  /// The sampled queues; null without FabricOptions::series.
  const FabricSeries* series() const noexcept { return series_.get(); }

 private:
  using Port = FabricPort;
  /// One that is on the line to a host.
  struct AheadFrame {
    uint32_t port, handle;
  };
  static constexpr uint32_t kHeaderBytes = 64;  ///< what a cut-through switch has read when it decides
  /// Pauses that may be on the cables at once, a port; beyond them they wait.
  static constexpr uint32_t kPausesOfPort = 8;
  /// See run_ahead.
  static constexpr uint32_t kHostFrames = 1024;

  // virtual_fabric.cc
  Time next_inside() const noexcept { return std::min({agenda_.next(), deliveries_.next(), next_change_}); }
  bool handle_window(Time limit) noexcept;
  void catch_up(Time now) noexcept;
  void fetch_events() noexcept;
  void handle(const FabricEvent& event) noexcept;
  void sample(Time now) noexcept;
  void release(uint32_t handle) noexcept;
  void drop(uint32_t handle, FabricDrop reason, uint32_t port) noexcept;

  // hosts.cc
  Time next_outside() const noexcept;
  void listen(Time now) noexcept;
  void receive(uint32_t port, Time now) noexcept;
  void deliver(uint32_t port, Time now) noexcept;
  void hand_out_ahead() noexcept;

  // forward.cc
  void arrive(uint32_t port, uint32_t handle, Time now) noexcept;
  void read_early(uint32_t port, const Frame& frame, FabricPacket& packet) noexcept;
  bool classify(uint32_t port, const Frame& frame, FabricPacket& packet) noexcept;
  void note_headers(uint32_t port, const Frame& frame, const FrameHeaders& headers, FabricPacket& packet) noexcept;
  void flood(uint32_t port, uint32_t handle, Time now) noexcept;
  void copy_to(uint32_t output, uint32_t handle, Time now) noexcept;
  bool floods_to(uint32_t output) const noexcept;
  uint32_t spread(FabricSwitch& device, std::span<const uint32_t> ports, uint32_t flow, Time now) noexcept;
  void enqueue(uint32_t output, uint32_t handle, Time now) noexcept;
  bool admit(const FabricTransit& frame, FabricDrop& reason) noexcept;
  static bool may_pass(const FabricTransit& frame, Time now) noexcept;
  void pass(const FabricTransit& frame, bool charged, Time now) noexcept;
  bool passes_red(uint32_t output, uint32_t handle) noexcept;

  // transit.h
  FabricTransit transit(uint32_t output, uint32_t handle) noexcept;
  void depart(const FabricTransit& frame, bool charged, Time now) noexcept;
  void release_buffer(const FabricTransit& frame, Time now) noexcept;

  // transmit.cc
  /// Whether something waits for the line, which is free.
  static bool may_send(const Port& port, Time now) noexcept {
    return (port.waiting | port.untold) != 0 && port.free_at <= now && port.up;
  }
  void serve(uint32_t port, Time now) noexcept;
  void serve_or_wake(uint32_t port, Time now) noexcept;
  uint32_t schedule(uint32_t port, PrioritySet eligible) noexcept;
  void send(uint32_t port, uint32_t priority, Time now) noexcept;
  bool send_pause(uint32_t port, Time now) noexcept;
  void put_on_line(uint32_t port, uint32_t handle, Time whole) noexcept;
  void keep_for_host(uint32_t port, uint32_t handle) noexcept;
  void await_delivery(uint32_t port) noexcept;
  void discard_queue(uint32_t port, uint32_t priority, FabricDrop reason, Time now) noexcept;
  void resume(uint32_t port, uint32_t priority, Time now) noexcept;

  // flow_control.cc
  PrioritySet paused(uint32_t number, Time now) const noexcept {
    const Port& port = ports_[number];
    if (port.paused_until <= now) return 0;
    return port.pauses_differ ? paused_of_some(number, now) : port.paused;
  }
  PrioritySet paused_of_some(uint32_t port, Time now) const noexcept;
  void note_pauses(uint32_t port, Time now) noexcept;
  void obey(uint32_t port, const PauseFrame& pause, Time now) noexcept;
  static Duration look_interval(const WatchdogOptions& watchdog) noexcept {
    return Duration(std::max<int64_t>(1, std::min(watchdog.detection, watchdog.restoration).ps / 4));
  }
  /// A lossless frame has come: asks the other end of its port to stop when the group has had its share.
  void ask_if_full(const FabricTransit& frame, Time now) noexcept {
    if ((frame.device.lossless & frame.bit) == 0 || frame.group.paused || !frame.device.buffer.must_pause(frame.group))
      return;
    frame.group.paused = true;
    ask(frame.packet.ingress, frame.packet.priority, now);
  }
  void ask(uint32_t port, uint32_t priority, Time now) noexcept;
  void refresh(uint32_t port, Time now) noexcept;
  void look_for_storms(uint32_t port, Time now) noexcept;
  void begin_storm(uint32_t port, uint32_t priority, Time now) noexcept;
  void end_storm(uint32_t port, uint32_t priority, Time now) noexcept;
  void note_progress(uint32_t port, uint32_t priority, Time now) noexcept;
  void await_expiry(uint32_t port, Time now) noexcept;

  // cables.cc
  void find_next_change() noexcept;
  void change_next() noexcept;
  void change_cable(const CableEvent& change, Time now) noexcept;
  void silence(uint32_t port, Time now) noexcept;

  bool is_host_port(uint32_t port) const noexcept { return port >= first_host_port_; }
  FabricHost& host_of(uint32_t port) noexcept { return hosts_[port - first_host_port_]; }
  FabricLine& line_of(const Port& port) noexcept { return lines_[port.line]; }
  // A priority's together: most fabrics use few of them.
  FabricIngress& ingress(uint32_t port, uint32_t priority) noexcept {
    return ingresses_[priority * port_count_ + port];
  }
  FabricEgress& egress(uint32_t port, uint32_t priority) noexcept { return egresses_[priority * port_count_ + port]; }
  const FabricIngress& ingress(uint32_t port, uint32_t priority) const noexcept {
    return ingresses_[priority * port_count_ + port];
  }
  const FabricEgress& egress(uint32_t port, uint32_t priority) const noexcept {
    return egresses_[priority * port_count_ + port];
  }
  FabricPortCounters& counters_of(uint32_t port) noexcept { return details_[port].counters; }
  FabricPortCounters counters(uint32_t port) const;
  uint32_t line_number(const FabricLine& line);
  uint32_t edge_of(uint16_t destination) const noexcept {
    return edges_[destination >= FabricPacket::kUnread ? 0 : destination];
  }
  uint32_t queue_number(uint32_t port, uint32_t priority) const noexcept { return port * kPriorities + priority; }

  Topology topology_;
  FabricOptions options_;
  Routes routes_;
  std::vector<uint8_t> cable_in_use_;
  MacTable stations_;   ///< behind hosts
  bool moved_ = false;  ///< one of them has been behind another host before
  const uint32_t first_host_port_, port_count_;
  std::vector<uint32_t> edges_;  ///< by host: its switch, as Routes::destination tells it
  std::vector<FabricSwitch> switches_;
  std::vector<FabricLine> lines_;
  std::vector<Port> ports_;
  std::vector<FabricIngress> ingresses_;  ///< by priority and port
  std::vector<FabricEgress> egresses_;    ///< the same
  std::vector<FabricHost> hosts_;
  std::vector<FramePort*> links_;                ///< of the hosts, close together
  std::vector<FabricPortDetails> details_;       ///< by port
  std::vector<FabricFlowControl> flow_control_;  ///< by port
  FabricAgenda agenda_;                          ///< of the switches
  FabricAgenda deliveries_;                      ///< kDeliver alone: of each host's line the first frame
  const Duration reach_, reach_of_hosts_;        ///< until a sender is noticed by the next switch, and by a host
  const Duration longest_quiet_;                 ///< see run_ahead
  bool is_ahead_ = false;                        ///< what is for hosts goes to `ahead_`
  std::vector<AheadFrame> ahead_;                ///< that hosts are about to get
  std::vector<uint32_t> ringing_;                ///< hosts whose bells have rung
  Time first_ahead_ = Time::never();             ///< when something happens outside first
  Time quiet_until_ = Time::long_ago();          ///< what the last run_ahead returned
  uint32_t changes_ = 0;                         ///< of cables, made so far: entries of the schedule
  uint32_t reroutes_ = 0;                        ///< of them those that routes follow
  Time next_change_ = Time::never();
  PacketStore packets_;
  IndexQueue due_, refused_;  ///< hosts' ports with frames to be handed out: now, and again
  std::unique_ptr<FabricSeries> series_;
  FabricStorms storms_;
  Time now_ = Time::long_ago();
  uint64_t handled_ = 0;  ///< frames received, events, and frames handed out
  uint64_t told_ = 0;     ///< the same when the last step ended
  uint64_t hops_ = 0;
  uint32_t pauses_on_cables_ = 0;
  uint8_t recent_priority_ = 0;  ///< of the last frame that came to an output queue
};

}  // namespace rankwire
