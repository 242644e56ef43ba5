#include "emulator/assembly/memory_demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "base/affinity.h"
#include "base/record.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/protocol/queue_pair_numbers.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/transport.h"
#include "dataplane/switch/agenda.h"
#include "dataplane/switch/packets.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/ensemble.h"
#include "emulator/assembly/folded_memory.h"
#include "emulator/assembly/jobs_alone.h"
#include "emulator/assembly/plan_counts.h"
#include "emulator/assembly/run_end.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/assembly/verbs_options.h"
#include "emulator/assembly/what_if.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/worker_exchange.h"
#include "emulator/input/fabric_topology.h"
#include "emulator/record/message_join.h"
#include "emulator/record/recorder.h"
#include "emulator/simulator/link_sharing.h"
#include "emulator/simulator/network_model.h"

namespace rankwire {
namespace {

constexpr uint64_t kLargePage = 2 << 20;
constexpr uint64_t kProgram = 5 << 20;   // the parts of program and libraries that only a run uses, and their data
constexpr uint64_t kDatabase = 4 << 20;  // SQLite's pages, of the record and of its log
constexpr uint64_t kSwitchArrays = 6;    // of a switch, each of which is touched: a large page each
constexpr uint64_t kSwitchPort = 4096;   // bytes of a port of a switch with its queues
constexpr uint64_t kQueueOfDriver = 64;  // bytes of an entry of an RDMA device's queues, and as much of completions
constexpr uint64_t kOperation = 32;      // bytes of a node with what the engine keeps of it
constexpr uint64_t kLinksOfStar = 2;
constexpr uint64_t kLinksOfFabric = 6;  // of a route through two levels of switches

constexpr std::array<MemoryPart, 5> kParts = {{{"connections", &RunMemory::connections},
                                               {"frames", &RunMemory::frames},
                                               {"engine", &RunMemory::engine},
                                               {"model", &RunMemory::model},
                                               {"record", &RunMemory::record}}};

Bytes bytes_of(uint64_t count) {
  return Bytes(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
}

/// Of one property, a member or a function without arguments, of several runs.
template <class Property>
Bytes sum_of(const std::vector<const RunMemory*>& runs, Property property) {
  Bytes sum;
  for (const RunMemory* run : runs) sum += std::invoke(property, *run);
  return sum;
}

/// Each worker looks things up in the whole plan; nodes are somebody's.
Bytes engine_memory(const Setup& setup, const PlanCounts& counts, uint32_t workers = 1) {
  // By connection the places to look at first and the list of incoming ones; by message whether it has arrived, in two
  // iterations; by step its bit and, where it waits for several, their number; a slot with its state.
  constexpr uint64_t kOfConnection = 3 * sizeof(uint32_t), kOfMessage = 2, kOfStep = 2, kOfSlot = 96;
  uint64_t of_plan = counts.connections * kOfConnection + setup.plan.messages_per_iteration * kOfMessage +
                     counts.steps * kOfStep + counts.slots * kOfSlot + counts.in_flight * sizeof(Message);
  if (setup.config.record_causes) of_plan += counts.edges * sizeof(TimeByCause);
  return bytes_of(kProgram + counts.nodes * kOperation + workers * of_plan + WorkerExchange::bytes(workers));
}

/// Bytes of the rows of one worker on their way to the record.
uint64_t rows_memory(const Setup& setup, const char* clock) {
  const RunConfig& config = setup.config;
  return rows_of_sink({}, {.clock = clock, .rows = planned_rows(setup)}) *
         ((config.record_operations ? sizeof(OperationRecord) : 0) +
          (config.messages != MessageRecording::kNone ? sizeof(MessageRecord) : 0) +
          (config.record_operations && config.record_causes ? sizeof(CauseRecord) : 0));
}

/// Flows that have a part of the record at a time, and rows on their way there.
Bytes record_memory(const Setup& setup, const PlanCounts& counts, const char* clock = "virtual") {
  const RunConfig& config = setup.config;
  const bool messages = config.messages != MessageRecording::kNone;
  const uint64_t flows = counts.recorded * config.transport.queue_pairs;
  uint64_t bytes = kDatabase + rows_memory(setup, clock);
  bytes += std::min<uint64_t>(flows, flows / kFlowParts + 4096) * sizeof(FlowCounters);
  if (!messages) return bytes_of(bytes);
  const uint64_t known = std::min<uint64_t>(counts.recorded, MessageJoin::kMaxFlows);
  const uint64_t of_flow =
      counts.recorded == 0 ? 0
                           : (counts.wire_messages + counts.local_messages) * most_iterations(setup) / counts.recorded;
  const uint64_t histogram = of_flow > SmallHistogram::kFew ? sizeof(Histogram) : of_flow * sizeof(Duration);
  bytes += known * (histogram + sizeof(MessageFlow) + sizeof(SmallHistogram) + 32);
  bytes += 2 * RecorderOptions().slowest * sizeof(JoinedMessage);
  return bytes_of(bytes);
}

Bytes model_memory(uint64_t connections, uint64_t links, uint64_t messages) {
  return bytes_of(connections * NetworkModel::bytes_each(links) + messages * NetworkModel::kBytesOfMessage);
}

/// Where several jobs are at work, to count what links they share.
Bytes sharing_memory(const Setup& setup, const PlanCounts& counts, uint64_t links_of_route) {
  const auto jobs = static_cast<uint64_t>(std::ranges::count(setup.workload.jobs, false, &Job::idle));
  if (jobs < 2) return Bytes(0);
  const uint64_t ports = setup.config.ports.size();
  const uint64_t links = ports + (setup.config.fabric ? fabric_topology(setup.config).ports() : ports);
  const uint64_t pairs = std::min<uint64_t>(links * jobs * jobs, LinkSharing::kMostPairs);
  return bytes_of(LinkSharing::bytes(counts.connections, links_of_route, pairs));
}

Bytes interconnect_memory(const Setup& setup, const PlanCounts& counts) {
  const uint64_t links = setup.is_hybrid() && setup.config.fabric ? kLinksOfFabric : kLinksOfStar;
  return model_memory(counts.local, links, std::min(counts.in_flight, counts.local_messages)) +
         bytes_of(counts.connections * sizeof(uint32_t));
}

uint64_t message_pool_bytes(const RoceOptions& options, const PlanCounts& counts) {
  const MessageRoom room(options, static_cast<uint32_t>(counts.in_flight));
  constexpr uint64_t kIndex = sizeof(uint32_t);
  uint64_t bytes = room.requests * (sizeof(OutboundMessage) + kIndex) + room.transfers * (sizeof(Transfer) + kIndex) +
                   room.offers * (sizeof(Offer) + kIndex) + room.gets * (sizeof(Get) + kIndex) +
                   room.assembled * uint64_t{64};
  if (options.causes == CauseRecording::kOn) bytes += (uint64_t{room.transfers} + room.messages) * sizeof(TimeByCause);
  return bytes;
}

/// Of the transport of DPDK ports and ports in memory.
Bytes connection_memory(const Setup& setup, const PlanCounts& counts, Bytes frames) {
  const RoceOptions options = roce_options(setup);
  uint32_t lanes = 0;
  for (const PortConfig& port : setup.config.ports)
    if (!port.modelled) lanes += port.embedded() ? 1 : port.queues;
  const auto pairs = static_cast<uint64_t>(queue_pair_memory(options, counts.queue_pair_ends, lanes).count);
  const uint64_t lookups = counts.connections * (sizeof(ConnectionEnds) + sizeof(Path));
  // End points go when all are connected, before frames and the record have touched their memory.
  const uint64_t end_points = counts.queue_pair_ends * (sizeof(EndPoint) + sizeof(const EndPoint*));
  const auto later = static_cast<uint64_t>(frames.count);
  return bytes_of(pairs + lookups + message_pool_bytes(options, counts) +
                  (end_points > later ? end_points - later : 0));
}

/// Of RDMA devices: registered memory, and the queues of their drivers.
Bytes verbs_memory(const Setup& setup, const PlanCounts& counts) {
  const VerbsOptions options = verbs_options(setup);
  constexpr uint64_t kEnd = 512;
  const uint64_t receives = options.receive_queue.value_or(64);
  uint64_t registered = 2 * counts.largest_message + counts.in_flight * sizeof(uint64_t) * 8;
  if (options.payload == PayloadMode::kChecking)
    registered += counts.queue_pair_ends * (options.receive_queue.value_or(3) + 1) * counts.largest_message;
  const uint64_t queues = (options.send_queue + receives) * 2 * kQueueOfDriver + kEnd;
  return bytes_of(std::min(registered, options.memory) + counts.queue_pair_ends * queues +
                  counts.in_flight * sizeof(OutboundMessage));
}

/// Pool, queues and switch of ports in memory. Of the pool only frames that were in use have memory: in one thread what
/// comes back goes out first, in several all go out in turn, so no more than a run sends.
/// `shards`: of the switch.
Bytes memory_testbed_memory(const Setup& setup, PoolUse use, const PlanCounts& counts, uint32_t shards = 1) {
  const RunConfig& config = setup.config;
  const uint64_t pool = frames_of_ports(setup);
  const uint64_t used = std::min(pool, counts.packets);
  const uint64_t cells = use == PoolUse::kOneThread ? used : 2 * std::bit_ceil(pool);
  uint64_t bytes = used * (memory_frame_bytes(setup, use) + sizeof(FrameShape)) + cells * sizeof(void*);
  bytes += config.ports.size() * shards * 2 * kQueueFrames * sizeof(Frame);
  return bytes_of(bytes);
}

Bytes switch_memory(const Setup& setup, const PlanCounts& counts, uint32_t shards = 1) {
  const RunConfig& config = setup.config;
  uint64_t ports = config.ports.size();
  const uint64_t held = std::min(frames_of_ports(setup), counts.packets);
  if (config.fabric) ports = std::max(ports, uint64_t{fabric_topology(config).ports()});
  uint64_t bytes = shards * (kSwitchArrays * kLargePage + ports * kSwitchPort);
  bytes += held * (sizeof(FabricPacket) + sizeof(Frame) + 2 * sizeof(FabricEvent));
  if (config.capture) bytes += static_cast<uint64_t>(config.capture->count);
  return bytes_of(bytes);
}

RunMemory emulated_memory(const Setup& setup, const PlanCounts& counts) {
  const RunConfig& config = setup.config;
  RunMemory memory{.run = "emulated"};
  const bool rings = config.ports.front().device == "ring", embedded = config.ports.front().embedded();
  const uint32_t workers = worker_threads(config, one_of_each_core(allowed_cpus()), setup.machine).count;
  const uint32_t shards = switch_shards(config, workers);
  if (embedded) memory.frames += switch_memory(setup, counts, shards);
  if (embedded && !rings) memory.frames += memory_testbed_memory(setup, PoolUse::kManyThreads, counts, shards);
  if (dpdk_devices(setup.config, setup.machine) > 0) memory.frames += dpdk_memory(setup);
  bool rdma = false, frames = false;
  for (uint32_t p = 0; p < config.ports.size(); ++p)
    if (setup.is_here(PortId(p))) (config.ports[p].is_rdma_device() ? rdma : frames) = true;
  if (rdma) memory.connections += verbs_memory(setup, counts);
  if (frames) memory.connections += connection_memory(setup, counts, memory.frames);
  memory.engine = engine_memory(setup, counts, workers);
  memory.model = interconnect_memory(setup, counts);
  memory.record = bytes_of(static_cast<uint64_t>(record_memory(setup, counts, "real").count) +
                           (workers - 1) * rows_memory(setup, "real"));
  return memory;
}

RunMemory twin_memory(const Setup& setup, const PlanCounts& counts) {
  RunMemory memory{.run = "twin", .stage = MemoryStage::kModels};
  memory.frames = switch_memory(setup, counts) + memory_testbed_memory(setup, PoolUse::kOneThread, counts);
  memory.connections = connection_memory(setup, counts, memory.frames);
  memory.engine = engine_memory(setup, counts);
  memory.model = interconnect_memory(setup, counts);
  memory.record = record_memory(setup, counts);
  return memory;
}

RunMemory reference_memory(const Setup& setup, SimulationFidelity model, const PlanCounts& counts) {
  RunMemory memory{.run = to_string(model), .stage = MemoryStage::kModels};
  memory.engine = engine_memory(setup, counts);
  memory.record = record_memory(setup, counts);
  const uint64_t links = setup.config.fabric ? kLinksOfFabric : kLinksOfStar;
  if (model == SimulationFidelity::kFlow) {
    memory.model = model_memory(counts.connections, links, counts.in_flight) + sharing_memory(setup, counts, links);
  }
  if (model == SimulationFidelity::kAlphaBeta) memory.model = model_memory(counts.connections, links, 0);
  return memory;
}

/// One of so many further runs of the model `flow`, of which nothing is recorded.
RunMemory further_memory(const Setup& setup, const PlanCounts& counts, const char* run, MemoryStage stage,
                         uint32_t times) {
  RunMemory memory{.run = run, .stage = stage, .times = times};
  memory.engine = engine_memory(setup, counts);
  memory.model =
      model_memory(counts.connections, setup.config.fabric ? kLinksOfFabric : kLinksOfStar, counts.in_flight);
  return memory;
}

/// A job alone, of which nothing is recorded. None where the model's run tells as much.
std::optional<RunMemory> alone_memory(const Setup& setup, const PlanCounts& counts) {
  const auto jobs = static_cast<uint32_t>(std::ranges::count(setup.workload.jobs, false, &Job::idle));
  const SimulationFidelity model = alone_model(setup.config);
  const bool fails = has_failures(setup.config);
  if (jobs == 0 || (jobs == 1 && !fails && setup.background.empty() && setup.config.simulation.has(model)))
    return std::nullopt;
  RunMemory memory{.run = "job alone", .stage = MemoryStage::kJobsAlone, .times = jobs + fails};
  memory.engine = engine_memory(setup, counts);
  if (model == SimulationFidelity::kFlow)
    memory.model =
        model_memory(counts.connections, setup.config.fabric ? kLinksOfFabric : kLinksOfStar, counts.in_flight);
  return memory;
}

/// The report reads rows one by one, but for the longest, which its page has, and for those of both sides among which
/// it looks for the critical path. So many of each, and bytes for one, measured.
constexpr uint64_t kPageOperations = 100'000, kPageOperation = 570;
constexpr uint64_t kPathOperations = 12'000'000, kPathOperation = 36;
/// Of what timeline.json draws arrows between, of one side at a time: messages that the record has one by one, and
/// SENDs and RECVs, with what is made of each pair.
constexpr uint64_t kArrowMessages = 25'000, kArrowMessage = 640;
constexpr uint64_t kArrowEnds = 500'000, kArrowEnd = 88, kArrowPair = 120;

uint64_t arrow_memory(const Setup& setup, const PlanCounts& counts) {
  uint64_t ends = 0;
  for (const RankTrace& trace : setup.workload.ranks) {
    uint64_t of_rank = 0;
    for (size_t n = 0; n < trace.nodes.size(); ++n) {
      const NodeKind kind = trace.nodes[n].kind;
      of_rank += kind == NodeKind::kSend || kind == NodeKind::kReceive ? trace.times_of(n) : 0;
    }
    ends += of_rank * setup.workload.iterations_of(trace.job, setup.config.workload.iterations);
  }
  ends = std::min(ends, kArrowEnds);
  uint64_t messages = (counts.wire_messages + counts.local_messages) * most_iterations(setup);
  if (setup.config.messages == MessageRecording::kSampled)
    messages = std::min<uint64_t>(messages, RecorderOptions().slowest);
  if (setup.config.messages == MessageRecording::kNone) messages = 0;
  return std::min(messages, kArrowMessages) * kArrowMessage + ends * kArrowEnd + ends / 2 * kArrowPair;
}

RunMemory report_memory(const Setup& setup, RunKind kind, const PlanCounts& counts) {
  const uint64_t operations = planned_operations(setup.config, setup.workload);
  const uint64_t sides = kind == RunKind::kModels ? 1 : 2;
  uint64_t bytes = std::min(operations, kPageOperations) * kPageOperation;
  if (operations <= kPathOperations) bytes += sides * operations * kPathOperation;
  bytes += arrow_memory(setup, counts);
  return {.run = "report", .stage = MemoryStage::kReport, .record = bytes_of(kProgram + kDatabase + bytes)};
}

/// What a transport of so many connections from one port to another says of its queue pairs.
int64_t bytes_of_probe(const RoceOptions& options, uint32_t connections) {
  constexpr size_t kFewFrames = 64;
  constexpr Bandwidth kRate(100'000'000'000);
  FramePool pool(kFewFrames);
  const auto [here, there] = make_memory_link(pool, kFewFrames, "probe");
  TransportPlan plan{.ranks = 2, .messages_in_flight = 1};
  for (uint32_t p = 0; p < 2; ++p)
    plan.nics.push_back({.id = NicId(p), .port = PortId(p), .ip = Ipv4Address{1 + p}, .prefix_length = 24});
  for (uint32_t i = 0; i < connections; ++i)
    plan.connections.push_back({.id = ConnectionId(i),
                                .source = RankId(0),
                                .destination = RankId(1),
                                .source_nic = NicId(0),
                                .destination_nic = NicId(1),
                                .messages_per_iteration = 1});
  RoceTransport transport(options, {{PortId(0), here.get(), kRate}, {PortId(1), there.get(), kRate}});
  transport.prepare(plan);
  return static_cast<int64_t>(transport.queue_pair_bytes());
}

}  // namespace

std::span<const MemoryPart> memory_parts() {
  return kParts;
}

std::vector<const RunMemory*> MemoryDemand::peak() const {
  std::vector<const RunMemory*> most;
  for (const MemoryStage stage : {MemoryStage::kEmulated, MemoryStage::kModels, MemoryStage::kJobsAlone,
                                  MemoryStage::kEnsemble, MemoryStage::kWhatIf, MemoryStage::kReport}) {
    std::vector<const RunMemory*> of_stage;
    for (const RunMemory& run : runs)
      if (run.stage == stage) of_stage.insert(of_stage.end(), std::min(run.times, threads), &run);
    std::ranges::stable_sort(of_stage, std::greater(), &RunMemory::total);
    of_stage.resize(std::min<size_t>(of_stage.size(), threads));
    if (most.empty() || sum_of(of_stage, &RunMemory::total) > sum_of(most, &RunMemory::total))
      most = std::move(of_stage);
  }
  return most;
}

Bytes MemoryDemand::total() const {
  return setup + sum_of(peak(), &RunMemory::total);
}

MemoryDemand memory_demand(const Setup& setup, RunKind kind, Bytes resident) {
  MemoryDemand demand{.setup = resident,
                      .threads = run_threads(setup.config.simulation),
                      .runs = {},
                      .left_out = left_out(setup).setup};
  demand.setup += demand.left_out;
  const PlanCounts counts(setup);
  const auto& models = setup.config.simulation.fidelity;
  if (kind == RunKind::kEmulated) demand.runs.push_back(emulated_memory(setup, counts));
  if (kind == RunKind::kTwin && !setup.config.simulation.has(SimulationFidelity::kTwin))
    demand.runs.push_back(twin_memory(setup, counts));
  for (const SimulationFidelity model : models)
    demand.runs.push_back(model == SimulationFidelity::kTwin ? twin_memory(setup, counts)
                                                             : reference_memory(setup, model, counts));
  if (const auto alone = alone_memory(setup, counts)) demand.runs.push_back(*alone);
  if (const uint32_t members = ensemble_members(setup); members > 0)
    demand.runs.push_back(further_memory(setup, counts, "ensemble", MemoryStage::kEnsemble, members));
  if (setup.config.simulation.what_if)
    demand.runs.push_back(further_memory(setup, counts, "what if", MemoryStage::kWhatIf,
                                         static_cast<uint32_t>(6 + kMostFreedGroups + kMostFreedPorts)));
  demand.runs.push_back(report_memory(setup, kind, counts));
  return demand;
}

Bytes queue_pair_memory(const RoceOptions& options, uint64_t ends, uint32_t lanes) {
  // ends x each + lanes x of_lane, with the two lanes of a probe.
  const uint32_t connections = std::max(1u, 256 / options.queue_pairs);
  const auto few_ends = int64_t{2} * connections * options.queue_pairs;
  const int64_t few = bytes_of_probe(options, connections), many = bytes_of_probe(options, 2 * connections);
  const int64_t each = (many - few) / few_ends;
  const int64_t of_lane = (few - few_ends * each) / 2;
  return bytes_of(ends * static_cast<uint64_t>(each) + uint64_t{lanes} * static_cast<uint64_t>(of_lane));
}

std::optional<std::string> memory_finding(const MemoryDemand& demand, std::optional<Bytes> available) {
  if (!available) return std::nullopt;
  // What this process holds for the set-up is free again when the run takes it.
  const Bytes free = *available + demand.setup - demand.left_out;
  if (demand.total() <= free) return std::nullopt;
  const auto mebibytes = [](Bytes bytes) { return static_cast<uint64_t>(bytes.count) >> 20; };
  const std::vector<const RunMemory*> peak = demand.peak();
  const auto of_part = [&](const MemoryPart& part) { return sum_of(peak, part.bytes); };
  const auto part = std::ranges::max_element(kParts, {}, of_part);
  const bool several = peak.size() > 1;
  return fmt::format(
      "the {} run{} would take {} MiB of memory, {} MiB of it for {}, and {} MiB are available: take fewer ranks, or "
      "lower {}transport.queue_pairs, transport.window or switch.buffer",
      peak.front()->run, several ? fmt::format(" and {} beside it", peak.size() - 1) : "", mebibytes(demand.total()),
      mebibytes(of_part(*part)), part->name, mebibytes(free), several ? "simulation.threads, " : "");
}

}  // namespace rankwire
