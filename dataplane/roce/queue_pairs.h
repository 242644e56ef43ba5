// The queue pairs of a transport and the connections that use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/transport.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/protocol/queue_pair_numbers.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/queue_pair.h"
#include "dataplane/wire/pattern_icrc.h"

namespace rankwire {

/// From one offered message to the next in the memory that the peer reads; no message is as long.
constexpr uint64_t kOfferStride = uint64_t{1} << 32;

/// The bindings, by place, of a port.
std::vector<uint32_t> lanes_of(std::span<const PortBinding> bindings, PortId port);

/// `indexes`: by number, from the first on; empty: the same. `none` for numbers that there are not.
inline uint32_t index_among(std::span<const uint32_t> indexes, uint32_t none, uint32_t number) noexcept {
  const uint32_t i = number - QueuePairNumbers::kFirst;
  if (indexes.empty()) [[likely]]
    return i;
  return i < indexes.size() ? indexes[i] : none;
}

/// Where the tables of queue pairs stand: for those that look at them for every packet, without asking where each time.
struct QueuePairTables {
  /// Which queue pair has the number; one not below `size` when none has.
  uint32_t index_of(uint32_t number) const noexcept { return index_among(indexes, size, number); }

  std::span<const uint32_t> indexes;
  Requester* requesters;
  Responder* responders;
  HeaderTemplate* templates;
  QueuePairEnd* ends;
  QueuePairInbox* inboxes;
  uint64_t* arrived;
  uint32_t size;
};

/// The table of queue pairs. A queue pair's end is a requester, a responder and what they write headers from; a
/// connection has RoceOptions::queue_pairs of them, or uses those of the connection that it is the reverse of. The end
/// that a queue pair is of, its lane and its peer follow from plan and end points and do not change once it is
/// connected; requesters and responders are changed by whoever drives them. The number of queue pairs never changes, so
/// pointers into the tables stay valid. No allocation after `connect`. Its transport's own, in that thread.
class QueuePairs {
 public:
  static constexpr uint32_t kNone = QueuePairEnd::kNone;

  /// Those of the plan's Path::kWire connections whose NICs stand behind `bindings`, and which `options.nics` has;
  /// `options` is borrowed. Their numbers are those that they would have if all NICs did, whoever has the others. The
  /// queue pairs of a port take its lanes in turns. `offers`: messages that may be offered to be read at a time. Throws
  /// Error(kInput) when they are more than there are numbers.
  QueuePairs(const RoceOptions& options, const TransportPlan& plan, std::span<const PortBinding> bindings,
             size_t offers);
  QueuePairs(const QueuePairs&) = delete;
  QueuePairs& operator=(const QueuePairs&) = delete;

  std::vector<ConnectionEnds> connections;  ///< by connection

  // By queue pair.
  std::vector<Requester> requesters;
  std::vector<Responder> responders;
  std::vector<HeaderTemplate> templates;
  std::vector<QueuePairEnd> ends;
  std::vector<QueuePairInbox> inboxes;
  /// Data packets, READ responses among them, whatever became of them. Counted of every packet, so that those of
  /// neighbours share a cache line.
  std::vector<uint64_t> arrived;
  std::vector<RemoteSlots> remote_slots;  ///< none while no peer has more than one

  uint32_t size() const noexcept { return static_cast<uint32_t>(ends.size()); }
  QueuePairTables tables() noexcept {
    return {indexes_,    requesters.data(), responders.data(), templates.data(),
            ends.data(), inboxes.data(),    arrived.data(),    size()};
  }
  uint32_t number_of(uint32_t queue_pair) const noexcept { return numbers_[queue_pair]; }
  /// As QueuePairTables.
  uint32_t index_of(uint32_t number) const noexcept { return index_among(indexes_, size(), number); }
  std::span<const Nic> nics() const noexcept { return nics_; }
  const ResponderOptions& responder_options() const noexcept { return responder_options_; }
  /// Whether each message of the connection travels in parts, one on each of its queue pairs.
  bool is_split(const ConnectionEnds& connection) const noexcept {
    return options_.queue_pairs > 1 && options_.spread == Spread::kSplit && !connection.control;
  }
  const Nic& nic_of(const QueuePairEnd& end) const;
  const Nic& peer_nic_of(const QueuePairEnd& end) const;
  /// Whether the peer may read what stands here.
  bool is_readable(const QueuePairEnd& end) const;
  bool any_readable() const noexcept { return !read_resources_.empty(); }
  /// Whether it has READs to answer. What was asked for before a request that is refused is still answered; a queue
  /// pair that failed itself is silent.
  bool owes_response(uint32_t queue_pair) const noexcept {
    const Responder& responder = responders[queue_pair];
    return responder.response_pending() && !(ends[queue_pair].failed && responder.state() == Responder::State::kReady);
  }
  /// How many queue pairs each of `lanes` lanes has.
  std::vector<uint32_t> count_by_lane(size_t lanes) const;
  /// The other end's number; 0 before it is known.
  uint32_t peer_number(uint32_t queue_pair) const;

  /// What the peer must know of this end.
  EndPoint end_point(uint32_t queue_pair) const;
  /// By queue pair, the end point among `remote` that is its peer's; null: it is not among them. Throws Error(kRun)
  /// when one names what the plan does not have.
  std::vector<const EndPoint*> peers_among(std::span<const EndPoint> remote) const;
  /// Connects the queue pair to its peer, which is null when it is not known: requester and responder begin, and the
  /// template is one of `pattern_icrc`. The link opens unless its next hop must be found first. Why it is not
  /// connected, or nothing.
  std::string connect(uint32_t queue_pair, const EndPoint* peer, const PatternIcrc& pattern_icrc);

  /// Memory of all queue pairs.
  size_t bytes() const noexcept;

 private:
  bool has(NicId nic) const { return options_.nics.empty() || options_.nics[nic.value]; }
  void place_ends(const Connection& connection, uint32_t number, Side side, std::span<const PortBinding> bindings);
  void index_numbers(size_t numbers);
  void share_read_resources();
  uint64_t region_bytes(const QueuePairEnd& end) const;
  uint32_t local_peer(const QueuePairEnd& end, const EndPoint& peer) const;
  Markings markings_of(JobId job) const;
  PacketPath path_between(const QueuePairEnd& end, const EndPoint& local, const EndPoint& peer) const;

  const RoceOptions& options_;
  const ResponderOptions responder_options_;
  const std::vector<Nic> nics_;
  const size_t offers_;
  std::vector<uint32_t> numbers_;             // by queue pair
  std::vector<uint32_t> indexes_;             // QueuePairTables::indexes
  std::vector<ReadResource> read_resources_;  // profile.max_responder_reads for each that may be read from
  std::vector<uint32_t> first_resource_;      // by queue pair
};

}  // namespace rankwire
