#include "emulator/assembly/verbs_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/assembly/transport_options.h"

namespace rankwire {
namespace {

std::string names_of_rdma_ports(const RunConfig& config) {
  std::string names;
  for (const PortConfig& port : config.ports) {
    if (port.is_rdma_device()) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", port.name);
  }
  return names;
}

/// Keys that differ from what a configuration says that does not name them, and that only our own transport obeys.
std::vector<std::string> chosen_keys(const TransportConfig& transport) {
  TransportConfig defaults;
  defaults.profile = transport.profile;
  apply_profile(defaults);
  std::vector<std::string> keys;
  const auto look = [&](const char* key, bool chosen) {
    if (chosen) keys.push_back(fmt::format("transport.{}", key));
  };
  look("window", transport.window != defaults.window);
  look("ack_every", transport.ack_every != std::min(*defaults.ack_every, *transport.window));
  look("acks", transport.acks != defaults.acks);
  look("neighbours", transport.neighbours != defaults.neighbours);
  look("resolve_interval", transport.resolve_interval != defaults.resolve_interval);
  look("resolve_deadline", transport.resolve_deadline != defaults.resolve_deadline);
  look("receive_check", transport.receive_check != defaults.receive_check);
  look("out_of_order", transport.out_of_order != defaults.out_of_order);
  look("catch_up", transport.catch_up != defaults.catch_up);
  const std::pair<const char*, const MarkingConfig*> answers[] = {
      {"markings.ack", &transport.ack}, {"markings.nak", &transport.nak}, {"markings.cnp", &transport.cnp}};
  for (const auto& [key, marking] : answers) look(key, marking->dscp || marking->ecn || marking->priority != 0);
  look("markings.data.priority", transport.data.priority != 0);
  return keys;
}

}  // namespace

VerbsOptions verbs_options(const Setup& setup) {
  const RoceOptions roce = roce_options(setup);
  const VerbsConfig& verbs = setup.config.transport.verbs;
  VerbsOptions options;
  options.mtu = roce.mtu;
  options.queue_pairs = roce.queue_pairs;
  options.spread = roce.spread;
  options.verb = roce.verb;
  options.payload = roce.payload;
  options.send_queue = verbs.send_queue;
  options.receive_queue = roce.receive_queue;
  options.shared_receive_queue = verbs.shared_receive_queue;
  options.signal_every = verbs.signal_every;
  options.inline_bytes = static_cast<uint32_t>(verbs.inline_size.count);
  if (verbs.max_message) options.max_message = static_cast<uint64_t>(verbs.max_message->count);
  options.memory = static_cast<uint64_t>(verbs.memory.count);
  options.dscp = roce.markings.data.dscp;
  for (const JobMarking& own : roce.job_markings) options.job_dscps.push_back({own.job, own.data.dscp});
  options.ecn = roce.markings.data.ecn;
  options.service_level = static_cast<uint8_t>(verbs.service_level);
  options.hop_limit = roce.profile.hop_limit;
  options.timeout_exponent = static_cast<uint8_t>(roce.profile.timeout_exponent);
  options.retry_count = static_cast<uint8_t>(roce.profile.retry_count);
  options.not_ready_retry_count = static_cast<uint8_t>(roce.profile.not_ready_retry_count);
  options.not_ready_code = roce.profile.not_ready_code;
  options.max_reads = static_cast<uint8_t>(roce.profile.max_reads);
  options.source_port = roce.source_port;
  options.fixed_source_port = roce.fixed_source_port;
  options.seed = roce.seed;
  options.connect_deadline = setup.config.run.deadline;
  return options;
}

void tell_message_sizes(Setup& setup) {
  TransportPlan& plan = setup.plan.transport;
  plan.message_bytes = message_bytes(setup.plan);
  if (setup.background.empty()) return;
  plan.unplanned_bytes = [&background = setup.background](ConnectionId connection, uint32_t index) {
    if (!background.has(connection)) return Bytes();
    return background.bytes_of(connection.value - background.flows.front().connection.value, index);
  };
}

void warn_of_unheeded_keys(Setup& setup) {
  const RunConfig& config = setup.config;
  if (std::ranges::none_of(config.ports, &PortConfig::is_rdma_device)) return;
  for (const std::string& key : chosen_keys(config.transport)) {
    setup.warnings.push_back(
        fmt::format("{} is for DPDK ports; the RDMA devices of {} do not heed it", key, names_of_rdma_ports(config)));
  }
}

}  // namespace rankwire
