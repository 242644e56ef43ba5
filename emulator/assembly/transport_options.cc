#include "emulator/assembly/transport_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "emulator/assembly/congestion_control.h"
#include "emulator/assembly/default_value.h"
#include "emulator/assembly/fabric_options.h"
#include "emulator/input/fabric_topology.h"

namespace rankwire {
namespace {

constexpr uint8_t kMergedAcks = NicProfile().requests_per_ack;

std::string_view name_of(ProfileName profile) {
  switch (profile) {
    case ProfileName::kRankwire:
      return "rankwire";
    case ProfileName::kMlx5:
      return "mlx5";
    case ProfileName::kRxe:
      return "rxe";
  }
  return "rankwire";
}

DataVerb data_verb(VerbName verb) {
  switch (verb) {
    case VerbName::kWriteImm:
      return DataVerb::kWriteImm;
    case VerbName::kWriteThenImm:
      return DataVerb::kWriteThenImm;
    case VerbName::kSendImm:
      return DataVerb::kSendImm;
    case VerbName::kRead:
      return DataVerb::kRead;
  }
  return DataVerb::kWriteImm;
}

SourcePortPolicy source_port_policy(SourcePortConfig::Rule rule) {
  switch (rule) {
    case SourcePortConfig::Rule::kLinux:
      return SourcePortPolicy::kLinux;
    case SourcePortConfig::Rule::kPerMessage:
      return SourcePortPolicy::kPerMessage;
    case SourcePortConfig::Rule::kPerPacket:
      return SourcePortPolicy::kPerPacket;
    case SourcePortConfig::Rule::kFixed:
      return SourcePortPolicy::kFixed;
  }
  return SourcePortPolicy::kLinux;
}

Marking marking(const TransportConfig& transport, const MarkingConfig& kind) {
  return {.dscp = static_cast<uint8_t>(kind.dscp.value_or(transport.dscp)),
          .ecn = kind.ecn.value_or(*transport.ecn) ? Ecn::kCapable0 : Ecn::kNotCapable,
          .priority = static_cast<uint8_t>(kind.priority)};
}

NeighbourMode neighbour_mode(const RunConfig& config) {
  switch (config.transport.neighbours) {
    case NeighbourChoice::kStatic:
      return NeighbourMode::kStatic;
    case NeighbourChoice::kResolve:
      return NeighbourMode::kResolve;
    case NeighbourChoice::kAuto:
      break;
  }
  return config.ports.front().embedded() ? NeighbourMode::kStatic : NeighbourMode::kResolve;
}

/// The profile with what the configuration says instead.
NicProfile nic_profile(const TransportConfig& transport, uint32_t timeout) {
  NicProfile profile = *find_nic_profile(name_of(transport.profile));
  profile.window = *transport.window;
  profile.ack_every = *transport.ack_every;
  if (*transport.acks == AckPolicy::kPerRequest) {
    profile.requests_per_ack = 1;
  } else if (profile.requests_per_ack == 1) {
    profile.requests_per_ack = kMergedAcks;
  }
  profile.retry_count = *transport.retry_count;
  profile.not_ready_retry_count = *transport.rnr_retry;
  profile.not_ready_code = static_cast<uint8_t>(*transport.rnr_timer);
  profile.max_reads = profile.max_responder_reads = *transport.read_depth;
  profile.data_ecn = *transport.ecn ? Ecn::kCapable0 : Ecn::kNotCapable;
  profile.hop_limit = static_cast<uint8_t>(*transport.ttl);
  profile.timeout_exponent = timeout;
  return profile;
}

/// The cable of a fabric that everything might have to pass.
Bandwidth slowest_cable(const RunConfig& config) {
  Bandwidth slowest(INT64_MAX);
  if (!config.fabric) return slowest;
  for (const Cable& cable : fabric_topology(config).cables) slowest = std::min(slowest, cable.line.rate);
  return slowest;
}

}  // namespace

void apply_profile(TransportConfig& transport) {
  const NicProfile profile = *find_nic_profile(name_of(transport.profile));
  fill(transport.mtu, kLargestPathMtu);
  fill(transport.window, profile.window);
  fill(transport.ack_every, std::min(profile.ack_every, *transport.window));
  fill(transport.acks, profile.requests_per_ack == 1 ? AckPolicy::kPerRequest : AckPolicy::kMerged);
  fill(transport.retry_count, profile.retry_count);
  fill(transport.rnr_retry, profile.not_ready_retry_count);
  fill(transport.rnr_timer, profile.not_ready_code);
  fill(transport.read_depth, std::min(profile.max_reads, profile.max_responder_reads));
  fill(transport.ecn, profile.data_ecn != Ecn::kNotCapable);
  fill(transport.ttl, profile.hop_limit);
}

Framing framing_of(const TransportConfig& transport) {
  Framing framing = rocev2_framing(Bytes(*transport.mtu));
  const Bytes frame = framing.overhead_per_frame;
  switch (transport.verb) {
    case VerbName::kWriteImm:
      break;
    case VerbName::kWriteThenImm:
      framing.overhead_per_message = Bytes(16) + frame + Bytes(16 + 4);
      framing.overhead_of_last = Bytes(0);
      break;
    case VerbName::kSendImm:
      framing.overhead_per_message = framing.overhead_of_last = Bytes(4);
      break;
    case VerbName::kRead:
      framing.overhead_per_message = Bytes(4 + 4);
      framing.overhead_of_last = Bytes(4);
      break;
  }
  if (transport.spread == SpreadName::kSplit) framing.parts = transport.queue_pairs;
  return framing;
}

namespace {

bool is_tagged(const Setup& setup) {
  return std::ranges::any_of(setup.placement.nics, [](const Nic& nic) { return nic.vlan.has_value(); });
}

/// Whether the fabric pauses the priority of data rather than lose it.
bool data_is_lossless(const Setup& setup) {
  const TransportConfig& transport = setup.config.transport;
  const std::optional<ClassOptions> classes = fabric_classes(setup.config);
  return classes &&
         (priority_of(marking(transport, transport.data), is_tagged(setup), classes) & classes->lossless) != 0;
}

/// Of the cables between switches, also while one is degraded.
Bandwidth slowest_ever(const RunConfig& config) {
  Bandwidth slowest = slowest_cable(config);
  if (!config.fabric) return slowest;
  for (const FabricFailureConfig& failure : config.fabric->failures)
    if (failure.rate) slowest = std::min(slowest, *failure.rate);
  return slowest;
}

}  // namespace

uint32_t default_timeout(const Setup& setup) {
  // A switch in the loop stands still only when the loop does, which it notices. One in a thread of its own may wait
  // for a core without anybody noticing, and of several workers each may.
  constexpr uint32_t kSwitchInLoop = 8, kSwitchInThread = 12, kSeveralWorkers = 14, kForeignDevice = 14;
  const RunConfig& config = setup.config;
  std::vector<Bytes> queued(config.ports.size());
  const Framing framing = framing_of(config.transport);
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kWire || c.control) continue;
    const Bytes window(int64_t{*config.transport.window} * *config.transport.mtu * config.transport.queue_pairs);
    const Bytes most = setup.background.has(c.id) ? window : c.bytes_per_iteration;
    queued[setup.placement.nics[c.destination_nic.value].port.value] += line_size(std::min(window, most), framing);
  }
  Duration longest;
  const Bandwidth slowest = slowest_ever(config);
  // What is paused waits at its source when the buffer is full.
  const bool lossless = data_is_lossless(setup);
  for (size_t p = 0; p < queued.size(); ++p) {
    const Bytes most = lossless ? queued[p] : std::min(queued[p], config.embedded_switch.buffer);
    longest = std::max(longest, serialization_time(most, std::min(config.ports[p].rate, slowest)));
  }
  uint32_t exponent = !config.ports.front().embedded()                  ? kForeignDevice
                      : config.workers.several()                        ? kSeveralWorkers
                      : config.embedded_switch.core == SwitchCore::kOwn ? kSwitchInThread
                                                                        : kSwitchInLoop;
  while (exponent < 31 && ack_timeout(exponent) < longest * 2) ++exponent;
  return exponent;
}

Duration regular_timeout(const Setup& setup) {
  const TransportConfig& t = setup.config.transport;
  const NicProfile profile = nic_profile(t, t.timeout ? *t.timeout : default_timeout(setup));
  return reliable_options(profile, *t.mtu).timeout;
}

std::vector<JobMarking> job_markings(Setup& setup) {
  const RunConfig& config = setup.config;
  const Marking usual = marking(config.transport, config.transport.data);
  const std::optional<ClassOptions> classes = fabric_classes(config);
  std::vector<JobMarking> markings;
  const auto add = [&](JobId job, const JobMarkingConfig& marking, const std::string& place, const std::string& key) {
    if (!marking.dscp && !marking.priority) return;
    JobMarking& own = markings.emplace_back(JobMarking{.job = job, .data = usual});
    if (marking.dscp) own.data.dscp = static_cast<uint8_t>(*marking.dscp);
    if (marking.priority) own.data.priority = static_cast<uint8_t>(*marking.priority);
    const bool tagged = is_tagged(setup);
    const PrioritySet of_job = priority_of(own.data, tagged, classes), of_all = priority_of(usual, tagged, classes);
    if (of_job == of_all) return;
    if (classes && (classes->lossless & (of_job | of_all)) != 0)
      fail_input(
          "{}: {}.transport: its data has another priority than that of the other jobs, of which "
          "fabric.lossless has one, and a NIC obeys the pauses of one priority for all its data",
          place, key);
    const auto obeys_one = [](const PortConfig& port) { return !port.embedded() && !port.is_rdma_device(); };
    if (std::ranges::any_of(config.ports, obeys_one))
      setup.warnings.push_back(
          fmt::format("{}.transport: its data has another priority than that of transport.markings.data, whose "
                      "pauses alone a NIC obeys, for all its data",
                      key));
  };
  for (uint32_t j = 0; j < config.jobs.size(); ++j)
    add(JobId(j), config.jobs[j].marking, config.jobs[j].place, fmt::format("jobs[{}]", j));
  for (size_t i = 0; i < setup.background.entries.size(); ++i) {
    const BackgroundConfig& entry = config.background[i];
    add(setup.background.entries[i].job, entry.marking, entry.place, fmt::format("background[{}]", i));
  }
  return markings;
}

RoceOptions roce_options(const Setup& setup) {
  const RunConfig& config = setup.config;
  const TransportConfig& t = config.transport;
  RoceOptions options;
  options.mtu = *t.mtu;
  options.profile = nic_profile(t, t.timeout ? *t.timeout : default_timeout(setup));
  options.turn = t.turn;
  options.queue_pairs = t.queue_pairs;
  options.spread = t.spread == SpreadName::kSplit ? Spread::kSplit : Spread::kDeal;
  options.verb = data_verb(t.verb);
  options.receive_queue = t.receive_queue;
  options.out_of_order = t.out_of_order;
  options.congestion = congestion_options(t.congestion);
  options.congestion_exceptions = setup.congestion_exceptions;
  options.markings = {
      .data = marking(t, t.data), .ack = marking(t, t.ack), .nak = marking(t, t.nak), .cnp = marking(t, t.cnp)};
  options.job_markings = setup.job_markings;
  options.classes = fabric_classes(config);
  options.source_port = source_port_policy(t.source_port.rule);
  if (t.source_port.rule == SourcePortConfig::Rule::kFixed) options.fixed_source_port = t.source_port.fixed;
  options.neighbours = neighbour_mode(config);
  // An emulated fabric is told all stations.
  if (config.fabric && config.ports.front().embedded() && options.neighbours == NeighbourMode::kStatic)
    options.announcements = Announcements::kOmitted;
  options.resolve_interval = t.resolve_interval;
  options.resolve_deadline = t.resolve_deadline;
  options.receive_check =
      t.receive_check == ReceiveCheckName::kWholeFrame ? ReceiveCheck::kWholeFrame : ReceiveCheck::kHeaderAndTrailer;
  options.payload = t.checking ? PayloadMode::kChecking : PayloadMode::kPattern;
  options.catch_up = t.catch_up;
  options.held = setup.is_hybrid();
  options.seed = config.seed;
  options.causes = config.record_causes ? CauseRecording::kOn : CauseRecording::kOff;
  return options;
}

}  // namespace rankwire
