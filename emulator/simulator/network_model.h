// The reference: messages as flows that share the links of a network fairly, in virtual or in real time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/link_loads.h"
#include "base/transport.h"
#include "base/untouched_array.h"
#include "emulator/simulator/link_sharing.h"
#include "emulator/simulator/load_holds.h"
#include "emulator/simulator/max_min.h"
#include "emulator/simulator/notice_queue.h"
#include "emulator/simulator/time_heap.h"
#include "fabric/network.h"

namespace rankwire {

/// A connection sends its messages one after another in the order in which they were posted; while it sends, it is a
/// flow whose rate is its max-min fair share of the links of its route. Where it goes over several links at one hop,
/// each takes its part at that part of the rate: the most crowded one holds the others back. A message
///   - leaves the source when its `line_size` has been sent at that rate, and the next one of the connection begins
///   then;
///   - is delivered after what its frames take on the other hops, exactly if it is alone (`forwarding_time`), but not
///     before the previous message of the connection; of several links at a hop the slowest and the longest count;
///   - where the network fetches messages, could begin only when its offer has gone the route, and the request has come
///     back, neither of which takes line time of others or ever waits; the word that it is there is the
///     acknowledgement;
///   - is acknowledged after the latencies of its own route once more: the acknowledgement's way back, on which it
///   never
///     waits. Its own line time (86 bytes over IPv4), and what that takes from messages which go its way, counts where
///     the network says what it is.
/// Where the first link of a route has turns (`Link::turn`), messages begin there one after the other, in the order in
/// which they could: the next when the one before has had the time of a turn, or of itself where that is less, at the
/// link's rate. From then on it shares the link with those before that have not ended. So messages that fit into a turn
/// go one by one where nothing further on holds them up, and large ones share the link as if there were no turns. Where
/// the network has acknowledgements, they go out when a message is delivered, one after the other and before what
/// begins later at their link, or, while messages are under way there, before the next one that begins.
/// Where the network says that connections go another
/// way from a time on, they do, with what they have sent: what is on the way arrives, and nothing is sent again. While
/// a connection has no way it sends nothing. A connection alone on its links is exact to the picosecond; with
/// contention every change of rate rounds the shares down to whole bit/s. Queues, losses and congestion control do not
/// exist. `first_rx` and `marks` are not known (never, 0); the payload key is that of the message, as if it had been
/// carried.
///
/// A connection may be a load instead: others carry its messages, and while one is under way it takes the fair share
/// that it would have of the links of its route, however fast it really is. Who carries them may be held to that share
/// (LoadHolds).
///
/// `now` never decreases. It may lie far beyond several events (real time): they happen at their own times all the
/// same. The same calls give the same events. Nothing allocates after `prepare`.
class NetworkModel final : public Transport, public LinkLoads {
 public:
  /// Memory of a connection whose route has so many links, that of the network included.
  static constexpr size_t bytes_each(size_t links) {
    constexpr size_t kOfAllocation = 16;
    return sizeof(Route) + sizeof(Way) + 2 * (links * sizeof(LinkUse) + kOfAllocation) + sizeof(Flow) +
           MaxMin::bytes_each(links) + TimeHeap::kBytesEach + sizeof(ConnectionId);
  }
  /// And of a message that is posted and not acknowledged.
  static const size_t kBytesOfMessage;

  /// Has the connections that the network has routes for. Throws Error(kInput) for a route without links and for a link
  /// that cannot give 1 bit/s to each of its connections.
  explicit NetworkModel(Network network);

  /// Counts from now on which jobs share links; before anything is posted. `jobs` are those of the plan's connections,
  /// invalid where what is posted does not count.
  /// False where that would be LinkSharing::is_too_much: nothing is counted then.
  bool watch_sharing(std::span<const JobId> jobs);
  /// Null: nobody counts.
  const LinkSharing* sharing() const { return sharing_.get(); }
  const std::string& link_name(LinkId link) const { return network_.links[link.value].name; }

  /// The plan may contain connections that are never posted to. No end points: the model needs to be told of none.
  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;

  size_t post(Time now, std::span<const Message> messages) noexcept override;
  /// Events come in the order of their times. When it reports none, `next_event` is later than `now`.
  size_t poll(Time now, std::span<Event> events) noexcept override;
  /// Nothing is posted to a connection that is told of here; of those that the network has no route for nothing
  /// happens.
  void begin_load(ConnectionId connection, Time now) noexcept override;
  void end_load(ConnectionId connection, Time now) noexcept override;
  void hold_loads(HeldSenders& senders) override;
  void settle(Time now) noexcept override;
  /// The next end of a transmission, delivery or acknowledgement. After `post`, and after a `poll` that reported
  /// something, it may be the present instant: shares are computed once for all that happens at one time.
  Time next_event() const noexcept override;

  /// What the run has cost up to now but for the engine's part, in units of MaxMin::work: counted, so that it is the
  /// same on every machine.
  uint64_t work() const noexcept { return shares_.work() + kWorkOfMessage * transmitted_; }
  static constexpr uint64_t kWorkOfMessage = 50;  ///< measured

  uint64_t activity() const noexcept override {
    return transmitted_ + counters_.messages_sent + counters_.messages_delivered;
  }
  /// Messages only: what the model does not have stays 0.
  TransportCounters counters() const override { return counters_; }
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override;
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId connection) const override;
  std::vector<QueuePairState> states(ConnectionId connection) const override;
  void close() noexcept override {}

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// A posted message until its acknowledgement.
  struct Transfer {
    Message message;
    Time posted, first_tx, last_tx, delivered;
    bool reported = false;  ///< its delivery was
    uint32_t next = kNone;  ///< in the connection's queue or in the list of free transfers
  };
  /// What follows from the size of a message on its route.
  struct Cost {
    Bytes message = Bytes(-1);
    Bytes line;              ///< that it occupies on each link
    Duration forwarding;     ///< from its end at the source to its delivery
    Duration acknowledging;  ///< on the line of its acknowledgements
  };
  enum class Wait : uint8_t {
    kNothing,
    kRequest,  ///< of the destination, which fetches it
    kTurn,     ///< at the port
  };
  /// A connection, as all that is numbered by connection here in the order of the routes. `remaining` belongs to the
  /// transfer at the head of the queue.
  struct Flow {
    __int128 remaining =
        0;  ///< at `updated`: bits times 10^12, so that rate times picoseconds can be taken off exactly
    Time updated;
    int64_t rate = 0;                 ///< bit/s since `updated`; 0 until the shares are computed
    bool active = false;              ///< takes part in the sharing
    Wait waits = Wait::kNothing;      ///< of the message at the head of the queue
    LinkId port = LinkId::invalid();  ///< that this message has come to
    uint32_t head = kNone, tail = kNone, queued = 0;
    uint32_t variable = 0;   ///< of the shares: its present way; kNone: there is none
    uint32_t loads = 0;      ///< messages under way that others carry
    Duration way_back;       ///< of an acknowledgement
    Duration fetched_after;  ///< until a message that was posted is asked for
    Time last_delivered;
    uint64_t messages = 0, bytes = 0;  ///< acknowledged
    Cost cost;                         ///< of the last size: most messages of a connection are alike
  };

  /// A way of a connection: a variable of the shares.
  struct Way {
    uint32_t connection;
    Route route;
  };
  /// From `at` on the connection takes this one.
  struct Turn {
    Time at;
    uint32_t connection;
    uint32_t variable;  ///< kNone: none
  };

  uint32_t flow_of(ConnectionId connection) const noexcept {
    return flow_of_.empty() ? connection.value : flow_of_[connection.value];
  }
  ConnectionId id_of(uint32_t flow) const noexcept {
    return network_.connections ? (*network_.connections)[flow] : ConnectionId(flow);
  }
  /// On the line, of all acknowledgements of a message.
  static Duration acknowledging_time(const Network& network, uint32_t connection, Bytes message);
  /// From a message's delivery to its acknowledgement, over a route of the connection the other way.
  static Duration way_back(const Network& network, uint32_t connection, const Route& route);
  /// From a message's posting until it may begin.
  static Duration fetched_after(const Network& network, const Route& route);
  void note_route(uint32_t connection, const Route& route);
  static std::vector<Way> ways_of(const Network& network, std::vector<Turn>& turns);
  void advance(Time now) noexcept;
  void share_rates() noexcept;
  void take(const Turn& turn) noexcept;
  Time next_turn() const noexcept { return turned_ < turns_.size() ? turns_[turned_].at : Time::never(); }
  void enqueue(Time now, const Message& message) noexcept;
  void begin(uint32_t connection, Time now) noexcept;
  /// A link that is the first of routes.
  struct Port {
    Time taken_until;    ///< by turns that were given out, and acknowledgements
    Duration owed;       ///< acknowledgements that wait for what is under way
    uint32_t begun = 0;  ///< messages that are under way
  };

  LinkId port_of(const Flow& flow) const noexcept { return ways_[flow.variable].route.links.front().link; }
  void acknowledge(uint32_t connection, const Transfer& transfer) noexcept;
  Time take_turn(uint32_t connection, Bytes size, Time now) noexcept;
  void leave_port(uint32_t connection, Time now) noexcept;
  void wait(uint32_t connection, Wait what, Time until, Time now) noexcept;
  void start(uint32_t connection, Bytes size, Time now) noexcept;
  void stop_sharing(uint32_t connection, Time now) noexcept;
  void renew_holds(Time now) noexcept;
  void turn_holds(const Turn& turn, uint32_t before) noexcept;
  void complete(uint32_t connection, Time now) noexcept;
  void schedule_completion(uint32_t connection) noexcept;
  const Cost& cost_of(uint32_t connection, Bytes message) noexcept;
  Event report(uint32_t transfer) noexcept;
  Event report_received(uint32_t transfer) noexcept;
  Event report_sent(uint32_t transfer) noexcept;

  Network network_;
  std::vector<Turn> turns_;  ///< in the order of time
  size_t turned_ = 0;        ///< of them
  std::vector<Way> ways_;    ///< by variable: each connection's first one, then those that it turns to
  MaxMin shares_;
  std::unique_ptr<LinkSharing> sharing_;   ///< by variable; null: nobody asks
  std::unique_ptr<LoadHolds> holds_;       ///< null: nobody is held
  Time shares_changed_ = Time::never();    ///< when the active flows changed, if the rates do not reflect it yet
  std::vector<Flow> flows_;                ///< by connection
  std::vector<Port> ports_;                ///< by link; empty: there are neither turns nor acknowledgements
  std::vector<uint32_t> flow_of_;          ///< by ConnectionId: place in `flows_`; empty: the same
  UntouchedArray<Transfer> transfers_{0};  ///< a few are in use at once: only those become resident
  uint32_t transfers_used_ = 0, transfers_most_ = 0;
  uint32_t free_ = kNone;
  TimeHeap completions_;  ///< connections, by when their current message leaves the source, or has its turn
  NoticeQueue notices_;   ///< transfers, by the time of their delivery, then of their acknowledgement
  uint64_t notices_made_ = 0;
  uint64_t transmitted_ = 0;  ///< messages that have left their sources
  TransportCounters counters_;
};

inline constexpr size_t NetworkModel::kBytesOfMessage = sizeof(Transfer) + NoticeQueue::kBytesEach;

}  // namespace rankwire
