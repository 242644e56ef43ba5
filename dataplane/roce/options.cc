#include "dataplane/roce/options.h"

#include <algorithm>

#include "base/check_range.h"
#include "base/error.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/plan_checks.h"
#include "dataplane/protocol/queue_pair.h"

namespace rankwire {
namespace {

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

void check_read_size(const RoceOptions& options, const Connection& connection) {
  const int64_t bytes = connection.largest_message.count;
  if (options.verb == DataVerb::kRead && packets_of(static_cast<uint32_t>(bytes), options.mtu) > kMaxReadPackets)
    fail_input("connection {} has messages of {} bytes; at a path MTU of {} a READ fetches at most {}",
               connection.id.value, bytes, options.mtu, uint64_t{kMaxReadPackets} * options.mtu);
}

}  // namespace

bool has_congestion_control(const RoceOptions& options) {
  const auto has = [](const CongestionOptions& of) { return of.algorithm != CongestionAlgorithm::kNone; };
  return has(options.congestion) ||
         std::ranges::any_of(options.congestion_exceptions, has, &CongestionException::options);
}

bool follows_acknowledgements(const RoceOptions& options) {
  return follows_acknowledgements(options.congestion) ||
         std::ranges::any_of(options.congestion_exceptions, [](const CongestionException& exception) {
           return follows_acknowledgements(exception.options);
         });
}

void check_options(const RoceOptions& options) {
  check_path_mtu(options.mtu);
  check_profile(options.profile);
  check_range("the number of queue pairs", options.queue_pairs, 1, 256);
  if (options.turn < 1) fail_input("turn is 0 packets; it must be at least 1");
  check_range("out-of-order packets", options.out_of_order, 0, RoceOptions::kMaxOutOfOrder);
  if (options.receive_queue) check_range("the receive queue", *options.receive_queue, 1, 65535);
  if (options.verb == DataVerb::kRead && options.profile.max_reads > options.profile.max_responder_reads)
    fail_input("a queue pair may have {} READs outstanding, and its peer remembers {}", options.profile.max_reads,
               options.profile.max_responder_reads);
  check_congestion_options(options.congestion);
  for (const CongestionException& exception : options.congestion_exceptions)
    check_congestion_options(exception.options);
  if (options.verb == DataVerb::kRead && follows_acknowledgements(options))
    fail_input("the congestion control follows acknowledgements, which READ responses do not have");
  for (const Marking& marking :
       {options.markings.data, options.markings.ack, options.markings.nak, options.markings.cnp})
    check_marking(marking);
  for (const JobMarking& own : options.job_markings) check_marking(own.data);
  if (options.resolve_interval <= Duration()) fail_input("resolve_interval is not positive");
  if (options.resolve_deadline <= Duration()) fail_input("resolve_deadline is not positive");
  if (options.catch_up < Duration()) fail_input("catch_up is negative");
  if (options.lead < Duration()) fail_input("lead is negative");
}

void check_plan(const RoceOptions& options, std::span<const PortBinding> bindings, const TransportPlan& plan) {
  for (const PortBinding& binding : bindings) {
    if (binding.rate.bits_per_second <= 0) fail_input("port {} has no rate", binding.id.value);
    const FramePort::Capabilities capabilities = binding.port->capabilities();
    const bool by_reference = capabilities.payload_by_reference && options.payload == PayloadMode::kPattern;
    // A payload is at most the MTU, which needs no pad. Control messages stand in the frame.
    const size_t needed = kHeaderRoom + (by_reference ? kMaxControlBytes : options.mtu) + kTrailerRoom;
    if (capabilities.frame_capacity < needed)
      fail_input("port {} has frames of {} bytes; a path MTU of {} needs {}", binding.id.value,
                 capabilities.frame_capacity, options.mtu, needed);
  }
  std::vector<bool> reversed(plan.connections.size());
  for (const Connection& connection : plan.connections) {
    check_message_size(connection, options.payload, "RoCEv2");
    check_read_size(options, connection);
    check_reverse(plan, connection);
    if (!connection.reverse_of.valid()) continue;
    if (reversed[connection.reverse_of.value])
      fail_input("connection {} has two in the other direction", connection.reverse_of.value);
    reversed[connection.reverse_of.value] = true;
  }
}

PrioritySet priority_of(const Marking& marking, bool tagged, const std::optional<ClassOptions>& classes) {
  const uint8_t of_tag = tagged ? marking.priority : uint8_t{0};
  if (!classes) return priority_bit(tagged ? of_tag : marking.dscp >> 3);
  return priority_bit(classes->trust == PriorityTrust::kPcp ? of_tag : classes->of_dscp[marking.dscp]);
}

}  // namespace rankwire
