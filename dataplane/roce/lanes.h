// The ports of a transport, and the lanes by which it uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/large_memory.h"
#include "base/transport.h"
#include "dataplane/roce/far_end.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/port.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/transmit_lane.h"

namespace rankwire {

/// Frames that each of so many lanes hands to its port at once where they are sent as fast as the loop turns, 16 ..
/// TransmitLane::kHandful: two handfuls of every lane have half a MiB of payload of `mtu` bytes a frame at most, if
/// more than the fewest, so that they stay in the second cache of a core until their receiver has read them. With a
/// switch in between it is an eighth of a MiB: what is sent waits there for a turn, and at the receiver's port for
/// another.
uint32_t handful_of(uint32_t mtu, size_t lanes, FarEnd far_end);

/// A lane is one queue of a port, and a binding is what the transport was told of it: both have the same places. Ports
/// stand in the order in which the bindings name them first. Neither changes in number, so references stay valid. No
/// allocation after construction; its transport's own, in that thread.
class Lanes {
 public:
  /// `bindings` is borrowed. In virtual time there may be thousands, and a turn sends what is due and no more. Throws
  /// Error(kInput) when two NICs of a port have the same address.
  Lanes(const RoceOptions& options, std::span<const PortBinding> bindings, const QueuePairs& pairs, FarEnd far_end);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  uint32_t size() const noexcept { return static_cast<uint32_t>(lanes_.size()); }
  TransmitLane& operator[](uint32_t lane) noexcept { return lanes_[lane]; }
  const TransmitLane& operator[](uint32_t lane) const noexcept { return lanes_[lane]; }
  std::span<const TransmitLane> all() const noexcept { return lanes_; }
  const PortBinding& binding(uint32_t lane) const noexcept { return bindings_[lane]; }

  uint32_t ports() const noexcept { return static_cast<uint32_t>(ports_.size()); }
  RocePort& port(uint32_t port) noexcept { return *ports_[port]; }
  const RocePort& port(uint32_t port) const noexcept { return *ports_[port]; }
  /// The place of the lane's port.
  uint32_t port_index(uint32_t lane) const noexcept { return port_of_[lane]; }
  RocePort& port_of(uint32_t lane) noexcept { return *ports_[port_of_[lane]]; }
  const RocePort& port_of(uint32_t lane) const noexcept { return *ports_[port_of_[lane]]; }

  /// For how long data of the lane's port has been paused by `now`.
  Duration time_paused(uint32_t lane, Time now) const noexcept;

  /// Gives all frames that wait to be sent back to the ports.
  void close() noexcept;
  /// Memory of what is kept of queue pairs here.
  size_t bytes() const noexcept;

 private:
  void make_lanes(const RoceOptions& options, const QueuePairs& pairs, uint32_t handful);
  void make_ports(const RoceOptions& options, const QueuePairs& pairs, bool answers_few);

  const std::span<const PortBinding> bindings_;
  std::vector<uint8_t> queue_marks_;  // of lanes' queues
  LargeVector<TransmitLane> lanes_;
  std::vector<uint32_t> port_of_;  // by lane
  std::vector<std::unique_ptr<RocePort>> ports_;
};

}  // namespace rankwire
