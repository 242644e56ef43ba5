// What a person reads who wrote a configuration wrong: the exact line for each mistake.
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>

#include "emulator/input/config.h"
#include "emulator/input/nearest_key.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

struct Mistake {
  const char* name;
  const char* text;  ///< `GOOD` stands for lines 1 and 2: a workload and ports that are right; `RDMA` for lines 1 to 4,
                     ///< the same with RDMA devices
  const char* error;  ///< after the folder
};

constexpr const char* kRdma = "workload: {generate: {layers: 2}}\nports:\n  - {verbs: mlx5_0}\n  - {verbs: mlx5_1}\n";
constexpr const char* kGood = "workload: {generate: {layers: 2}}\nports: {count: 4}\n";

const Mistake kMistakes[] = {
    {"UnknownKey", "GOODswitch: {bufer: 16MiB}", ":3: key 'switch.bufer' is unknown; did you mean 'switch.buffer'?"},
    {"UnknownSection", "GOODtrasnport: {window: 3}", ":3: key 'trasnport' is unknown; did you mean 'transport'?"},
    {"UnknownFarKey", "GOODrecord: {colour: 3}",
     ":3: key 'record.colour' is unknown; the keys here are operations, messages, causes, fabric_interval, "
     "fabric_rows, rate_interval, rate_rows, capture, "
     "capture_length"},
    {"UnknownPortKey", "workload: {traces: t}\nports:\n  - {rate: 1Gbps}\n  - rate: 1Gbps\n    nam: x\n",
     ":5: key 'ports[1].nam' is unknown; did you mean 'ports[1].name'?"},
    {"UnknownShortFormKey", "workload: {traces: t}\nports:\n  count: 4\n  rat: 1Gbps\n",
     ":4: key 'ports.rat' is unknown; did you mean 'ports.rate'?"},
    {"DeviceWithoutCommand", "GOODdevice_counters: [{name: leaf1}]",
     ":3: device_counters[0].command: is required, or 'gnmi'"},
    {"DeviceTwice", "GOODdevice_counters: [{name: a, command: x}, {name: a, command: x}]",
     ":3: device_counters[1].name: 'a' is the name of another one"},
    {"DeviceWithoutQuote", "GOODdevice_counters: [{name: a, command: \"x 'y\"}]",
     ":3: device_counters[0].command: command 'x 'y': the quotation mark ' has no other end"},
    {"DevicePort", "GOODdevice_counters: [{name: a, command: x, ports: {Ethernet0: nowhere}}]",
     ":3: device_counters[0].ports.Ethernet0: 'nowhere' is no port of 'ports'"},
    {"DeviceMetric", "GOODdevice_counters: [{name: a, command: x, metrics: {tail: losses}}]",
     ":3: device_counters[0].metrics.tail: 'losses' is not one of queue_depth, ecn_marked, pfc_rx, pfc_tx, drops, "
     "ignored"},
    {"DeviceBoth", "GOODdevice_counters: [{name: a, command: x, gnmi: {target: \"h:1\", paths: /a}}]",
     ":3: device_counters[0].gnmi: contradicts 'command'; give one of them"},
    {"GnmiTarget", "GOODdevice_counters: [{name: a, gnmi: {target: leaf1, paths: /a}}]",
     ":3: device_counters[0].gnmi.target: 'leaf1' is not HOST:PORT"},
    {"GnmiPath", "GOODdevice_counters: [{name: a, gnmi: {target: \"h:1\", paths: \"/a[b]\"}}]",
     ":3: device_counters[0].gnmi.paths[0]: the path '/a[b]' has a key without '=': [KEY=VALUE] is one"},
    {"GnmiPassword", "GOODdevice_counters: [{name: a, gnmi: {target: \"h:1\", paths: /a, username: u}}]",
     ":3: device_counters[0].gnmi.username: needs 'username' and 'password_file', both or neither"},
    {"NoUnit", "workload: {traces: t}\nports:\n  - {rate: 1Gbps}\n  - {rate: 1Gbps}\n  - {rate: 100}\n",
     ":5: ports[2].rate: '100' has no unit; write for example 100Gbps"},
    {"BareZero", "GOODlocal:\n  latency: 0", ":4: local.latency: '0' has no unit; write for example 0us"},
    {"UnknownUnit", "GOODcollectives: {chunk: 1Mib}",
     ":3: collectives.chunk: '1Mib' has the unknown unit 'Mib'; the units are B, KB, KiB, MB, MiB, GB, GiB, TB, TiB"},
    {"NotWhole", "GOODdpdk: {memory: 0.3B}", ":3: dpdk.memory: '0.3B' is not a whole number of bytes"},
    {"NotANumber", "GOODseed: many", ":3: seed: 'many' is not a whole number"},
    {"NegativeNumber", "GOODtransport: {window: -1}", ":3: transport.window: '-1' is negative"},
    {"WindowZero", "GOODtransport: {window: 0}", ":3: transport.window: 0 is outside 1 .. 4194304"},
    {"TurnZero", "GOODtransport: {turn: 0}", ":3: transport.turn: 0 is outside 1 .. 1024"},
    {"RetryCount", "GOODtransport: {retry_count: 8}", ":3: transport.retry_count: 8 is outside 1 .. 7"},
    {"TimeoutExponent", "GOODtransport:\n  timeout: 32", ":4: transport.timeout: 32 is outside 1 .. 31"},
    {"Mtu", "GOODtransport: {mtu: 1500B}", ":3: transport.mtu: '1500B' is not one of 256B, 512B, 1024B, 2048B, 4096B"},
    {"Dscp", "GOODtransport: {dscp: 64}", ":3: transport.dscp: 64 is outside 0 .. 63"},
    {"AckEvery", "GOODtransport:\n  window: 8\n  ack_every: 9",
     ":5: transport.ack_every: 9 is above transport.window 8: the window would close before an acknowledgement is "
     "asked "
     "for"},
    {"Choice", "GOODcompute: {source: guessed}",
     ":3: compute.source: 'guessed' is not one of auto, recorded, roofline"},
    {"GeneratedKind", "workload: {generate: {kind: mpl}}\nports: {count: 4}\n",
     ":1: workload.generate.kind: 'mpl' is not one of transformer, mlp, dlrm, collective"},
    {"KeyOfAnotherKind", "workload:\n  generate:\n    kind: mlp\n    layers: 3\nports: {count: 4}\n",
     ":4: workload.generate.layers: is not for 'kind: mlp'"},
    {"SectionOfAnotherKind", "workload:\n  generate:\n    layers: 3\n    dlrm: {ranks: 3}\nports: {count: 4}\n",
     ":4: workload.generate.dlrm: is not for 'kind: transformer'"},
    {"MlpThatCannotBeDivided", "workload:\n  generate:\n    kind: mlp\n    mlp: {width: 9}\nports: {count: 4}\n",
     ":4: workload.generate.mlp.width: 9 is not a multiple of mlp.model_parallel 2"},
    {"DlrmWithAnotherEmbedding",
     "workload:\n  generate:\n    kind: dlrm\n    dlrm: {embedding: 32}\nports: {count: 4}\n",
     ":4: workload.generate.dlrm.bottom: ends with 64 outputs, but dlrm.embedding is 32"},
    {"CollectiveOfNoSize",
     "workload:\n  generate:\n    kind: collective\n    collective: {min: 1KiB, max: 512B}\nports: {count: 4}\n",
     ":4: workload.generate.collective.min: 1024 B is above collective.max 512 B"},
    {"CollectiveOfPartsOfElements",
     "workload:\n  generate:\n    kind: collective\n    collective: {min: 6B}\nports: {count: 4}\n",
     ":4: workload.generate.collective.min: 6 B is not a whole number of elements of 4 B (float)"},
    {"CollectiveWithoutItsRoot",
     "workload:\n  generate:\n    kind: collective\n    collective: {operation: reduce, root: 4}\nports: {count: 4}\n",
     ":4: workload.generate.collective.root: 4 is no rank; there are 0 to 3"},
    {"HypercubeOfSixRanks",
     "workload:\n  generate:\n    kind: collective\n    collective: {operation: hypercube, ranks: 6}\nports: {count: "
     "4}\n",
     ":4: workload.generate.collective.ranks: 6 is not a power of two, as a hypercube needs"},
    {"CollectiveTooSmallForItsRanks",
     "workload:\n  generate:\n    kind: collective\n    collective: {operation: all_gather, max: 32B}\nports: {count: "
     "4}\n",
     ":4: workload.generate.collective.max: 32 B leaves none of 4 ranks 16 B; it must be at least 64 B"},
    {"ExpertsThatCannotBeDivided",
     "workload:\n  generate:\n    experts: 8\n    expert_parallel: 3\n    data_parallel: 6\nports: {count: 4}\n",
     ":3: workload.generate.experts: 8 is not a multiple of expert_parallel 3"},
    {"UnknownModel", "workload:\n  generate:\n    model: mixtral-8x7\nports: {count: 4}\n",
     ":3: workload.generate.model: 'mixtral-8x7' is unknown; did you mean 'mixtral-8x7b'?"},
    {"ModelOfNobody", "workload:\n  generate:\n    model: x\nports: {count: 4}\n",
     ":3: workload.generate.model: 'x' is not one of deepseek-v3, gpt3-175b, llama3-405b, llama3-70b, llama3-8b, "
     "mixtral-8x22b, mixtral-8x7b"},
    {"MoreShardsThanKeys", "workload:\n  generate:\n    model: llama3-8b\n    tensor_parallel: 16\nports: {count: 4}\n",
     ":4: workload.generate.tensor_parallel: 16 does not divide key_value_heads 8; it can be 8 at most"},
    {"LayersOfAModel", "workload:\n  generate:\n    model: deepseek-v3\n    pipeline_parallel: 16\nports: {count: 4}\n",
     ":4: workload.generate.pipeline_parallel: layers 61 is not a multiple of pipeline_parallel 16"},
    {"WidthOfAModel", "workload:\n  generate:\n    model: llama3-8b\n    tensor_parallel: 3\nports: {count: 4}\n",
     ":4: workload.generate.tensor_parallel: hidden 4096 is not a multiple of tensor_parallel 3"},
    {"ExpertsOfAModel",
     "workload:\n  generate:\n    model: mixtral-8x7b\n    data_parallel: 3\n    expert_parallel: 3\nports: {count: "
     "4}\n",
     ":5: workload.generate.expert_parallel: experts 8 is not a multiple of expert_parallel 3"},
    {"TokensOfAModel",
     "workload:\n  generate:\n    model: llama3-8b\n    tensor_parallel: 1\n    causal: on\n    context_parallel: 384\n"
     "ports: {count: 4}\n",
     ":6: workload.generate.context_parallel: sequence "},
    {"RoutingWithoutExperts",
     "workload:\n  generate:\n    layers: 2\n    routing: {popularity: zipf}\nports: {count: 4}\n",
     ":4: workload.generate.routing: needs 'experts' above 1"},
    {"NoRecordedTokens",
     "workload:\n  generate:\n    experts: 4\n    routing:\n      popularity: matrix\nports: {count: 4}\n",
     ":4: workload.generate.routing.file: is required by 'popularity: matrix'"},
    {"ModelOfAnotherKind", "workload:\n  generate:\n    kind: mlp\n    model: llama3-8b\nports: {count: 4}\n",
     ":4: workload.generate.model: is not for 'kind: mlp'"},
    {"Device", "GOODcompute: {device: h1000}",
     ":3: compute.device: 'h1000' is not one of generic, a100, h100, h200, b200, mi300x, tpu_v4, tpu_v5p"},
    {"ComputeDataType", "GOODcompute: {data_type: fp12}",
     ":3: compute.data_type: 'fp12' is not one of int8, fp8, fp16, bf16, tf32, fp32, fp64"},
    {"EfficiencyWithoutShare", "GOODcompute:\n  efficiency:\n    points:\n      - {at: 1}\n",
     ":6: compute.efficiency.points[0]: 'share' is required"},
    {"EfficiencyInDisorder",
     "GOODcompute:\n  efficiency:\n    points:\n      - {at: 1, share: 5%}\n      - {at: 1.0, share: 6%}\n",
     ":7: compute.efficiency.points[1].at: is not above that of the point before"},
    {"EfficiencyOfNothing", "GOODcompute: {efficiency: {points: [{at: 1, share: 0%}]}}",
     ":3: compute.efficiency.points[0].share: must be above 0%"},
    {"EfficiencyNegative", "GOODcompute: {efficiency: {points: [{at: -1, share: 1%}]}}",
     ":3: compute.efficiency.points[0].at: '-1' is not a number of 0 or more with at most three decimals"},
    {"UniformTooWide", "GOODcompute: {jitter: {distribution: uniform, deviation: 58%}}",
     ":3: compute.jitter.deviation: of a uniform distribution is at most 57.735%"},
    {"JitterWithoutDistribution", "GOODcompute: {jitter: {deviation: 5%}}",
     ":3: compute.jitter.deviation: needs 'compute.jitter.distribution'"},
    {"JitterWithoutDeviation", "GOODcompute: {jitter: {distribution: normal}}",
     ":3: compute.jitter.distribution: needs 'compute.jitter.deviation'"},
    {"NoiseWithoutPeriod", "GOODcompute: {noise: {duration: 5us}}", ":3: compute.noise: needs 'period'"},
    {"NoiseWithoutDuration", "GOODcompute:\n  overrides:\n    - {ranks: 0, noise: {period: 5us}}",
     ":5: compute.overrides[0].noise: needs 'duration'"},
    {"OverrideOfNobody", "GOODcompute:\n  overrides:\n    - device: a100\n",
     ":5: compute.overrides[0]: needs 'ranks', 'hosts', 'groups' or 'ports'"},
    {"OverrideOfRanksBackwards", "GOODcompute: {overrides: [{ranks: [5-4]}]}",
     ":3: compute.overrides[0].ranks[0]: '5-4' ends before it begins"},
    {"StragglerAtAPort", "GOODcompute: {stragglers: [{ports: [q], factor: 2}]}",
     ":3: compute.stragglers[0].ports[0]: 'q' is not the name of a port"},
    {"StragglerWithoutFactor", "GOODcompute: {stragglers: [{ranks: 0}]}",
     ":3: compute.stragglers[0]: needs 'factor' or 'pause: on'"},
    {"StragglerFaster", "GOODcompute: {stragglers: [{ranks: 0, factor: 0.5}]}",
     ":3: compute.stragglers[0].factor: '0.5' is outside 1 .. 1000"},
    {"StragglerTwice", "GOODcompute: {stragglers: [{ranks: 0, factor: 2, pause: on, until: 1s}]}",
     ":3: compute.stragglers[0].pause: contradicts 'factor'; give one of them"},
    {"StragglerForEver", "GOODcompute: {stragglers: [{ranks: 0, pause: on}]}",
     ":3: compute.stragglers[0].pause: needs 'until', or the run would not end"},
    {"StragglerBackwards", "GOODcompute: {stragglers: [{ranks: 0, factor: 2, from: 2us, until: 1us}]}",
     ":3: compute.stragglers[0].until: is not after 'from'"},
    {"Kind", "GOODrecord: {messages: none}\ndut: {}\nrun: {on_failure: retry}\n",
     ":5: run.on_failure: 'retry' is not one of stop, continue"},
    {"SelectedKind",
     "workload:\n  generate: {layers: 2}\n  select:\n    kinds:\n      - allreduce\nports: {count: 2}\n",
     ":5: workload.select.kinds[0]: 'allreduce' is not one of compute, host, memory, collective, send, receive, "
     "all_reduce, reduce, all_gather, gather, scatter, broadcast, all_to_all, reduce_scatter, reduce_scatter_block, "
     "barrier"},
    {"TooLong", "GOODcollectives: {reduce_latency: 2s}", ":3: collectives.reduce_latency: '2s' is outside 0ps .. 1s"},
    {"DrainRate", "workload: {traces: t}\nports:\n  - {rate: 1Gbps}\n  - {rate: 1Gbps, drain_rate: 1Gbps}\n",
     ":4: ports[1].drain_rate: 1000000000 bit/s is not below ports[1].rate 1000000000 bit/s, so the buffer would never "
     "fill"},
    {"ReceiveBufferOfAFastReceiver", "workload: {traces: t}\nports:\n  - {receive_buffer: 1MiB}\n  - {}\n",
     ":3: ports[0].receive_buffer: needs 'drain_rate'"},
    {"XoffAboveBuffer",
     "workload: {traces: t}\nports:\n  - {}\n  - drain_rate: 1Gbps\n    receive_buffer: 64KiB\n    xoff: 65KiB\n",
     ":6: ports[1].xoff: 66560 bytes are above receive_buffer 65536 bytes"},
    {"XonAboveXoff", "workload: {traces: t}\nports:\n  - {}\n  - drain_rate: 1Gbps\n    xon: 256KiB\n",
     ":5: ports[1].xon: 262144 bytes are not below xoff 262144 bytes"},
    {"PfcInHardwareWithoutADevice", "workload: {traces: t}\nports:\n  - {}\n  - {pfc: hardware}\n",
     ":4: ports[1].pfc: 'hardware' needs a device; a port of the embedded switch has none"},
    {"PfcOfAnRdmaDevice", "workload: {traces: t}\nports:\n  - {verbs: a}\n  - {verbs: b, pfc: off}\n",
     ":4: ports[1].pfc: is for DPDK ports; an RDMA device obeys PFC as its driver is set to"},
    {"ZeroRate", "GOODlocal: {bandwidth: 0Gbps}", ":3: local.bandwidth: '0Gbps' is outside 1Kbps .. 64Tbps"},
    {"FabricOfForeignPorts", "RDMAfabric: {topology: star}\n",
     ":5: fabric: is for ports on 'ring' or 'memory'; port 'p0' leads to a device outside"},
    {"FabricKey", "GOODfabric:\n  spine: 2\n", ":4: key 'fabric.spine' is unknown; did you mean 'fabric.spines'?"},
    {"FabricTopology", "GOODfabric: {topology: torus}",
     ":3: fabric.topology: 'torus' is not one of star, leaf_spine, fat_tree, rail, ring, torus2d, torus3d, "
     "fully_connected, dragonfly, hierarchy, graph, infragraph, astra_network"},
    {"TorusWithoutExtents", "GOODfabric:\n  topology: torus2d\n",
     ":3: fabric.extents: has 0 values, and the torus needs 2"},
    {"TorusOfOtherSize", "GOODfabric: {topology: torus2d, extents: [3, 3]}",
     ":3: fabric: a network of 3 x 3 has 9 NPUs, not 4; every port is one"},
    {"MeshOfSwitches", "GOODfabric: {topology: leaf_spine, wrap: off}",
     ":3: fabric.wrap: needs 'topology: ring' or 'topology: torus2d' or 'topology: torus3d'"},
    {"DimensionOrderOfATree", "GOODfabric: {topology: fat_tree, routing: dimension_order}",
     ":3: fabric.routing: needs 'topology: ring' or 'topology: torus2d' or 'topology: torus3d' or 'topology: "
     "astra_network'"},
    {"DragonflyOfManyGroups", "GOODfabric:\n  topology: dragonfly\n  groups: 9\n  routers: 4\n",
     ":3: fabric: a group of 4 routers with 1 global links each reaches 4 others, not 8"},
    {"HierarchyWithoutLevels", "GOODfabric: {topology: hierarchy}", ":3: fabric: 'topology: hierarchy' needs 'levels'"},
    {"HierarchyOfOtherSize", "GOODfabric:\n  topology: hierarchy\n  levels: [{name: node, count: 3}]\n",
     ":3: fabric: a hierarchy of 3 has 3 NPUs, not 4; every port is one"},
    {"LevelWithoutName", "GOODfabric:\n  topology: hierarchy\n  levels: [{count: 4}]\n",
     ":3: fabric: level 0 needs a name"},
    {"OversubscribedNpus",
     "GOODfabric:\n  topology: hierarchy\n  levels: [{name: node, count: 4, oversubscription: 2}]\n",
     ":3: fabric: the oversubscription of level 'node' is that of cables from switches below, instead of their rate"},
    {"PortFasterThanItsCable",
     "workload: {generate: {}}\nports: {count: 4, rate: 2Gbps}\nfabric:\n  topology: hierarchy\n"
     "  levels: [{name: node, count: 4, rate: 1Gbps}]\n",
     ":3: fabric: port 'p0' of 2000000000 bit/s is faster than its cable of 1000000000 bit/s"},
    {"OversubscriptionAndRate", "GOODfabric:\n  oversubscription: 2\n  link_rate: 1Gbps\n",
     ":4: fabric.oversubscription: contradicts fabric.link_rate; give one of them"},
    {"FabricShape", "GOODfabric: {topology: star, leaves: 4}", ":3: fabric.leaves: needs 'topology: leaf_spine'"},
    {"OddFatTree", "GOODfabric: {topology: fat_tree, k: 3}", ":3: fabric: a fat-tree's k is even, 2 .. 64, not 3"},
    {"SmallFatTree", "GOODfabric: {topology: fat_tree, k: 2}",
     ":3: fabric: a fat-tree of 2-port switches has 2 hosts at most, not 4"},
    {"GraphWithoutSwitches", "GOODfabric: {topology: graph}", ":3: fabric: 'topology: graph' needs 'switches'"},
    {"GraphWithoutAPort", "GOODfabric:\n  topology: graph\n  switches: [a]\n  hosts: [{port: p0, switch: a}]\n",
     ":3: fabric: port 'p1' stands 0 times in 'hosts', not once"},
    {"GraphOfStrangers", "GOODfabric:\n  topology: graph\n  switches: [a]\n  links: [{a: a, b: c}]\n",
     ":3: fabric: 'c' is not the name of a switch"},
    {"FabricWeights", "GOODfabric:\n  weights: [1, 2]\n",
     ":4: fabric.weights: has 2 weights; give one for each of 8 priorities"},
    {"FabricLossless", "GOODfabric: {lossless: [3, 8]}", ":3: fabric.lossless[1]: 8 is outside 0 .. 7"},
    {"FabricMarking", "GOODfabric:\n  ecn:\n    minimum: 2KB\n    maximum: 1KB\n",
     ":5: fabric.ecn.minimum: 2000 bytes are above fabric.ecn.maximum 1000 bytes"},
    {"FabricXoff", "GOODfabric:\n  buffer: {ingress_alpha: 2, xoff: 1MB}\n",
     ":4: fabric.buffer.xoff: contradicts fabric.buffer.ingress_alpha; a limit is fixed or a share"},
    {"FabricAlpha", "GOODfabric: {buffer: {egress_alpha: 3}}",
     ":3: fabric.buffer.egress_alpha: '3' is not one of 1/256, 1/128, 1/64, 1/32, 1/16, 1/8, 1/4, 1/2, 1, 2, 4, 8, 16, "
     "32, 64, 128, 256"},
    {"FabricFailure", "GOODfabric:\n  failures: [{a: leaf0, b: leaf1, down: 1ms}]\n",
     ":4: fabric.failures[0]: 'leaf0' and 'leaf1' are joined by 0 cables, and there is no cable 0"},
    {"FailureOfNobody", "GOODfabric:\n  failures: [{a: leaf9, down: 1ms}]\n",
     ":4: fabric.failures[0]: 'leaf9' is the name of neither a port nor a switch"},
    {"FailureOfWhichCable", "GOODfabric:\n  failures:\n    - {a: p0, down: 1ms, cable: 1}\n",
     ":5: fabric.failures[0].cable: needs 'fabric.failures[0].b'"},
    {"FlapsWithoutAPeriod", "GOODfabric:\n  failures:\n    - {a: p0, down: 1ms, up: 2ms, times: 3}\n",
     ":5: fabric.failures[0].times: needs 'fabric.failures[0].period'"},
    {"FlapsThatMeet", "GOODfabric:\n  failures:\n    - {a: p0, down: 1ms, up: 3ms, period: 2ms, times: 3}\n",
     ":5: fabric.failures[0].period: is not longer than it is down, from fabric.failures[0].down to "
     "fabric.failures[0].up"},
    {"FlapsThatNeverEnd", "GOODfabric:\n  failures:\n    - {a: p0, down: 1ms, period: 2ms, times: 3}\n",
     ":5: fabric.failures[0].period: needs 'fabric.failures[0].up'"},
    {"NameOfTwoLines", "GOODname: \"a\\nb\"\n", ":3: name: has a control character, such as a line break or a tab"},
    {"NameOfAnotherFolder", "GOODname: ../elsewhere\n",
     ":3: name: '../elsewhere' is not the name of a folder, as which it stands below runs/"},
    {"NameThatRingsABell", "workload: {traces: t}\nports: [{name: \"p\\a\"}, {name: q}]\n",
     ":2: ports[0].name: has a control character, such as a line break or a tab"},
    {"DegradedAboveAll", "GOODfabric:\n  failures:\n    - {a: p0, down: 1ms, loss: 101%}\n",
     ":5: fabric.failures[0].loss: '101%' is more than 100%"},
    {"FabricRepair", "GOODfabric:\n  failures:\n    - {a: leaf0, b: spine0, down: 2ms, up: 1ms}\n",
     ":5: fabric.failures[0].up: is not after fabric.failures[0].down"},
    {"BufferBesideFabric", "GOODfabric: {topology: star}\nswitch: {buffer: 1MB}\n",
     ":4: switch.buffer: is for the switch without 'fabric'; see fabric.buffer.queue"},
    {"Loss", "GOODswitch: {loss: 101%}", ":3: switch.loss: '101%' is more than 100%"},
    {"Fraction", "workload: {traces: t, scale: {bytes: 0.5}}\nports: {count: 2}\n",
     ":1: workload.scale.bytes: '0.5' is not a fraction of whole numbers from 1 to 10^9; write for example 1/64"},
    {"ListForValue", "GOODseed: [1, 2]", ":3: seed: must be a single value"},
    {"ValueForMap", "GOODtransport: fast", ":3: transport: must be a map of keys"},
    {"ValueForList", "workload: {traces: t}\nports: ring\n", ":2: ports: must be a list"},
    {"NoValue", "GOODtransport:\n", ":3: transport: has no value"},
    {"Twice", "GOODseed: 1\nname: x\nseed: 2\n", ":5: key 'seed' is written twice"},
    {"TwiceNested", "GOODswitch:\n  loss: 1%\n  loss: 2%\n", ":5: key 'loss' is written twice"},
    {"NotYaml", "GOODswitch: {loss: 1%\nseed: 3\n", ":4: is not YAML: "},
    {"Tab", "GOODswitch:\n\tloss: 1%\n", ":4: a tab stands in the indentation; YAML takes spaces alone"},
    {"TabBehindSpaces", "GOODswitch:\n  latency: 1us\n  \tloss: 1%\n",
     ":5: a tab stands in the indentation; YAML takes spaces alone"},
    {"TabBeforeAnItem", "workload: {traces: t}\nports:\n  - rate: 1Gbps\n\t- rate: 1Gbps\n",
     ":4: a tab stands in the indentation; YAML takes spaces alone"},
    {"TabBehindADash", "workload: {traces: t}\nports:\n-\trate: 1Gbps\n",
     ":3: a tab stands in the indentation; YAML takes spaces alone"},
    {"NotYamlBelowATab", "seed:\t1\nswitch: {loss: 1%\nname: 3\n", ":3: is not YAML: "},
    {"NotUtf8", "GOODname: \"caf\xE9\"\n", ":3: is not in UTF-8: save it as that"},
    {"KeyThatIsNotUtf8", "GOODn\xE9: 1\n", ":3: is not in UTF-8: save it as that"},
    {"Empty", "# nothing\n", ": is empty"},
    {"NotAMap", "- a\n- b\n", ":1: must be a map of keys"},
    {"TwoDocuments", "a: 1\n---\nb: 1\n", ":2: is a second document; a file holds one"},
    {"WhatCannotBeginADocument", ", a\nb: 1\n", ":1: is a second document; a file holds one"},
    {"Endless", "a: &a [*a]\n", "is nested more than 16 levels deep"},
    // Ten lists of ten times the one before: 10^10 values of a few bytes each.
    {"AliasBomb",
     "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
     "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
     "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
     "g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\nh: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]\n"
     "i: &i [*h, *h, *h, *h, *h, *h, *h, *h, *h, *h]\nj: &j [*i, *i, *i, *i, *i, *i, *i, *i, *i, *i]\n",
     "the aliases of this document stand for more than 200000 values"},
    {"NoWorkload", "name: x\nports: {count: 2}\n", ":1: workload: is required, or 'jobs'"},
    {"EmptyWorkload", "workload: {iterations: 2}\nports: {count: 2}\n", ":1: workload: needs 'traces' or 'generate'"},
    {"TwoWorkloads", "workload:\n  traces: t\n  generate: {layers: 2}\nports: {count: 2}\n",
     ":2: workload.traces: contradicts workload.generate; give one of them"},
    {"ElementsOfGenerated", "workload:\n  generate: {layers: 2}\n  element_size: 2B\nports: {count: 2}\n",
     ":3: workload.element_size: contradicts workload.generate, whose sizes are in bytes"},
    {"LayersOfStages", "workload:\n  generate:\n    layers: 5\n    pipeline_parallel: 2\nports: {count: 2}\n",
     ":3: workload.generate.layers: 5 is not a multiple of pipeline_parallel 2"},
    {"HiddenOfShards", "workload:\n  generate: {tensor_parallel: 3}\nports: {count: 2}\n",
     ":2: workload.generate.tensor_parallel: hidden 1024 is not a multiple of tensor_parallel 3"},
    {"NoPorts", "workload: {traces: t}\n", ":1: ports: has 0; traffic needs at least 2 ports"},
    {"OnePort", "workload: {traces: t}\nports:\n  - {rate: 1Gbps}\n",
     ":2: ports: has 1; traffic needs at least 2 ports"},
    {"NoPortCount", "workload: {traces: t}\nports: {rate: 1Gbps}\n",
     ":2: ports: 'count' is required, or a list of ports"},
    {"SamePortName", "workload: {traces: t}\nports:\n  - {name: a}\n  - {name: a}\n",
     ":4: ports[1].name: 'a' is the name of another port"},
    {"MixedPorts", "workload: {traces: t}\nports:\n  - {device: ring}\n  - {device: '0000:01:00.0'}\n",
     ":4: ports[1].device: '0000:01:00.0' cannot be mixed with 'ring' of ports[0]: all ports are 'ring', all 'memory', "
     "or "
     "none"},
    {"SameDevice", "workload: {traces: t}\nports:\n  - {device: '0000:01:00.0'}\n  - {device: '0000:01:00.0'}\n",
     ":4: ports[1].device: '0000:01:00.0' is the device of another port"},
    {"DeviceAndVerbs", "workload: {traces: t}\nports:\n  - {device: a}\n  - {device: b, verbs: mlx5_0}\n",
     ":4: ports[1].verbs: contradicts device 'b'; a port has one of them"},
    {"NeitherDeviceNorVerbs", "workload: {traces: t}\nports:\n  - {device: a}\n  - {device: none}\n",
     ":4: ports[1]: needs 'device' or 'verbs'"},
    {"VerbsOnTheSwitch", "workload: {traces: t}\nports:\n  - {device: ring}\n  - {verbs: mlx5_0}\n",
     ":4: ports[1].verbs: 'mlx5_0' cannot be mixed with 'ring' of ports[0]: all ports are 'ring', all 'memory', or "
     "none"},
    {"GidOfADpdkPort", "workload: {traces: t}\nports:\n  - {device: a}\n  - {device: b, gid: 3}\n",
     ":4: ports[1].gid: needs 'verbs'"},
    {"PortOfADpdkPort", "workload: {traces: t}\nports:\n  - {device: a}\n  - {device: b, port: 2}\n",
     ":4: ports[1].port: needs 'verbs'"},
    {"Gid", "workload: {traces: t}\nports:\n  - {verbs: mlx5_0}\n  - {verbs: mlx5_1, gid: first}\n",
     ":4: ports[1].gid: 'first' is not a whole number"},
    {"GidBeyondTheTable", "workload: {traces: t}\nports:\n  - {verbs: mlx5_0}\n  - {verbs: mlx5_1, gid: 256}\n",
     ":4: ports[1].gid: 256 is outside 0 .. 255"},
    {"VerbsPortZero", "workload: {traces: t}\nports:\n  - {verbs: mlx5_0}\n  - {verbs: mlx5_1, port: 0}\n",
     ":4: ports[1].port: 0 is outside 1 .. 255"},
    {"IpOfAnRdmaDevice", "workload: {traces: t}\nports:\n  - {device: a}\n  - {verbs: b, ip: 10.0.0.1/24}\n",
     ":4: ports[1].ip: is for DPDK devices; an RDMA device has the addresses and the VLAN of its GID table"},
    {"VlanOfAnRdmaDevice", "workload: {traces: t}\nports:\n  - {device: a}\n  - {verbs: b, vlan: 7}\n",
     ":4: ports[1].vlan: is for DPDK devices; an RDMA device has the addresses and the VLAN of its GID table"},
    {"QueuesOfAnRdmaDevice", "workload: {traces: t}\nports:\n  - {device: a}\n  - {verbs: b, queues: 2}\n",
     ":4: ports[1].queues: is for DPDK devices; an RDMA device has its own"},
    {"SprayingByAnRdmaDevice", "RDMAtransport: {source_port: per_packet}\n",
     ":5: transport.source_port: port 'p0' is an RDMA device, which has one source port a queue pair"},
    {"AcknowledgementsOfRdmaDevices", "RDMAtransport:\n  markings: {ack: {dscp: 48}}\n",
     ":6: transport.markings.ack.dscp: is for DPDK ports, and all ports are RDMA devices, which mark their answers as "
     "they like"},
    {"PriorityOfRdmaDevices", "RDMAtransport:\n  markings: {data: {priority: 3}}\n",
     ":6: transport.markings.data.priority: is for DPDK ports, and all ports are RDMA devices; see transport.verbs.sl"},
    {"VlanOfRdmaDevices", "RDMAaddresses: {vlan: 7}\n",
     ":5: addresses.vlan: is for DPDK ports, and all ports are RDMA devices, which have the VLAN of their network "
     "interface"},
    {"GatewayOfRdmaDevices", "RDMAaddresses: {gateway: 198.18.0.9}\n",
     ":5: addresses.gateway: is for DPDK ports, and all ports are RDMA devices, whose routes are the kernel's"},
    {"ReceivesOfAnRdmaDevice", "RDMAtransport: {receive_queue: 40000}\n",
     ":5: transport.receive_queue: 40000 is more than the 32768 that an RDMA device takes; port 'p0' is one"},
    {"SignalsBeyondTheQueue", "GOODtransport: {verbs: {send_queue: 8, signal_every: 9}}\n",
     ":3: transport.verbs.signal_every: 9 is above transport.verbs.send_queue 8"},
    {"DividedWords", "GOODtransport:\n  verbs: {max_message: 1004B}\n",
     ":4: transport.verbs.max_message: 1004 bytes are not a multiple of 8, and payload words are not divided"},
    {"SharedReceivesOfParts", "RDMAtransport:\n  queue_pairs: 2\n  verbs: {shared_receive_queue: on}\n",
     ":7: transport.verbs.shared_receive_queue: does not bound the messages of which only some parts have arrived; "
     "with transport.queue_pairs 2 use 'spread: deal', or no shared receive queue"},
    {"SharedReceivesOfCheckedWrites", "RDMAtransport:\n  checking: on\n  verbs: {shared_receive_queue: on}\n",
     ":7: transport.verbs.shared_receive_queue: does not hold back a queue pair that WRITEs to memory that is not "
     "compared yet; with 'checking' use verb send_imm or read, or no shared receive queue"},
    {"StaticRateWithoutRate", "GOODtransport:\n  congestion_control: {algorithm: static}\n",
     ":4: transport.congestion_control.algorithm: 'static' needs 'rate', that of each queue pair"},
    {"RateWithoutStatic", "GOODtransport:\n  congestion_control:\n    algorithm: dcqcn\n    rate: 5Gbps\n",
     ":6: transport.congestion_control.rate: needs 'algorithm: static'"},
    {"RateWithoutUnit", "GOODtransport: {congestion_control: {rp_ai_rate: 5}}\n",
     ":3: transport.congestion_control.rp_ai_rate: '5' has no unit; write for example 5Gbps"},
    {"Algorithm", "GOODtransport: {congestion_control: {algorithm: cubic}}\n",
     ":3: transport.congestion_control.algorithm: 'cubic' is not one of none, static, dcqcn, dctcp, swift"},
    {"MisspeltParameter", "GOODtransport: {congestion_control: {rp_ai_rte: 5Mbps}}\n",
     ":3: key 'transport.congestion_control.rp_ai_rte' is unknown; did you mean "
     "'transport.congestion_control.rp_ai_rate'?"},
    {"Gd", "GOODtransport: {congestion_control: {rp_gd: 9}}\n",
     ":3: transport.congestion_control.rp_gd: 9 is outside 10 .. 20"},
    {"MinimumRateAboveMaximum",
     "GOODtransport:\n  congestion_control:\n    rp_max_rate: 1Gbps\n    rp_min_rate: 2Gbps\n",
     ":6: transport.congestion_control.rp_min_rate: 2000000000 bit/s is above rp_max_rate 1000000000 bit/s"},
    {"UnknownDcqcnPreset", "GOODtransport: {congestion_control: {preset: hpcc_win}}\n", "hpcc_vwin"},
    {"DcqcnWindow", "GOODtransport: {congestion_control: {dcqcn_window: 2s}}\n",
     ":3: transport.congestion_control.dcqcn_window"},
    {"DctcpGain", "GOODtransport: {congestion_control: {dctcp_g: 3/2}}\n",
     ":3: transport.congestion_control.dctcp_g: 3/2 is more than 1"},
    {"DcqcnWithoutEcn", "GOODtransport:\n  ecn: off\n  congestion_control: {algorithm: dcqcn}\n",
     ":5: transport.congestion_control.algorithm: follows the marks of data packets, which must be ECN-capable: it "
     "needs 'transport.ecn: on', or 'transport.markings.data.ecn: on'"},
    {"DctcpOfDataThatIsNotMarked",
     "GOODtransport:\n  markings: {data: {ecn: off}}\n  congestion_control: {algorithm: dctcp}\n",
     ":5: transport.congestion_control.algorithm: follows the marks of data packets, which must be ECN-capable: it "
     "needs 'transport.ecn: on', or 'transport.markings.data.ecn: on'"},
    {"CongestionControlOfReads", "GOODtransport:\n  verb: read\n  congestion_control: {algorithm: swift}\n",
     ":5: transport.congestion_control.algorithm: 'dctcp' and 'swift' follow acknowledgements, which the data of "
     "'transport.verb: read' does not have; 'static' or 'dcqcn' holds it back"},
    {"CongestionExceptionOfNothing",
     "GOODtransport:\n  congestion_control:\n    exceptions:\n      - {algorithm: swift}\n",
     ":6: transport.congestion_control.exceptions[0]: needs 'job', 'group' or both"},
    {"CongestionExceptionWithoutRate",
     "GOODtransport:\n  congestion_control:\n    exceptions:\n      - {job: 0, algorithm: static}\n",
     ":6: transport.congestion_control.exceptions[0].algorithm: 'static' needs 'rate', that of each queue pair"},
    {"CongestionExceptionOfReads",
     "GOODtransport:\n  verb: read\n  congestion_control:\n    exceptions:\n      - {job: 0, algorithm: dctcp}\n",
     ":7: transport.congestion_control.exceptions[0].algorithm: 'dctcp' and 'swift' follow acknowledgements, which the "
     "data of 'transport.verb: read' does not have; 'static' or 'dcqcn' holds it back"},
    {"CongestionControlOfRdmaDevices", "RDMAtransport:\n  congestion_control: {algorithm: dcqcn}\n",
     ":6: transport.congestion_control.algorithm: is for DPDK ports, and all ports are RDMA devices, whose congestion "
     "control is set by their driver"},
    {"ServiceLevel", "GOODtransport: {verbs: {sl: 8}}\n", ":3: transport.verbs.sl: 8 is outside 0 .. 7"},
    {"Inline", "GOODtransport: {verbs: {inline: 2KiB}}\n", ":3: transport.verbs.inline: '2KiB' is outside 0B .. 1KiB"},
    {"UnknownVerbsKey", "GOODtransport: {verbs: {signal_evry: 4}}\n",
     ":3: key 'transport.verbs.signal_evry' is unknown; did you mean 'transport.verbs.signal_every'?"},
    {"OneHost", "GOODhosts: {count: 1}", ":3: hosts.count: 1 is outside 2 .. 65536"},
    {"IdlePorts", "GOODhosts: {count: 2}", ":3: hosts: 2 hosts with 2 NICs in all leave some of 4 ports idle"},
    {"TooFewNpus", "workload: {generate: {data_parallel: 8}}\nports: {count: 2}\nhosts:\n  npus: 4\n",
     ":4: hosts.npus: 2 hosts of 4 NPUs do not hold the 16 ranks of workload.generate"},
    {"PlacesWithoutPolicy", "GOODmapping:\n  ranks: [{rank: 0, host: 0, npu: 0, nic: 0, port: p0}]\n",
     ":4: mapping.ranks: needs 'policy: explicit'"},
    {"PolicyWithoutPlaces", "GOODmapping: {policy: explicit}", ":3: mapping: 'policy: explicit' needs 'ranks'"},
    {"IncompletePlace", "GOODmapping:\n  policy: explicit\n  ranks:\n    - {rank: 0, host: 0, nic: 0, port: p0}\n",
     ":6: mapping.ranks[0]: 'npu' is required"},
    {"UnknownPort", "GOODmapping:\n  policy: explicit\n  ranks:\n    - {rank: 0, host: 0, npu: 0, nic: 0, port: p4}\n",
     ":6: mapping.ranks[0].port: 'p4' is not the name of a port"},
    {"RankTwice",
     "GOODmapping:\n  policy: explicit\n  ranks:\n    - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n"
     "    - {rank: 0, host: 1, npu: 0, nic: 0, port: p1}\n",
     ":7: mapping.ranks[1].rank: rank 0 is placed twice"},
    {"NpuTwice",
     "GOODmapping:\n  policy: explicit\n  ranks:\n    - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n"
     "    - {rank: 1, host: 0, npu: 0, nic: 1, port: p1}\n",
     ":7: mapping.ranks[1].npu: NPU 0 of host 0 already holds rank 0"},
    {"NicBehindTwoPorts",
     "GOODmapping:\n  policy: explicit\n  ranks:\n    - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n"
     "    - {rank: 1, host: 0, npu: 1, nic: 0, port: p1}\n",
     ":7: mapping.ranks[1].port: NIC 0 of host 0 already stands behind port 'p0'"},
    {"RankMissing",  // the default degrees are 2 x 1 x 2
     "GOODmapping:\n  policy: explicit\n  ranks:\n    - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n"
     "    - {rank: 1, host: 1, npu: 0, nic: 0, port: p1}\n    - {rank: 3, host: 2, npu: 0, nic: 0, port: p2}\n",
     ":5: mapping.ranks: rank 2 is missing"},
    {"RankTooMany",
     "workload: {generate: {tensor_parallel: 1, data_parallel: 1}}\nports: {count: 2}\nmapping:\n  policy: explicit\n"
     "  ranks:\n    - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n    - {rank: 1, host: 1, npu: 0, nic: 0, port: "
     "p1}\n",
     ":5: mapping.ranks: workload.generate makes only 1 ranks"},
    {"HostOutside",
     "GOODhosts: {count: 4}\nmapping:\n  policy: explicit\n  ranks:\n"
     "    - {rank: 0, host: 4, npu: 0, nic: 0, port: p0}\n",
     ":7: mapping.ranks[0].host: 4 is not below hosts.count"},
    {"Address", "GOODaddresses: {ip: 198.18.0.1}",
     ":3: addresses.ip: '198.18.0.1' is not an IPv4 address with a prefix of 1 .. 31 or an IPv6 address with one of "
     "1 .. 126; write for example 198.18.0.1/15 or 2001:db8::1/64"},
    {"PrefixOfIpv6", "GOODaddresses: {ip: '2001:db8::1/127'}",
     ":3: addresses.ip: '2001:db8::1/127' is not an IPv4 address with a prefix of 1 .. 31 or an IPv6 address with one "
     "of "
     "1 .. 126; write for example 198.18.0.1/15 or 2001:db8::1/64"},
    {"GatewayOutside", "GOODaddresses: {gateway: 10.0.0.1}", ":3: addresses.gateway: 10.0.0.1 is not in 198.18.0.1/15"},
    {"GatewayIsNone", "GOODaddresses: {gateway: router}",
     ":3: addresses.gateway: 'router' is not an IP address; write for example 198.18.0.1"},
    {"Vlan", "GOODaddresses: {vlan: 4095}", ":3: addresses.vlan: 4095 is outside 1 .. 4094"},
    {"VlanOfPortAlone", "workload: {generate: {}}\nports:\n  - {device: a}\n  - {device: b, vlan: 7}\n",
     ":4: ports[1].vlan: needs 'ip'"},
    {"FamiliesMixed", "workload: {generate: {}}\nports:\n  - {device: a}\n  - {device: b, ip: '2001:db8::1/64'}\n",
     ":4: ports[1].ip: is of another family than addresses.ip 198.18.0.1"},
    {"SubnetsOnABridge", "workload: {generate: {}}\nports:\n  - {name: a}\n  - {name: b, ip: 10.0.0.1/24}\n",
     ":4: ports[1].ip: needs a device that routes; the embedded switch is a bridge and takes addresses.ip"},
    {"SourcePort", "GOODtransport: {source_port: 1024}",
     ":3: transport.source_port: '1024' is not one of linux, per_message, per_packet, or a port of 49152 .. 65535"},
    {"CheckedPayloadsNotLookedAt", "GOODtransport:\n  checking: on\n  receive_check: header_and_trailer\n",
     ":5: transport.receive_check: 'header_and_trailer' does not look at payloads, which 'checking' compares"},
    {"QueuesAndSpraying",
     "workload: {generate: {}}\nports:\n  - {device: a, queues: 2}\n  - {device: b}\ntransport: {source_port: "
     "per_packet}\n",
     ":3: ports[0].queues: needs one source port a queue pair: the device would spread the packets of one over its "
     "queues"},
    {"ResolveInterval", "GOODtransport: {resolve_interval: 4s}",
     ":3: transport.resolve_interval: is above transport.resolve_deadline"},
    {"MarkingOfAnAck", "GOODtransport: {markings: {ack: {dscp: 64}}}",
     ":3: transport.markings.ack.dscp: 64 is outside 0 .. 63"},
    {"ChunkOfNccl", "GOODcollectives:\n  profile: nccl\n  chunk: 2MiB\n",
     ":5: collectives.chunk: contradicts 'profile: nccl'; see collectives.nccl"},
    {"AlgorithmOfAnotherOperation", "GOODcollectives:\n  algorithms: {gather: bruck}\n",
     ":4: collectives.algorithms.gather: 'bruck' is not one of auto, direct, binomial_tree, nor the path of an "
     "algorithm's files, which has a '/'"},
    {"AlgorithmThatNcclLacks", "GOODcollectives: {profile: nccl, algorithms: {all_to_all: bruck}}",
     ":3: collectives.algorithms.all_to_all: 'profile: nccl' has auto, direct, pxn, not bruck"},
    {"RingOfNcclBothWays", "GOODcollectives: {profile: nccl, ring: {direction: bidirectional}}",
     ":3: collectives.ring.direction: 'profile: nccl' has rings of one direction"},
    {"ListedRing", "GOODcollectives: {ring: {order: listed}}", ":3: collectives.ring: 'order: listed' needs 'ranks'"},
    {"RanksOfAnotherOrder", "GOODcollectives: {ring: {ranks: [1, 0]}}",
     ":3: collectives.ring.ranks: needs 'order: listed'"},
    {"RankTwiceOnTheRing", "GOODcollectives: {ring: {order: listed, ranks: [1, 0, 1]}}",
     ":3: collectives.ring.ranks: names rank 1 twice"},
    {"NobodyReduces", "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n",
     ":4: collectives.algorithms.all_reduce: 'in_network' needs collectives.aggregators, which says behind which ports "
     "the network reduces"},
    {"NothingToReduce", "GOODcollectives:\n  aggregators:\n    - {name: a, port: p0}\n",
     ":4: collectives.aggregators: no operation of collectives.algorithms is 'in_network'"},
    {"AggregatorOfNoPort",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p9}\n",
     ":6: collectives.aggregators[0].port: 'p9' is not the name of a port"},
    {"AggregatorTwice",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p2]}\n"
     "    - {name: a, port: p1, ports: [p3]}\n",
     ":7: collectives.aggregators[1].name: 'a' is there twice"},
    {"AggregatorsBehindOnePort",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p2]}\n"
     "    - {name: b, port: p0, ports: [p3]}\n",
     ":7: collectives.aggregators[1].port: port 'p0' has an aggregator already; each needs a port of its own"},
    {"NoPortLeftForRanks",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0}\n"
     "    - {name: b, port: p1, parent: a}\n"
     "    - {name: c, port: p2, parent: a}\n"
     "    - {name: d, port: p3, parent: a}\n",
     ":5: collectives.aggregators: no port is left for ranks"},
    {"AggregatorBelowNobody",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, parent: b, ports: [p1, p2, p3]}\n",
     ":6: collectives.aggregators[0].parent: 'b' is not the name of an aggregator"},
    {"AggregatorAboveItself",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, parent: b, ports: [p2]}\n"
     "    - {name: b, port: p1, parent: a, ports: [p3]}\n",
     ":6: collectives.aggregators[0].parent: 'b' stands above itself"},
    {"AggregatorsOfTwoTrees",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p2]}\n"
     "    - {name: b, port: p1, ports: [p3]}\n",
     ":7: collectives.aggregators[1]: needs 'parent': aggregators are one tree, and 'a' has none above it either"},
    {"AggregatorOfAStranger",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p1, p2, p7]}\n",
     ":6: collectives.aggregators[0].ports: 'p7' is not the name of a port"},
    {"AggregatorOfAnAggregator",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p1, p2, p3]}\n"
     "    - {name: b, port: p1, parent: a}\n",
     ":6: collectives.aggregators[0].ports: port 'p1' is an aggregator's; see 'parent'"},
    {"PortServedTwice",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p2, p3]}\n"
     "    - {name: b, port: p1, parent: a, ports: [p3]}\n",
     ":7: collectives.aggregators[1].ports: port 'p3' is served by 'a' already"},
    {"AggregatorThatServesNobody",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p2, p3]}\n"
     "    - {name: b, port: p1, parent: a}\n",
     ":7: collectives.aggregators[1]: serves nobody: it needs 'ports', or another aggregator that names it as "
     "'parent'"},
    {"PortServedByNobody",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n"
     "    - {name: a, port: p0, ports: [p1, p2]}\n",
     ":5: collectives.aggregators: port 'p3' is in no 'ports'; every port with ranks needs an aggregator"},
    {"AggregatorsOfAstra",
     "GOODcollectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n    - {name: a, port: p0}\n"
     "simulation: {fidelity: astra, astra: {network: n, system: s}}\n",
     ":5: collectives.aggregators: 'fidelity: astra' knows no aggregators; take alpha_beta, flow or the twin"},
    {"AggregatorAtARanksPort",
     "workload: {generate: {layers: 2}}\nports: {count: 3}\nmapping:\n  policy: explicit\n  ranks:\n"
     "    - {rank: 0, host: 0, npu: 0, port: p0}\n    - {rank: 1, host: 1, npu: 0, port: p1}\n"
     "collectives:\n  algorithms: {all_reduce: in_network}\n  aggregators:\n    - {name: a, port: p1}\n",
     ":11: collectives.aggregators[0].port: port 'p1' has rank 1; an aggregator needs a port of its own"},
    {"NcclWithoutItsProfile", "GOODcollectives: {nccl: {channels: 2}}", ":3: collectives.nccl: needs 'profile: nccl'"},
    {"P2pChannels", "GOODcollectives: {profile: nccl, nccl: {p2p_channels: 3}}",
     ":3: collectives.nccl.p2p_channels: 3 is no power of 2"},
    {"QueuesOfARing", "workload: {generate: {}}\nports:\n  - {name: a}\n  - {name: b, queues: 2}\n",
     ":4: ports[1].queues: is for DPDK devices; a port of the embedded switch has one"},
    {"NetworkAddress", "GOODaddresses: {ip: 10.0.0.0/8}",
     ":3: addresses.ip: '10.0.0.0/8' is the network or the broadcast address, not a host's"},
    {"MacAddress", "GOODaddresses: {mac: 02-00-00-00-00-01}",
     ":3: addresses.mac: '02-00-00-00-00-01' is not a MAC address; write for example 02:52:57:00:00:01"},
    {"GroupAddress", "GOODaddresses: {mac: '01:00:00:00:00:01'}",
     ":3: addresses.mac: '01:00:00:00:00:01' is a group address"},
    {"SmallBuffer", "GOODswitch: {buffer: 4KiB}", ":3: switch.buffer: 4096 bytes do not hold one frame of 4178"},
    {"ThresholdAboveBuffer", "GOODswitch: {buffer: 1MiB, ecn_threshold: 1MiB}",
     ":3: switch.ecn_threshold: is not below switch.buffer, so nothing would be marked"},
    {"MarkingWithoutEcn", "GOODswitch: {ecn_threshold: 1MiB}\ntransport: {ecn: off}\n",
     ":3: switch.ecn_threshold: needs 'transport.ecn: on': packets that are not ECN-capable are not marked"},
    {"ImpairmentWithoutAction", "GOODimpairments:\n  - {rank: 0}\n", ":4: impairments[0]: 'action' is required"},
    {"ImpairmentAction", "GOODimpairments:\n  - {action: lose}\n",
     ":4: impairments[0].action: 'lose' is not one of drop, duplicate, delay, reorder, corrupt, mark_ce, forge_ack, "
     "forge_nak, forge_rnr, forge_cnp, pause"},
    {"ImpairmentKey", "GOODimpairments:\n  - {action: drop, probabilty: 1%}\n",
     ":4: key 'impairments[0].probabilty' is unknown; did you mean 'impairments[0].probability'?"},
    {"ImpairmentProbability", "GOODimpairments:\n  - {action: drop, probability: 101%}\n",
     ":4: impairments[0].probability: '101%' is more than 100%"},
    {"ImpairmentEveryNone", "GOODimpairments:\n  - {action: drop, every: 0}\n",
     ":4: impairments[0].every: 0 is outside 1 .. 1000000000"},
    {"ImpairmentPacket", "GOODimpairments:\n  - {action: drop, packet: first}\n",
     ":4: impairments[0].packet: 'first' is not a whole number"},
    {"DelayOfADrop", "GOODimpairments:\n  - action: drop\n    delay: 1us\n",
     ":5: impairments[0].delay: is for 'action: delay'"},
    {"DelayWithoutTime", "GOODimpairments:\n  - {action: delay}\n",
     ":4: impairments[0]: 'action: delay' needs 'delay'"},
    {"PauseOfNothing", "GOODimpairments:\n  - {action: pause}\n",
     ":4: impairments[0]: 'action: pause' needs 'priorities'"},
    {"PauseOfAMessage", "GOODimpairments:\n  - action: pause\n    priorities: [3]\n    rank: 0\n",
     ":6: impairments[0].rank: chooses packets, and 'action: pause' looks at none; see from, interval and count"},
    {"ForgedForAnAck", "GOODimpairments:\n  - {action: forge_nak, class: ack}\n",
     ":4: impairments[0].class: forged answers are to data; leave it out"},
    {"CorruptPayloadOfAnAck", "GOODimpairments:\n  - {action: corrupt, class: ack}\n",
     ":4: impairments[0].class: these packets have no payload to corrupt; use 'target: header' or 'target: icrc'"},
    {"OperationOfACnp", "GOODimpairments:\n  - {action: drop, class: cnp, operation: x}\n",
     ":4: impairments[0].operation: a CNP names its queue pair, not a message"},
    {"PacketOfARead", "GOODtransport: {verb: read}\nimpairments:\n  - {action: drop, packet: 3}\n",
     ":5: impairments[0].packet: needs messages that are sent; with 'transport.verb: read' they are fetched"},
    {"ReadOfAWrite", "GOODimpairments:\n  - {action: drop, class: read_response}\n",
     ":4: impairments[0].class: needs 'transport.verb: read': nothing else READs"},
    {"ImpairmentPort", "GOODimpairments:\n  - {action: drop, port: p4}\n",
     ":4: impairments[0].port: 'p4' is not the name of a port"},
    {"ImpairmentIteration", "GOODimpairments:\n  - {action: drop, iteration: 1}\n",
     ":4: impairments[0].iteration: 1 is not below workload.iterations 1"},
    {"ImpairmentEndsFirst", "GOODimpairments:\n  - {action: drop, from: 2us, until: 1us}\n",
     ":4: impairments[0].until: is not after 'from'"},
    {"ImpairedRdmaDevice", "RDMAimpairments:\n  - {action: drop}\n",
     ":5: impairments: port 'p0' is an RDMA device, which sends and receives packets by itself; use DPDK ports"},
    {"EnsembleWithoutFlow", "workload: {traces: t}\nsimulation:\n  fidelity: recorded\n  ensemble: 4\n",
     ":4: simulation.ensemble: is of the model flow, which 'simulation.fidelity' does not have"},
    {"WhatIfWithoutFlow", "workload: {traces: t}\nsimulation:\n  fidelity: recorded\n  what_if: on\n",
     ":4: simulation.what_if: is of the model flow, which 'simulation.fidelity' does not have"},
    {"LimitOfTimesThatNobodyTakes", "GOODrecord: {messages: none}\nlimits: {message_p99: 1ms}\n",
     ":4: limits.message_p99: needs 'record.messages: sampled' or 'all', without which nobody times them"},
    {"LimitOfLossesThatNobodyCounts", "RDMAlimits:\n  loss_ppm: 1\n",
     ":6: limits.loss_ppm: needs ports whose packets are counted; RDMA devices keep theirs to themselves"},
    {"LimitThatIsNoNumber", "GOODlimits: {ratio: high}\n",
     ":3: limits.ratio: 'high' is not a number of 0.001 .. 1000000"},
    {"LimitOfAnUnknownOperation", "GOODlimits: {busbw: {all_gather_v: 1Gbps}}\n",
     ":3: key 'limits.busbw.all_gather_v' is unknown; did you mean 'limits.busbw.all_gather'?"},
    {"AstraNetwork", "workload: {traces: t}\nsimulation:\n  fidelity: astra\n  astra: {system: s.json}\n",
     ":4: simulation.astra.network: is required with 'fidelity: astra'"},
    {"AstraSystem", "workload: {traces: t}\nsimulation:\n  fidelity: astra\n  astra: {network: n.yml}\n",
     ":4: simulation.astra.system: is required with 'fidelity: astra'"},
    {"AstraWithoutPorts",
     "workload: {traces: t}\nsimulation: {fidelity: astra, astra: {network: n, system: s}}\n"
     "mapping: {policy: explicit}\n",
     ":3: mapping.policy: needs 'ports'"},
    {"DpdkMemory", "GOODdpdk: {memory: 2000KiB}", ":3: dpdk.memory: must be a whole number of MiB"},
    {"NoRunThreads", "GOODsimulation: {threads: 0}", ":3: simulation.threads: 0 is outside 1 .. 64"},
    {"TooManyRunThreads", "GOODsimulation:\n  fidelity: flow\n  threads: 65\n",
     ":5: simulation.threads: 65 is outside 1 .. 64"},
    {"RunThreadsOfAnotherWord", "GOODsimulation: {threads: all}",
     ":3: simulation.threads: 'all' is not a whole number"},
    {"NoDilation", "GOODdilation: {factor: 0}", ":3: dilation.factor: 0 is outside 1 .. 1000"},
    {"DeviceWithoutDilation", "GOODdilation: {device: {latency: 1us}}",
     ":3: dilation.device: needs a 'factor' above 1; time is not stretched"},
    {"DeviceOfTheEmbeddedSwitch", "GOODdilation:\n  factor: 2\n  device: {buffer: 1MiB}\n",
     ":5: dilation.device: needs a device; the embedded switch is stretched with all else"},
    {"DilatedRdmaDevice", "RDMAdilation: {factor: 8}",
     ":5: dilation.factor: port 'p0' is an RDMA device, whose clocks cannot be stretched: take a DPDK port, or leave "
     "it "
     "at 1"},
    {"HybridOfNobodyNamed", "GOODhybrid: {}\n",
     ":3: hybrid: needs 'wired', the hosts whose ranks are on wires, such as [0, 1]; [] for none, where all is "
     "modelled"},
    {"HybridWithAnUnknownHost", "GOODhybrid:\n  wired: [1, 4]\n",
     ":4: hybrid.wired[1]: there is no host 4; there are hosts 0 .. 3"},
    {"HybridWithAMapOfHosts", "GOODhybrid: {wired: {a: 1}}\n",
     ":3: hybrid.wired: must be a list of values, as in [a, b], or a single value"},
    {"HybridWithAHostTwice", "GOODhybrid: {wired: [1, 0, 1]}\n", ":3: hybrid.wired[2]: names host 1 twice"},
    {"HybridPortsOfUncountedHosts", "GOODhybrid: {wired: 0, rate: 1Gbps}\n",
     ":3: hybrid.rate: needs 'hosts.count', to know of how many hosts ports are to be made"},
    {"HybridPortsBesideNone", "GOODhosts: {count: 4}\nhybrid: {wired: [], rate: 1Gbps}\n",
     ":4: hybrid.rate: makes ports of hosts that are modelled beside those of wired hosts, and there are none of "
     "these"},
    {"HybridPortsOfHostsThatThereAreNot", "GOODhosts: {count: 4}\nhybrid: {wired: [0, 99], rate: 1Gbps}\n",
     ":4: hybrid.wired[1]: there is no host 99; there are hosts 0 .. 3"},
    {"HybridPortsOfOneHostTwice", "GOODhosts: {count: 4}\nhybrid: {wired: [1, 1], rate: 1Gbps}\n",
     ":4: hybrid.wired[1]: names host 1 twice"},
    {"HybridPortsOfAllHostsOfOneNic", "GOODhosts: {count: 4}\nhybrid: {wired: [0, 1], rate: 1Gbps}\n",
     ":4: hybrid.rate: 'ports' must have those of the 2 wired hosts alone, 1 of each where hosts.nics says no other, "
     "and "
     "has 4; without 'rate' it has those of all hosts"},
    {"HybridPortsOfAllHosts", "GOODhosts: {count: 4, nics: 1}\nhybrid: {wired: [0, 1], rate: 1Gbps}\n",
     ":4: hybrid.rate: 'ports' must have those of the 2 wired hosts alone, 1 of each, and has 4; without 'rate' it has "
     "those of all hosts"},
    {"TooManyHybridPorts", "GOODhosts: {count: 1000, nics: 2}\nhybrid: {wired: [0, 1], rate: 1Gbps}\n",
     ":4: hybrid.rate: 2 ports of each of 1000 hosts are 2000, the most is 1024"},
    {"HybridOfSeveralWorkers", "GOODhybrid: {wired: 0}\nworkers: {count: 2}\n",
     ":4: workers.count: 'hybrid' needs one worker: the model of the links is one"},
    {"HybridOfAnyWorkers", "GOODhybrid: {wired: 0}\nworkers: {count: auto}\n",
     ":4: workers.count: 'hybrid' needs one worker: the model of the links is one"},
    {"HybridWithAggregators",
     "workload: {generate: {layers: 2}}\nhybrid: {wired: [0, 1]}\nports:\n  - {}\n  - {}\n  - {}\n"
     "collectives: {algorithms: {all_reduce: in_network}, aggregators: [{name: a, port: p2}]}\n",
     ":7: collectives.aggregators: reduce what is on wires, and with 'hybrid' only part of it is"},
    {"HybridOfMachines",
     "workload: {generate: {layers: 2}}\nhybrid: {wired: 0}\nports:\n  - {device: net_null0, on: a}\n"
     "  - {device: net_null1, on: b}\n",
     ":4: ports[0].on: 'hybrid' is of one machine: the model of the links would be on each of several"},
    {"MachineThatIsAPath", "workload: {generate: {layers: 2}}\nports:\n  - {on: \"../../evil\"}\n  - {on: a}\n",
     ":3: ports[0].on: '../../evil' is no name of a machine: letters, digits, '.', '-' and '_', of which the first is "
     "a "
     "letter or a digit, 128 at most"},
    {"DilationOfNothing", "GOODdilation: 0\n", ":3: dilation.factor: 0 is outside 1 .. 1000"},
    {"DilatedHybridOfDevices",
     "workload: {generate: {layers: 2}}\nhybrid: {wired: 0}\nports:\n  - {device: net_null0}\n  - {}\n"
     "dilation: {factor: 2}\n",
     ":6: dilation.factor: with 'hybrid' needs the embedded switch: a device keeps its own time, and the links of the "
     "model are those of the job"},
    {"TooManyCountedPorts", "workload: {traces: t}\nports:\n  - {count: 1000}\n  - {count: 25}\n",
     ":2: ports: are 1025 with those that 'count' stands for, the most is 1024"},
    {"NoCountedPorts", "workload: {traces: t}\nports:\n  - {count: 2}\n  - {count: 0}\n",
     ":4: ports[1].count: 0 is outside 1 .. 1024"},
    {"NoWorkers", "GOODworkers: {count: 0}", ":3: workers.count: 0 is outside 1 .. 64"},
    {"TooManyWorkers", "GOODworkers: {count: 65}", ":3: workers.count: 65 is outside 1 .. 64"},
    {"MoreWorkersThanPorts", "GOODworkers: {count: 5}",
     ":3: workers.count: 5 workers, but 4 ports with 4 queues in all: each worker has one queue at least"},
    {"MoreCoresThanPorts", "GOODworkers:\n  cores: [1, 2, 3, 4, 5]",
     ":4: workers.cores: 5 workers, but 4 ports with 4 queues in all: each worker has one queue at least"},
    {"ACoreTwice", "GOODworkers: {cores: [1, 2, 1]}", ":3: workers.cores: names a CPU twice"},
    {"OtherCores", "GOODworkers:\n  count: 3\n  cores: [1, 2]\n",
     ":5: workers.cores: names 2 CPUs for 3 workers; each has one"},
    {"CoresOfNoMachine", "GOODworkers: {cores: [1024]}", ":3: workers.cores[0]: 1024 is outside 0 .. 1023"},
    {"ACpuBesideWorkers", "GOODrun: {cpu: 1}\nworkers: {count: 2}\n",
     ":3: run.cpu: contradicts 'workers', of which 'cores' names the CPUs"},
    {"WorkersThatWaitForReads", "GOODworkers: {count: 2}\ntransport: {verb: read}\nrun:\n  on_failure: continue\n",
     ":6: run.on_failure: 'continue' with 'verb: read' needs one worker"},
    {"ImpairedWorkers", "GOODworkers: {count: 2}\nimpairments:\n  - {action: drop, every: 10}\n",
     ":3: workers.count: impairments are counted over all ports, which one worker must have: leave it at 1"},
    {"AShardedFabric", "GOODswitch: {core: sharded}\nfabric: {topology: leaf_spine, leaves: 2}\n",
     ":3: switch.core: 'sharded' does not go with 'fabric': what passes its cables concerns several workers; take "
     "'shared' or 'own'"},
    {"TheSwitchOfWorkersTwice", "GOODswitch: {core: own}\nworkers: {switch: sharded}\n",
     ":4: workers.switch: is another name of switch.core; give one of them"},
    {"TheSwitchOfWorkersIsWrong", "GOODworkers: {switch: split}\n",
     ":3: switch.core: 'split' is not one of shared, own, sharded"},
    {"ACaptureOfShards", "GOODswitch: {core: sharded}\nrecord: {capture: 1MiB}\n",
     ":3: switch.core: 'sharded' does not go with 'record.capture': no thread sees all frames"},
    {"QueuesOfShards", "GOODswitch: {core: sharded}\nrecord: {fabric_interval: 1us}\n",
     ":3: switch.core: 'sharded' does not go with 'record.fabric_interval': no thread sees all queues"},
    {"NestedDut", "GOODdut: {buffers: {shared: 1MiB}}", ":3: dut.buffers: must be a single value"},
};

void PrintTo(const Mistake& mistake, std::ostream* stream) {
  *stream << mistake.name;
}

class WrongConfig : public ::testing::TestWithParam<Mistake> {};

TEST_P(WrongConfig, IsExplained) {
  const ::rankwire::testing::TemporaryFolder folder;
  const std::string file = folder / "wrong.yaml";
  std::string text = GetParam().text;
  if (text.starts_with("GOOD")) text.replace(0, 4, kGood);
  if (text.starts_with("RDMA")) text.replace(0, 4, kRdma);
  std::ofstream(file) << text;
  try {
    load_config(file, {});
    FAIL() << "accepted:\n" << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(file + ":")) << message;
    EXPECT_NE(message.find(GetParam().error), std::string::npos) << message << "\nis not\n" << GetParam().error;
  }
}

INSTANTIATE_TEST_SUITE_P(Mistakes, WrongConfig, ::testing::ValuesIn(kMistakes),
                         [](const auto& instance) { return instance.param.name; });

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("bufer", "buffer"), 1u);
  EXPECT_EQ(edit_distance("trasnport", "transport"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

}  // namespace
}  // namespace rankwire
