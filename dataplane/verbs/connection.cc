// VerbsTransport's setting up of devices and queue pairs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/protocol/queue_pair_draw.h"
#include "dataplane/verbs/transport.h"

namespace rankwire {
namespace {

constexpr int kResolveAttempts = 3;

/// Why a `connect` that began then tries no further; empty while it may.
std::string end_of_attempts(const VerbsOptions& options, std::chrono::steady_clock::time_point begin) {
  if (options.interrupted != nullptr && options.interrupted->load()) return "not tried: the run was interrupted";
  const std::chrono::nanoseconds deadline(options.connect_deadline.ps / 1000);
  if (std::chrono::steady_clock::now() - begin < deadline) return {};
  return fmt::format("not tried: the {:g} s of run.deadline had passed", options.connect_deadline.ps / 1e12);
}

}  // namespace

std::vector<EndPoint> VerbsTransport::prepare(const TransportPlan& plan) {
  check_options(options_);
  close();
  plan_ = plan;
  check_plan();
  ends_.clear();
  connections_.assign(plan.connections.size(), ConnectionEnds{});
  uint64_t first_message = 0;
  for (const Connection& connection : plan.connections) {
    connections_[connection.id.value].first_message = first_message;
    first_message += connection.messages_per_iteration;
  }
  for (const Side side : {Side::kSource, Side::kDestination})
    for (const Connection& connection : plan.connections) place_ends(connection, side);
  for (const Connection& connection : plan.connections)
    share_ends(connection, connections_, ends_, options_.queue_pairs);
  for (uint32_t i = 0; i < ports_.size(); ++i) check_queues(i);
  lay_out_memory();
  open_devices();
  make_queue_pairs();

  std::vector<EndPoint> ends;
  for (uint32_t i = 0; i < ends_.size(); ++i) ends.push_back(end_point(i));
  return ends;
}

void VerbsTransport::open_devices() {
  constexpr uint8_t kNeverWritten = 0xFF;
  const std::span<uint8_t> memory = memory_.bytes();
  for (size_t i = 0; i < pattern_.stride; ++i) memory[pattern_.begin + i] = static_cast<uint8_t>(i);
  before_.clear();
  control_ends_.clear();
  for (uint32_t i = 0; i < ends_.size(); ++i) {
    const VerbsEnd& end = ends_[i];
    if (!end.inbound.valid() || !connections_[end.inbound.value].control) continue;
    control_ends_.push_back(i);
    std::memset(at(end.inbox.begin), kNeverWritten, end.inbox.slots * end.inbox.stride);
  }
  for (uint32_t i = 0; i < ports_.size(); ++i) {
    const VerbsPlace& place = ports_[i].place;
    Device& device = devices_.emplace_back();
    before_.push_back(api_.counters(place.device.name, place.port.number));
    device.longest_work = longest_work(ports_[i]);
    device.context = api_.open(place.device);
    device.region = device.context->register_memory(memory);
    make_completion_queues(i);
    for (ReceivePool& pool : receive_pools_) {
      if (pool.device != i || pool.end != ReceivePool::kNone) continue;
      device.shared_receives = device.context->make_shared_receive_queue(pool.depth);
      pool.queue = device.shared_receives.get();
    }
  }
}

// Shared receives may all complete on queue pairs of one completion queue.
VerbsTransport::CompletionNeed VerbsTransport::completion_need(uint32_t device) const {
  if (!options_.shared_receive_queue) return {.each = uint64_t{options_.send_queue} + receive_depth_, .once = 0};
  const auto sharing = static_cast<uint64_t>(
      std::ranges::count_if(ends_, [&](const VerbsEnd& end) { return end.device == device && needs_receives(end); }));
  return {.each = options_.send_queue, .once = sharing * receive_depth_};
}

// Of a completion queue.
uint32_t VerbsTransport::pairs_each(uint32_t device) const {
  const CompletionNeed need = completion_need(device);
  return static_cast<uint32_t>((ports_[device].place.device.limits.completions - need.once) / need.each);
}

// As few as can hold all completions of the queue pairs.
void VerbsTransport::make_completion_queues(uint32_t device) {
  const auto pairs = static_cast<uint32_t>(std::ranges::count(ends_, device, &VerbsEnd::device));
  const CompletionNeed need = completion_need(device);
  const uint32_t most = pairs_each(device);
  for (uint32_t left = pairs; left > 0; left -= std::min(left, most))
    devices_[device].completions.push_back(devices_[device].context->make_completion_queue(
        static_cast<uint32_t>(std::min(left, most) * need.each + need.once)));
}

void VerbsTransport::make_queue_pairs() {
  std::vector<uint32_t> made(ports_.size()), most(ports_.size());
  for (uint32_t i = 0; i < ports_.size(); ++i) most[i] = pairs_each(i);
  for (uint32_t i = 0; i < ends_.size(); ++i) {
    VerbsEnd& end = ends_[i];
    Device& device = devices_[end.device];
    const QueuePairSize size{.sends = options_.send_queue,
                             .receives = needs_receives(end) ? receive_depth_ : 1,
                             .inline_bytes = options_.inline_bytes};
    const bool shares = options_.shared_receive_queue && needs_receives(end);
    end.queue_pair = device.context->make_queue_pair(ports_[end.device].place.port.number, size,
                                                     *device.completions[made[end.device]++ / most[end.device]],
                                                     shares ? device.shared_receives.get() : nullptr);
    end.number = end.queue_pair->number();
    end.gid_index = gid_of(end).index;
    if (shares) device.ends.emplace(end.number, i);
    if (needs_receives(end) && !shares) receive_pools_[end.receive_pool].queue = end.queue_pair.get();
  }
  post_first_receives();
}

void VerbsTransport::post_first_receives() {
  const uint64_t refused = details_.receives_refused;
  for (uint32_t i = 0; i < receive_pools_.size(); ++i) receiving_.push(i);
  post_receives();
  const auto without = std::ranges::find(ends_, true, &VerbsEnd::failed_receiving);
  if (without != ends_.end())
    fail_run("{}: it refused {} receives that its queues have room for; lower transport.receive_queue",
             ports_[without->device].place.device.name, details_.receives_refused - refused);
}

const Nic& VerbsTransport::nic_of(const VerbsEnd& end) const {
  const Connection& connection = plan_.connections[end.connection.value];
  return plan_.nics[(end.at_source ? connection.source_nic : connection.destination_nic).value];
}

const VerbsGid& VerbsTransport::gid_of(const VerbsEnd& end) const {
  const VerbsPlace& place = ports_[end.device].place;
  for (const VerbsGid& gid : place.port.gids)
    if (gid.type == GidType::kRoceV2 && gid.index <= kMaxGidIndex && gid.ip == nic_of(end).ip) return gid;
  return place.gid;
}

EndPoint VerbsTransport::end_point(uint32_t end) const {
  const VerbsEnd& owner = ends_[end];
  const VerbsGid& gid = gid_of(owner);
  return {.connection = owner.connection,
          .member = owner.member,
          .at_source = owner.at_source,
          .mac = gid.mac,
          .ip = gid.ip,
          .queue_pair = owner.number,
          .psn = draw_psn(options_.seed, owner.connection, owner.member, owner.at_source),
          .rkey = devices_[owner.device].region->remote_key(),
          .address = address_of(owner.inbox.begin),
          .slots = owner.inbox.slots,
          .slot_bytes = owner.inbox.stride};
}

QueuePairPath VerbsTransport::path_of(uint32_t end, const EndPoint& peer) const {
  const VerbsEnd& owner = ends_[end];
  return {.port = ports_[owner.device].place.port.number,
          .gid_index = owner.gid_index,
          .remote_gid = peer.ip,
          .remote_queue_pair = peer.queue_pair,
          .remote_psn = peer.psn,
          .local_psn = draw_psn(options_.seed, owner.connection, owner.member, owner.at_source),
          .mtu = options_.mtu,
          .flow_label = flow_label(options_),
          .traffic_class = traffic_class(options_, plan_.connections[owner.connection.value].job),
          .hop_limit = options_.hop_limit,
          .service_level = options_.service_level,
          .timeout_exponent = options_.timeout_exponent,
          .retry_count = options_.retry_count,
          .not_ready_retry_count = options_.not_ready_retry_count,
          .not_ready_code = options_.not_ready_code,
          .initiated_reads = options_.max_reads,
          .answered_reads = options_.max_reads};
}

ConnectOutcome VerbsTransport::connect_end(uint32_t end, const EndPoint* peer) {
  constexpr auto kRefused = ConnectOutcome::Kind::kRefused;
  if (peer == nullptr) return {kRefused, "its other end is not known"};
  if (peer->queue_pair > kQueuePairMask || peer->psn > kPsnMask)
    return {kRefused, fmt::format("the other end's queue pair number {:#x} and first PSN {:#x} must have 24 bits",
                                  peer->queue_pair, peer->psn)};
  if (peer->slots == 0) return {kRefused, "the other end has no memory to write to"};
  const VerbsGid& gid = gid_of(ends_[end]);
  if (gid.ip.is_ipv4() != peer->ip.is_ipv4())
    return {kRefused, fmt::format("{} and {} are not of one IP version", to_string(gid.ip), to_string(peer->ip))};
  ConnectOutcome outcome = ends_[end].queue_pair->connect(path_of(end, *peer));
  if (outcome.kind == ConnectOutcome::Kind::kConnected) ends_[end].remote = *peer;
  return outcome;
}

std::vector<ConnectFailure> VerbsTransport::connect(std::span<const EndPoint> remote) {
  std::vector<const EndPoint*> peers(ends_.size());
  for (const EndPoint& peer : remote) {
    if (peer.connection.value >= connections_.size() || peer.member >= options_.queue_pairs)
      fail_run("an end point names queue pair {} of connection {}; the plan has {} of {} each", peer.member,
               peer.connection.value, connections_.size(), options_.queue_pairs);
    const ConnectionEnds& ends = connections_[peer.connection.value];
    const uint32_t first = peer.at_source ? ends.destination : ends.source;
    if (first != kNone) peers[first + peer.member] = &peer;
  }
  unconnected_.clear();
  // What happened before there were connections concerns none.
  take_device_events();
  const auto begin = std::chrono::steady_clock::now();
  const auto attempt = [&](uint32_t end) {
    ConnectOutcome outcome{ConnectOutcome::Kind::kRefused, end_of_attempts(options_, begin)};
    if (!outcome.reason.empty()) return outcome;
    outcome = connect_end(end, peers[end]);
    // The question or its answer may be lost on the way, like any frame.
    for (int asked = 1; asked < kResolveAttempts && outcome.kind == ConnectOutcome::Kind::kNoNeighbour; ++asked) {
      if (!end_of_attempts(options_, begin).empty()) break;
      outcome = connect_end(end, peers[end]);
    }
    return outcome;
  };
  std::map<std::pair<uint32_t, IpAddress>, std::string> silent;  // next hops need not be asked for twice
  for (uint32_t i = 0; i < ends_.size(); ++i) {
    VerbsEnd& end = ends_[i];
    const auto known = peers[i] == nullptr ? silent.end() : silent.find({end.device, peers[i]->ip});
    ConnectOutcome outcome =
        known == silent.end() ? attempt(i) : ConnectOutcome{ConnectOutcome::Kind::kNoNeighbour, known->second};
    if (outcome.kind == ConnectOutcome::Kind::kConnected) {
      end.state = VerbsEnd::State::kOpen;
      continue;
    }
    if (outcome.kind == ConnectOutcome::Kind::kNoNeighbour) {
      end.state = VerbsEnd::State::kUnreachable;
      silent.emplace(std::pair{end.device, peers[i]->ip}, outcome.reason);
    }
    if (unconnected_.empty() || unconnected_.back().connection != end.connection)
      unconnected_.push_back({end.connection, ports_[end.device].place.device.name + ": " + outcome.reason});
  }
  return unconnected_;
}

}  // namespace rankwire
