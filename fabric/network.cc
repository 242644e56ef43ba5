#include "fabric/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

namespace rankwire {
namespace {

Bytes padded(Bytes n) {
  return Bytes((n.count + 3) & ~int64_t{3});
}

/// What one queue pair sends of a message.
Bytes part_size(Bytes part, const Framing& framing) {
  const int64_t frames = part.count == 0 ? 1 : (part.count + framing.payload.count - 1) / framing.payload.count;
  return padded(part) + Bytes(frames * framing.overhead_per_frame.count) + framing.overhead_per_message;
}

/// Calls `with` for the links of each hop.
template <class With>
void for_each_hop(std::span<const LinkUse> links, With with) {
  while (!links.empty()) {
    const auto end = std::ranges::find_if(links, [&](const LinkUse& use) { return use.hop != links.front().hop; });
    const auto count = static_cast<size_t>(end - links.begin());
    with(links.first(count));
    links = links.subspan(count);
  }
}

Bandwidth slowest(const Network& network, std::span<const LinkUse> hop) noexcept {
  Bandwidth rate = network.links[hop.front().link.value].bandwidth;
  for (const LinkUse& use : hop) rate = std::min(rate, network.links[use.link.value].bandwidth);
  return rate;
}

Duration longest_latency(const Network& network, std::span<const LinkUse> hop) noexcept {
  Duration latency;
  for (const LinkUse& use : hop) latency = std::max(latency, network.links[use.link.value].latency);
  return latency;
}

/// Bytes on the line from which a cut-through switch decides: 64 of the frame, preamble 8, FCS 4 and gap 12.
constexpr Bytes kCutThroughHead(64 + 24);

// Each hop begins when the frame's head has arrived and been looked at, and ends no earlier than the one before. Heads
// go as far as the first of the slowest hops; from its end, after all frames, the last one goes on. The time on that
// hop is left out.
Duration cut_through_time(const Network& network, const Route& route, Bytes frame) noexcept {
  Bandwidth bottleneck(std::numeric_limits<int64_t>::max());
  for_each_hop(route.links,
               [&](std::span<const LinkUse> hop) { bottleneck = std::min(bottleneck, slowest(network, hop)); });
  Duration before, begin, end;
  bool passed = false;
  for_each_hop(route.links, [&](std::span<const LinkUse> hop) {
    const Bandwidth rate = slowest(network, hop);
    const Duration on_line = serialization_time(frame, rate);
    const Duration latency = longest_latency(network, hop);
    if (!passed && rate == bottleneck) {
      passed = true;
      before = begin;
      begin = Duration() - on_line;
    }
    if (passed) end = std::max(begin + on_line, end) + latency - network.links[hop.front().link.value].forwarding;
    begin += latency + serialization_time(kCutThroughHead, rate);
  });
  return before + end;
}

/// Whether all frames of a message follow each other over one link a hop.
bool is_one_pipeline(const Route& route) noexcept {
  return route.framing.payload.count > 0 && route.framing.parts == 1 &&
         route.links.size() == route.links.back().hop + 1;
}

// A frame goes on when all of it is there and the one before it has gone on: the longest way through (frame, hop)
// counts, each step of which is to the next frame or to the next hop. It goes with the first frame to the slowest hop,
// there through all frames, and onwards with the last one, or, where that is shorter and so waits for it, with the last
// but one. The time on the slowest hop is left out.
Duration pipeline_time(const Network& network, const Route& route, Bytes message) noexcept {
  const auto rate = [&](size_t hop) { return network.links[route.links[hop].link.value].bandwidth; };
  size_t slowest = 0;
  for (size_t hop = 1; hop < route.links.size(); ++hop) {
    if (rate(hop) <= rate(slowest)) slowest = hop;
  }
  const Framing& framing = route.framing;
  const Bytes whole = framing.payload + framing.overhead_per_frame;
  const Bytes last = last_frame_size(message, framing);
  const bool one = message <= framing.payload, two = message.count <= 2 * framing.payload.count;
  const Bytes first = one ? last : whole + framing.overhead_per_message - framing.overhead_of_last;
  const Bytes last_but_one = two ? first : whole;

  Duration before, with_last, with_last_but_one = Duration() - serialization_time(last, rate(slowest));
  for (size_t hop = 0; hop < slowest; ++hop) before += serialization_time(first, rate(hop));
  for (size_t hop = slowest + 1; hop < route.links.size(); ++hop) {
    with_last_but_one += serialization_time(last_but_one, rate(hop));
    with_last = std::max(with_last, with_last_but_one) + serialization_time(last, rate(hop));
  }
  return before + with_last;
}

}  // namespace

Framing rocev2_framing(Bytes mtu) {
  return {.payload = mtu,
          .overhead_per_frame = Bytes(82),
          .overhead_per_message = Bytes(16 + 4),
          .overhead_of_last = Bytes(4)};
}

Bytes line_size(Bytes message, const Framing& framing) {
  if (framing.payload.count == 0) return message;
  if (framing.parts == 1) return part_size(message, framing);
  const Bytes part = split_part(message, framing.parts);
  const int64_t whole = part.count == 0 ? 0 : message.count / part.count;
  const Bytes rest(message.count - whole * part.count);
  const int64_t empty = framing.parts - whole - (rest.count > 0 ? 1 : 0);
  return Bytes(whole * part_size(part, framing).count) + (rest.count > 0 ? part_size(rest, framing) : Bytes(0)) +
         Bytes(empty * part_size(Bytes(0), framing).count);
}

Bytes last_frame_size(Bytes message, const Framing& framing) {
  if (framing.payload.count == 0) return Bytes(0);
  if (framing.parts > 1) message = split_part(message, framing.parts);
  const int64_t rest = message.count == 0 ? 0 : (message.count - 1) % framing.payload.count + 1;
  const Bytes extra = message > framing.payload ? framing.overhead_of_last : framing.overhead_per_message;
  return padded(Bytes(rest)) + framing.overhead_per_frame + extra;
}

Duration latency(const Network& network, const Route& route) noexcept {
  Duration sum;
  for_each_hop(route.links, [&](std::span<const LinkUse> hop) { sum += longest_latency(network, hop); });
  return sum;
}

Duration forwarding_time(const Network& network, const Route& route, Bytes message) noexcept {
  const Bytes frame = last_frame_size(message, route.framing);
  if (route.cut_through && frame > kCutThroughHead) return cut_through_time(network, route, frame);
  Duration time = latency(network, route);
  if (is_one_pipeline(route)) return time + pipeline_time(network, route, message);
  for_each_hop(route.links, [&](std::span<const LinkUse> hop) {
    if (hop.front().hop > 0) time += serialization_time(frame, slowest(network, hop));
  });
  return time;
}

Duration undisturbed_time(const Network& network, const Route& route, Bytes message) noexcept {
  // A hop whose links each take a part is as fast as the whole only if its parts are: the slowest part decides.
  const Bytes line = line_size(message, route.framing);
  Duration longest;
  for (const LinkUse& use : route.links) {
    const Bytes part((line.count * use.share + LinkUse::kWhole - 1) / LinkUse::kWhole);
    longest = std::max(longest, serialization_time(part, network.links[use.link.value].bandwidth));
  }
  return longest + forwarding_time(network, route, message);
}

Framing framing_of(const Nic& nic, Framing framing) {
  if (!nic.ip.is_none() && !nic.ip.is_ipv4()) framing.overhead_per_frame += Bytes(40 - 20);
  if (nic.vlan) framing.overhead_per_frame += Bytes(4);
  return framing;
}

void add_local_links(Network& network, uint32_t ranks, Bandwidth bandwidth, Duration latency) {
  for (uint32_t r = 0; r < ranks; ++r) {
    network.links.push_back({fmt::format("rank{}.out", r), bandwidth, latency, {}});
    network.links.push_back({fmt::format("rank{}.in", r), bandwidth, {}, {}});
  }
}

Route local_route(const Connection& connection, uint32_t first_local) {
  return {.links = {{LinkId(first_local + 2 * connection.source.value), 0},
                    {LinkId(first_local + 2 * connection.destination.value + 1), 1}},
          .framing = {}};
}

Network local_network(const TransportPlan& plan, Bandwidth bandwidth, Duration latency,
                      const std::function<bool(ConnectionId)>& wanted) {
  Network network;
  network.connections.emplace();
  add_local_links(network, plan.ranks, bandwidth, latency);
  for (const Connection& c : plan.connections) {
    if (c.path != Path::kLocal || (wanted && !wanted(c.id))) continue;
    network.routes.push_back(local_route(c, 0));
    network.connections->push_back(c.id);
  }
  return network;
}

Network star_network(const StarOptions& options, const TransportPlan& plan) {
  Network network;
  const uint32_t ports = static_cast<uint32_t>(options.port_bandwidth.size());
  for (uint32_t p = 0; p < ports; ++p) {
    const Bandwidth rate = options.port_bandwidth[p];
    network.links.push_back(
        {fmt::format("port{}.up", p), rate, options.port_latency + options.switch_latency, options.switch_latency});
    network.links.push_back({fmt::format("port{}.down", p), rate, options.port_latency, {}});
  }
  const auto first_local = static_cast<uint32_t>(network.links.size());
  add_local_links(network, plan.ranks, options.local_bandwidth, options.local_latency);
  for (const Connection& c : plan.connections) {
    if (c.path == Path::kLocal) {
      network.routes.push_back(local_route(c, first_local));
    } else {
      const Nic& source = plan.nics[c.source_nic.value];
      const uint32_t from = source.port.value, to = plan.nics[c.destination_nic.value].port.value;
      network.routes.push_back({{{LinkId(2 * from), 0}, {LinkId(2 * to + 1), 1}}, framing_of(source, options.framing)});
    }
  }
  return network;
}

}  // namespace rankwire
