// RoceTransport's setting up of queue pairs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "dataplane/protocol/queue_pair_draw.h"
#include "dataplane/roce/transport.h"
#include "dataplane/wire/source_port.h"

namespace rankwire {
namespace {

// Where the memory begins that a peer may reach, in each queue pair's own address space: page-aligned like a process's,
// and far from 0.
constexpr uint64_t kRegionBase = 0x7F00'0000'0000;

constexpr uint32_t kFewAnswers = 4096;  // bytes

}  // namespace

std::vector<EndPoint> RoceTransport::prepare(const TransportPlan& plan) {
  check_options(options_);
  check_plan(plan);
  nics_ = plan.nics;
  messages_in_flight_ = plan.messages_in_flight;
  const auto here = [this](NicId nic) { return !lanes_of(nic).empty(); };
  const size_t queue_pairs = count_queue_pairs(plan, options_.queue_pairs, here);
  if (queue_pairs > kQueuePairMask - kFirstQueuePair)
    fail_input("{} queue pairs do not fit into 24-bit numbers", queue_pairs);
  ends_.assign(queue_pairs, QueuePairEnd{});
  const std::vector<QueuePairNumbers> numbers = number_queue_pairs(plan, options_.queue_pairs, here);
  connections_.assign(plan.connections.size(), ConnectionEnds{});
  for (const Side side : {Side::kSource, Side::kDestination})
    for (const Connection& connection : plan.connections) place_ends(connection, numbers[connection.id.value], side);
  for (const Connection& connection : plan.connections)
    share_ends(connection, connections_, ends_, options_.queue_pairs);
  make_queue_pairs();
  make_congestion_control(plan);
  make_message_memory();
  make_ports();

  std::vector<EndPoint> ends;
  for (uint32_t i = 0; i < ends_.size(); ++i) ends.push_back(end_point(i));
  return ends;
}

std::vector<uint32_t> RoceTransport::lanes_of(NicId nic) const {
  std::vector<uint32_t> lanes;
  for (uint32_t lane = 0; lane < bindings_.size(); ++lane)
    if (bindings_[lane].id == nics_[nic.value].port) lanes.push_back(lane);
  return lanes;
}

void RoceTransport::place_ends(const Connection& connection, const QueuePairNumbers& numbers, Side side) {
  const bool at_source = side == Side::kSource;
  ConnectionEnds& ends = connections_[connection.id.value];
  ends.control = connection.control;
  ends.source_nic = connection.source_nic;
  ends.destination_nic = connection.destination_nic;
  ends.largest_message = static_cast<uint32_t>(connection.largest_message.count) & INT32_MAX;
  const uint32_t number = at_source ? numbers.source : numbers.destination;
  if (number == QueuePairNumbers::kNone || connection.reverse_of.valid()) return;
  const std::vector<uint32_t> lanes = lanes_of(at_source ? connection.source_nic : connection.destination_nic);
  const uint32_t first = number - kFirstQueuePair;
  (at_source ? ends.source : ends.destination) = first;
  for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
    QueuePairEnd& end = ends_[first + member];
    end.connection = connection.id;
    (at_source ? end.outbound : end.inbound) = connection.id;
    end.member = static_cast<uint16_t>(member);
    end.at_source = at_source;
    // The queues of a port share its queue pairs.
    end.lane = static_cast<uint16_t>(lanes[(first + member) % lanes.size()]);
  }
}

void RoceTransport::make_queue_pairs() {
  const auto queue_pairs = static_cast<uint32_t>(ends_.size());
  requesters_.assign(queue_pairs, Requester());
  responders_.assign(queue_pairs, Responder());
  templates_.assign(queue_pairs, HeaderTemplate());
  inboxes_.assign(queue_pairs, QueuePairInbox());
  reads_.assign(options_.verb == DataVerb::kRead ? queue_pairs : 0, QueuePairReads());
  remote_slots_.clear();
  flow_counters_.assign(queue_pairs, QueuePairCounters());
  deadlines_ = RequesterDeadlines(queue_pairs);
  const auto readable = std::ranges::count_if(ends_, [this](const QueuePairEnd& end) { return is_readable(end); });
  read_resources_.assign(static_cast<size_t>(readable) * options_.profile.max_responder_reads, ReadResource());
  pattern_icrc_.emplace(options_.mtu);
  writer_.emplace(*pattern_icrc_, options_.payload, options_.mtu, options_.source_port);
  short_way_ = writer_->has_short_way();
  joins_turns_ = short_way_ && options_.causes == CauseRecording::kOff;
  icrc_check_.emplace(*pattern_icrc_, options_.receive_check, options_.mtu);
  make_lanes(readable > 0);
  early_.reset();
  place_later_ = IndexQueue(options_.out_of_order > 0 ? queue_pairs : 0);
  if (options_.out_of_order > 0)
    early_.emplace(queue_pairs, static_cast<uint32_t>(lanes_.size()), options_.out_of_order);
  agenda_.reset();
  if (bells_ == nullptr) return;
  agenda_.emplace(static_cast<uint32_t>(lanes_.size()));
  reports_.emplace(static_cast<uint32_t>(lanes_.size()));
  heard_.reserve(lanes_.size());
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) note_work(lane);
}

std::vector<uint32_t> RoceTransport::queue_pairs_of_lanes() const {
  std::vector<uint32_t> queue_pairs(bindings_.size());
  for (const QueuePairEnd& end : ends_) ++queue_pairs[end.lane];
  return queue_pairs;
}

// Where frames are sent as fast as the loop turns, those of a turn of all lanes stay in the second cache of a core
// until their receiver has read them. In virtual time a turn sends what is due and no more.
uint32_t RoceTransport::handful() const {
  constexpr uint64_t kTurnBytes = 512 * 1024;
  constexpr uint64_t kFewest = 16;
  if (bells_ != nullptr) return TransmitLane::kHandful;
  const uint64_t frames = kTurnBytes / (uint64_t{options_.mtu} * bindings_.size());
  return static_cast<uint32_t>(std::clamp<uint64_t>(frames / 2, kFewest, TransmitLane::kHandful));
}

void RoceTransport::make_lanes(bool readable) {
  const std::vector<uint32_t> queue_pairs = queue_pairs_of_lanes();
  lanes_.clear();
  queue_marks_.assign((readable ? 3 : 2) * ends_.size(), 0);
  const std::span<uint8_t> marks = queue_marks_;
  const LaneMarks of_lanes{marks.first(ends_.size()), marks.subspan(ends_.size(), ends_.size()),
                           marks.subspan(2 * ends_.size())};
  for (size_t lane = 0; lane < bindings_.size(); ++lane) {
    const PortBinding& binding = bindings_[lane];
    lanes_.emplace_back(binding.id, *binding.port, Pacer(binding.rate, options_.catch_up), priorities_of(binding.id),
                        queue_pairs[lane], of_lanes, handful());
  }
}

bool RoceTransport::is_readable(const QueuePairEnd& end) const {
  if (options_.read_access == ReadAccess::kAlways) return true;
  return options_.verb == DataVerb::kRead && end.outbound.valid() && !connections_[end.outbound.value].control;
}

// Of as many messages as the plan may have in flight, every part, and what is needed for it.
void RoceTransport::make_message_memory() {
  const uint64_t messages = messages_in_flight_;
  const bool split = options_.queue_pairs > 1 && options_.spread == Spread::kSplit;
  const bool read = options_.verb == DataVerb::kRead;
  const uint64_t parts = messages * (split ? options_.queue_pairs : 1);
  // A part that has been fetched may not have been settled yet when the peer offers the next.
  const uint64_t requests = read ? 4 * parts : options_.verb == DataVerb::kWriteThenImm ? 2 * parts : parts;
  if (requests > RequestContext::kMaxSubject)
    fail_input("{} messages in flight are {} requests; at most {} are possible", messages, requests,
               RequestContext::kMaxSubject);
  pool_.emplace(reliable_, static_cast<uint32_t>(requests));
  messages_taken_ = 0;
  const auto whole = static_cast<uint32_t>(messages);
  const bool transfers = split || read || options_.verb == DataVerb::kWriteThenImm;
  transfers_ = SlotPool<Transfer>(transfers ? whole : 0);
  ended_transfers_ = IndexQueue(transfers ? whole : 0);
  if (options_.causes == CauseRecording::kOn)
    causes_ = CauseAccounts(static_cast<uint32_t>(ends_.size()), transfers ? whole : 0, whole);
  offers_ = SlotPool<Offer>(read ? static_cast<uint32_t>(parts) : 0);
  gets_ = SlotPool<Get>(read ? static_cast<uint32_t>(2 * parts) : 0);
  assembly_ = MessageAssembly(split ? whole : 0);
}

void RoceTransport::make_ports() {
  ports_.clear();
  port_of_lane_.clear();
  for (uint32_t lane = 0; lane < bindings_.size(); ++lane) {
    const PortId id = bindings_[lane].id;
    const auto known = std::ranges::find(ports_, id, [](const auto& port) { return port->id; });
    port_of_lane_.push_back(static_cast<uint32_t>(known - ports_.begin()));
    if (known != ports_.end()) continue;
    std::vector<Nic> nics;
    std::ranges::copy_if(nics_, std::back_inserter(nics), [id](const Nic& nic) { return nic.port == id; });
    NeighbourOptions neighbours{.interval = options_.resolve_interval,
                                .deadline = options_.resolve_deadline,
                                .next_hops = count_next_hops(id),
                                .frame_capacity = bindings_[lane].port->capabilities().frame_capacity,
                                .announcements = options_.announcements};
    // In virtual time, where many ports may be, nobody else is there to ask.
    if (bells_ != nullptr && options_.neighbours == NeighbourMode::kStatic) neighbours.answer_bytes = kFewAnswers;
    ports_.push_back(std::make_unique<Port>(bindings_[lane], lane, line_rate_of(id), neighbours, nics));
  }
  latencies_ = Latencies(ports_.size());
  if (options_.neighbours == NeighbourMode::kResolve)
    hops_ = NextHopLinks(static_cast<uint32_t>(ports_.size()), static_cast<uint32_t>(ends_.size()));
}

uint32_t RoceTransport::count_next_hops(PortId port) const {
  if (options_.neighbours == NeighbourMode::kStatic) return 0;
  std::set<std::pair<uint16_t, IpAddress>> hops;
  for (const QueuePairEnd& end : ends_) {
    const Nic& nic = nic_of(end);
    if (nic.port != port) continue;
    if (const auto hop = next_hop_of(nic, peer_nic_of(end).ip)) hops.insert({nic.vlan.value_or(0), *hop});
  }
  return static_cast<uint32_t>(hops.size());
}

const Nic& RoceTransport::nic_of(const QueuePairEnd& end) const {
  const ConnectionEnds& ends = connections_[end.connection.value];
  return nics_[(end.at_source ? ends.source_nic : ends.destination_nic).value];
}

const Nic& RoceTransport::peer_nic_of(const QueuePairEnd& end) const {
  const ConnectionEnds& ends = connections_[end.connection.value];
  return nics_[(end.at_source ? ends.destination_nic : ends.source_nic).value];
}

EndPoint RoceTransport::end_point(uint32_t queue_pair) const {
  const QueuePairEnd& end = ends_[queue_pair];
  const Nic& nic = nic_of(end);
  return {
      .connection = end.connection,
      .member = end.member,
      .at_source = end.at_source,
      .mac = nic.mac,
      .ip = nic.ip,
      .queue_pair = kFirstQueuePair + queue_pair,
      .psn = draw_psn(options_.seed, end.connection, end.member, end.at_source),
      .rkey = draw(options_.seed, end.connection, end.member, end.at_source ? Draw::kSourceKey : Draw::kDestinationKey),
      .address = kRegionBase};
}

// The longest message that is written there, or all that is offered to be read.
uint64_t RoceTransport::region_bytes(const QueuePairEnd& end) const {
  if (options_.verb == DataVerb::kRead && end.at_source) return offers_.size() * kOfferStride;
  if (!end.inbound.valid()) return 0;
  return connections_[end.inbound.value].largest_message;
}

std::vector<ConnectFailure> RoceTransport::connect(std::span<const EndPoint> remote) {
  std::vector<const EndPoint*> peers(ends_.size());
  for (const EndPoint& peer : remote) {
    if (peer.connection.value >= connections_.size())
      fail_run("an end point names connection {}; the plan has {}", peer.connection.value, connections_.size());
    if (peer.member >= options_.queue_pairs)
      fail_run("an end point names queue pair {} of connection {}; it has {}", peer.member, peer.connection.value,
               options_.queue_pairs);
    const ConnectionEnds& ends = connections_[peer.connection.value];
    const uint32_t first = peer.at_source ? ends.destination : ends.source;
    if (first != kNone) peers[first + peer.member] = &peer;
  }
  std::vector<ConnectFailure> failures;
  std::span<ReadResource> resources = read_resources_;
  for (uint32_t i = 0; i < ends_.size(); ++i) {
    const size_t reads = is_readable(ends_[i]) ? options_.profile.max_responder_reads : 0;
    std::string reason = connect_queue_pair(i, peers[i], resources.first(reads));
    resources = resources.subspan(reads);
    if (reason.empty() || (!failures.empty() && failures.back().connection == ends_[i].connection)) continue;
    failures.push_back({ends_[i].connection, std::move(reason)});
  }
  return failures;
}

namespace {

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

std::string RoceTransport::connect_queue_pair(uint32_t queue_pair, const EndPoint* peer,
                                              std::span<ReadResource> reads) {
  QueuePairEnd& end = ends_[queue_pair];
  if (std::string reason = check_peer(peer, nic_of(end), peer_nic_of(end), options_.neighbours); !reason.empty())
    return reason;
  const EndPoint local = end_point(queue_pair);
  end.remote = pattern_icrc_->region(peer->address, peer->rkey);
  if (peer->slots > 1) {
    if (remote_slots_.empty()) remote_slots_.assign(ends_.size(), RemoteSlots());
    remote_slots_[queue_pair] = {.bytes = peer->slot_bytes, .count = peer->slots};
  }
  end.peer = local_peer(end, *peer);
  PacketPath path = path_between(local, *peer);
  templates_[queue_pair] = pattern_icrc_->make_template(path);
  std::swap(path.source_ip, path.destination_ip);
  path.destination_qp = local.queue_pair;
  templates_[queue_pair].peer = pattern_icrc_->make_peer(path);
  requesters_[queue_pair] = Requester(local.psn);
  responders_[queue_pair] =
      Responder(peer->psn, {.address = local.address, .bytes = region_bytes(end), .rkey = local.rkey},
                {.reads = reads,
                 .receives = options_.receive_queue.value_or(ResponderResources::kUnlimited),
                 .grants_credits = options_.profile.grants_credits});
  if (options_.neighbours == NeighbourMode::kResolve) return resolve_next_hop(queue_pair);
  end.link = LinkState::kOpen;
  return {};
}

uint32_t RoceTransport::local_peer(const QueuePairEnd& end, const EndPoint& peer) const {
  const ConnectionEnds& ends = connections_[end.connection.value];
  const uint32_t first = end.at_source ? ends.destination : ends.source;
  return first != kNone && kFirstQueuePair + first + end.member == peer.queue_pair ? first + end.member : kNone;
}

PacketPath RoceTransport::path_between(const EndPoint& local, const EndPoint& peer) const {
  const bool linux_port = options_.source_port != SourcePortPolicy::kFixed;
  return {.source_mac = local.mac,
          .destination_mac = options_.neighbours == NeighbourMode::kStatic ? peer.mac : MacAddress{},
          .source_ip = local.ip,
          .destination_ip = peer.ip,
          .vlan = nic_of(ends_[local.queue_pair - kFirstQueuePair]).vlan,
          .source_port = linux_port ? linux_source_port(local.queue_pair, peer.queue_pair) : options_.fixed_source_port,
          .destination_qp = peer.queue_pair,
          .time_to_live = options_.profile.hop_limit,
          .migration = options_.profile.migration,
          .markings = options_.markings};
}

size_t RoceTransport::bytes_per_queue_pair() const noexcept {
  if (ends_.empty()) return 0;
  size_t shared = read_resources_.size() * sizeof(ReadResource) + queue_marks_.size();
  if (paced_) shared += paced_->bytes();
  for (const TransmitLane& lane : lanes_) shared += lane.senders.bytes() + lane.repliers.bytes() + lane.readers.bytes();
  return sizeof(Requester) + sizeof(Responder) + sizeof(HeaderTemplate) + sizeof(QueuePairEnd) +
         sizeof(QueuePairInbox) + sizeof(QueuePairCounters) + RequesterDeadlines::kBytesEach +
         (shared + reads_.size() * sizeof(QueuePairReads) + hops_.bytes() +
          notification_counters_.size() * sizeof(NotificationCounters) +
          (early_ ? ends_.size() * EarlyPackets::kBytesEach : 0)) /
             ends_.size() +
         causes_.bytes_each();
}

}  // namespace rankwire
