// The emulated NICs' link-layer presence on one port: they answer ARP, neighbour solicitations and echo requests, find
// their next hops' MAC addresses and announce themselves (RFC 826, RFC 5227, RFC 4861, RFC 792, RFC 4443).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/index_queue.h"
#include "base/transport.h"
#include "base/units.h"
#include "dataplane/neighbours/address_table.h"
#include "dataplane/neighbours/frame_queue.h"
#include "dataplane/neighbours/frames.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// Whether NICs say unasked who they are. What they tell goes to everybody, so n NICs cost n^2 frames.
enum class Announcements : uint8_t {
  kSent,     ///< switches and neighbours that are not known learn from them
  kOmitted,  ///< everybody knows all NICs
};

struct NeighbourOptions {
  Duration interval = milliseconds(250);  ///< between two requests for one address, > 0
  Duration deadline = seconds(3);         ///< from the first `write` after `resolve` until it is unreachable, > 0
  /// Between two frames that nobody asked for, requests and announcements, so that thousands of NICs do not flood the
  /// control plane of a switch; >= 0. A late caller catches up by at most kBurst of them.
  Duration spacing = microseconds(10);
  uint32_t next_hops = 0;           ///< the most different ones, over all calls of `resolve`
  uint32_t frame_capacity = 1518;   ///< of the frames given to `write`, >= 128; longer echo requests are not answered
  uint32_t answer_bytes = 1 << 18;  ///< of answers that wait to be sent; more are dropped
  Announcements announcements = Announcements::kSent;
};

/// The router or station that frames to `destination` go to: itself when it is on the NIC's subnet, else the gateway.
/// Nothing when there is no way, or the two are of different IP versions.
std::optional<IpAddress> next_hop_of(const Nic& nic, const IpAddress& destination);

/// A next hop that some NIC has asked for.
struct NextHop {
  enum class State : uint8_t {
    kIncomplete,
    kReachable,
    kUnreachable,  ///< no answer within the deadline; stays so
  };

  IpAddress address;
  MacAddress mac;     ///< of kReachable
  uint16_t vlan = 0;  ///< 0: untagged
  State state = State::kIncomplete;
  uint32_t requests = 0;              ///< sent
  NicId asker;                        ///< the NIC that asks, on behalf of all in its VLAN
  Time wanted_since = Time::never();  ///< its deadline counts from here
};

/// Another station says that the NIC's address is its own (RFC 5227 section 2.4, RFC 4862 section 5.4).
struct AddressConflict {
  NicId nic;
  MacAddress mac;  ///< the other's
};

struct NeighbourCounters {
  uint64_t arp_requests_rx = 0, arp_replies_rx = 0, arp_requests_tx = 0, arp_replies_tx = 0;
  uint64_t solicitations_rx = 0, advertisements_rx = 0, solicitations_tx = 0, advertisements_tx = 0;
  uint64_t echo_requests_rx = 0, echo_replies_tx = 0;
  uint64_t announcements_tx = 0;
  uint64_t malformed = 0;        ///< frames that break the rules of their protocol
  uint64_t ignored = 0;          ///< about other stations, of other VLANs, or of a kind that wants no answer
  uint64_t answers_dropped = 0;  ///< the queue of answers was full, or the echo request was too long
  uint64_t unreachable = 0;      ///< next hops that did not answer in time
  uint64_t moved = 0;            ///< next hops whose MAC address changed after it was known
  uint64_t conflicts = 0;        ///< frames that claim one of our addresses

  NeighbourCounters& operator+=(const NeighbourCounters& other) noexcept;
};

/// The counters by name, in a fixed order.
std::array<NamedCounter, 17> named(const NeighbourCounters& counters);

/// A state machine without I/O and clock: frames that `parse` finds foreign and `is_for_neighbours` go to `receive`,
/// `write` fills the frames to be sent. NICs are told apart by VLAN and IP address; frames of one VLAN never have an
/// effect in another. Addresses are learnt only for next hops that were asked for. One thread; all memory is taken by
/// the constructor.
class Neighbours {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kBurst = 8;
  static constexpr size_t kConflictsKept = 16;

  /// `nics` are those of one port; they are copied. Throws Error(kInput) when two have the same address in one VLAN.
  Neighbours(const NeighbourOptions& options, std::span<const Nic> nics);

  /// Begins to look for the next hop of one of the NICs towards `destination`, once for all NICs of its VLAN. Returns
  /// its handle, or kNone when `next_hop_of` has none or NeighbourOptions::next_hops are taken.
  uint32_t resolve(const Nic& nic, const IpAddress& destination) noexcept;
  const NextHop& operator[](uint32_t handle) const noexcept { return next_hops_[handle]; }

  void receive(const Frame& frame) noexcept;

  /// Writes what is to be sent now into leading empty frames: answers, then requests that are due, then announcements.
  /// Returns their number. Must also be called, if without frames, for deadlines to take effect.
  size_t write(Time now, std::span<Frame> frames) noexcept;
  /// When `write` next has something to do: long_ago() when at once, never() when only a frame can tell.
  Time next_event() const noexcept { return due_; }

  /// Every NIC has announced itself, if it does, and every next hop is reachable or given up.
  bool ready() const noexcept { return unresolved_ == 0 && announced_ == nics_.size(); }
  uint32_t unresolved() const noexcept { return unresolved_; }

  const NeighbourCounters& counters() const noexcept { return counters_; }
  /// The first kConflictsKept different ones.
  std::span<const AddressConflict> conflicts() const noexcept { return {conflicts_.data(), conflict_count_}; }

 private:
  struct Asking {
    Time last_request = Time::never();
    uint32_t nic = 0;  // index in nics_
  };

  void on_solicitation(const NeighbourMessage& message) noexcept;
  void on_advertisement(const NeighbourMessage& message) noexcept;
  void on_echo(const NeighbourMessage& message) noexcept;
  bool claims_our_address(const NeighbourMessage& message) noexcept;
  void note_conflict(const Nic& nic, const MacAddress& mac) noexcept;
  void learn(const NeighbourMessage& message) noexcept;
  const Nic* addressee(const NeighbourMessage& message) const noexcept;
  bool queue_answer(const Frame& frame) noexcept;

  void start_deadlines(Time now) noexcept;
  void expire(Time now) noexcept;
  void settle(uint32_t handle, NextHop::State state) noexcept;
  void write_answer(Frame& frame) noexcept;
  bool write_unsolicited(Time now, Frame& frame) noexcept;
  void write_request(Time now, uint32_t handle, Frame& frame) noexcept;
  uint32_t next_to_ask(Time now) noexcept;
  Time earliest() const noexcept;
  Time unsolicited_due() const noexcept;

  Time due_;  // next_event, which is asked in every turn of the loop: known when something has changed
  const NeighbourOptions options_;
  const std::vector<Nic> nics_;
  AddressTable nic_of_;       // (VLAN, IP address) -> index in nics_
  AddressTable next_hop_of_;  // (VLAN, IP address) -> handle
  std::vector<NextHop> next_hops_;
  std::vector<Asking> asking_;  // by handle
  IndexQueue unasked_;          // handles that no request was sent for yet
  RecencyList asked_;           // incomplete ones in the order of their last request
  RecencyList deadlines_;       // incomplete ones in the order of their deadlines
  FrameQueue answers_;
  Time next_slot_ = Time::long_ago();  // of a frame that nobody asked for
  uint32_t used_ = 0;                  // of next_hops_
  uint32_t dated_ = 0;                 // of these, those whose deadline was started
  uint32_t unresolved_ = 0;
  size_t announced_ = 0;  // of nics_
  NeighbourCounters counters_;
  std::array<AddressConflict, kConflictsKept> conflicts_;
  size_t conflict_count_ = 0;
};

}  // namespace rankwire
