// A run's configuration as plain values, read from YAML. Every key, its unit and its default is in
// docs/configuration.md, in the order of this file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/error.h"
#include "base/units.h"
#include "converters/storage_model.h"
#include "converters/transformer.h"
#include "emulator/collective/algorithm.h"
#include "emulator/input/background_config.h"
#include "emulator/input/collective_config.h"
#include "emulator/input/compute_config.h"
#include "emulator/input/congestion_config.h"
#include "emulator/input/device_config.h"
#include "emulator/input/dilation_config.h"
#include "emulator/input/fabric_config.h"
#include "emulator/input/hybrid_config.h"
#include "emulator/input/impairment_config.h"
#include "emulator/input/inference_config.h"
#include "emulator/input/key_places.h"
#include "emulator/input/limits_config.h"
#include "emulator/input/marking_config.h"
#include "emulator/input/node_config.h"
#include "emulator/input/simulation_config.h"
#include "emulator/input/transport_config.h"

namespace rankwire {

enum class GeneratedKind : uint8_t { kTransformer, kMlp, kDlrm, kCollective, kInference, kNodes, kMicro };

/// See converters/mlp.h.
struct MlpConfig {
  uint32_t layers = 4;
  int64_t width = 1024;
  int64_t batch = 64;  ///< samples of a replica
  uint32_t model_parallel = 2, data_parallel = 2;
  bool data_first = false;  ///< key `order`: replicas of a shard are neighbours

  bool operator==(const MlpConfig&) const = default;
};

/// See converters/dlrm.h.
struct DlrmConfig {
  uint32_t ranks = 4;
  int64_t batch = 128;  ///< samples of a rank
  uint32_t tables = 8;
  int64_t embedding = 64;
  int64_t lookups = 32;
  int64_t dense = 13;
  std::vector<int64_t> bottom = {512, 256, 64};
  std::vector<int64_t> top = {512, 256, 1};
  int64_t rows = 1'000'000;  ///< of a table

  bool operator==(const DlrmConfig&) const = default;
};

/// A training step: of a transformer by the keys at top level, or of another kind by its own section. Of an inference
/// service the keys at top level that describe the model hold, too. Or nodes one by one, or a small case that is ready.
struct GenerateConfig {
  TransformerModel transformer;
  GeneratedKind kind = GeneratedKind::kTransformer;
  Bytes element = Bytes(2);                  ///< data_type: fp32 4, fp16 and bf16 2, fp8 1
  int64_t peak_flops = 100'000'000'000'000;  ///< flop/s from which the durations are computed
  MlpConfig mlp;
  DlrmConfig dlrm;
  CollectiveSeriesConfig collective;
  InferenceConfig inference;
  std::vector<NodeConfig> nodes;
  std::string micro_case;  ///< key `case`; empty: none
  MicroSizes micro;

  bool operator==(const GenerateConfig&) const = default;
  /// Of what is sent; nodes written one by one say bytes.
  Bytes granule() const { return kind == GeneratedKind::kNodes || kind == GeneratedKind::kMicro ? Bytes(1) : element; }
  /// `transformer` with what it has in common with other kinds.
  TransformerModel whole_transformer() const {
    TransformerModel model = transformer;
    model.element = element, model.peak_flops = peak_flops;
    return model;
  }
};

enum class DependencyChoice : uint8_t { kAuto, kData, kControl, kBoth };

struct WorkloadConfig {
  std::vector<std::string> traces;         ///< a prefix or one file a rank; empty when `generate` is used
  std::optional<std::string> groups_file;  ///< absent: PREFIX.json beside the traces, if it is one; empty: none
  std::optional<GenerateConfig> generate;
  Bytes element_size = Bytes(1);
  DependencyChoice dependencies = DependencyChoice::kAuto;
  uint32_t iterations = 1;
  Scale bytes_scale, compute_scale;
  std::vector<std::string> select_names, select_groups, select_kinds;
  uint64_t stream_above = 4'000'000;  ///< nodes of all traces together
  StorageModel storage;               ///< of `traces`, by its first keys: where their storage nodes read and write
};

struct ConcurrencyConfig {
  uint32_t compute = 1, host = 1;
  uint32_t communication = 0;  ///< collectives a rank runs at once; 0: one a group, no other limit
};

enum class CollectivesProfile : uint8_t { kPlain, kNccl };
enum class ProtocolName : uint8_t { kAuto, kLl, kLl128, kSimple };

/// With CollectivesProfile::kNccl, instead of `channels` and `chunk`.
struct NcclConfig {
  std::optional<uint32_t> channels, p2p_channels;  ///< 1 .. 32; absent: follow from the ports' rate
  ProtocolName protocol = ProtocolName::kAuto;
  uint32_t steps_in_flight = 8;  ///< 1 .. 8
  bool clear_to_send = true;
  Bytes buffer = Bytes(4 << 20);
  Bytes p2p_chunk = Bytes(128 << 10);

  bool operator==(const NcclConfig&) const = default;
};

/// How one operation is carried out.
struct AlgorithmChoice {
  Algorithm algorithm = Algorithm::kAuto;
  std::string files;  ///< kCustom: prefix of the Chakra files, absolute

  bool operator==(const AlgorithmChoice&) const = default;
};

struct RingConfig {
  RingOrder order = RingOrder::kAscending;
  std::vector<uint32_t> ranks;  ///< kListed: each at most once
  RingDirection direction = RingDirection::kForward;
};

/// A node of the network that reduces, emulated by an end point behind a port of its own.
struct AggregatorConfig {
  std::string name, port;
  std::string parent;              ///< name of the aggregator above; empty: the top
  std::vector<std::string> ports;  ///< whose ranks it serves itself; empty for the only one: all others
};

struct CollectivesConfig {
  CollectivesProfile profile = CollectivesProfile::kPlain;
  NcclConfig nccl;
  std::array<AlgorithmChoice, kCollectiveOperations>
      algorithms;                             ///< by Operation; of barriers and point-to-point always kAuto
  std::vector<AggregatorConfig> aggregators;  ///< with kInNetwork
  RingConfig ring;
  uint32_t channels = 1;
  Bytes chunk = Bytes(1 << 20);
  std::optional<Bandwidth> reduce_bandwidth;  ///< absent: reducing takes reduce_latency only
  Duration reduce_latency;
};

/// Absent counts follow from the ports: one host a port, one NIC a host, as many NPUs as the ranks need.
struct HostsConfig {
  std::optional<uint32_t> count, npus, nics;
  Bandwidth local_bandwidth = Bandwidth(3'600'000'000'000);
  Duration local_latency = nanoseconds(500);
};

enum class MappingPolicy : uint8_t { kRoundRobin, kBlock, kExplicit };

struct PlacementEntry {
  uint32_t rank = 0, host = 0, npu = 0, nic = 0;
  std::string port;  ///< name
};

struct MappingConfig {
  MappingPolicy policy = MappingPolicy::kRoundRobin;
  std::vector<PlacementEntry> ranks;  ///< kExplicit: every rank once
};

/// What a job has instead of the run's `collectives`; absent: as those.
struct JobCollectivesConfig {
  std::array<AlgorithmChoice, kCollectiveOperations> algorithms;  ///< by Operation; kAuto: as the run's
  std::optional<uint32_t> channels;
  std::optional<Bytes> chunk;
};

/// One of several workloads that share the run.
struct JobConfig {
  std::string name;
  WorkloadConfig workload;
  std::string after;                     ///< name of the job that it follows; empty: none
  Duration start;                        ///< since the end of that job, or the beginning of the run
  bool idle = false;                     ///< it does nothing, and has its places and connections all the same
  std::optional<MappingConfig> mapping;  ///< absent: the run's policy
  std::vector<uint32_t> hosts;           ///< that may hold its ranks; empty: all
  bool share = false;                    ///< its NPUs may be those of other jobs that share
  JobCollectivesConfig collectives;
  JobMarkingConfig marking;                    ///< keys of `transport`
  std::optional<CongestionConfig> congestion;  ///< key `transport.congestion_control`: of a sender; absent: the run's
  std::string color;                           ///< "#rrggbb"; empty: the report's choice
  std::string place;                           ///< "FILE:LINE", for errors that only the workload shows
};

/// The first address to give away and the length of its subnet's prefix.
struct SubnetConfig {
  IpAddress first = Ipv4Address{0xC6120001};  ///< 198.18.0.1
  uint32_t prefix_length = 15;
};

struct AddressesConfig {
  SubnetConfig ip;
  std::optional<uint16_t> vlan;      ///< 1 .. 4094
  std::optional<IpAddress> gateway;  ///< next hop to other subnets
  MacAddress first_mac{{0x02, 0x52, 0x57, 0, 0, 1}};
};

/// Who obeys the PFC and PAUSE frames that a DPDK port receives.
enum class PfcChoice : uint8_t { kAuto, kSoftware, kHardware, kOff };

/// Has either a `device` or `verbs`; the other is empty.
struct PortConfig {
  std::string name;
  std::string on;  ///< the machine whose process drives it, in a run over several; empty: there is one
  /// "ring": a DPDK net_ring port of the embedded switch; "memory": the same without DPDK; otherwise a DPDK device: a
  /// PCI address or a vdev string such as "net_af_packet0,iface=veth0".
  std::string device = "ring";
  /// An RDMA device: its name, its PCI address, or "netdev " and its network interface.
  std::string verbs;
  uint32_t verbs_port = 1;      ///< key `port`: which of the RDMA device's ports, 1 .. 255
  std::optional<uint32_t> gid;  ///< index in its GID table; absent: those of the wanted IP version, in turn
  Bandwidth rate = Bandwidth(10'000'000'000);
  uint16_t queues = 1;               ///< receive and transmit queues of a DPDK device, each
  std::optional<SubnetConfig> ip;    ///< of the port's NICs, instead of `addresses`
  std::optional<uint16_t> vlan;      ///< with `ip`
  std::optional<IpAddress> gateway;  ///< with `ip`
  PfcChoice pfc = PfcChoice::kAuto;
  std::optional<Bandwidth> drain_rate;      ///< of a slow receiver, below `rate`; absent: as fast as the line
  Bytes receive_buffer = Bytes(512 << 10);  ///< of a slow receiver
  std::optional<Bytes> xoff, xon;           ///< its thresholds; absent: 1/2 and 1/4 of `receive_buffer`
  bool modelled = false;                    ///< no key: with `hybrid` nobody on a wire stands behind it
  bool embedded() const { return device == "ring" || device == "memory"; }
  bool is_rdma_device() const { return !verbs.empty(); }
};

/// Ring ports for which DPDK has devices, two each; more ports of the short form without a device are `memory`.
constexpr uint32_t kMostRingPorts = 16;

/// Whose thread steps the embedded switch in real time.
enum class SwitchCore : uint8_t {
  kShared,   ///< the first worker's
  kOwn,      ///< one of its own
  kSharded,  ///< each worker's, the part that serves its ports
};

/// The embedded switch; with a foreign device, what the reference and the twin assume of it.
struct SwitchConfig {
  Duration latency = microseconds(1);
  Duration link_latency = nanoseconds(100);
  Bytes buffer = Bytes(16 << 20);      ///< each output queue
  std::optional<Bytes> ecn_threshold;  ///< CE marks above this queue length
  uint32_t loss_ppm = 0;               ///< seeded random loss of frames, parts per million
  SwitchCore core = SwitchCore::kShared;
};

enum class MessageRecording : uint8_t { kNone, kSampled, kAll };

/// Whether what the generator adds of its own is measured before a run. kAuto: where a limit on time hangs on it.
enum class CertifyChoice : uint8_t { kOff, kOn, kAuto };

struct RunLimits {
  uint32_t repeat = 1;  ///< emulated runs, 1 .. 100
  CertifyChoice certify = CertifyChoice::kAuto;
  Duration deadline = seconds(600);     ///< of run time, of all emulated runs together
  Duration stall_timeout = seconds(5);  ///< without any progress
  bool continue_on_failure = false;     ///< carry on without a pair whose queue pair failed
  std::optional<uint32_t> cpu;          ///< that the loop's thread runs on alone, in real time; absent: any
};

/// Threads over which a run in real time is spread.
struct WorkersConfig {
  std::optional<uint32_t> count = 1;  ///< 1 .. kMostWorkers; absent: as many as there are cores for, or `cores`
  std::vector<uint32_t> cores;        ///< CPUs that they run on, one each; empty: chosen by the run

  /// Whether there is more than one, whatever the machine is like.
  bool several() const { return cores.size() > 1 || count.value_or(1) > 1; }

  bool operator==(const WorkersConfig&) const = default;
};
constexpr uint32_t kMostWorkers = 64;

/// The clocks of the machines of a run over several.
struct ClockConfig {
  Duration max_error = microseconds(100);   ///< of what is known of a machine's, before the run is refused
  std::string source = "ping";              ///< else "realtime", a PTP clock's file, or a network interface
  Duration source_error = microseconds(1);  ///< how far the source may be apart on two machines
};

struct DpdkConfig {
  Bytes memory = Bytes(512 << 20);
  std::vector<std::string> eal_arguments;
};

struct RunConfig {
  std::string file;
  KeyPlaces places;  ///< of what the file and the settings say
  std::string name;
  uint64_t seed = 1;
  WorkloadConfig workload;      ///< where there are no `jobs`
  std::vector<JobConfig> jobs;  ///< by JobId
  std::vector<BackgroundConfig> background;
  ComputeConfig compute;
  ConcurrencyConfig concurrency;
  CollectivesConfig collectives;
  HostsConfig hosts;
  MappingConfig mapping;
  AddressesConfig addresses;
  std::optional<HybridConfig> hybrid;  ///< absent: all ranks are on wires
  std::vector<PortConfig> ports;       ///< none where only a model is asked that knows no ports
  SwitchConfig embedded_switch;        ///< key `switch`
  std::optional<FabricConfig> fabric;  ///< absent: the one switch
  TransportConfig transport;
  std::vector<ImpairmentConfig> impairments;
  SimulationConfig simulation;
  RunLimits run;
  WorkersConfig workers;
  ClockConfig clock;
  DilationConfig dilation;
  MessageRecording messages = MessageRecording::kSampled;  ///< key `record.messages`
  bool record_causes = true;                               ///< key `record.causes`
  bool record_operations = true;                           ///< key `record.operations`: all, or none
  std::optional<Duration> fabric_interval;                 ///< key `record.fabric_interval`; absent: no samples
  uint32_t fabric_rows = 65'536;                           ///< key `record.fabric_rows`
  std::optional<Duration> rate_interval;                   ///< key `record.rate_interval`; absent: no samples
  uint32_t rate_rows = 65'536;                             ///< key `record.rate_rows`
  std::optional<Bytes> capture;                            ///< key `record.capture`; absent: none
  Bytes capture_length = Bytes(128);                       ///< key `record.capture_length`
  DpdkConfig dpdk;
  std::map<std::string, std::string> dut;
  std::vector<DeviceCountersConfig> device_counters;
  std::optional<SloConfig> slo;
  std::optional<LimitsConfig> limits;
};

/// Reads and validates a configuration. `settings` are "dotted.key=value" texts applied to the file before validation.
/// Relative paths in the file are relative to the file. Throws Error(kInput) naming file, line and key, and what would
/// be right: for an unknown key the nearest one, for a bare number the unit. Without a `file`, which is then empty, the
/// settings are all there is, `name` among them.
RunConfig load_config(const std::string& file, std::span<const std::string> settings);

/// Reads a workload description for `trace generate`: the keys of `workload.generate` at top level. Where they are
/// written is in `places`, if that is not null.
GenerateConfig load_generated(const std::string& file, KeyPlaces* places = nullptr);

/// The configuration with every default filled in, as one JSON object with the keys of the YAML file.
/// Values are texts with units, paths are absolute, and `load_config` of the result gives the same result.
std::string resolved_json(const RunConfig& config);

/// Every key that `load_config` knows, in order: "name", "workload.generate.layers", "ports[].rate" (of each item),
/// "ports.count" (of the short form), "dut.*" (any key), "jobs[].workload.*" (the keys of `workload`).
std::vector<std::string> configuration_keys();

}  // namespace rankwire
