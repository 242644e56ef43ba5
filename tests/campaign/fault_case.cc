#include "tests/campaign/fault_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/random.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/queue_pair_draw.h"
#include "dataplane/switch/virtual_fabric.h"

namespace rankwire::testing {
namespace {

constexpr uint32_t kHalf = 500'000, kSeldom = 200'000;  // parts per million

template <class T>
T any_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[random.below(choices.size())];
}

Duration up_to(Random& random, Duration most) {
  return Duration(static_cast<int64_t>(random.below(static_cast<uint64_t>(most.ps) + 1)));
}

uint32_t up_to_ppm(Random& random, uint32_t most) {
  return static_cast<uint32_t>(1 + random.below(most));
}

void choose_topology(FaultCase& fault, Random& random) {
  const auto hosts = static_cast<uint32_t>(2 + random.below(5));
  for (uint32_t host = 0; host < hosts; ++host)
    fault.rates.push_back(any_of(random, {Bandwidth(10'000'000'000), Bandwidth(100'000'000'000)}));
  std::vector<Line> lines;
  for (const Bandwidth rate : fault.rates) lines.push_back({rate, up_to(random, microseconds(2))});
  const Line uplink{any_of(random, {Bandwidth(10'000'000'000), Bandwidth(100'000'000'000)}),
                    up_to(random, microseconds(2))};
  switch (random.below(3)) {
    case 0:
      fault.topology = star(lines);
      break;
    case 1:
      fault.topology = leaf_spine({.leaves = 2, .spines = 2, .parallel = 1, .uplink = uplink}, lines);
      break;
    default:
      fault.topology = fat_tree({.k = 4, .uplink = uplink}, lines);
  }
}

// Buffers small enough to overflow, or lossless with pauses; random loss; cables that fail and come back.
void choose_fabric(FaultCase& fault, Random& random) {
  FabricSwitchOptions& device = fault.device;
  device.latency = up_to(random, microseconds(1));
  device.forwarding = any_of(random, {Forwarding::kStoreAndForward, Forwarding::kCutThrough});
  device.buffer.shared = Bytes(fault.survivable ? 16'000'000 : any_of(random, {64'000, 256'000, 4'000'000}));
  if (random.chance(kHalf)) {
    device.classes.lossless = any_of<PrioritySet>(random, {1u << 3, kAllPriorities});
    device.buffer.headroom = Bytes(any_of(random, {20'000, 200'000}));
    device.buffer.resume_offset = Bytes(3'000);
    device.pause_quanta = any_of<uint16_t>(random, {100, kMaxQuanta});
  }
  if (random.chance(kHalf)) {
    const Bytes minimum(static_cast<int64_t>(random.below(50'000)));
    device.red = RedOptions{.minimum = minimum,
                            .maximum = minimum + Bytes(static_cast<int64_t>(random.below(100'000))),
                            .most_ppm = static_cast<uint32_t>(1 + random.below(1'000'000)),
                            .at = any_of(random, {MarkAt::kEnqueue, MarkAt::kDequeue})};
  }
  if (random.chance(kHalf)) device.loss_ppm = static_cast<uint32_t>(random.below(fault.survivable ? 3'000 : 30'000));
  FabricOptions& fabric = fault.fabric;
  fabric.seed = fault.seed;
  fabric.balancing.spreading = any_of(random, {Spreading::kFlow, Spreading::kFlowlet, Spreading::kPacket});
  fabric.convergence = up_to(random, microseconds(100));
  fabric.frames = 1 << 14;
  if (fault.survivable) return;
  if (random.chance(kSeldom)) device.watchdog = WatchdogOptions{microseconds(200), microseconds(200)};
  if (fault.topology.cables.empty() || !random.chance(kSeldom)) return;
  const auto cable = static_cast<uint32_t>(random.below(fault.topology.cables.size()));
  const Time down = Time() + up_to(random, microseconds(300));
  fabric.schedule = {{down, cable, kDownCable},
                     {down + microseconds(1) + up_to(random, milliseconds(2)), cable, kWholeCable}};
}

void choose_impairments(FaultCase& fault, Random& random) {
  const auto some = [&](uint32_t most) { return random.chance(kHalf) ? static_cast<uint32_t>(random.below(most)) : 0; };
  for (size_t host = 0; host < fault.rates.size(); ++host) {
    Impairments& bad = fault.impairments.emplace_back();
    bad.rate = Bandwidth(1'000'000'000'000'000);  // the fabric's line has been waited for
    bad.latency = Duration();
    bad.seed = random.next();
    const uint32_t most_lost = fault.survivable ? 5'000 : 40'000;
    bad.loss_ppm = some(most_lost);
    bad.corrupt_ppm = some(most_lost);
    bad.duplicate_ppm = some(40'000);
    bad.reorder_ppm = some(40'000);
    bad.mark_ppm = some(100'000);
    bad.reorder_delay = up_to(random, microseconds(20));
    fault.refuse_every.push_back(random.chance(kSeldom) ? any_of(random, {2u, 3u, 7u}) : 0);
  }
}

// A seed with which connection 0 soon passes the last PSN.
uint64_t seed_before_wrap(Random& random) {
  constexpr uint32_t kSoon = 256;
  for (;;)
    if (const uint64_t seed = random.next(); draw_psn(seed, ConnectionId(0), 0, true) > kPsnMask - kSoon) return seed;
}

RoceOptions common_options(uint64_t seed, Random& random) {
  RoceOptions options;
  options.mtu = any_of(random, {256u, 1024u, 4096u});
  options.queue_pairs = any_of(random, {1u, 1u, 2u, 3u});
  options.spread = any_of(random, {Spread::kSplit, Spread::kDeal});
  options.verb = any_of(random, {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead});
  // The pattern is not compared, but goes the short ways.
  options.payload = any_of(random, {PayloadMode::kChecking, PayloadMode::kChecking, PayloadMode::kPattern});
  options.receive_check = any_of(random, {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer});
  options.causes = any_of(random, {CauseRecording::kOff, CauseRecording::kOn});
  options.source_port =
      any_of(random, {SourcePortPolicy::kLinux, SourcePortPolicy::kPerMessage, SourcePortPolicy::kPerPacket});
  options.neighbours = any_of(random, {NeighbourMode::kStatic, NeighbourMode::kResolve});
  options.resolve_interval = microseconds(200);
  options.resolve_deadline = milliseconds(20);
  options.turn = any_of(random, {1u, 4u, 16u});
  options.seed = seed;
  if (options.verb == DataVerb::kRead || random.chance(kHalf)) return options;
  CongestionOptions& congestion = options.congestion;
  congestion.algorithm = any_of(random, {CongestionAlgorithm::kStatic, CongestionAlgorithm::kDcqcn,
                                         CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift});
  congestion.rate = Bandwidth(any_of<int64_t>(random, {1'000'000'000, 9'000'000'000}));
  congestion.burst = any_of(random, {1u, 8u});
  congestion.dcqcn.min_rate = Bandwidth(100'000'000);
  congestion.notifies = true;
  congestion.notification.scope =
      any_of(random, {NotificationScope::kQueuePair, NotificationScope::kAddressPair, NotificationScope::kPort});
  return options;
}

// A NIC of one of the profiles, with limits small enough to be met and time-outs short enough to be waited for.
NicProfile choose_profile(const FaultCase& fault, Random& random) {
  NicProfile profile = *find_nic_profile(any_of<std::string_view>(random, {"rankwire", "mlx5", "rxe"}));
  profile.window = any_of(random, {1u, 4u, 16u, 64u, 512u});
  profile.ack_every = std::min(profile.window, any_of(random, {1u, 2u, 8u, 32u}));
  profile.max_reads = any_of(random, {1u, 4u});
  profile.max_responder_reads = any_of(random, {4u, 16u});
  // 66 us, less than some queues take, 0.5 and 2 ms. Where none may give up, buffers hold 13 ms of the slowest lines.
  profile.timeout_exponent = fault.survivable ? 9 : any_of(random, {4u, 7u, 9u});
  profile.minimum_exponent = 1;
  profile.retry_count = fault.survivable ? 7 : any_of(random, {0u, 1u, 1u, 2u, 7u});
  profile.not_ready_retry_count = fault.survivable ? 7 : any_of(random, {0u, 2u, 7u});
  profile.not_ready_code = any_of<uint8_t>(random, {1, 2, 6});  // 10, 20, 80 us
  profile.seven_retries_are_unlimited = false;
  return profile;
}

void choose_disagreement(FaultCase& fault, bool together, DataVerb verb, Random& random) {
  constexpr std::array kAll = {Disagreement::kKey, Disagreement::kQueuePair, Disagreement::kMtu, Disagreement::kMemory};
  // The others take transports that differ.
  fault.disagreement = kAll[random.below(together ? 2 : kAll.size())];
  const bool writes = verb == DataVerb::kWriteImm || verb == DataVerb::kWriteThenImm;
  fault.refusals |=
      fault.disagreement == Disagreement::kMtu || (writes && fault.disagreement != Disagreement::kQueuePair);
}

// A transport that reads never says to another that it has given up: there both ends are in one.
void choose_transports(FaultCase& fault, Random& random) {
  const RoceOptions common = common_options(fault.seed, random);
  const bool counts_receives = random.chance(kSeldom);
  const bool together = common.verb == DataVerb::kRead || random.chance(kHalf);
  if (!fault.survivable && random.chance(kSeldom)) choose_disagreement(fault, together, common.verb, random);
  for (size_t i = 0; i < (together ? 1 : fault.rates.size()); ++i) {
    RoceOptions& options = fault.transports.emplace_back(common);
    options.profile = choose_profile(fault, random);
    options.seed = random.chance(kSeldom) ? seed_before_wrap(random) : random.next();
    if (fault.disagreement == Disagreement::kMtu) options.mtu = any_of(random, {256u, 1024u, 4096u});
    if (counts_receives) options.receive_queue = any_of(random, {1u, 2u, 8u});
    if (Random placing(~options.seed); placing.chance(kSeldom))
      options.out_of_order = 1 + static_cast<uint32_t>(placing.below(64));
  }
}

// One that ends a queue pair: of what passes, or of what is sent again, which finds the responder in other states.
void choose_refusal(FaultCase& fault, Random& random) {
  constexpr std::array kAnswers = {Forgery::kInvalidNak, Forgery::kAccessNak, Forgery::kOperationalNak};
  constexpr std::array kRequests = {Forgery::kWrongOrder, Forgery::kWrongOrder, Forgery::kOtherOpcode,
                                    Forgery::kWrongKey,   Forgery::kWrongRange, Forgery::kWrongLength,
                                    Forgery::kWrongLength};
  fault.refusals = true;
  if (random.chance(kSeldom)) {
    // Where the receiver is waited for, too.
    if (random.chance(kHalf)) fault.forgeries.push_back({Forgery::kNotReadyNak, 300'000});
    fault.forgeries.push_back({kAnswers[random.below(kAnswers.size())], up_to_ppm(random, 100'000)});
    return;
  }
  const bool restarts = random.chance(kHalf);
  fault.forgeries.push_back(
      {kRequests[random.below(kRequests.size())], up_to_ppm(random, restarts ? 1'000'000 : 100'000), restarts});
}

// Some of those that change nothing, and often one that does.
void choose_forgeries(FaultCase& fault, Random& random) {
  if (random.chance(kSeldom)) return;
  for (auto what = Forgery::kGhostAck; !is_refused(what); what = static_cast<Forgery>(static_cast<int>(what) + 1))
    if (random.chance(kSeldom)) fault.forgeries.push_back({what, up_to_ppm(random, 200'000)});
  if (!fault.survivable && !random.chance(kSeldom)) choose_refusal(fault, random);
}

void choose_plan(FaultCase& fault, Random& random) {
  TransportPlan& plan = fault.plan;
  const auto hosts = static_cast<uint32_t>(fault.rates.size());
  for (uint32_t host = 0; host < hosts; ++host)
    plan.nics.push_back({.id = NicId(host),
                         .port = PortId(host),
                         .mac = {{2, 0, 0, 0, 1, static_cast<uint8_t>(host)}},
                         .ip = Ipv4Address{0xC6120001 + host},
                         .prefix_length = 15});
  const auto connections = static_cast<uint32_t>(1 + random.below(8));
  for (uint32_t i = 0; i < connections; ++i) {
    const auto source = static_cast<uint32_t>(random.below(hosts));
    const auto destination = static_cast<uint32_t>((source + 1 + random.below(hosts - 1)) % hosts);
    plan.connections.push_back({.id = ConnectionId(i),
                                .job = JobId(0),
                                .source = RankId(source),
                                .destination = RankId(destination),
                                .source_nic = NicId(source),
                                .destination_nic = NicId(destination),
                                .largest_message = Bytes(64 << 10)});
  }
  const bool reads = fault.transports.front().verb == DataVerb::kRead;
  for (uint32_t i = 0; i < connections; ++i) {
    Connection reverse = plan.connections[i];
    if (!random.chance(kHalf)) continue;
    reverse.id = ConnectionId(static_cast<uint32_t>(plan.connections.size()));
    reverse.reverse_of = ConnectionId(i);
    std::swap(reverse.source, reverse.destination);
    std::swap(reverse.source_nic, reverse.destination_nic);
    reverse.control = reads || random.chance(kHalf);
    if (reverse.control) reverse.largest_message = Bytes(kMaxControlBytes);
    plan.connections.push_back(reverse);
  }
  plan.ranks = hosts;
  plan.messages_in_flight = 256;
}

void choose_messages(FaultCase& fault, Random& random) {
  const auto connections = static_cast<uint32_t>(fault.plan.connections.size());
  std::vector<uint32_t> next(connections);
  const auto messages = 8 + random.below(40);
  Time at;
  for (uint64_t i = 0; i < messages; ++i) {
    const auto connection = static_cast<uint32_t>(random.below(connections));
    if (random.chance(kSeldom)) at += up_to(random, microseconds(200));
    Message message;
    message.connection = ConnectionId(connection);
    message.index = next[connection]++;
    message.id.source = connection;
    message.id.sequence = message.index;
    const bool control = fault.plan.connections[connection].control;
    const uint64_t least = control ? 16 : 0;  // a control message has its index and its key
    const uint64_t most = control ? kMaxControlBytes : random.chance(kHalf) ? 600 : 64 << 10;
    message.bytes = Bytes(static_cast<int64_t>(least + random.below(most - least)));
    fault.posts.push_back({at, message});
  }
}

const char* name(DataVerb verb) {
  constexpr std::array kNames = {"write_imm", "write_then_imm", "send_imm", "read", "write", "send"};
  return kNames[static_cast<size_t>(verb)];
}

const char* name(Disagreement disagreement) {
  constexpr std::array kNames = {"", ", wrong key", ", unknown queue pair", ", differing MTU", ", short memory"};
  return kNames[static_cast<size_t>(disagreement)];
}

const char* name(CongestionAlgorithm algorithm) {
  constexpr std::array kNames = {"none", "static", "dcqcn", "dctcp", "swift"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string names(const std::vector<ForgeryRule>& rules) {
  constexpr std::array kNames = {
      "ghost ACK",    "old NAK",      "reserved NAK",        "ghost response",    "atomic ACK",
      "CNP",          "old READ",     "unknown queue pair",  "other source",      "short response",
      "sequence NAK", "RNR NAK",      "NAK invalid request", "NAK remote access", "NAK remote operational",
      "wrong order",  "other opcode", "wrong key",           "wrong range",       "wrong length"};
  std::string text;
  for (const ForgeryRule& rule : rules)
    text += fmt::format("{}{}", text.empty() ? ", forged: " : " + ", kNames[static_cast<size_t>(rule.what)]);
  return text;
}

}  // namespace

FaultCase make_fault_case(uint64_t seed) {
  FaultCase fault;
  fault.seed = seed;
  Random random(mix64(seed + 1));
  fault.survivable = random.chance(kHalf);
  choose_topology(fault, random);
  choose_fabric(fault, random);
  choose_impairments(fault, random);
  choose_transports(fault, random);
  choose_forgeries(fault, random);
  choose_plan(fault, random);
  choose_messages(fault, random);
  return fault;
}

std::string describe(const FaultCase& fault) {
  const RoceOptions& options = fault.transports.front();
  return fmt::format(
      "seed {}: {} hosts, {} switches, {} connections of {} queue pairs, {} messages, {}, MTU {}, {}{}{}{}", fault.seed,
      fault.rates.size(), fault.topology.switches.size(), fault.plan.connections.size(), options.queue_pairs,
      fault.posts.size(), name(options.verb), options.mtu, name(options.congestion.algorithm), name(fault.disagreement),
      names(fault.forgeries), fault.survivable ? ", survivable" : "");
}

}  // namespace rankwire::testing
