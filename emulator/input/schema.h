// The keys of a configuration: each is named once, with its syntax and range, in the order of config.h. A visitor
// reads, prints or lists them:
//   field(key, value, syntax)             a scalar
//   list(key, values, syntax)             a list of scalars; a scalar alone is a list of one
//   section(key, describe)                a map; `describe` visits its keys
//   optional_section(key, value, describe)
//   items(key, values, describe)          a list of maps; `describe(visitor, item)` visits the keys of one
//   texts(key, values)                    a map of free keys
// and, of these, what is printed only where it says something, and what has the keys of another section:
//   section_unless(absent, key, describe)  a section that does not stand beside another one
//   optional_items(key, values, describe)  items of which none is not the same as an empty list
//   section_like(key, describe), optional_section_like(key, value, describe)
#pragma once

#include "emulator/input/algorithm_syntax.h"
#include "emulator/input/background_schema.h"
#include "emulator/input/collective_schema.h"
#include "emulator/input/compute_schema.h"
#include "emulator/input/config.h"
#include "emulator/input/config_version.h"
#include "emulator/input/congestion_schema.h"
#include "emulator/input/device_schema.h"
#include "emulator/input/dilation_schema.h"
#include "emulator/input/fabric_schema.h"
#include "emulator/input/hybrid_schema.h"
#include "emulator/input/impairment_schema.h"
#include "emulator/input/inference_schema.h"
#include "emulator/input/limits_schema.h"
#include "emulator/input/node_schema.h"
#include "emulator/input/simulation_schema.h"
#include "emulator/input/syntax.h"
#include "emulator/input/transformer_schema.h"
#include "emulator/input/transport_schema.h"

namespace rankwire {

inline constexpr Duration kLongestTime = seconds(1'000'000);

template <class Visitor>
void describe_mlp(Visitor& visit, MlpConfig& model) {
  visit.field("layers", model.layers, Integer<uint32_t>{1, 10'000});
  visit.field("width", model.width, Integer<int64_t>{1, kLargestDimension});
  visit.field("batch", model.batch, Integer<int64_t>{1, kLargestDimension});
  visit.field("model_parallel", model.model_parallel, Integer<uint32_t>{1, 65'536});
  visit.field("data_parallel", model.data_parallel, Integer<uint32_t>{1, 65'536});
  visit.field("order", model.data_first, Choice<bool>{{{"data_model", false}, {"model_data", true}}});
}

template <class Visitor>
void describe_dlrm(Visitor& visit, DlrmConfig& model) {
  const Integer<int64_t> dimension{1, kLargestDimension};
  visit.field("ranks", model.ranks, Integer<uint32_t>{1, 65'536});
  visit.field("batch", model.batch, dimension);
  visit.field("tables", model.tables, Integer<uint32_t>{1, 1'000'000});
  visit.field("embedding", model.embedding, dimension);
  visit.field("lookups", model.lookups, dimension);
  visit.field("dense", model.dense, dimension);
  visit.list("bottom", model.bottom, dimension);
  visit.list("top", model.top, dimension);
  visit.field("rows", model.rows, Integer<int64_t>{1, int64_t{1} << 40});
}

template <class Visitor>
void describe_generate(Visitor& visit, GenerateConfig& model) {
  visit.field("kind", model.kind,
              Choice<GeneratedKind>{{{"transformer", GeneratedKind::kTransformer},
                                     {"mlp", GeneratedKind::kMlp},
                                     {"dlrm", GeneratedKind::kDlrm},
                                     {"collective", GeneratedKind::kCollective},
                                     {"inference", GeneratedKind::kInference},
                                     {"nodes", GeneratedKind::kNodes},
                                     {"micro", GeneratedKind::kMicro}}});
  const Choice<Bytes> data_types{{{"fp32", Bytes(4)}, {"bf16", Bytes(2)}, {"fp16", Bytes(2)}, {"fp8", Bytes(1)}}};
  visit.field("data_type", model.element, data_types);
  visit.field("peak", model.peak_flops, Flops{});
  describe_transformer(visit, model.transformer);
  visit.section("mlp", [&](auto& keys) { describe_mlp(keys, model.mlp); });
  visit.section("dlrm", [&](auto& keys) { describe_dlrm(keys, model.dlrm); });
  visit.section("collective", [&](auto& keys) { describe_collective_series(keys, model.collective); });
  visit.section("inference", [&](auto& keys) { describe_inference(keys, model.inference); });
  visit.optional_items("nodes", model.nodes, [](auto& keys, NodeConfig& node) { describe_node(keys, node); });
  visit.field("case", model.micro_case, MicroCaseName{});
  visit.section("micro", [&](auto& keys) { describe_micro(keys, model.micro); });
}

inline Choice<std::string> selectable_kinds() {
  Choice<std::string> kinds;
  for (const char* word :
       {"compute", "host", "memory", "collective", "send", "receive", "all_reduce", "reduce", "all_gather", "gather",
        "scatter", "broadcast", "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"}) {
    kinds.words.emplace_back(word, word);
  }
  return kinds;
}

template <class Visitor>
void describe_workload(Visitor& visit, WorkloadConfig& workload) {
  visit.optional_section("generate", workload.generate,
                         [](auto& keys, GenerateConfig& model) { describe_generate(keys, model); });
  visit.list("traces", workload.traces, FilePath{});
  visit.field("groups", workload.groups_file, Or{"auto", FilePathOrNone{}});
  visit.field("element_size", workload.element_size, Size{Bytes(1), Bytes(64)});
  visit.field("dependencies", workload.dependencies,
              Choice<DependencyChoice>{{{"auto", DependencyChoice::kAuto},
                                        {"data", DependencyChoice::kData},
                                        {"control", DependencyChoice::kControl},
                                        {"both", DependencyChoice::kBoth}}});
  visit.field("iterations", workload.iterations, Integer<uint32_t>{1, 1 << 14});
  visit.section("scale", [&](auto& keys) {
    keys.field("bytes", workload.bytes_scale, Fraction{});
    keys.field("compute", workload.compute_scale, Fraction{});
  });
  visit.section("select", [&](auto& keys) {
    keys.list("names", workload.select_names, Text{});
    keys.list("groups", workload.select_groups, Text{});
    keys.list("kinds", workload.select_kinds, selectable_kinds());
  });
  visit.field("stream_above", workload.stream_above, Integer<uint64_t>{0, uint64_t{1} << 40});
  visit.section("storage", [&](auto& keys) { describe_storage_ranks(keys, workload.storage); });
}

template <class Visitor>
void describe_mapping(Visitor& visit, MappingConfig& mapping) {
  visit.field("policy", mapping.policy,
              Choice<MappingPolicy>{{{"round_robin", MappingPolicy::kRoundRobin},
                                     {"block", MappingPolicy::kBlock},
                                     {"explicit", MappingPolicy::kExplicit}}});
  visit.items("ranks", mapping.ranks, [](auto& entry, PlacementEntry& place) {
    entry.field("rank", place.rank, Integer<uint32_t>{0, (1 << 17) - 1});
    entry.field("host", place.host, Integer<uint32_t>{0, 65'535});
    entry.field("npu", place.npu, Integer<uint32_t>{0, 1'023});
    entry.field("nic", place.nic, Integer<uint32_t>{0, 1'023});
    entry.field("port", place.port, Text{});
  });
}

template <class Visitor>
void describe_nccl(Visitor& visit, NcclConfig& nccl) {
  visit.field("channels", nccl.channels, Or{"auto", Integer<uint32_t>{1, 32}});
  visit.field("p2p_channels", nccl.p2p_channels, Or{"auto", Integer<uint32_t>{1, 32}});
  visit.field("protocol", nccl.protocol,
              Choice<ProtocolName>{{{"auto", ProtocolName::kAuto},
                                    {"ll", ProtocolName::kLl},
                                    {"ll128", ProtocolName::kLl128},
                                    {"simple", ProtocolName::kSimple}}});
  visit.field("steps_in_flight", nccl.steps_in_flight, Integer<uint32_t>{1, 8});
  visit.field("clear_to_send", nccl.clear_to_send, on_or_off());
  visit.field("buffer", nccl.buffer, Size{Bytes(64 << 10), Bytes(1 << 30)});
  visit.field("p2p_chunk", nccl.p2p_chunk, Size{Bytes(4 << 10), Bytes(1 << 30)});
}

template <class Visitor>
void describe_algorithms(Visitor& visit, std::array<AlgorithmChoice, kCollectiveOperations>& algorithms) {
  const auto field = [&](const char* key, Operation operation) {
    visit.field(key, algorithms[static_cast<size_t>(operation)], AlgorithmSyntax{operation});
  };
  field("all_reduce", Operation::kAllReduce);
  field("reduce_scatter", Operation::kReduceScatter);
  field("all_gather", Operation::kAllGather);
  field("broadcast", Operation::kBroadcast);
  field("reduce", Operation::kReduce);
  field("all_to_all", Operation::kAllToAll);
  field("gather", Operation::kGather);
  field("scatter", Operation::kScatter);
}

template <class Visitor>
void describe_ring(Visitor& visit, RingConfig& ring) {
  visit.field("order", ring.order,
              Choice<RingOrder>{{{"ascending", RingOrder::kAscending},
                                 {"descending", RingOrder::kDescending},
                                 {"interleaved", RingOrder::kInterleaved},
                                 {"listed", RingOrder::kListed}}});
  visit.list("ranks", ring.ranks, Integer<uint32_t>{0, (1 << 17) - 1});
  visit.field(
      "direction", ring.direction,
      Choice<RingDirection>{{{"forward", RingDirection::kForward}, {"bidirectional", RingDirection::kBidirectional}}});
}

template <class Visitor>
void describe_resources(Visitor& visit, RunConfig& config) {
  visit.section("compute", [&](auto& keys) { describe_compute(keys, config.compute); });
  visit.section("concurrency", [&](auto& keys) {
    keys.field("compute", config.concurrency.compute, Integer<uint32_t>{1, 1'024});
    keys.field("host", config.concurrency.host, Integer<uint32_t>{1, 1'024});
    keys.field("communication", config.concurrency.communication, Integer<uint32_t>{0, 65'535});
  });
  visit.section("collectives", [&](auto& keys) {
    keys.field(
        "profile", config.collectives.profile,
        Choice<CollectivesProfile>{{{"plain", CollectivesProfile::kPlain}, {"nccl", CollectivesProfile::kNccl}}});
    keys.section("nccl", [&](auto& nccl) { describe_nccl(nccl, config.collectives.nccl); });
    keys.section("algorithms", [&](auto& names) { describe_algorithms(names, config.collectives.algorithms); });
    keys.items("aggregators", config.collectives.aggregators, [](auto& entry, AggregatorConfig& aggregator) {
      entry.field("name", aggregator.name, Name{});
      entry.field("port", aggregator.port, Text{});
      entry.field("parent", aggregator.parent, TextOrNone{});
      entry.list("ports", aggregator.ports, Text{});
    });
    keys.section("ring", [&](auto& ring) { describe_ring(ring, config.collectives.ring); });
    keys.field("channels", config.collectives.channels, Integer<uint32_t>{1, 32});
    keys.field("chunk", config.collectives.chunk, Size{Bytes(1), Bytes((1LL << 31) - 1)});
    keys.field("reduce_bandwidth", config.collectives.reduce_bandwidth, Or{"none", Rate{}});
    keys.field("reduce_latency", config.collectives.reduce_latency, Interval{Duration(), seconds(1)});
  });
}

template <class Visitor>
void describe_job(Visitor& visit, JobConfig& job) {
  visit.field("name", job.name, Name{});
  visit.section_like("workload", [&](auto& keys) { describe_workload(keys, job.workload); });
  visit.field("after", job.after, TextOrNone{});
  visit.field("start", job.start, Interval{Duration(), kLongestTime});
  visit.field("idle", job.idle, on_or_off());
  visit.optional_section_like("mapping", job.mapping,
                              [](auto& keys, MappingConfig& mapping) { describe_mapping(keys, mapping); });
  visit.list("hosts", job.hosts, Integer<uint32_t>{0, 65'535});
  visit.field("share", job.share, on_or_off());
  visit.section("collectives", [&](auto& keys) {
    keys.section_like("algorithms", [&](auto& names) { describe_algorithms(names, job.collectives.algorithms); });
    keys.field("channels", job.collectives.channels, Or{"same", Integer<uint32_t>{1, 32}});
    keys.field("chunk", job.collectives.chunk, Or{"same", Size{Bytes(1), Bytes((1LL << 31) - 1)}});
  });
  visit.section("transport", [&](auto& keys) {
    keys.field("dscp", job.marking.dscp, Or{"same", Integer<uint32_t>{0, 63}});
    keys.field("priority", job.marking.priority, Or{"same", Integer<uint32_t>{0, 7}});
    keys.optional_section_like("congestion_control", job.congestion,
                               [](auto& own, CongestionConfig& control) { describe_sender_control(own, control); });
  });
  visit.field("color", job.color, Color{});
}

/// 802.1Q: 0 and 4095 are no VLANs.
inline Or<Integer<uint16_t>> vlan() {
  return {"none", Integer<uint16_t>{1, 4094}};
}

template <class Visitor>
void describe_placement(Visitor& visit, RunConfig& config) {
  visit.section("hosts", [&](auto& keys) {
    keys.field("count", config.hosts.count, Or{"auto", Integer<uint32_t>{2, 65'536}});
    keys.field("npus", config.hosts.npus, Or{"auto", Integer<uint32_t>{1, 1'024}});
    keys.field("nics", config.hosts.nics, Or{"auto", Integer<uint32_t>{1, 1'024}});
  });
  visit.section("local", [&](auto& keys) {
    keys.field("bandwidth", config.hosts.local_bandwidth, Rate{});
    keys.field("latency", config.hosts.local_latency, Interval{Duration(), seconds(1)});
  });
  visit.section("mapping", [&](auto& keys) { describe_mapping(keys, config.mapping); });
  visit.section("addresses", [&](auto& keys) {
    keys.field("ip", config.addresses.ip, Subnet{});
    keys.field("vlan", config.addresses.vlan, vlan());
    keys.field("gateway", config.addresses.gateway, Or{"none", Ip{}});
    keys.field("mac", config.addresses.first_mac, Mac{});
  });
}

template <class Visitor>
void describe_port(Visitor& keys, PortConfig& port) {
  keys.field("name", port.name, Name{});
  keys.field("on", port.on, MachineName{});
  keys.field("device", port.device, TextOrNone{});
  keys.field("verbs", port.verbs, TextOrNone{});
  keys.field("port", port.verbs_port, Integer<uint32_t>{1, 255});
  keys.field("gid", port.gid, Or{"auto", Integer<uint32_t>{0, 255}});  // sgid_index of ibv_global_route
  keys.field("rate", port.rate, Rate{});
  keys.field("queues", port.queues, Integer<uint16_t>{1, 16});
  keys.field("ip", port.ip, Or{"shared", Subnet{}});
  keys.field("vlan", port.vlan, vlan());
  keys.field("gateway", port.gateway, Or{"none", Ip{}});
  keys.field("pfc", port.pfc,
             Choice<PfcChoice>{{{"auto", PfcChoice::kAuto},
                                {"software", PfcChoice::kSoftware},
                                {"hardware", PfcChoice::kHardware},
                                {"off", PfcChoice::kOff}}});
  keys.field("drain_rate", port.drain_rate, Or{"none", Rate{}});
  keys.field("receive_buffer", port.receive_buffer, Size{Bytes(1), Bytes(1LL << 40)});
  keys.field("xoff", port.xoff, Or{"half", Size{Bytes(1), Bytes(1LL << 40)}});
  keys.field("xon", port.xon, Or{"quarter", Size{Bytes(0), Bytes(1LL << 40)}});
}

template <class Visitor>
void describe_network(Visitor& visit, RunConfig& config) {
  visit.optional_section("hybrid", config.hybrid,
                         [](auto& keys, HybridConfig& hybrid) { describe_hybrid(keys, hybrid); });
  visit.items("ports", config.ports, [](auto& keys, PortConfig& port) { describe_port(keys, port); });
  visit.section("switch", [&](auto& keys) {
    SwitchConfig& device = config.embedded_switch;
    keys.field("latency", device.latency, Interval{Duration(), seconds(1)});
    keys.field("link_latency", device.link_latency, Interval{Duration(), seconds(1)});
    keys.field("buffer", device.buffer, Size{Bytes(1), Bytes(1LL << 40)});
    keys.field("ecn_threshold", device.ecn_threshold, Or{"none", Size{Bytes(1), Bytes(1LL << 40)}});
    keys.field("loss", device.loss_ppm, Share{});
    keys.field("core", device.core,
               Choice<SwitchCore>{
                   {{"shared", SwitchCore::kShared}, {"own", SwitchCore::kOwn}, {"sharded", SwitchCore::kSharded}}});
  });
  visit.optional_section("fabric", config.fabric,
                         [](auto& keys, FabricConfig& fabric) { describe_fabric(keys, fabric); });
}

template <class Visitor>
void describe_run(Visitor& visit, RunConfig& config) {
  visit.section("run", [&](auto& keys) {
    keys.field("repeat", config.run.repeat, Integer<uint32_t>{1, 100});
    keys.field("certify", config.run.certify,
               Choice<CertifyChoice>{{{"off", CertifyChoice::kOff},
                                      {"on", CertifyChoice::kOn},
                                      {"auto", CertifyChoice::kAuto},
                                      {"false", CertifyChoice::kOff},
                                      {"true", CertifyChoice::kOn}}});
    keys.field("deadline", config.run.deadline, Interval{microseconds(1), kLongestTime});
    keys.field("stall_timeout", config.run.stall_timeout, Interval{microseconds(1), kLongestTime});
    keys.field("on_failure", config.run.continue_on_failure, Choice<bool>{{{"stop", false}, {"continue", true}}});
    keys.field("cpu", config.run.cpu, Or{"any", Integer<uint32_t>{0, 1023}});
  });
  visit.section("workers", [&](auto& keys) {
    keys.field("count", config.workers.count, Or{"auto", Integer<uint32_t>{1, kMostWorkers}});
    keys.list("cores", config.workers.cores, Integer<uint32_t>{0, 1023});
  });
  visit.section("clock", [&](auto& keys) {
    keys.field("max_error", config.clock.max_error, Interval{nanoseconds(1), seconds(1)});
    keys.field("source", config.clock.source, Text{});
    keys.field("source_error", config.clock.source_error, Interval{nanoseconds(0), seconds(1)});
  });
  visit.section("dilation", [&](auto& keys) { describe_dilation(keys, config.dilation); });
  visit.section("record", [&](auto& keys) {
    keys.field("operations", config.record_operations, Choice<bool>{{{"all", true}, {"none", false}}});
    keys.field("messages", config.messages,
               Choice<MessageRecording>{{{"none", MessageRecording::kNone},
                                         {"sampled", MessageRecording::kSampled},
                                         {"all", MessageRecording::kAll}}});
    keys.field("causes", config.record_causes, on_or_off());
    keys.field("fabric_interval", config.fabric_interval, Or{"none", Interval{nanoseconds(1), seconds(1)}});
    keys.field("fabric_rows", config.fabric_rows, Integer<uint32_t>{2, 1 << 20});
    keys.field("rate_interval", config.rate_interval, Or{"none", Interval{nanoseconds(1), seconds(1)}});
    keys.field("rate_rows", config.rate_rows, Integer<uint32_t>{2, 1 << 20});
    keys.field("capture", config.capture, Or{"none", Size{Bytes(1 << 10), Bytes(1LL << 40)}});
    keys.field("capture_length", config.capture_length, Size{Bytes(64), Bytes(16384)});
  });
  visit.section("dpdk", [&](auto& keys) {
    keys.field("memory", config.dpdk.memory, Size{Bytes(1 << 20), kLargestSize});
    keys.list("eal_arguments", config.dpdk.eal_arguments, Text{});
  });
  visit.texts("dut", config.dut);
  visit.optional_items("device_counters", config.device_counters,
                       [](auto& keys, DeviceCountersConfig& device) { describe_device_counters(keys, device); });
}

template <class Visitor>
void describe_config(Visitor& visit, RunConfig& config) {
  uint32_t version = kConfigurationVersion;  // whatever is read is brought up to it
  visit.field("version", version, ConfigurationVersion{});
  visit.field("name", config.name, FolderName{});
  visit.field("seed", config.seed, Integer<uint64_t>{});
  visit.section_unless(!config.jobs.empty(), "workload", [&](auto& keys) { describe_workload(keys, config.workload); });
  visit.optional_items("jobs", config.jobs, [](auto& keys, JobConfig& job) { describe_job(keys, job); });
  visit.optional_items("background", config.background,
                       [](auto& keys, BackgroundConfig& entry) { describe_background(keys, entry); });
  describe_resources(visit, config);
  describe_placement(visit, config);
  describe_network(visit, config);
  visit.section("transport", [&](auto& keys) { describe_transport(keys, config.transport); });
  visit.items("impairments", config.impairments,
              [](auto& keys, ImpairmentConfig& rule) { describe_impairment(keys, rule); });
  visit.section("simulation", [&](auto& keys) { describe_simulation(keys, config.simulation); });
  describe_run(visit, config);
  visit.optional_section("slo", config.slo, [](auto& keys, SloConfig& slo) { describe_slo(keys, slo); });
  visit.optional_section("limits", config.limits,
                         [](auto& keys, LimitsConfig& limits) { describe_limits(keys, limits); });
}

}  // namespace rankwire
