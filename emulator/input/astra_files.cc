#include "emulator/input/astra_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "emulator/input/tree.h"

namespace rankwire {
namespace {

using AstraAlgorithm = AstraImplementation::Algorithm;

/// Beyond this a double does not tell whole numbers apart.
constexpr double kLargestNumber = 1e15;

std::string_view text_of(const Tree& value, std::string_view key) {
  if (value.kind != Tree::Kind::kScalar) fail_at(value.origin, "{}: must be a single value", key);
  return value.text;
}

double number_of(const Tree& value, std::string_view key, double least) {
  const std::string_view text = text_of(value, key);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail_at(value.origin, "{}: '{}' is not a number", key, text);
  if (!(number >= least && number <= kLargestNumber))
    fail_at(value.origin, "{}: {} is outside {} .. {:g}", key, text, least, kLargestNumber);
  return number;
}

uint32_t count_of(const Tree& value, std::string_view key, uint32_t least) {
  const double number = number_of(value, key, least);
  if (number != std::floor(number) || number > UINT32_MAX)
    fail_at(value.origin, "{}: {} is not a whole number up to {}", key, value.text, UINT32_MAX);
  return static_cast<uint32_t>(number);
}

double positive_of(const Tree& value, std::string_view key) {
  const double number = number_of(value, key, 0);
  if (number == 0) fail_at(value.origin, "{}: must be positive", key);
  return number;
}

/// The keys of one file, each asked for once.
class Keys {
 public:
  explicit Keys(const std::string& file) : root_(read_yaml_file(file)), file_(file) {}

  const Tree* find(std::string_view key) {
    known_.push_back(key);
    return root_.find(key);
  }
  const Tree& require(std::string_view key) {
    const Tree* value = find(key);
    if (value == nullptr) fail_input("{}: '{}' is missing", file_, key);
    return *value;
  }
  /// A scalar counts as a list of one.
  std::vector<Tree> list(std::string_view key) {
    const Tree& value = require(key);
    if (value.kind == Tree::Kind::kScalar) return {value};
    if (value.kind != Tree::Kind::kList) fail_at(value.origin, "{}: must be a list, one entry a dimension", key);
    return value.items;
  }
  bool flag(std::string_view key) {
    const Tree* value = find(key);
    if (value == nullptr) return false;
    const std::string_view text = text_of(*value, key);
    if (text == "true") return true;
    return text != "false" && number_of(*value, key, 0) != 0;
  }

  /// Keys without any effect there.
  void ignore(std::string_view key) { known_.push_back(key); }
  /// A key that changes what ASTRA-sim does, but not what rankwire does.
  void refuse(std::string_view key, std::string_view why) {
    if (const Tree* value = find(key)) fail_at(value->origin, "{}: is not honoured: {}", key, why);
  }
  void warn_of_others(Warnings& warnings) const {
    for (const Tree::Entry& entry : root_.entries) {
      if (std::ranges::find(known_, entry.key) == known_.end())
        warnings.push_back(fmt::format("{}: '{}' is no key that ASTRA-sim reads", entry.origin.place, entry.key));
    }
  }

 private:
  const Tree root_;
  const std::string file_;
  std::vector<std::string_view> known_;
};

AstraBlock block_of(const Tree& value) {
  const std::string_view text = text_of(value, "topology");
  if (text == "Ring") return AstraBlock::kRing;
  if (text == "Switch") return AstraBlock::kSwitch;
  if (text == "FullyConnected") return AstraBlock::kFullyConnected;
  fail_at(value.origin, "topology: '{}' is not one of Ring, Switch, FullyConnected", text);
}

/// "direct", or "direct4" with a window.
std::optional<uint32_t> window_of(const Tree& value, std::string_view key, std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  uint32_t window = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), window);
  if (error != std::errc() || end != digits.data() + digits.size() || window == 0)
    fail_at(value.origin, "{}: '{}' is not a window; write for example direct4", key, digits);
  return window;
}

AstraImplementation implementation_of(const Tree& value, std::string_view key) {
  const std::string_view text = text_of(value, key);
  if (text == "ring") return {.algorithm = AstraAlgorithm::kRing, .window = {}};
  if (text == "oneRing") return {.algorithm = AstraAlgorithm::kRing, .one = true, .window = {}};
  if (text == "halvingDoubling") return {.algorithm = AstraAlgorithm::kHalvingDoubling, .window = {}};
  if (text == "oneHalvingDoubling") return {.algorithm = AstraAlgorithm::kHalvingDoubling, .one = true, .window = {}};
  if (text == "doubleBinaryTree") return {.algorithm = AstraAlgorithm::kDoubleBinaryTree, .window = {}};
  for (const std::string_view direct : {"direct", "oneDirect"}) {
    if (text.starts_with(direct)) {
      return {.algorithm = AstraAlgorithm::kDirect,
              .one = direct == "oneDirect",
              .window = window_of(value, key, text.substr(direct.size()))};
    }
  }
  fail_at(value.origin,
          "{}: '{}' is not one of ring, oneRing, direct[K], oneDirect[K], halvingDoubling, oneHalvingDoubling, "
          "doubleBinaryTree",
          key, text);
}

void read_implementations(Keys& keys, const AstraNetwork& network, AstraSystem& system) {
  constexpr const char* kNames[kAstraCollectives][2] = {
      {"all-reduce-implementation", "all-reduce-implementation-custom"},
      {"all-gather-implementation", "all-gather-implementation-custom"},
      {"reduce-scatter-implementation", "reduce-scatter-implementation-custom"},
      {"all-to-all-implementation", "all-to-all-implementation-custom"}};
  for (size_t c = 0; c < kAstraCollectives; ++c) {
    const auto [native, custom] = kNames[c];
    const Tree* natives = keys.find(native);
    const Tree* customs = keys.find(custom);
    std::vector<AstraImplementation>& implementations = system.implementations[c];
    if (natives != nullptr && customs != nullptr)
      fail_at(customs->origin, "{}: contradicts {}; give one of them", custom, native);
    if (customs != nullptr) {
      const std::vector<Tree> list = keys.list(custom);
      if (list.size() != 1)
        fail_at(customs->origin, "{}: is honoured with one entry, this has {}", custom, list.size());
      system.custom[c] = text_of(list[0], custom);
      implementations.push_back({.algorithm = AstraAlgorithm::kCustom, .window = {}});
    }
    if (natives == nullptr) continue;
    for (const Tree& value : keys.list(native)) implementations.push_back(implementation_of(value, native));
    if (implementations.size() > network.dimensions.size()) {
      fail_at(natives->origin, "{}: has {} entries, but the network has {} dimensions", native, implementations.size(),
              network.dimensions.size());
    }
  }
}

void read_scheduling(Keys& keys, AstraSystem& system) {
  // Of one collective at a time there is nothing to prefer.
  if (const Tree* policy = keys.find("scheduling-policy")) {
    const std::string_view text = text_of(*policy, "scheduling-policy");
    if (text != "LIFO" && text != "FIFO" && text != "EXPLICIT")
      fail_at(policy->origin, "scheduling-policy: '{}' is not one of LIFO, FIFO, EXPLICIT", text);
  }
  if (const Tree* optimization = keys.find("collective-optimization")) {
    const std::string_view text = text_of(*optimization, "collective-optimization");
    if (text != "baseline" && text != "localBWAware")
      fail_at(optimization->origin, "collective-optimization: '{}' is not one of baseline, localBWAware", text);
    system.local_bandwidth_aware = text == "localBWAware";
  }
  system.splits = count_of(keys.require("preferred-dataset-splits"), "preferred-dataset-splits", 1);
  if (const Tree* chunks = keys.find("active-chunks-per-dimension"))
    system.active_chunks = count_of(*chunks, "active-chunks-per-dimension", 1);
  if (const Tree* delay = keys.find("endpoint-delay")) {
    const uint32_t ns = count_of(*delay, "endpoint-delay", 0);
    if (ns == 0) fail_at(delay->origin, "endpoint-delay: must be at least 1 (ns); ASTRA-sim aborts on 0");
    system.endpoint_delay = nanoseconds(ns);
  }
}

}  // namespace

AstraNetwork read_astra_network(const std::string& file, Warnings& warnings) {
  constexpr uint64_t kMostNpus = 1 << 17;
  Keys keys(file);
  AstraNetwork network;
  const std::vector<Tree> topology = keys.list("topology"), npus = keys.list("npus_count"),
                          bandwidth = keys.list("bandwidth"), latency = keys.list("latency");
  if (topology.empty()) fail_at(keys.require("topology").origin, "topology: is empty");
  const auto check = [&](const std::vector<Tree>& values, const char* key) {
    if (values.size() == topology.size()) return;
    fail_at(keys.require(key).origin, "{}: has {} entries, but topology has {}", key, values.size(), topology.size());
  };
  check(npus, "npus_count"), check(bandwidth, "bandwidth"), check(latency, "latency");
  uint64_t total = 1;
  for (size_t d = 0; d < topology.size(); ++d) {
    network.dimensions.push_back({.block = block_of(topology[d]),
                                  .npus = count_of(npus[d], "npus_count", 2),
                                  .bandwidth = positive_of(bandwidth[d], "bandwidth"),
                                  .latency = number_of(latency[d], "latency", 0)});
    total *= network.dimensions.back().npus;
    if (total > kMostNpus) fail_at(npus[d].origin, "npus_count: more than {} NPUs in all", kMostNpus);
  }
  keys.warn_of_others(warnings);
  return network;
}

AstraSystem read_astra_system(const std::string& file, const AstraNetwork& network, Warnings& warnings) {
  Keys keys(file);
  AstraSystem system;
  read_scheduling(keys, system);
  read_implementations(keys, network, system);
  if (const Tree* bandwidth = keys.find("local-mem-bw"))
    system.memory_bandwidth = positive_of(*bandwidth, "local-mem-bw");
  if (const Tree* peak = keys.find("peak-perf")) system.peak = positive_of(*peak, "peak-perf");
  system.roofline = keys.flag("roofline-enabled");
  system.replay = keys.flag("replay-only");
  if (system.roofline && !system.replay && (system.peak == 0 || system.memory_bandwidth == 0))
    fail_input("{}: 'roofline-enabled' needs 'peak-perf' and 'local-mem-bw'", file);
  if (keys.flag("model-shared-bus")) keys.refuse("model-shared-bus", "end points do not share a bus");
  for (const char* key : {"L", "o", "g", "G", "boost-mode", "local-reduction-delay", "trace-enabled", "track-local-mem",
                          "local-mem-trace-filename"})
    keys.ignore(key);
  keys.warn_of_others(warnings);
  return system;
}

AstraMemory read_astra_memory(const std::string& file, Warnings& warnings) {
  Keys keys(file);
  AstraMemory memory;
  const Tree& type = keys.require("memory-type");
  const std::string_view text = text_of(type, "memory-type");
  if (text == "PER_NODE_MEMORY_EXPANSION") {
    memory.kind = AstraMemory::Kind::kPerNode;
    memory.nodes = count_of(keys.require("num-nodes"), "num-nodes", 1);
    memory.npus_per_node = count_of(keys.require("num-npus-per-node"), "num-npus-per-node", 1);
  } else if (text == "PER_NPU_MEMORY_EXPANSION") {
    memory.kind = AstraMemory::Kind::kPerNpu;
  } else if (text == "MEMORY_POOL") {
    memory.kind = AstraMemory::Kind::kPool;
  } else if (text != "NO_MEMORY_EXPANSION") {
    fail_at(type.origin,
            "memory-type: '{}' is not one of NO_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION, "
            "PER_NPU_MEMORY_EXPANSION, MEMORY_POOL",
            text);
  }
  if (memory.kind != AstraMemory::Kind::kNone) {
    memory.bandwidth = positive_of(keys.require("remote-mem-bw"), "remote-mem-bw");
    if (const Tree* latency = keys.find("remote-mem-latency"))
      memory.latency = nanoseconds(count_of(*latency, "remote-mem-latency", 0));
  }
  keys.warn_of_others(warnings);
  return memory;
}

}  // namespace rankwire
