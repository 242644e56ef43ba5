// RoceTransport's setting up and description of connections.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/message.h"
#include "dataplane/roce_transport.h"

namespace rankwire {
namespace {

// Where the memory regions begin: page-aligned like a process's, and far from 0.
constexpr uint64_t kRegionBase = 0x7F00'0000'0000;
constexpr uint64_t kRegionAlignment = 4096;

void check_options(const RoceOptions& options) {
  if (!std::has_single_bit(options.mtu) || options.mtu < 256 || options.mtu > kMaxMtu)
    fail_input("the path MTU is {} bytes; it must be 256, 512, 1024, 2048 or 4096", options.mtu);
  if (options.window < 1 || options.window > 1u << 22)
    fail_input("the window is {} packets; it must be 1 to {}", options.window, 1u << 22);
  if (options.ack_every < 1) fail_input("ack_every is 0 packets; it must be at least 1");
  if (options.timeout_exponent < 1 || options.timeout_exponent > 31)
    fail_input("the time-out exponent is {}; it must be 1 to 31", options.timeout_exponent);
  if (options.retry_count > 7) fail_input("retry_count is {}; it must be 0 to 7", options.retry_count);
  if (options.dscp > 63) fail_input("the DSCP is {}; it must be 0 to 63", options.dscp);
  if (options.time_to_live == 0) fail_input("the time to live is 0; it must be at least 1");
  if (options.catch_up < Duration()) fail_input("catch_up is negative");
}

// Both ends derive what only they need to know of a connection from the seed alone.
uint64_t draw(uint64_t seed, ConnectionId connection, uint64_t purpose) {
  return mix64(mix64(seed + 0x9E3779B97F4A7C15u) + (uint64_t{connection.value} << 8) + purpose);
}

enum Purpose : uint64_t { kSourcePsn, kDestinationPsn, kRkey };

}  // namespace

void RoceTransport::check_ports(const TransportPlan& plan) const {
  for (const PortBinding& binding : bindings_) {
    if (binding.rate.bits_per_second <= 0) fail_input("port {} has no rate", binding.id.value);
    const FramePort::Capabilities capabilities = binding.port->capabilities();
    const bool by_reference = capabilities.payload_by_reference && options_.payload == PayloadMode::kPattern;
    // A payload is at most the MTU, which needs no pad.
    const size_t needed = kHeaderRoom + (by_reference ? 0 : options_.mtu + kIcrcBytes);
    if (capabilities.frame_capacity < needed)
      fail_input("port {} has frames of {} bytes; a path MTU of {} needs {}", binding.id.value,
                 capabilities.frame_capacity, options_.mtu, needed);
  }
  for (const Connection& connection : plan.connections)
    if (connection.largest_message > Bytes(INT32_MAX))
      fail_input("connection {} has messages of {} bytes; RoCEv2 carries at most {}", connection.id.value,
                 connection.largest_message.count, INT32_MAX);
}

uint32_t RoceTransport::lane_of(NicId nic) const {
  const auto found = std::ranges::find(bindings_, plan_.nics[nic.value].port, &PortBinding::id);
  return found == bindings_.end() ? kNone : static_cast<uint32_t>(found - bindings_.begin());
}

std::vector<EndPoint> RoceTransport::prepare(const TransportPlan& plan) {
  check_options(options_);
  check_ports(plan);
  plan_ = plan;
  sources_.clear();
  destinations_.clear();
  source_of_.assign(plan.connections.size(), kNone);
  destination_of_.assign(plan.connections.size(), kNone);
  flows_.assign(plan.connections.size(), FlowCounters{});
  for (const Connection& connection : plan.connections) {
    flows_[connection.id.value].connection = connection.id;
    if (connection.path == Path::kWire) place_ends(connection);
  }
  if (sources_.size() + destinations_.size() > kQueuePairMask - kFirstQueuePair)
    fail_input("{} queue pairs do not fit into 24-bit numbers", sources_.size() + destinations_.size());
  make_queue_pairs();

  std::vector<EndPoint> ends;
  for (uint32_t i = 0; i < sources_.size(); ++i) ends.push_back(source_end_point(i));
  for (uint32_t i = 0; i < destinations_.size(); ++i) ends.push_back(destination_end_point(i));
  return ends;
}

void RoceTransport::place_ends(const Connection& connection) {
  const ConnectionId id = connection.id;
  if (const uint32_t lane = lane_of(connection.source_nic); lane != kNone) {
    source_of_[id.value] = static_cast<uint32_t>(sources_.size());
    sources_.push_back({.connection = id, .lane = lane, .memory = {}});
  }
  if (const uint32_t lane = lane_of(connection.destination_nic); lane != kNone) {
    destination_of_[id.value] = static_cast<uint32_t>(destinations_.size());
    DestinationEnd end;
    end.connection = id;
    end.lane = lane;
    end.region.address = kRegionBase;
    if (!destinations_.empty()) {
      const MemoryRegion& last = destinations_.back().region;
      end.region.address = last.address + (last.bytes / kRegionAlignment + 1) * kRegionAlignment;
    }
    end.region.bytes = static_cast<uint64_t>(connection.largest_message.count);
    end.region.rkey = static_cast<uint32_t>(draw(options_.seed, id, kRkey));
    destinations_.push_back(end);
  }
}

void RoceTransport::make_queue_pairs() {
  const auto sources = static_cast<uint32_t>(sources_.size());
  const auto destinations = static_cast<uint32_t>(destinations_.size());
  requesters_.assign(sources, Requester());
  request_headers_.assign(sources, HeaderTemplate());
  responders_.assign(destinations, Responder());
  reply_headers_.assign(destinations, HeaderTemplate());
  writer_.emplace(options_.mtu, options_.payload);
  pool_.emplace(reliable_, plan_.messages_in_flight);
  deadlines_ = RecencyList(sources);
  lanes_.clear();
  for (const PortBinding& binding : bindings_)
    lanes_.emplace_back(binding.id, *binding.port, Pacer(binding.rate, options_.catch_up), sources, destinations);
}

EndPoint RoceTransport::source_end_point(uint32_t source) const {
  const ConnectionId id = sources_[source].connection;
  const Nic& nic = plan_.nics[plan_.connections[id.value].source_nic.value];
  return {.connection = id,
          .at_source = true,
          .mac = nic.mac,
          .ip = nic.ip,
          .queue_pair = kFirstQueuePair + source,
          .psn = static_cast<uint32_t>(draw(options_.seed, id, kSourcePsn)) & kPsnMask};
}

EndPoint RoceTransport::destination_end_point(uint32_t destination) const {
  const DestinationEnd& end = destinations_[destination];
  const Nic& nic = plan_.nics[plan_.connections[end.connection.value].destination_nic.value];
  return {.connection = end.connection,
          .at_source = false,
          .mac = nic.mac,
          .ip = nic.ip,
          .queue_pair = kFirstQueuePair + static_cast<uint32_t>(sources_.size()) + destination,
          .psn = static_cast<uint32_t>(draw(options_.seed, end.connection, kDestinationPsn)) & kPsnMask,
          .rkey = end.region.rkey,
          .address = end.region.address};
}

PacketPath RoceTransport::path_between(const EndPoint& local, const EndPoint& remote) const {
  return {.source_mac = local.mac,
          .destination_mac = remote.mac,
          .source_ip = local.ip,
          .destination_ip = remote.ip,
          .source_qp = local.queue_pair,
          .destination_qp = remote.queue_pair,
          .dscp = options_.dscp,
          .ecn = options_.ecn,
          .time_to_live = options_.time_to_live,
          .migration = options_.migration};
}

namespace {

std::string check_remote(const EndPoint* remote, const Nic& nic) {
  if (remote == nullptr) return "its other end is not known";
  if (remote->queue_pair < 2 || remote->queue_pair > kQueuePairMask)
    return fmt::format("the other end's queue pair number {:#x} is not 2 to 0xffffff", remote->queue_pair);
  if (remote->psn > kPsnMask) return fmt::format("the other end's first PSN {:#x} has more than 24 bits", remote->psn);
  if (remote->mac != nic.mac || remote->ip != nic.ip)
    return fmt::format("the other end is {} {}, the plan has {} {}", to_string(remote->mac), to_string(remote->ip),
                       to_string(nic.mac), to_string(nic.ip));
  return {};
}

}  // namespace

std::string RoceTransport::connect_source(uint32_t source, const EndPoint* remote) {
  const EndPoint local = source_end_point(source);
  const NicId nic = plan_.connections[local.connection.value].destination_nic;
  if (std::string reason = check_remote(remote, plan_.nics[nic.value]); !reason.empty()) return reason;
  request_headers_[source] = writer_->make_template(path_between(local, *remote));
  requesters_[source] = Requester(local.psn);
  sources_[source].memory = {.address = remote->address, .rkey = remote->rkey};
  return {};
}

std::string RoceTransport::connect_destination(uint32_t destination, const EndPoint* remote) {
  const EndPoint local = destination_end_point(destination);
  const NicId nic = plan_.connections[local.connection.value].source_nic;
  if (std::string reason = check_remote(remote, plan_.nics[nic.value]); !reason.empty()) return reason;
  reply_headers_[destination] = make_template(path_between(local, *remote));
  responders_[destination] = Responder(remote->psn, destinations_[destination].region);
  return {};
}

std::vector<ConnectFailure> RoceTransport::connect(std::span<const EndPoint> remote) {
  std::vector<const EndPoint*> source_ends(plan_.connections.size()), destination_ends(plan_.connections.size());
  for (const EndPoint& end : remote) {
    if (end.connection.value >= plan_.connections.size())
      fail_run("an end point names connection {}; the plan has {}", end.connection.value, plan_.connections.size());
    (end.at_source ? source_ends : destination_ends)[end.connection.value] = &end;
  }
  std::vector<ConnectFailure> failures;
  const auto note = [&](ConnectionId connection, std::string reason) {
    if (!reason.empty()) failures.push_back({connection, std::move(reason)});
  };
  for (uint32_t i = 0; i < sources_.size(); ++i) {
    const ConnectionId id = sources_[i].connection;
    note(id, connect_source(i, destination_ends[id.value]));
  }
  for (uint32_t i = 0; i < destinations_.size(); ++i) {
    const ConnectionId id = destinations_[i].connection;
    note(id, connect_destination(i, source_ends[id.value]));
  }
  if (options_.announcement == Announcement::kGratuitousArp) announce();
  return failures;
}

// A switch that misses an announcement floods until it has seen a packet, so a port that takes none is no error.
void RoceTransport::announce() noexcept {
  for (const Nic& nic : plan_.nics) {
    const uint32_t lane = lane_of(nic.id);
    if (lane == kNone) continue;
    FramePort& port = lanes_[lane].port();
    Frame frame;
    if (port.allocate({&frame, 1}) == 0) continue;
    write_arp_announcement(nic.mac, nic.ip.ipv4(), frame);
    if (port.transmit(last_now_, {&frame, 1}) == 0) port.release({&frame, 1});
  }
}

std::string RoceTransport::describe_source(uint32_t source) const {
  const Requester& requester = requesters_[source];
  std::string text = fmt::format("source QP {:#x} psn {:#x} unacked {} window {} retries {}/{}",
                                 kFirstQueuePair + source, requester.next_psn(), requester.in_flight(), options_.window,
                                 requester.retries(), options_.retry_count);
  if (requester.state() == Requester::State::kError) return text + " in the error state";
  if (requester.idle()) return text + " idle";
  if (requester.deadline() == Time::never())
    return text +
           fmt::format(" waiting for its turn to send message {}", pool_->messages[requester.oldest_message()].index);
  const Duration waited = last_now_ - (requester.deadline() - reliable_.timeout);
  return text + fmt::format(" waiting for ACK of psn {:#x} since {:.3f} ms", requester.oldest_unacknowledged(),
                            static_cast<double>(waited.ps) / 1e9);
}

std::string RoceTransport::describe_destination(uint32_t destination) const {
  const Responder& responder = responders_[destination];
  std::string text = fmt::format("destination QP {:#x} expects psn {:#x}, {} messages delivered",
                                 kFirstQueuePair + sources_.size() + destination, responder.expected_psn(),
                                 destinations_[destination].delivered);
  if (responder.state() == Responder::State::kError) text += ", in the error state";
  return text;
}

std::string RoceTransport::describe(ConnectionId connection) const {
  const uint32_t source = source_of_[connection.value];
  const uint32_t destination = destination_of_[connection.value];
  std::string text;
  if (source != kNone) text = describe_source(source);
  if (destination != kNone) text += (text.empty() ? "" : "; ") + describe_destination(destination);
  return text.empty() ? "not on this transport" : text;
}

}  // namespace rankwire
