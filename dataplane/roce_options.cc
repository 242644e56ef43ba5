// What is wrong with options, ports and plans, before anything is made of them.
#include "dataplane/roce_options.h"

#include <bit>

#include "base/error.h"
#include "dataplane/roce_transport.h"

namespace rankwire {
namespace {

void check_range(const char* what, uint64_t value, uint64_t least, uint64_t most) {
  if (value < least || value > most) fail_input("{} is {}; it must be {} to {}", what, value, least, most);
}

void check_profile(const NicProfile& profile) {
  check_range("the window in packets", profile.window, 1, 1u << 22);
  if (profile.ack_every < 1) fail_input("ack_every is 0 packets; it must be at least 1");
  check_range("the time-out exponent", profile.timeout_exponent, 0, 31);
  check_range("retry_count", profile.retry_count, 0, 7);
  check_range("rnr_retry", profile.not_ready_retry_count, 0, 7);
  check_range("the RNR timer code", profile.not_ready_code, 0, 31);
  check_range("max_rd_atomic", profile.max_reads, 1, 128);
  check_range("max_dest_rd_atomic", profile.max_responder_reads, 0, 128);
  check_range("requests_per_ack", profile.requests_per_ack, 1, 255);
  check_range("the hop limit", profile.hop_limit, 1, 255);
}

void check_marking(const Marking& marking) {
  check_range("the DSCP", marking.dscp, 0, 63);
  check_range("the 802.1p priority", marking.priority, 0, 7);
}

}  // namespace

void check_options(const RoceOptions& options) {
  if (!std::has_single_bit(options.mtu) || options.mtu < 256 || options.mtu > kMaxMtu)
    fail_input("the path MTU is {} bytes; it must be 256, 512, 1024, 2048 or 4096", options.mtu);
  check_profile(options.profile);
  check_range("the number of queue pairs", options.queue_pairs, 1, 256);
  if (options.turn < 1) fail_input("turn is 0 packets; it must be at least 1");
  if (options.receive_queue) check_range("the receive queue", *options.receive_queue, 1, 65535);
  if (options.verb == DataVerb::kRead && options.profile.max_reads > options.profile.max_responder_reads)
    fail_input("a queue pair may have {} READs outstanding, and its peer remembers {}", options.profile.max_reads,
               options.profile.max_responder_reads);
  for (const Marking& marking :
       {options.markings.data, options.markings.ack, options.markings.nak, options.markings.cnp})
    check_marking(marking);
  if (options.resolve_interval <= Duration()) fail_input("resolve_interval is not positive");
  if (options.resolve_deadline <= Duration()) fail_input("resolve_deadline is not positive");
  if (options.catch_up < Duration()) fail_input("catch_up is negative");
}

void RoceTransport::check_plan(const TransportPlan& plan) const {
  for (const PortBinding& binding : bindings_) {
    if (binding.rate.bits_per_second <= 0) fail_input("port {} has no rate", binding.id.value);
    const FramePort::Capabilities capabilities = binding.port->capabilities();
    const bool by_reference = capabilities.payload_by_reference && options_.payload == PayloadMode::kPattern;
    // A payload is at most the MTU, which needs no pad. Control messages stand in the frame.
    const size_t needed = kHeaderRoom + (by_reference ? kMaxControlBytes : options_.mtu) + kTrailerRoom;
    if (capabilities.frame_capacity < needed)
      fail_input("port {} has frames of {} bytes; a path MTU of {} needs {}", binding.id.value,
                 capabilities.frame_capacity, options_.mtu, needed);
  }
  std::vector<bool> reversed(plan.connections.size());
  for (const Connection& connection : plan.connections) {
    check_message_size(connection);
    if (!connection.reverse_of.valid()) continue;
    check_reverse(plan, connection);
    if (reversed[connection.reverse_of.value])
      fail_input("connection {} has two in the other direction", connection.reverse_of.value);
    reversed[connection.reverse_of.value] = true;
  }
}

void RoceTransport::check_message_size(const Connection& connection) const {
  const int64_t bytes = connection.largest_message.count;
  if (bytes > INT32_MAX)
    fail_input("connection {} has messages of {} bytes; RoCEv2 carries at most {}", connection.id.value, bytes,
               INT32_MAX);
  if (options_.verb == DataVerb::kRead && packets_of(static_cast<uint32_t>(bytes), options_.mtu) > kMaxReadPackets)
    fail_input("connection {} has messages of {} bytes; at a path MTU of {} a READ fetches at most {}",
               connection.id.value, bytes, options_.mtu, uint64_t{kMaxReadPackets} * options_.mtu);
  if (!connection.control) return;
  // In checking mode the key stands behind the index.
  const int64_t least = options_.payload == PayloadMode::kChecking ? 16 : 4;
  if (bytes < least || bytes > int64_t{kMaxControlBytes})
    fail_input("connection {} has control messages of {} bytes; they must be of {} to {}", connection.id.value, bytes,
               least, kMaxControlBytes);
}

void RoceTransport::check_reverse(const TransportPlan& plan, const Connection& connection) const {
  const uint32_t other = connection.reverse_of.value;
  if (other >= plan.connections.size())
    fail_input("connection {} is the reverse of {}; the plan has {}", connection.id.value, other,
               plan.connections.size());
  const Connection& forward = plan.connections[other];
  if (forward.reverse_of.valid() || forward.source_nic != connection.destination_nic ||
      forward.destination_nic != connection.source_nic || forward.path != connection.path)
    fail_input("connection {} cannot be the reverse of {}", connection.id.value, other);
}

}  // namespace rankwire
