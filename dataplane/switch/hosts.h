// What a fabric takes from hosts, and gives them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/index_queue.h"
#include "base/units.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/switch/agenda.h"
#include "dataplane/switch/frame_reader.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/tables.h"

namespace rankwire {

/// The lines between hosts and switches. A frame that a host has sent becomes a kArrive of the host's port on the
/// switches' agenda; one that a switch has sent is given to the host's port when its last bit has come, or ahead of
/// that where the port holds it back (FramePort::send_ahead). A frame that a host's port refuses waits, and those
/// behind it, until it is offered again. No allocation after construction. One thread.
class FabricHosts {
 public:
  /// All are borrowed.
  FabricHosts(FabricTables& tables, FrameReader& reader, FabricAgenda& agenda, const FabricOptions& options);

  /// Takes what hosts have sent by `now`, as far as there is room.
  void listen(Time now) noexcept;
  /// When a host has something for the fabric, or is offered again what it has refused.
  Time next_outside() const noexcept;

  /// The port sends the frame towards its host, where its last bit is at `whole`, the packet's arrival: not before that
  /// of the frame before.
  void put_on_line(uint32_t port, uint32_t handle, Time whole) noexcept {
    if (!is_ahead_) return keep_for_host(port, handle);
    first_ahead_ = std::min(first_ahead_, whole);
    ahead_.push_back({port, handle});
  }
  /// The host's cable goes down: what is on the line to it is lost.
  void cut(uint32_t port, Time now) noexcept;
  /// A host's cable will go down: as long as that is so, nothing is given to hosts ahead of its time.
  void expect_cut(bool expected) noexcept { cut_expected_ = expected; }

  /// When the first frame that waits for its time is at its host; not one that was refused.
  Time next_delivery() const noexcept { return deliveries_.next(); }
  /// Gives hosts what has arrived by `now`, and what they refused.
  void hand_out(Time now) noexcept;

  /// From now on what is put on lines is kept apart, if it may be. `limit`: when something happens outside first, as
  /// far as the caller knows.
  void begin_ahead(Time limit) noexcept;
  /// When hosts notice something first, of what is known, or do something.
  Time first_outside() const noexcept { return std::min(first_ahead_, deliveries_.next()); }
  /// Hosts get what was kept apart, to be held back there; what finds no room waits here.
  void hand_out_ahead() noexcept;

  /// Frames taken and handed out; each frame's time to be handed out counts too.
  uint64_t handled() const noexcept { return handled_; }

 private:
  /// One that is on the line to a host.
  struct AheadFrame {
    uint32_t port, handle;
  };

  void receive(uint32_t port, Time now) noexcept;
  void deliver(uint32_t port, Time now) noexcept;
  void keep_for_host(uint32_t port, uint32_t handle) noexcept;
  void await_delivery(uint32_t port) noexcept;

  FabricTables& tables_;
  FrameReader& reader_;
  FabricAgenda& agenda_;
  Doorbells* const bells_;
  FabricObserver* const observer_;
  const bool may_slow_down_;          ///< cables of hosts, by the schedule
  std::vector<FramePort*> links_;     ///< of the hosts, close together
  FabricAgenda deliveries_;           ///< kDeliver alone: of each host's line the first frame
  bool is_ahead_ = false;             ///< what is for hosts goes to `ahead_`
  std::vector<AheadFrame> ahead_;     ///< that hosts are about to get
  std::vector<uint32_t> ringing_;     ///< hosts whose bells have rung
  Time first_ahead_ = Time::never();  ///< when something happens outside first
  bool cut_expected_ = false;
  IndexQueue due_, refused_;  ///< hosts' ports with frames to be handed out: now, and again
  uint64_t handled_ = 0;
};

}  // namespace rankwire
