// What is wrong with options and plans, and what exceeds a device, before any device is touched.
#include "dataplane/verbs/options.h"

#include <algorithm>

#include "base/check_range.h"
#include "base/error.h"
#include "dataplane/protocol/plan_checks.h"
#include "dataplane/verbs/transport.h"

namespace rankwire {
namespace {

void check_queue_options(const VerbsOptions& options) {
  check_range("the number of queue pairs", options.queue_pairs, 1, 256);
  check_range("transport.verbs.send_queue", options.send_queue, 2, 32768);
  if (options.receive_queue) check_range("transport.receive_queue", *options.receive_queue, 1, 32768);
  check_range("transport.verbs.signal_every", options.signal_every, 1, options.send_queue);
  check_range("transport.verbs.inline", options.inline_bytes, 0, 1024);
}

void check_attributes(const VerbsOptions& options) {
  check_range("the DSCP", options.dscp, 0, 63);
  for (const VerbsOptions::JobDscp& own : options.job_dscps) check_range("the DSCP of a job", own.dscp, 0, 63);
  check_range("transport.verbs.sl", options.service_level, 0, 15);
  check_range("the hop limit", options.hop_limit, 1, 255);
  check_range("the time-out exponent", options.timeout_exponent, 0, 31);
  check_range("retry_count", options.retry_count, 0, 7);
  check_range("rnr_retry", options.not_ready_retry_count, 0, 7);
  check_range("the RNR timer code", options.not_ready_code, 0, 31);
  check_range("read_depth", options.max_reads, 1, 128);
}

// A shared receive queue holds back no single queue pair.
void check_shared_receives(const VerbsOptions& options) {
  if (!options.shared_receive_queue) return;
  if (options.queue_pairs > 1 && options.spread == Spread::kSplit)
    fail_input(
        "transport.verbs.shared_receive_queue does not bound the messages of which only some parts have arrived; with "
        "several queue pairs use transport.spread: deal, or no shared receive queue");
  const bool writes = options.verb == DataVerb::kWriteImm || options.verb == DataVerb::kWriteThenImm;
  if (writes && options.payload == PayloadMode::kChecking)
    fail_input(
        "transport.verbs.shared_receive_queue does not hold back a queue pair that WRITEs to memory that is not "
        "compared yet; with checked payloads use verb send_imm or read, or no shared receive queue");
}

}  // namespace

void check_options(const VerbsOptions& options) {
  check_path_mtu(options.mtu);
  if (options.verb == DataVerb::kWrite || options.verb == DataVerb::kSend)
    fail_input(
        "an RDMA device sends data by write_imm, write_then_imm, send_imm or read: a plain WRITE or SEND names no "
        "message to its destination");
  check_queue_options(options);
  check_attributes(options);
  if (options.max_message) check_range("transport.verbs.max_message", *options.max_message, 256, uint64_t{1} << 31);
  if (options.max_message.value_or(0) % 8 != 0)
    fail_input("transport.verbs.max_message is {} bytes; it must be a multiple of 8", *options.max_message);
  if (options.source_port != SourcePortPolicy::kLinux && options.source_port != SourcePortPolicy::kFixed)
    fail_input(
        "an RDMA device chooses one source port for a queue pair: transport.source_port must be linux or a port");
  if (options.source_port == SourcePortPolicy::kFixed && options.fixed_source_port < kFirstEntropyPort)
    fail_input("source port {} cannot be had from an RDMA device; a flow label stands for {} to 65535",
               options.fixed_source_port, kFirstEntropyPort);
  check_shared_receives(options);
}

// Payload words are not divided.
uint64_t VerbsTransport::longest_work(const VerbsPort& port) const noexcept {
  return std::min(options_.max_message.value_or(UINT64_MAX), port.place.port.max_message) / 8 * 8;
}

void VerbsTransport::check_plan() const {
  uint64_t messages = 0;
  for (const Connection& connection : plan_.connections) {
    check_message_size(connection, options_.payload, "an RDMA device");
    check_reverse(plan_, connection);
    messages += connection.messages_per_iteration;
  }
  if (plan_.message_bytes.size() != messages)
    fail_input("the plan has {} messages and the sizes of {}; an RDMA device does not tell them", messages,
               plan_.message_bytes.size());
  for (const VerbsPort& port : ports_) check_port(port);
}

void VerbsTransport::check_port(const VerbsPort& port) const {
  const std::string& name = port.place.device.name;
  if (options_.mtu > port.place.port.active_mtu)
    fail_input(
        "{}: the path MTU is {} bytes and the active MTU of port {} is {}; lower transport.mtu or leave it out, or "
        "raise the MTU "
        "of {} to at least {}",
        name, options_.mtu, port.place.port.number, port.place.port.active_mtu,
        port.place.port.netdev.empty() ? "its interface" : port.place.port.netdev, options_.mtu + 100);
  const VerbsLimits& limits = port.place.device.limits;
  const uint32_t reads = std::min(limits.initiated_reads, limits.answered_reads);
  if (options_.verb == DataVerb::kRead && options_.max_reads > reads)
    fail_input("{}: {} READs outstanding are asked for and it has at most {}; lower transport.read_depth", name,
               options_.max_reads, reads);
  const uint64_t longest = longest_work(port);
  for (const Connection& connection : plan_.connections) {
    if (connection.control || connection.path != Path::kWire) continue;
    const auto part = static_cast<uint64_t>(largest_part(connection.id));
    if (options_.verb == DataVerb::kSendImm && part > longest)
      fail_input(
          "{}: connection {} SENDs {} bytes at once and a work request carries at most {}; use verb write_imm or "
          "smaller messages",
          name, connection.id.value, part, longest);
  }
}

void VerbsTransport::check_queues(uint32_t port) const {
  const VerbsDeviceInfo& device = ports_[port].place.device;
  const auto of_device = [&](const VerbsEnd& end) { return ports_[end.device].place.device.name == device.name; };
  const auto pairs = static_cast<uint64_t>(std::ranges::count_if(ends_, of_device));
  const VerbsLimits& limits = device.limits;
  if (pairs > limits.queue_pairs)
    fail_input(
        "{}: {} queue pairs are needed and it has {}; lower transport.queue_pairs, or use more devices or fewer "
        "ranks",
        device.name, pairs, limits.queue_pairs);
  if (options_.send_queue > limits.work_requests)
    fail_input("{}: transport.verbs.send_queue is {} and a queue has at most {} work requests", device.name,
               options_.send_queue, limits.work_requests);
  if (receive_depth_ > limits.work_requests)
    fail_input("{}: transport.receive_queue is {} and a queue has at most {} work requests", device.name,
               receive_depth_, limits.work_requests);
  check_completions(port, pairs);
  if (options_.shared_receive_queue &&
      (limits.shared_receive_queues == 0 || pairs * receive_depth_ > limits.shared_receives))
    fail_input(
        "{}: a shared receive queue of {} receives is needed and it has {} such queues of at most {}; lower "
        "transport.receive_queue or switch transport.verbs.shared_receive_queue off",
        device.name, pairs * receive_depth_, limits.shared_receive_queues, limits.shared_receives);
}

void VerbsTransport::check_completions(uint32_t port, uint64_t pairs) const {
  const VerbsDeviceInfo& device = ports_[port].place.device;
  const VerbsLimits& limits = device.limits;
  const CompletionNeed need = completion_need(port);
  if (need.each + need.once > limits.completions)
    fail_input(
        "{}: a queue pair{} may have {} completions and a completion queue has at most {}; lower "
        "transport.verbs.send_queue or transport.receive_queue{}",
        device.name, need.once > 0 ? " and the shared receive queue" : "", need.each + need.once, limits.completions,
        need.once > 0 ? ", or switch transport.verbs.shared_receive_queue off" : "");
  const uint64_t queues = (pairs + pairs_each(port) - 1) / pairs_each(port);
  if (queues > limits.completion_queues)
    fail_input(
        "{}: {} queue pairs need {} completion queues and it has {}; lower transport.verbs.send_queue or "
        "transport.receive_queue",
        device.name, pairs, queues, limits.completion_queues);
}

}  // namespace rankwire
