// The network between the ranks as plain data: links, the route of every connection, and what framing costs. No time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"

namespace rankwire {

/// How a message becomes frames on a link. `payload == 0` means that the message is one unit without overhead.
struct Framing {
  Bytes payload;               ///< most payload bytes a frame (the path MTU)
  Bytes overhead_per_frame;    ///< everything else a frame occupies on the line: headers, ICRC, FCS, preamble, gap
  Bytes overhead_per_message;  ///< headers that only the first or the last frame of a message carries
  Bytes overhead_of_last;      ///< the part of them that the last frame carries
  /// Queue pairs over which a message is split, each part framed by itself: `split_part` bytes a part until none are
  /// left, the others empty.
  uint32_t parts = 1;
};

/// The largest of the parts over which a message is split: ceil(ceil(message / parts) / 128) x 128 bytes (NCCL 2.30.7,
/// net_ib/p2p.cc: NCCL_IB_SPLIT_DATA_ON_QPS).
constexpr Bytes split_part(Bytes message, uint32_t parts) {
  constexpr int64_t kAlignment = 128;
  const int64_t share = (message.count + parts - 1) / parts;
  return Bytes((share + kAlignment - 1) / kAlignment * kAlignment);
}

/// RoCEv2 over untagged IPv4: a frame costs preamble 8 + Ethernet 14 + IPv4 20 + UDP 8 + BTH 12 + ICRC 4 + FCS 4 +
/// gap 12 = 82 bytes beside its payload (which is padded to 4). A WRITE with immediate costs RETH 16 in the first frame
/// and ImmDt 4 in the last (IBTA vol. 1, 9.3, annex A17).
Framing rocev2_framing(Bytes mtu);

/// Bytes that a message occupies on a line. A message of 0 bytes is one frame.
Bytes line_size(Bytes message, const Framing& framing);
/// Bytes that the last frame of the message occupies on a line. The only frame of a message carries its whole overhead.
/// 0 without framing.
Bytes last_frame_size(Bytes message, const Framing& framing);

/// A directed link.
struct Link {
  std::string name;
  Bandwidth bandwidth;
  Duration latency;     ///< from the last bit sent to the last bit received and ready to be forwarded
  Duration forwarding;  ///< the part of it that the switch at the far end takes
  /// Of the same cable and direction, as it is when nothing is wrong with it, where this one stands for it while it is
  /// degraded; else invalid.
  LinkId whole = LinkId::invalid();
  /// What the source of a message sends of it, at most, before it begins the next one that is for this link, if that is
  /// its first; 0: all that there are share the link from when they could begin.
  Bytes turn = {};
};

/// A link on a route. A message may go over several links at the same hop, a part of it over each.
struct LinkUse {
  static constexpr uint32_t kWhole = 4096;

  LinkId link;
  uint32_t hop = 0;
  uint32_t share = kWhole;  ///< of a message's bytes, in 1 / kWhole; the shares of a hop sum to kWhole
  /// Connections that use the link like this one at all times, itself included, where one route stands for all of them.
  uint32_t times = 1;

  bool operator==(const LinkUse&) const = default;
};

struct Route {
  std::vector<LinkUse> links;  ///< hop by hop, from 0; each link once, but where a link stands for several
  Framing framing;
  bool cut_through = false;  ///< a switch forwards a frame when its first 64 bytes are there, not when all are
  bool weightless = false;   ///< messages take no time on links, however large they are
};

/// What the destination of a connection's messages sends back, out of the first link of its own routes.
struct Acknowledgements {
  LinkId link = LinkId::invalid();  ///< invalid: nothing
  Bytes frame;                      ///< on the line
  int64_t every = 1;                ///< frames of a message for which there is one; one more for the rest
};

/// Messages that their destination fetches: bytes of what is sent for one, beside what every frame has.
struct Fetching {
  Bytes offer;    ///< from the source, before
  Bytes request;  ///< from the destination, when it has heard of that
  Bytes finish;   ///< from the destination, when it has the message
};

/// From `at` on a connection goes another way.
struct Reroute {
  Time at;  ///< run time
  uint32_t connection = 0;
  std::vector<LinkUse> links;  ///< as Route::links; none: nothing passes
};

/// `routes[i]` is the route of connection i of the plan, or of those of its connections that `connections` names.
struct Network {
  std::vector<Link> links;
  std::vector<Route> routes;
  std::optional<std::vector<ConnectionId>> connections;  ///< of the routes, ascending; absent: all of the plan
  std::vector<Reroute> reroutes;                         ///< in the order of time, one of a connection at a time
  std::vector<Acknowledgements> acknowledgements;        ///< of the routes; none: they take no time on any line
  /// Of routes with frames; absent: messages go when they are posted.
  std::optional<Fetching> fetching = {};
};

/// Of all hops of the route; of several links at a hop the longest counts.
Duration latency(const Network& network, const Route& route) noexcept;
/// What a message takes beyond its time on its slowest hop: latencies and, with store and forward, the frames on the
/// other hops, exact when it is alone. Where it goes over several links at a hop or in parts, the last frame on each
/// hop after the first; cut through, the heads as far as the slowest hop and what the last frame takes from there.
Duration forwarding_time(const Network& network, const Route& route, Bytes message) noexcept;
/// Of a message that is alone on its route: from the first bit sent to the last received.
Duration undisturbed_time(const Network& network, const Route& route, Bytes message) noexcept;

/// One switch in the middle of all ports, and a modelled interconnect for local traffic.
struct StarOptions {
  std::vector<Bandwidth> port_bandwidth;  ///< by PortId; both directions
  Duration port_latency;                  ///< NIC to switch and switch to NIC, each
  Duration switch_latency;
  Framing framing;
  Bandwidth local_bandwidth;  ///< each rank into and out of the local interconnect
  Duration local_latency;     ///< one way
};

/// The framing of what this NIC sends: a frame with IPv6 addresses or a VLAN is 20 or 4 bytes longer than `framing`
/// says.
Framing framing_of(const Nic& nic, Framing framing);
/// The interconnect for local traffic: an out and an in link a rank.
void add_local_links(Network& network, uint32_t ranks, Bandwidth bandwidth, Duration latency);
/// A local connection's route over links that begin at `first_local`.
Route local_route(const Connection& connection, uint32_t first_local);
/// The local interconnect alone, with routes for the plan's local connections, or those of them that are `wanted`.
Network local_network(const TransportPlan& plan, Bandwidth bandwidth, Duration latency,
                      const std::function<bool(ConnectionId)>& wanted = nullptr);

/// Links: an up and a down link a port, then the local ones.
Network star_network(const StarOptions& options, const TransportPlan& plan);

}  // namespace rankwire
