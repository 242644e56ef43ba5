#include "dataplane/roce/queue_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/queue_pair_draw.h"
#include "dataplane/wire/source_port.h"

namespace rankwire {
namespace {

// Where the memory begins that a peer may reach, in each queue pair's own address space: page-aligned like a process's,
// and far from 0.
constexpr uint64_t kRegionBase = 0x7F00'0000'0000;

std::string check_peer(const EndPoint* peer, const Nic& own, const Nic& planned, NeighbourMode mode) {
  if (peer == nullptr) return "its other end is not known";
  if (peer->queue_pair < 2 || peer->queue_pair > kQueuePairMask)
    return fmt::format("the other end's queue pair number {:#x} is not 2 to 0xffffff", peer->queue_pair);
  if (peer->slots == 0) return "the other end has no memory to write to";
  if (peer->psn > kPsnMask) return fmt::format("the other end's first PSN {:#x} has more than 24 bits", peer->psn);
  if (peer->ip != planned.ip || (mode == NeighbourMode::kStatic && peer->mac != planned.mac))
    return fmt::format("the other end is {} {}, the plan has {} {}", to_string(peer->mac), to_string(peer->ip),
                       to_string(planned.mac), to_string(planned.ip));
  if (own.ip.is_ipv4() != peer->ip.is_ipv4())
    return fmt::format("{} and {} are not of one IP version", to_string(own.ip), to_string(peer->ip));
  return {};
}

}  // namespace

std::vector<uint32_t> lanes_of(std::span<const PortBinding> bindings, PortId port) {
  std::vector<uint32_t> lanes;
  for (uint32_t lane = 0; lane < bindings.size(); ++lane)
    if (bindings[lane].id == port) lanes.push_back(lane);
  return lanes;
}

QueuePairs::QueuePairs(const RoceOptions& options, const TransportPlan& plan, std::span<const PortBinding> bindings,
                       size_t offers)
    : options_(options),
      responder_options_(rankwire::responder_options(options.profile, options.mtu)),
      nics_(plan.nics),
      offers_(offers) {
  const auto all = [](NicId) { return true; };
  const auto here = [&](NicId nic) { return has(nic) && !lanes_of(bindings, nics_[nic.value].port).empty(); };
  const size_t in_all = count_queue_pairs(plan, options_.queue_pairs, all);
  if (in_all > kQueuePairMask - QueuePairNumbers::kFirst)
    fail_input("{} queue pairs do not fit into 24-bit numbers", in_all);
  const size_t at_most = count_queue_pairs(plan, options_.queue_pairs, here);
  ends.reserve(at_most);
  numbers_.reserve(at_most);
  connections.resize(plan.connections.size());
  const std::vector<QueuePairNumbers> numbers = number_queue_pairs(plan, options_.queue_pairs, all);
  for (const Connection& connection : plan.connections)
    place_ends(connection, numbers[connection.id.value].source, Side::kSource, bindings);
  for (const Connection& connection : plan.connections)
    place_ends(connection, numbers[connection.id.value].destination, Side::kDestination, bindings);
  for (const Connection& connection : plan.connections) share_ends(connection, connections, ends, options_.queue_pairs);
  const size_t queue_pairs = ends.size();
  if (queue_pairs < in_all) index_numbers(in_all);
  requesters.resize(queue_pairs);
  responders.resize(queue_pairs);
  templates.resize(queue_pairs);
  inboxes.resize(queue_pairs);
  arrived.resize(queue_pairs);
  share_read_resources();
}

void QueuePairs::place_ends(const Connection& connection, uint32_t number, Side side,
                            std::span<const PortBinding> bindings) {
  const bool at_source = side == Side::kSource;
  ConnectionEnds& placed = connections[connection.id.value];
  placed.control = connection.control;
  placed.job = connection.job;
  placed.source_nic = connection.source_nic;
  placed.destination_nic = connection.destination_nic;
  placed.largest_message = static_cast<uint32_t>(connection.largest_message.count) & INT32_MAX;
  if (number == QueuePairNumbers::kNone || connection.reverse_of.valid() || connection.path != Path::kWire) return;
  const NicId nic = at_source ? connection.source_nic : connection.destination_nic;
  if (!has(nic)) return;
  const std::vector<uint32_t> lanes = lanes_of(bindings, nics_[nic.value].port);
  if (lanes.empty()) return;
  const uint32_t first = size();
  (at_source ? placed.source : placed.destination) = first;
  for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
    QueuePairEnd& end = ends.emplace_back();
    end.connection = connection.id;
    (at_source ? end.outbound : end.inbound) = connection.id;
    end.member = static_cast<uint16_t>(member);
    end.at_source = at_source;
    end.lane = static_cast<uint16_t>(lanes[(first + member) % lanes.size()]);
    numbers_.push_back(number + member);
  }
}

void QueuePairs::index_numbers(size_t numbers) {
  indexes_.assign(numbers, size());
  for (uint32_t i = 0; i < size(); ++i) indexes_[numbers_[i] - QueuePairNumbers::kFirst] = i;
}

void QueuePairs::share_read_resources() {
  uint32_t resources = 0;
  for (const QueuePairEnd& end : ends) {
    first_resource_.push_back(resources);
    if (is_readable(end)) resources += options_.profile.max_responder_reads;
  }
  read_resources_.resize(resources);
}

bool QueuePairs::is_readable(const QueuePairEnd& end) const {
  if (options_.read_access == ReadAccess::kAlways) return true;
  return options_.verb == DataVerb::kRead && end.outbound.valid() && !connections[end.outbound.value].control;
}

std::vector<uint32_t> QueuePairs::count_by_lane(size_t lanes) const {
  std::vector<uint32_t> queue_pairs(lanes);
  for (const QueuePairEnd& end : ends) ++queue_pairs[end.lane];
  return queue_pairs;
}

uint32_t QueuePairs::peer_number(uint32_t queue_pair) const {
  return templates[queue_pair].transport().bth.destination_qp.value();
}

const Nic& QueuePairs::nic_of(const QueuePairEnd& end) const {
  const ConnectionEnds& of = connections[end.connection.value];
  return nics_[(end.at_source ? of.source_nic : of.destination_nic).value];
}

const Nic& QueuePairs::peer_nic_of(const QueuePairEnd& end) const {
  const ConnectionEnds& of = connections[end.connection.value];
  return nics_[(end.at_source ? of.destination_nic : of.source_nic).value];
}

EndPoint QueuePairs::end_point(uint32_t queue_pair) const {
  const QueuePairEnd& end = ends[queue_pair];
  const Nic& nic = nic_of(end);
  return {
      .connection = end.connection,
      .member = end.member,
      .at_source = end.at_source,
      .mac = nic.mac,
      .ip = nic.ip,
      .queue_pair = numbers_[queue_pair],
      .psn = draw_psn(options_.seed, end.connection, end.member, end.at_source),
      .rkey = draw(options_.seed, end.connection, end.member, end.at_source ? Draw::kSourceKey : Draw::kDestinationKey),
      .address = kRegionBase};
}

// The longest message that is written there, or all that is offered to be read.
uint64_t QueuePairs::region_bytes(const QueuePairEnd& end) const {
  if (options_.verb == DataVerb::kRead && end.at_source) return offers_ * kOfferStride;
  if (!end.inbound.valid()) return 0;
  return connections[end.inbound.value].largest_message;
}

std::vector<const EndPoint*> QueuePairs::peers_among(std::span<const EndPoint> remote) const {
  std::vector<const EndPoint*> peers(ends.size());
  for (const EndPoint& peer : remote) {
    if (peer.connection.value >= connections.size())
      fail_run("an end point names connection {}; the plan has {}", peer.connection.value, connections.size());
    if (peer.member >= options_.queue_pairs)
      fail_run("an end point names queue pair {} of connection {}; it has {}", peer.member, peer.connection.value,
               options_.queue_pairs);
    const ConnectionEnds& of = connections[peer.connection.value];
    const uint32_t first = peer.at_source ? of.destination : of.source;
    if (first != kNone) peers[first + peer.member] = &peer;
  }
  return peers;
}

std::string QueuePairs::connect(uint32_t queue_pair, const EndPoint* peer, const PatternIcrc& pattern_icrc) {
  QueuePairEnd& end = ends[queue_pair];
  if (std::string reason = check_peer(peer, nic_of(end), peer_nic_of(end), options_.neighbours); !reason.empty())
    return reason;
  const EndPoint local = end_point(queue_pair);
  end.remote = pattern_icrc.region(peer->address, peer->rkey);
  if (peer->slots > 1) {
    if (remote_slots.empty()) remote_slots.assign(ends.size(), RemoteSlots());
    remote_slots[queue_pair] = {.bytes = peer->slot_bytes, .count = peer->slots};
  }
  end.peer = local_peer(end, *peer);
  PacketPath path = path_between(end, local, *peer);
  templates[queue_pair] = pattern_icrc.make_template(path);
  std::swap(path.source_ip, path.destination_ip);
  path.destination_qp = local.queue_pair;
  templates[queue_pair].peer = pattern_icrc.make_peer(path);
  const size_t reads = is_readable(end) ? options_.profile.max_responder_reads : 0;
  requesters[queue_pair] = Requester(local.psn);
  responders[queue_pair] =
      Responder(peer->psn, {.address = local.address, .bytes = region_bytes(end), .rkey = local.rkey},
                {.reads = std::span(read_resources_).subspan(first_resource_[queue_pair], reads),
                 .receives = options_.receive_queue.value_or(ResponderResources::kUnlimited),
                 .grants_credits = options_.profile.grants_credits});
  end.link = options_.neighbours == NeighbourMode::kResolve ? LinkState::kResolving : LinkState::kOpen;
  return {};
}

uint32_t QueuePairs::local_peer(const QueuePairEnd& end, const EndPoint& peer) const {
  const ConnectionEnds& of = connections[end.connection.value];
  const uint32_t first = end.at_source ? of.destination : of.source;
  return first != kNone && numbers_[first + end.member] == peer.queue_pair ? first + end.member : kNone;
}

Markings QueuePairs::markings_of(JobId job) const {
  Markings markings = options_.markings;
  const auto own = std::ranges::find(options_.job_markings, job, &JobMarking::job);
  if (own != options_.job_markings.end()) markings.data = own->data;
  return markings;
}

PacketPath QueuePairs::path_between(const QueuePairEnd& end, const EndPoint& local, const EndPoint& peer) const {
  const bool linux_port = options_.source_port != SourcePortPolicy::kFixed;
  return {.source_mac = local.mac,
          .destination_mac = options_.neighbours == NeighbourMode::kStatic ? peer.mac : MacAddress{},
          .source_ip = local.ip,
          .destination_ip = peer.ip,
          .vlan = nic_of(end).vlan,
          .source_port = linux_port ? linux_source_port(local.queue_pair, peer.queue_pair) : options_.fixed_source_port,
          .destination_qp = peer.queue_pair,
          .time_to_live = options_.profile.hop_limit,
          .migration = options_.profile.migration,
          .markings = markings_of(connections[end.connection.value].job)};
}

size_t QueuePairs::bytes() const noexcept {
  constexpr size_t kEach = sizeof(Requester) + sizeof(Responder) + sizeof(HeaderTemplate) + sizeof(QueuePairEnd) +
                           sizeof(QueuePairInbox) + sizeof(uint64_t) + 2 * sizeof(uint32_t);
  return ends.size() * kEach + indexes_.size() * sizeof(uint32_t) + read_resources_.size() * sizeof(ReadResource);
}

}  // namespace rankwire
