// The switches behind embedded ports as plain values: key `fabric` of config.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

enum class TopologyName : uint8_t {
  kStar,
  kLeafSpine,
  kFatTree,
  kRail,
  kRing,
  kTorus2d,
  kTorus3d,
  kFullyConnected,
  kDragonfly,
  kHierarchy,
  kGraph,
  kInfragraph,
  kAstraNetwork,
};
enum class RoutingName : uint8_t { kShortest, kDimensionOrder };

/// TopologyName::kGraph: a cable between two switches.
struct GraphLinkConfig {
  std::string a, b;  ///< names of switches
};
/// TopologyName::kGraph: where a port is.
struct GraphHostConfig {
  std::string port;  ///< name
  std::string at;    ///< key `switch`: name
};

/// TopologyName::kHierarchy: a tier of switches.
struct LevelConfig {
  std::string name;
  uint32_t count = 2;
  std::optional<Bandwidth> rate;
  std::optional<Scale> oversubscription;
  std::optional<Duration> latency;  ///< absent: as the fabric's `link_latency`
  uint32_t switches = 1, cables = 1;
  bool from_npus = false;  ///< key `from`: npus or below
};

enum class SwitchPresetName : uint8_t { kNone, kTomahawk5, kHpccNs3 };
enum class ForwardingName : uint8_t { kStoreAndForward, kCutThrough };
enum class TrustName : uint8_t { kDscp, kPcp };
enum class MarkAtName : uint8_t { kEnqueue, kDequeue };
enum class NotCapableName : uint8_t { kPass, kDrop };
enum class StormActionName : uint8_t { kDrop, kForward };
enum class SpreadingName : uint8_t { kFlow, kFlowlet, kPacket };

/// Absent values are the preset's, or without one those of dataplane/switch/options.h. Alphas are exponents of 2.
struct FabricBufferConfig {
  std::optional<Bytes> shared, reserve, queue, headroom, xoff, resume_offset;
  std::optional<int8_t> ingress_alpha, egress_alpha;
};

struct FabricRedConfig {
  Bytes minimum = Bytes(1 << 20), maximum = Bytes(2 << 20);
  uint32_t probability_ppm = 50'000;
  MarkAtName at = MarkAtName::kEnqueue;
  NotCapableName not_capable = NotCapableName::kPass;
};

struct FabricWatchdogConfig {
  Duration detection = milliseconds(200), restoration = milliseconds(200);
  StormActionName action = StormActionName::kDrop;
};

struct DscpConfig {
  uint32_t dscp = 0, priority = 0;
};

struct FabricBalancingConfig {
  SpreadingName spreading = SpreadingName::kFlow;
  bool hash_queue_pair = false;
  bool seed_per_switch = true;  ///< key `seeds`: own or shared
  Duration flowlet_gap = microseconds(50);
};

struct FabricFailureConfig {
  std::string a;                   ///< name of a switch or of a port
  std::optional<std::string> b;    ///< of another switch; absent: the port's cable, or all of the switch
  uint32_t cable = 0;              ///< which of those between the two
  Duration down;                   ///< run time
  std::optional<Duration> up;      ///< absent: never
  std::optional<Duration> period;  ///< from one time that it goes down to the next; absent: it does so once
  uint32_t times = 1;              ///< that it goes down, with `period`
  // What the cables are like from `down` to `up`, if they are not down.
  std::optional<Bandwidth> rate;  ///< of cables between switches, where their own is not lower
  Duration latency;               ///< added to their own
  uint32_t loss_ppm = 0;          ///< frames lost at random

  bool degrades() const { return rate || latency > Duration() || loss_ppm > 0; }
};

struct FabricConfig {
  TopologyName topology = TopologyName::kLeafSpine;
  uint32_t leaves = 2, spines = 2, parallel = 1;
  uint32_t k = 4;
  uint32_t rails = 2, group = 2;
  std::optional<Bandwidth> link_rate;    ///< of cables; absent: follows from the fastest port's
  std::optional<Duration> link_latency;  ///< of cables; absent: switch.link_latency
  std::vector<uint32_t> extents;         ///< kTorus2d, kTorus3d
  bool wrap = true;                      ///< kRing, kTorus2d, kTorus3d
  uint32_t groups = 3, routers = 2, router_hosts = 2, global_links = 1;  ///< kDragonfly, like the next two
  std::optional<Bandwidth> global_rate;                                  ///< absent: as `link_rate`
  std::optional<Duration> global_latency;                                ///< absent: as `link_latency`
  std::vector<LevelConfig> levels;                                       ///< kHierarchy
  std::optional<Scale> oversubscription;  ///< kLeafSpine, kFatTree, instead of `link_rate`
  std::string infragraph;                 ///< kInfragraph: path
  std::string astra_network;              ///< kAstraNetwork: path
  RoutingName routing = RoutingName::kShortest;
  std::vector<std::string> switches;  ///< kGraph, like the next two
  std::vector<GraphLinkConfig> links;
  std::vector<GraphHostConfig> hosts;
  SwitchPresetName preset = SwitchPresetName::kNone;
  ForwardingName forwarding = ForwardingName::kStoreAndForward;
  TrustName trust = TrustName::kDscp;
  std::vector<DscpConfig> dscp;            ///< those that do not have priority DSCP >> 3
  std::vector<uint32_t> lossless, strict;  ///< priorities; no `lossless`: the preset's
  std::vector<uint32_t> weights;           ///< none, or one a priority
  FabricBufferConfig buffer;
  std::optional<FabricRedConfig> ecn;            ///< absent: the preset's
  std::optional<FabricWatchdogConfig> watchdog;  ///< absent: the preset's
  uint32_t pause_quanta = 65'535;
  FabricBalancingConfig balancing;
  std::vector<FabricFailureConfig> failures;
  Duration convergence;
};

}  // namespace rankwire
