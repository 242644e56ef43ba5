#include "emulator/input/config.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The least that is a configuration, in five lines.
constexpr const char* kMinimal = R"(workload:
  generate:
    layers: 2
ports:
  {count: 4, rate: 2Gbps}
)";

class Config : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "test.yaml") {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  RunConfig load(const std::string& text, const std::vector<std::string>& settings = {}) {
    return load_config(write(text), settings);
  }
  /// The error without the folder's name.
  std::string error_of(const std::string& text, const std::vector<std::string>& settings = {}) {
    try {
      load(text, settings);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      std::string message = error.what();
      const std::string prefix = folder_.path().string() + "/";
      if (const size_t at = message.find(prefix); at != std::string::npos) message.erase(at, prefix.size());
      return message;
    }
    return "accepted";
  }

  ::rankwire::testing::TemporaryFolder folder_;
};

TEST_F(Config, DefaultsAreThoseOfTheHeader) {
  const RunConfig config = load(kMinimal);
  EXPECT_EQ(config.name, "test");
  EXPECT_EQ(config.seed, 1u);
  ASSERT_TRUE(config.workload.generate);
  EXPECT_EQ(config.workload.generate->transformer.layers, 2u);
  EXPECT_EQ(config.workload.generate->transformer.hidden, 1024);
  EXPECT_EQ(config.workload.element_size, Bytes(1));
  ASSERT_EQ(config.ports.size(), 4u);
  EXPECT_EQ(config.ports[3].name, "p3");
  EXPECT_EQ(config.ports[3].device, "ring");
  EXPECT_EQ(config.ports[3].rate, Bandwidth(2'000'000'000));
  EXPECT_FALSE(config.hosts.count);
  EXPECT_FALSE(config.transport.timeout);
  EXPECT_EQ(config.transport.mtu, std::nullopt);
  EXPECT_FALSE(config.transport.ecn);  // the profile's
  EXPECT_FALSE(config.transport.checking);
  EXPECT_EQ(config.embedded_switch.buffer, Bytes(16 << 20));
  EXPECT_EQ(config.run.deadline, seconds(600));
  EXPECT_EQ(config.addresses.ip.first, Ipv4Address{0xC6120001});
}

TEST_F(Config, MorePortsThanDpdkHasDevicesForAreInMemory) {
  const std::string generate = "workload: {generate: {layers: 2}}\n";
  EXPECT_EQ(load(generate + "ports: {count: 16}\n").ports[15].device, "ring");
  EXPECT_EQ(load(generate + "ports: {count: 17}\n").ports[16].device, "memory");
}

TEST_F(Config, EveryKeyReachesItsField) {
  const RunConfig config = load(R"(
name: all
seed: 18446744073709551615
workload:
  traces: [a.0.et, /b/a.1.et]
  groups: groups.json
  element_size: 2B
  dependencies: both
  iterations: 3
  scale: {bytes: 1/64, compute: 1/8}
  select: {names: ["layer*"], groups: [tp_0], kinds: [all_reduce, send]}
compute:
  {source: roofline, device: h100, data_type: fp16, peak: 312Tflops, peaks: {fp8: 700Tflops}, memory_bandwidth: 24Tbps,
   latency: 2us, efficiency: {by: bytes, points: [{at: 0.5, share: 10%}, {at: 4000, share: 80%}]}, kernels: k.csv,
   jitter: {distribution: gamma, deviation: 5%}, noise: {period: 1ms, duration: 10us},
   memory: {location: remote, local: {bandwidth: 1Tbps}, remote: {bandwidth: 2Gbps, latency: 3us}, pool: {latency: 4us}},
   storage: {bandwidth: 5Gbps}, overrides: [{ranks: [0, 1-2], groups: [g], device: a100, jitter: {deviation: 1%}}],
   stragglers: [{hosts: 0, from: 1ms, until: 2ms, factor: 1.5}, {ports: [left], until: 1ms, pause: on}]}
concurrency: {compute: 2, host: 3, communication: 4}
collectives: {profile: nccl, reduce_bandwidth: 800Gbps, reduce_latency: 1.5us, nccl: {channels: 5, p2p_channels: 8,
              protocol: ll128, steps_in_flight: 4, clear_to_send: off, buffer: 1MiB, p2p_chunk: 64KiB},
              algorithms: {all_reduce: double_binary_tree, all_to_all: pxn}, ring: {order: listed, ranks: [2, 0]}}
hosts: {count: 2, npus: 1, nics: 1}
local: {bandwidth: 1Tbps, latency: 700ns}
mapping:
  policy: explicit
  ranks:
    - {rank: 0, host: 0, npu: 0, nic: 0, port: left}
    - {rank: 1, host: 1, npu: 0, nic: 0, port: right}
addresses: {ip: 10.1.0.9/16, vlan: 100, gateway: 10.1.0.1, mac: 02:00:00:00:0a:FF}
ports:
  - {name: left, device: "0000:01:00.0", rate: 100Gbps}
  - {name: right, device: "0000:01:00.1", rate: 400Gbps, queues: 4, ip: 10.2.0.2/24, vlan: 7, gateway: 10.2.0.1}
switch: {latency: 2us, link_latency: 5ns, buffer: 1MB, ecn_threshold: 100KB, loss: 0.1%, core: own}
transport: {profile: mlx5, mtu: 1024B, verb: read, queue_pairs: 4, spread: deal, source_port: 50000, turn: 4,
            window: 16, timeout: 14, retry_count: 3, ack_every: 8, acks: per_request, rnr_retry: 2, rnr_timer: 14,
            receive_queue: 8, out_of_order: 96, read_depth: 2, dscp: 46, ecn: true, ttl: 7, neighbours: resolve, resolve_interval: 10ms,
            resolve_deadline: 1s, checking: on, catch_up: 50us,
            markings: {ack: {dscp: 48, ecn: off, priority: 6}, cnp: {dscp: 47}},
            verbs: {sl: 3, send_queue: 128, signal_every: 32, inline: 128B, shared_receive_queue: on,
                    max_message: 1MiB, memory: 2GiB}}
run: {deadline: 1s, stall_timeout: 20ms, on_failure: continue}
record: {messages: all}
dpdk: {memory: 1GiB, eal_arguments: ["--no-pci", -v]}
dut: {vendor: nobody, ports: 2}
)");
  EXPECT_EQ(config.seed, UINT64_MAX);
  EXPECT_THAT(config.workload.traces, ElementsAre((folder_ / "a.0.et").string(), "/b/a.1.et"));
  EXPECT_EQ(config.workload.groups_file, (folder_ / "groups.json").string());
  EXPECT_EQ(config.workload.dependencies, DependencyChoice::kBoth);
  EXPECT_EQ(config.workload.iterations, 3u);
  EXPECT_EQ(config.workload.bytes_scale.denominator, 64);
  EXPECT_EQ(config.workload.compute_scale.denominator, 8);
  EXPECT_THAT(config.workload.select_kinds, ElementsAre("all_reduce", "send"));
  EXPECT_EQ(config.compute.source, ComputeSource::kRoofline);
  EXPECT_EQ(config.compute.memory_bandwidth, Bandwidth(24'000'000'000'000));
  const ComputeConfig& compute = config.compute;
  EXPECT_EQ(compute.device, "h100");
  EXPECT_EQ(compute.data_type, DataType::kFp16);
  EXPECT_EQ(compute.peak, 312'000'000'000'000);
  EXPECT_EQ(compute.peaks[static_cast<size_t>(DataType::kFp8)], 700'000'000'000'000);
  EXPECT_FALSE(compute.peaks[static_cast<size_t>(DataType::kFp16)]);
  EXPECT_EQ(compute.latency, microseconds(2));
  EXPECT_EQ(compute.efficiency_axis, EfficiencyCurve::Axis::kBytes);
  ASSERT_EQ(compute.efficiency.size(), 2u);
  EXPECT_EQ(compute.efficiency[0].at_thousandths, 500);
  EXPECT_EQ(compute.efficiency[1].share_ppm, 800'000u);
  EXPECT_EQ(compute.kernels_file, (folder_ / "k.csv").string());
  EXPECT_EQ(compute.jitter, JitterDistribution::kGamma);
  EXPECT_EQ(compute.jitter_deviation_ppm, 50'000u);
  EXPECT_EQ(compute.noise_period, milliseconds(1));
  EXPECT_EQ(compute.noise_duration, microseconds(10));
  EXPECT_EQ(compute.memory_location, MemoryLocation::kRemote);
  EXPECT_EQ(compute.local.bandwidth, Bandwidth(1'000'000'000'000));
  EXPECT_EQ(compute.remote.latency, microseconds(3));
  EXPECT_EQ(compute.pool.latency, microseconds(4));
  EXPECT_EQ(compute.storage.bandwidth, Bandwidth(5'000'000'000));
  ASSERT_EQ(compute.overrides.size(), 1u);
  EXPECT_THAT(compute.overrides[0].who.ranks, ElementsAre(NumberRange{0, 0}, NumberRange{1, 2}));
  EXPECT_THAT(compute.overrides[0].who.groups, ElementsAre("g"));
  EXPECT_EQ(compute.overrides[0].keys.device, "a100");
  EXPECT_EQ(compute.overrides[0].keys.jitter_deviation_ppm, 10'000u);
  EXPECT_FALSE(compute.overrides[0].keys.jitter);
  ASSERT_EQ(compute.stragglers.size(), 2u);
  EXPECT_EQ(compute.stragglers[0].factor->numerator, 3);
  EXPECT_EQ(compute.stragglers[0].factor->denominator, 2);
  EXPECT_TRUE(compute.stragglers[1].pause);
  EXPECT_EQ(config.concurrency.communication, 4u);
  EXPECT_EQ(config.collectives.reduce_bandwidth, Bandwidth(800'000'000'000));
  EXPECT_EQ(config.collectives.profile, CollectivesProfile::kNccl);
  EXPECT_EQ(config.collectives.nccl.channels, 5u);
  EXPECT_EQ(config.collectives.nccl.p2p_channels, 8u);
  EXPECT_EQ(config.collectives.nccl.protocol, ProtocolName::kLl128);
  EXPECT_EQ(config.collectives.nccl.steps_in_flight, 4u);
  EXPECT_FALSE(config.collectives.nccl.clear_to_send);
  EXPECT_EQ(config.collectives.nccl.buffer, Bytes(1 << 20));
  EXPECT_EQ(config.collectives.nccl.p2p_chunk, Bytes(64 << 10));
  EXPECT_EQ(config.collectives.reduce_latency, nanoseconds(1500));
  const auto& algorithms = config.collectives.algorithms;
  EXPECT_EQ(algorithms[static_cast<size_t>(Operation::kAllReduce)].algorithm, Algorithm::kDoubleBinaryTree);
  EXPECT_EQ(algorithms[static_cast<size_t>(Operation::kAllToAll)].algorithm, Algorithm::kPxn);
  EXPECT_EQ(algorithms[static_cast<size_t>(Operation::kGather)].algorithm, Algorithm::kAuto);
  EXPECT_EQ(config.collectives.ring.order, RingOrder::kListed);
  EXPECT_THAT(config.collectives.ring.ranks, ElementsAre(2, 0));
  EXPECT_EQ(config.hosts.local_latency, nanoseconds(700));
  ASSERT_EQ(config.mapping.ranks.size(), 2u);
  EXPECT_EQ(config.mapping.ranks[1].port, "right");
  EXPECT_EQ(config.addresses.ip.first, Ipv4Address{0x0A010009});
  EXPECT_EQ(config.addresses.ip.prefix_length, 16u);
  EXPECT_EQ(to_string(config.addresses.first_mac), "02:00:00:00:0a:ff");
  EXPECT_EQ(config.addresses.vlan, 100);
  EXPECT_EQ(config.addresses.gateway, IpAddress(Ipv4Address{0x0A010001}));
  EXPECT_FALSE(config.ports[0].embedded());
  EXPECT_FALSE(config.ports[0].ip);
  EXPECT_EQ(config.ports[1].queues, 4u);
  EXPECT_EQ(config.ports[1].ip->first, IpAddress(Ipv4Address{0x0A020002}));
  EXPECT_EQ(config.ports[1].vlan, 7);
  EXPECT_EQ(config.embedded_switch.buffer, Bytes(1'000'000));
  EXPECT_EQ(config.embedded_switch.ecn_threshold, Bytes(100'000));
  EXPECT_EQ(config.embedded_switch.loss_ppm, 1'000u);
  EXPECT_EQ(config.embedded_switch.core, SwitchCore::kOwn);
  EXPECT_EQ(config.transport.profile, ProfileName::kMlx5);
  EXPECT_EQ(config.transport.verb, VerbName::kRead);
  EXPECT_EQ(config.transport.queue_pairs, 4u);
  EXPECT_EQ(config.transport.spread, SpreadName::kDeal);
  EXPECT_EQ(config.transport.source_port.fixed, 50'000);
  EXPECT_EQ(config.transport.turn, 4u);
  EXPECT_EQ(config.transport.window, 16u);
  EXPECT_EQ(config.transport.acks, AckPolicy::kPerRequest);
  EXPECT_EQ(config.transport.rnr_retry, 2u);
  EXPECT_EQ(config.transport.receive_queue, 8u);
  EXPECT_EQ(config.transport.out_of_order, 96u);
  EXPECT_EQ(config.transport.read_depth, 2u);
  EXPECT_EQ(config.transport.ack.dscp, 48u);
  EXPECT_EQ(config.transport.ack.ecn, false);
  EXPECT_EQ(config.transport.ack.priority, 6u);
  EXPECT_EQ(config.transport.cnp.dscp, 47u);
  EXPECT_FALSE(config.transport.nak.dscp);
  EXPECT_EQ(config.transport.neighbours, NeighbourChoice::kResolve);
  EXPECT_EQ(config.transport.resolve_interval, milliseconds(10));
  EXPECT_EQ(config.transport.timeout, 14u);
  EXPECT_EQ(config.transport.verbs.service_level, 3u);
  EXPECT_EQ(config.transport.verbs.send_queue, 128u);
  EXPECT_EQ(config.transport.verbs.signal_every, 32u);
  EXPECT_EQ(config.transport.verbs.inline_size, Bytes(128));
  EXPECT_TRUE(config.transport.verbs.shared_receive_queue);
  EXPECT_EQ(config.transport.verbs.max_message, Bytes(1 << 20));
  EXPECT_EQ(config.transport.verbs.memory, Bytes(2LL << 30));
  EXPECT_TRUE(config.transport.checking);
  EXPECT_EQ(config.run.stall_timeout, milliseconds(20));
  EXPECT_TRUE(config.run.continue_on_failure);
  EXPECT_EQ(config.messages, MessageRecording::kAll);
  EXPECT_THAT(config.dpdk.eal_arguments, ElementsAre("--no-pci", "-v"));
  EXPECT_EQ(config.dut.at("ports"), "2");
}

TEST_F(Config, APortIsADpdkPortOrAnRdmaDevice) {
  const RunConfig config = load(R"(
workload: {generate: {layers: 2}}
ports:
  - {name: left, device: "0000:01:00.0"}
  - {name: right, verbs: netdev eth2, port: 2, gid: 5, rate: 200Gbps}
  - {name: far, device: none, verbs: mlx5_1}
)");
  EXPECT_FALSE(config.ports[0].is_rdma_device());
  EXPECT_EQ(config.ports[1].verbs, "netdev eth2");
  EXPECT_EQ(config.ports[1].device, "");
  EXPECT_EQ(config.ports[1].verbs_port, 2u);
  EXPECT_EQ(config.ports[1].gid, 5u);
  EXPECT_FALSE(config.ports[1].embedded());
  EXPECT_TRUE(config.ports[2].is_rdma_device());
  EXPECT_FALSE(config.ports[2].gid);
  // What is written down reads the same, both kinds of ports included.
  const std::string resolved = resolved_json(config);
  EXPECT_EQ(resolved_json(load_config(write(resolved, "resolved.json"), {})), resolved);
  EXPECT_THAT(resolved, HasSubstr(R"("verbs": "none")"));
  EXPECT_THAT(resolved, HasSubstr(R"("device": "none")"));
}

// Host 1 has NICs 2 and 3 of the run, which stand behind ports 2 and 3.
TEST_F(Config, PortsThatNobodyOnAWireStandsBehindNeedNoDevice) {
  const RunConfig config = load(
      "workload: {generate: {layers: 2, data_parallel: 3}}\n"
      "hosts: {count: 3, npus: 2, nics: 2}\n"
      "hybrid: {wired: 1}\n"
      "ports:\n  - {device: none}\n  - {device: none}\n  - {name: e, count: 1, device: net_null0}\n"
      "  - {name: f, count: 1, device: net_null1}\n  - {count: 2}\n");
  ASSERT_EQ(config.ports.size(), 6u);
  for (size_t p = 0; p < 6; ++p) EXPECT_EQ(config.ports[p].modelled, p != 2 && p != 3) << p;
  EXPECT_EQ(config.ports[2].name, "e0");
  EXPECT_EQ(config.ports[3].name, "f0");
  EXPECT_EQ(config.ports[4].name, "p4");
  for (const size_t p : {0u, 1u, 4u, 5u}) EXPECT_EQ(config.ports[p].device, "");
}

TEST_F(Config, PortsOfModelledHostsAreMadeAtTheirPlaces) {
  const RunConfig config = load(
      "workload: {generate: {layers: 2, data_parallel: 4}}\n"
      "hosts: {count: 4, npus: 2, nics: 2}\n"
      "hybrid: {wired: [3, 1], rate: 5Gbps}\n"
      "ports:\n  - {device: net_null0, rate: 1Gbps}\n  - {device: net_null1, rate: 1Gbps}\n"
      "  - {name: e, count: 1, device: net_null2, rate: 2Gbps}\n  - {device: net_null3, rate: 2Gbps}\n");
  ASSERT_EQ(config.ports.size(), 8u);
  // Hosts 0 .. 3 have two each, of which the first two given are host 1's and the others host 3's.
  const std::vector<int64_t> gigabits{5, 5, 1, 1, 5, 5, 2, 2};
  for (size_t p = 0; p < 8; ++p) {
    EXPECT_EQ(config.ports[p].rate, Bandwidth(gigabits[p] * 1'000'000'000)) << p;
    EXPECT_EQ(config.ports[p].modelled, gigabits[p] == 5) << p;
  }
  EXPECT_EQ(config.ports[4].name, "p4");
  EXPECT_EQ(config.ports[6].name, "e0");
  EXPECT_EQ(config.ports[2].device, "net_null0");
  EXPECT_FALSE(config.hybrid->rate) << "they are written out";
}

// 6 hosts of 3 ports are more than there are rings, as in the short form of `ports`.
TEST_F(Config, ManyModelledPortsAreInMemoryAsThoseBesideThem) {
  const RunConfig config = load(
      "workload: {generate: {layers: 2, tensor_parallel: 1, data_parallel: 18}}\nhosts: {count: 6, npus: 3, nics: 3}\n"
      "hybrid: {wired: [0, 1], rate: 5Gbps}\nports: {count: 6}\n");
  ASSERT_EQ(config.ports.size(), 18u);
  for (const PortConfig& port : config.ports) EXPECT_EQ(port.device, "memory");
}

TEST_F(Config, ANumberIsTheFactorOfDilation) {
  EXPECT_EQ(load(kMinimal, {"dilation=8"}).dilation.factor, 8u);
  EXPECT_EQ(load(kMinimal, {"dilation=8", "dilation.factor=4"}).dilation.factor, 4u);
}

TEST_F(Config, SettingsReplaceAddAndRemove) {
  const RunConfig config = load(kMinimal, {"transport.mtu=1024B", "ports[1].rate=1Gbps", "workload.generate=null",
                                           "workload.traces=[x.0.et, x.1.et]", "dut.model=m"});
  EXPECT_EQ(config.transport.mtu, 1024u);
  EXPECT_EQ(load(kMinimal, {"transport.mtu=auto"}).transport.mtu, std::nullopt);
  EXPECT_EQ(config.ports[0].rate, Bandwidth(2'000'000'000));
  EXPECT_EQ(config.ports[1].rate, Bandwidth(1'000'000'000));
  EXPECT_FALSE(config.workload.generate);
  EXPECT_THAT(config.workload.traces, ElementsAre((std::filesystem::current_path() / "x.0.et").string(), ::testing::_));
  EXPECT_EQ(config.dut.at("model"), "m");
}

TEST_F(Config, TheSwitchIsAlsoNamedBesideTheWorkers) {
  const RunConfig config = load(kMinimal, {"workers.switch=sharded"});
  EXPECT_EQ(config.embedded_switch.core, SwitchCore::kSharded);
  EXPECT_EQ(config.embedded_switch.latency, microseconds(1));
}

TEST_F(Config, ThePortsShortFormIsASettingToo) {
  EXPECT_EQ(load(kMinimal, {"ports.count=6"}).ports.size(), 6u);
  EXPECT_EQ(load(kMinimal, {"ports.device=memory"}).ports[2].device, "memory");
}

TEST_F(Config, ThePortsShortFormTakesEveryKeyOfAPort) {
  const RunConfig config = load(
      "workload: {traces: t}\nports: {count: 3, name: eth, device: ring, rate: 2Gbps, "
      "pfc: software, drain_rate: 1Gbps, receive_buffer: 1MiB, xoff: 512KiB, xon: 128KiB}\n");
  ASSERT_EQ(config.ports.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const PortConfig& port = config.ports[i];
    EXPECT_EQ(port.name, fmt::format("eth{}", i));
    EXPECT_EQ(port.pfc, PfcChoice::kSoftware);
    EXPECT_EQ(port.drain_rate, Bandwidth(1'000'000'000));
    EXPECT_EQ(port.receive_buffer, Bytes(1 << 20));
    EXPECT_EQ(port.xoff, Bytes(512 << 10));
    EXPECT_EQ(port.xon, Bytes(128 << 10));
  }
  const RunConfig rdma = load("workload: {traces: t}\nports: {count: 2, verbs: mlx5_0, port: 2, gid: 3}\n");
  EXPECT_EQ(rdma.ports[1].verbs, "mlx5_0");
  EXPECT_EQ(rdma.ports[1].device, "");
  EXPECT_EQ(rdma.ports[1].verbs_port, 2u);
  EXPECT_EQ(rdma.ports[1].gid, 3u);
}

TEST_F(Config, SettingErrorsNameTheSetting) {
  EXPECT_EQ(error_of(kMinimal, {"ports[1].rate=100"}),
            "--set ports[1].rate=100: ports[1].rate: '100' has no unit; write for example 100Gbps");
  EXPECT_EQ(error_of(kMinimal, {"switch.bufer=1MiB"}),
            "--set switch.bufer=1MiB: key 'switch.bufer' is unknown; did you mean 'switch.buffer'?");
  EXPECT_EQ(error_of(kMinimal, {"ports[4].rate=1Gbps"}), "--set ports[4].rate=1Gbps: index 4 is outside the list of 4");
  EXPECT_EQ(error_of(kMinimal, {"seed"}), "--set seed: has no '='; write for example --set transport.window=32");
  EXPECT_EQ(error_of(kMinimal, {"seed="}), "--set seed=: has no value; null removes the key");
  EXPECT_EQ(error_of(kMinimal, {"name=caf\xE9"}), "--set: a key or its value is not in UTF-8");
  EXPECT_THAT(error_of(kMinimal, {"a..b=1"}), HasSubstr("'a..b' is not a key"));
  EXPECT_THAT(error_of(kMinimal, {"seed.x=1", "seed.x.y=1"}), HasSubstr("'y' follows what has no keys"));
  EXPECT_THAT(error_of(kMinimal, {"seed=[1"}), HasSubstr("--set seed=[1: the value is not YAML"));
}

TEST_F(Config, AWorkloadDescriptionMayStandInItsOwnFile) {
  write("layers: 6\nhidden: 64\n", "model.yaml");
  const RunConfig config = load("workload: {generate: model.yaml}\nports: {count: 2}\n");
  ASSERT_TRUE(config.workload.generate);
  EXPECT_EQ(config.workload.generate->transformer.layers, 6u);
  EXPECT_EQ(load_generated((folder_ / "model.yaml").string()).transformer.hidden, 64);
  const RunConfig changed =
      load("workload: {generate: model.yaml}\nports: {count: 2}\n", {"workload.generate.hidden=128"});
  EXPECT_EQ(changed.workload.generate->transformer.layers, 6u);
  EXPECT_EQ(changed.workload.generate->transformer.hidden, 128);

  write("layers: 6\nhiden: 64\n", "wrong.yaml");
  EXPECT_THAT(
      error_of("workload: {generate: wrong.yaml}\nports: {count: 2}\n"),
      HasSubstr("wrong.yaml:2: key 'workload.generate.hiden' is unknown; did you mean 'workload.generate.hidden'?"));
  EXPECT_THAT(error_of("workload: {generate: none.yaml}\n"),
              HasSubstr("test.yaml:1: workload.generate: there is no file"));
}

TEST_F(Config, AMissingFileIsAnError) {
  try {
    load_config((folder_ / "absent.yaml").string(), {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("absent.yaml: cannot be read: No such file or directory"));
  }
  EXPECT_THROW(load_config(folder_.path().string(), {}), Error);
}

TEST_F(Config, ResolvedTextReadsTheSame) {
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {},
           {"workload.generate=null", "workload.traces=x", "workload.groups=g.json"},
           {"switch.ecn_threshold=1MiB", "transport.timeout=9", "hosts.count=4", "collectives.reduce_bandwidth=1Gbps"},
           {"workload.generate={kind: mlp, data_type: fp32, mlp: {width: 64, order: model_data}}"},
           {"workload.generate={kind: dlrm, peak: 5Tflops, dlrm: {tables: 12, top: [9, 1]}}"},
           {"workload.generate={zero: 2, data_parallel: 4, experts: 8, experts_per_token: 2, expert_parallel: 4}"},
           {"workload.generate={model: deepseek-v3, layers: 8, routing: {popularity: zipf, exponent: 0.75}}"},
           {"compute={device: h100, efficiency: {points: [{at: 0.5, share: 1%}]}, stragglers: [{ranks: [0, 2-3], "
            "factor: "
            "1.25}], overrides: [{ports: p1, device: a100, jitter: {distribution: gamma, deviation: 3%}}]}"},
           {"dut={a: 'quote \" and \\', b: 'null'}", "switch.loss=77ppm", "name='1'"}}) {
    const std::string first = resolved_json(load(kMinimal, settings));
    const std::string again = resolved_json(load_config(write(first, "resolved.json"), {}));
    EXPECT_EQ(first, again);
  }
}

TEST_F(Config, GeneratedKindsHaveSectionsOfTheirOwn) {
  const GenerateConfig mlp = *load(kMinimal, {"workload.generate={kind: mlp, mlp: {layers: 7, width: 66, batch: 5, "
                                              "model_parallel: 3, data_parallel: 4, order: model_data}}"})
                                  .workload.generate;
  EXPECT_EQ(mlp.kind, GeneratedKind::kMlp);
  EXPECT_EQ(mlp.mlp, (MlpConfig{7, 66, 5, 3, 4, true}));
  const GenerateConfig dlrm = *load(kMinimal, {"workload.generate={kind: dlrm, dlrm: {ranks: 2, batch: 3, tables: 6, "
                                               "embedding: 7, lookups: 8, dense: 9, bottom: [5, 7], top: 1}}"})
                                   .workload.generate;
  EXPECT_EQ(dlrm.dlrm, (DlrmConfig{2, 3, 6, 7, 8, 9, {5, 7}, {1}}));
  const TransformerModel experts =
      load(kMinimal, {"workload.generate={zero: 2, ffn: 96, gated: on, key_value: 32, data_parallel: 4, experts: 8, "
                      "experts_per_token: 2, expert_parallel: 4}"})
          .workload.generate->transformer;
  EXPECT_EQ(experts.zero, 2u);
  EXPECT_EQ(experts.ffn, 96);
  EXPECT_TRUE(experts.gated);
  EXPECT_EQ(experts.key_value, 32);
  EXPECT_EQ(experts.experts, 8u);
  EXPECT_EQ(experts.experts_per_token, 2u);
  EXPECT_EQ(experts.expert_parallel, 4u);
  EXPECT_EQ(experts.order, TransformerModel::Order::kTensorData);
  EXPECT_EQ(load(kMinimal, {"workload.generate={order: dp-tp-pp}"}).workload.generate->transformer.order,
            TransformerModel::Order::kDataTensor);
}

TEST_F(Config, ATransformerHasEveryKey) {
  const TransformerModel model =
      load(kMinimal,
           {"workload.generate={layers: 12, heads: 16, key_value_heads: 8, head_size: 64, experts: 16, "
            "experts_per_token: 4, expert_ffn: 64, shared_experts: 1, dense_layers: 2, expert_interval: 2, "
            "routing: {popularity: zipf, exponent: 1.5, drift: 3, seed: 9, capacity: 1.25, node_limit: 2, "
            "node_ranks: 2}, micro_batches: 4, tensor_parallel: 2, sequence_parallel: on, context_parallel: 2, "
            "causal: contiguous, pipeline_parallel: 2, pipeline: interleaved, virtual_stages: 3, "
            "pipeline_layers: [1, 2, 2, 2, 2, 3], "
            "data_parallel: 4, expert_parallel: 4, zero: 3, shard_replicas: 2, reshard_after_forward: off, "
            "prefetch: 2, overlap: off, tied_embeddings: off}"})
          .workload.generate->transformer;
  EXPECT_EQ(model.heads, 16);
  EXPECT_EQ(model.key_value_heads, 8);
  EXPECT_EQ(model.head_size, 64);
  EXPECT_EQ(model.expert_ffn, 64);
  EXPECT_EQ(model.shared_experts, 1u);
  EXPECT_EQ(model.dense_layers, 2u);
  EXPECT_EQ(model.expert_interval, 2u);
  EXPECT_EQ(model.routing, (RoutingModel{.popularity = RoutingModel::Popularity::kZipf,
                                         .exponent = 1.5,
                                         .file = {},
                                         .drift = 3,
                                         .seed = 9,
                                         .capacity = 1.25,
                                         .node_limit = 2,
                                         .node_ranks = 2}));
  EXPECT_TRUE(model.sequence_parallel);
  EXPECT_EQ(model.context_parallel, 2u);
  EXPECT_EQ(model.causal, TransformerModel::Causal::kContiguous);
  EXPECT_EQ(model.pipeline, PipelineOrder::kInterleaved);
  EXPECT_EQ(model.virtual_stages, 3u);
  EXPECT_EQ(model.pipeline_layers, (std::vector<uint32_t>{1, 2, 2, 2, 2, 3}));
  EXPECT_EQ(model.shard_replicas, 2u);
  EXPECT_FALSE(model.reshard_after_forward);
  EXPECT_EQ(model.prefetch, 2u);
  EXPECT_FALSE(model.overlap);
  EXPECT_FALSE(model.tied_embeddings);
}

// Of a service: the width of its experts, and attention by the service's own keys.
TEST_F(Config, APublishedModelIsServed) {
  const GenerateConfig grouped =
      *load(kMinimal, {"workload.generate.kind=inference", "workload.generate.model=mixtral-8x7b",
                       "workload.generate.inference.mixed.tensor_parallel=4",
                       "workload.generate.inference.attention.head_dim=64"})
           .workload.generate;
  EXPECT_EQ(grouped.transformer.layers, 2u);  // as written
  EXPECT_EQ(grouped.transformer.hidden, 4'096);
  EXPECT_EQ(grouped.transformer.ffn, 14'336);
  EXPECT_EQ(grouped.transformer.experts, 8u);
  EXPECT_EQ(grouped.inference.attention.heads, 32);
  EXPECT_EQ(grouped.inference.attention.kv_heads, 8);
  EXPECT_EQ(grouped.inference.attention.head_dim, 64);
  EXPECT_EQ(grouped.inference.attention.latent, 0);
  const RunConfig latent =
      load("workload: {generate: {kind: inference, model: deepseek-v3, inference: {mixed: {}}}}\nports: {count: 4}\n");
  EXPECT_EQ(latent.workload.generate->transformer.ffn, 18'432);
  EXPECT_EQ(latent.workload.generate->transformer.expert_ffn, 2'048);
  EXPECT_EQ(latent.workload.generate->transformer.shared_experts, 1u);
  EXPECT_EQ(latent.workload.generate->transformer.dense_layers, 3u);
  EXPECT_EQ(latent.workload.generate->inference.attention.latent, 512);
  EXPECT_EQ(latent.workload.generate->inference.attention.query_latent, 1'536);
  const std::string printed = resolved_json(latent);
  EXPECT_EQ(resolved_json(load(printed)), printed);
}

TEST_F(Config, APublishedModelFillsWhatIsNotSaid) {
  const TransformerModel model = load(kMinimal, {"workload.generate.model=mixtral-8x7b", "workload.generate.layers=4",
                                                 "workload.generate.experts=16"})
                                     .workload.generate->transformer;
  EXPECT_EQ(model.preset, "mixtral-8x7b");
  EXPECT_EQ(model.layers, 4u);
  EXPECT_EQ(model.experts, 16u);
  EXPECT_EQ(model.experts_per_token, 2u);
  EXPECT_EQ(model.hidden, 4'096);
  EXPECT_EQ(model.key_value_heads, 8);
  EXPECT_EQ(model.expert_ffn, 14'336);
  EXPECT_TRUE(model.gated);
  EXPECT_FALSE(model.tied_embeddings);
  const RunConfig latent = load("workload: {generate: {model: deepseek-v3, latent: {rope: 32}}}\nports: {count: 4}\n");
  EXPECT_EQ(latent.workload.generate->transformer.latent, (LatentAttention{1'536, 512, 32}));
  const std::string printed = resolved_json(latent);
  EXPECT_EQ(resolved_json(load(printed)), printed);
}

TEST_F(Config, AModelWithoutPortsNeedsNone) {
  const RunConfig config = load(R"(workload: {traces: w}
simulation:
  fidelity: astra
  astra: {network: n.yml, system: s.json, memory: m.json, congestion: aware, queues: 3, rendezvous: on}
)");
  EXPECT_TRUE(config.simulation.is_astra());
  EXPECT_EQ(config.simulation.astra.network, (folder_ / "n.yml").string());
  EXPECT_EQ(config.simulation.astra.system, (folder_ / "s.json").string());
  EXPECT_EQ(config.simulation.astra.memory, (folder_ / "m.json").string());
  EXPECT_TRUE(config.simulation.astra.congestion_aware);
  EXPECT_EQ(config.simulation.astra.queues, 3u);
  EXPECT_TRUE(config.simulation.astra.rendezvous);
  EXPECT_TRUE(config.ports.empty());
  const std::string resolved = resolved_json(config);
  EXPECT_EQ(resolved_json(load_config(write(resolved, "resolved.json"), {})), resolved);
  // Without the fidelity its files are not asked for, but ports are.
  EXPECT_THAT(error_of("workload: {traces: w}\nsimulation: {astra: {network: n.yml}}\n"), HasSubstr("ports: has 0"));
}

TEST_F(Config, ANewerVersionIsRefused) {
  EXPECT_THAT(resolved_json(load(kMinimal)), HasSubstr(R"("version": 1)"));
  EXPECT_EQ(resolved_json(load(std::string("version: 1\n") + kMinimal)), resolved_json(load(kMinimal)));
  EXPECT_THAT(error_of(std::string("version: 2\n") + kMinimal),
              AllOf(HasSubstr(":1: version: 2 is newer than 1"), HasSubstr("take a newer one")));
  EXPECT_THAT(error_of(std::string("version: 0\n") + kMinimal), HasSubstr(":1: version: 0 is outside 1 .."));
}

// As the first version of the documents described it: every key still means what it meant.
TEST_F(Config, AnEarlyConfigurationMeansTheSame) {
  const RunConfig config = load(R"(
name: lab
workload:
  generate:
    {layers: 32, hidden: 4096, sequence: 2048, vocabulary: 50257, micro_batches: 8, data_type: bf16, tensor_parallel: 4,
     pipeline_parallel: 2, data_parallel: 2, peak: 312Tflops}
  iterations: 2
compute: {source: roofline, peak: 312Tflops, memory_bandwidth: 16Tbps}
hosts: {count: 4, npus: 4, nics: 1}
mapping: {policy: block}
local: {bandwidth: 2400Gbps, latency: 500ns}
collectives: {channels: 2, chunk: 256KiB, reduce_bandwidth: 800Gbps}
ports:
  - {name: a, device: memory, rate: 100Gbps}
  - {name: b, device: memory, rate: 100Gbps}
  - {name: c, device: memory, rate: 100Gbps}
  - {name: d, device: memory, rate: 100Gbps}
switch: {latency: 800ns, link_latency: 15ns, buffer: 32MiB, ecn_threshold: 1MiB, loss: 1%}
transport: {profile: mlx5, mtu: 2048B, verb: send_imm, window: 128, timeout: 14, dscp: 26, ecn: on}
run: {deadline: 120s}
dut: {model: a model}
)");
  ASSERT_TRUE(config.workload.generate);
  EXPECT_EQ(config.workload.iterations, 2u);
  EXPECT_EQ(config.hosts.npus, 4u);
  EXPECT_EQ(config.hosts.local_latency, nanoseconds(500));
  EXPECT_EQ(config.collectives.channels, 2u);
  EXPECT_EQ(config.collectives.chunk, Bytes(256 << 10));
  EXPECT_EQ(config.ports[3].rate, Bandwidth(100'000'000'000));
  EXPECT_EQ(config.transport.mtu, 2048u);
  EXPECT_EQ(config.transport.window, 128u);
  EXPECT_EQ(config.transport.timeout, 14u);
  EXPECT_EQ(config.run.deadline, seconds(120));
  EXPECT_EQ(config.dut.at("model"), "a model");
}

TEST_F(Config, ResolvedValuesCarryUnits) {
  const std::string json = resolved_json(load(kMinimal));
  for (const char* line : {R"("mtu": "auto")", R"("rate": "2Gbps")", R"("chunk": "1MiB")", R"("latency": "1us")",
                           R"("peak": "100Tflops")", R"("ip": "198.18.0.1/15")", R"("reduce_bandwidth": "none")",
                           R"("timeout": "auto")", R"("data_type": "bf16")", R"("dscp": 26)", R"("loss": "0%")"}) {
    EXPECT_THAT(json, HasSubstr(line));
  }
}

TEST_F(Config, ShippedConfigurationsAreValid) {
  for (const char* name : {"quickstart", "af_packet", "lab"}) {
    const RunConfig config = load_config(fmt::format("{}/configs/{}.yaml", RANKWIRE_SOURCE, name), {});
    EXPECT_EQ(config.name, name);
    EXPECT_EQ(config.ports.size(), 4u);
  }
}

}  // namespace
}  // namespace rankwire
