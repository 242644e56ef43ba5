#include "emulator/input/aggregators.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rankwire {
namespace {

class Check {
 public:
  Check(const RunConfig& config, const Tree& root)
      : config_(config), root_(root), aggregators_(config.collectives.aggregators) {}

  void run() const {
    check_use();
    if (aggregators_.empty()) return;
    if (config_.simulation.is_astra())
      fail(kKey, "'fidelity: astra' knows no aggregators; take alpha_beta, flow or the twin");
    check_ports();
    check_tree();
    check_served();
  }

 private:
  static constexpr const char* kKey = "collectives.aggregators";

  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(nearest(root_, key).origin, "{}: {}", key, fmt::format(format, std::forward<Args>(args)...));
  }
  std::string key_of(size_t aggregator) const { return fmt::format("{}[{}]", kKey, aggregator); }
  bool has_port(const std::string& name) const {
    return std::ranges::find(config_.ports, name, &PortConfig::name) != config_.ports.end();
  }
  bool is_aggregators_port(const std::string& name) const {
    return std::ranges::find(aggregators_, name, &AggregatorConfig::port) != aggregators_.end();
  }

  void check_use() const {
    bool asked = false;
    for (uint32_t i = 0; i < kCollectiveOperations; ++i) {
      if (config_.collectives.algorithms[i].algorithm != Algorithm::kInNetwork) continue;
      asked = true;
      if (aggregators_.empty())
        fail(fmt::format("collectives.algorithms.{}", to_string(static_cast<Operation>(i))),
             "'in_network' needs collectives.aggregators, which says behind which ports the network reduces");
    }
    if (!asked && !aggregators_.empty()) fail(kKey, "no operation of collectives.algorithms is 'in_network'");
  }

  void check_ports() const {
    std::set<std::string> names, ports;
    for (size_t a = 0; a < aggregators_.size(); ++a) {
      const AggregatorConfig& aggregator = aggregators_[a];
      const std::string key = key_of(a);
      if (aggregator.name.empty()) fail(key, "'name' is required");
      if (!names.insert(aggregator.name).second) fail(key + ".name", "'{}' is there twice", aggregator.name);
      if (!has_port(aggregator.port)) fail(key + ".port", "'{}' is not the name of a port", aggregator.port);
      if (!ports.insert(aggregator.port).second)
        fail(key + ".port", "port '{}' has an aggregator already; each needs a port of its own", aggregator.port);
      const auto rank = std::ranges::find(config_.mapping.ranks, aggregator.port, &PlacementEntry::port);
      if (rank != config_.mapping.ranks.end())
        fail(key + ".port", "port '{}' has rank {}; an aggregator needs a port of its own", aggregator.port,
             rank->rank);
    }
    if (rank_ports(config_).empty()) fail(kKey, "no port is left for ranks");
  }

  void check_tree() const {
    std::string top;
    for (size_t a = 0; a < aggregators_.size(); ++a) {
      const AggregatorConfig* at = &aggregators_[a];
      for (size_t hops = 0; !at->parent.empty(); ++hops) {
        const auto parent = std::ranges::find(aggregators_, at->parent, &AggregatorConfig::name);
        if (parent == aggregators_.end())
          fail(key_of(a) + ".parent", "'{}' is not the name of an aggregator", at->parent);
        if (hops == aggregators_.size())
          fail(key_of(a) + ".parent", "'{}' stands above itself", aggregators_[a].parent);
        at = &*parent;
      }
      if (top.empty()) top = at->name;
      if (at->name != top)
        fail(key_of(a), "needs 'parent': aggregators are one tree, and '{}' has none above it either", top);
    }
  }

  void check_served() const {
    std::map<std::string, std::string> server_of;
    for (size_t a = 0; a < aggregators_.size(); ++a) {
      const AggregatorConfig& aggregator = aggregators_[a];
      const std::string key = key_of(a) + ".ports";
      for (const std::string& port : aggregator.ports) {
        if (!has_port(port)) fail(key, "'{}' is not the name of a port", port);
        if (is_aggregators_port(port)) fail(key, "port '{}' is an aggregator's; see 'parent'", port);
        const auto [server, added] = server_of.try_emplace(port, aggregator.name);
        if (!added) fail(key, "port '{}' is served by '{}' already", port, server->second);
      }
      const bool has_child =
          std::ranges::find(aggregators_, aggregator.name, &AggregatorConfig::parent) != aggregators_.end();
      if (aggregator.ports.empty() && !has_child && aggregators_.size() > 1)
        fail(key_of(a), "serves nobody: it needs 'ports', or another aggregator that names it as 'parent'");
    }
    if (server_of.empty()) return;
    for (const uint32_t port : rank_ports(config_))
      if (!server_of.contains(config_.ports[port].name))
        fail(kKey, "port '{}' is in no 'ports'; every port with ranks needs an aggregator", config_.ports[port].name);
  }

  const RunConfig& config_;
  const Tree& root_;
  const std::vector<AggregatorConfig>& aggregators_;
};

}  // namespace

std::vector<uint32_t> rank_ports(const RunConfig& config) {
  std::vector<uint32_t> ports;
  for (uint32_t p = 0; p < config.ports.size(); ++p)
    if (std::ranges::find(config.collectives.aggregators, config.ports[p].name, &AggregatorConfig::port) ==
        config.collectives.aggregators.end())
      ports.push_back(p);
  return ports;
}

void validate_aggregators(const RunConfig& config, const Tree& root) {
  Check(config, root).run();
}

}  // namespace rankwire
