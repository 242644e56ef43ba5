#include "emulator/input/infragraph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "emulator/input/infragraph_slice.h"

namespace rankwire {
namespace {

/// Of components and devices within devices, and of edges, so that a few large counts do not take all memory and time.
constexpr size_t kMostParts = 1 << 20, kMostEdges = 1 << 22;
/// Of a cable at a CPU: more than any way round it.
constexpr uint32_t kCostOfCpu = 64;

template <class T>
const T* named(const std::vector<T>& items, std::string_view name) {
  const auto found = std::ranges::find(items, name, &T::name);
  return found == items.end() ? nullptr : &*found;
}

template <class T>
std::string names_of(const std::vector<T>& items) {
  std::string text;
  for (const T& item : items) text += fmt::format("{}{}", text.empty() ? "" : ", ", item.name);
  return text;
}

class Expansion {
 public:
  explicit Expansion(const Infrastructure& infrastructure) : infrastructure_(infrastructure) {}

  InfraGraph run() {
    for (const InfraInstance& instance : infrastructure_.instances) {
      const InfraDevice& device = device_named(instance.device, instance.origin);
      for (uint32_t i = 0; i < instance.count; ++i) add_nodes(device, fmt::format("{}.{}", instance.name, i), 0);
      for (uint32_t i = 0; i < instance.count; ++i) add_edges(device, fmt::format("{}.{}", instance.name, i));
    }
    for (size_t e = 0; e < infrastructure_.edges.size(); ++e) {
      const InfraEdge& edge = infrastructure_.edges[e];
      place_ = fmt::format("{}: edges[{}]", edge.origin.place, e);
      add_edge(edge, instances_of(edge.ep1), instances_of(edge.ep2), infrastructure_.links, false);
    }
    return std::move(graph_);
  }

 private:
  const InfraDevice& device_named(const std::string& name, const Origin& origin) const {
    const InfraDevice* const device = named(infrastructure_.devices, name);
    if (device != nullptr) return *device;
    fail_at(origin, "'{}' is not the name of a device; there are {}", name, names_of(infrastructure_.devices));
  }

  void add_nodes(const InfraDevice& device, const std::string& prefix, int depth) {
    constexpr int kDeepest = 16;
    if (depth > kDeepest) fail_at(device.origin, "device '{}' contains itself", device.name);
    if (++parts_ > kMostParts) fail_at(device.origin, "the file has more than {} components", kMostParts);
    for (const InfraComponent& component : device.components) {
      for (uint32_t i = 0; i < component.count; ++i) {
        const std::string name = fmt::format("{}.{}.{}", prefix, component.name, i);
        if (component.is_device) {
          add_nodes(device_named(component.name, device.origin), name, depth + 1);
          continue;
        }
        const auto number = static_cast<uint32_t>(graph_.nodes.size());
        if (!numbers_.emplace(name, number).second) fail_at(device.origin, "there are two components '{}'", name);
        graph_.nodes.push_back({name, component.type});
        if (number >= kMostParts) fail_at(device.origin, "the file has more than {} components", kMostParts);
      }
    }
  }

  void add_edges(const InfraDevice& device, const std::string& prefix) {
    for (const InfraComponent& component : device.components) {
      for (uint32_t i = 0; component.is_device && i < component.count; ++i) {
        add_edges(device_named(component.name, device.origin), fmt::format("{}.{}.{}", prefix, component.name, i));
      }
    }
    for (size_t e = 0; e < device.edges.size(); ++e) {
      const InfraEdge& edge = device.edges[e];
      place_ = fmt::format("{}: edges[{}] of device '{}'", edge.origin.place, e, device.name);
      add_edge(edge, components_of(device, edge.ep1, prefix), components_of(device, edge.ep2, prefix), device.links,
               true);
    }
  }

  InfraSlice slice(std::string_view text, uint32_t count) const {
    try {
      return parse_slice(text, count);
    } catch (const Error& error) {
      fail_input("{}: {}", place_, error.what());
    }
  }

  /// The nodes that "cx5[0:2].port[0]" stands for in a device.
  std::vector<uint32_t> components_of(const InfraDevice& device, const InfraEnd& end, const std::string& prefix) const {
    const InfraDevice* inside = &device;
    std::vector<std::string> names = {prefix};
    std::string_view rest = end.component;
    for (bool more = true; more;) {
      const size_t dot = rest.find('.');
      more = dot != std::string_view::npos;
      const std::string_view text = rest.substr(0, dot);
      if (more) rest.remove_prefix(dot + 1);
      const InfraComponent* const component = named(inside->components, sliced_name(text));
      if (component == nullptr) {
        fail_input("{}: device '{}' has no component '{}'; it has {}", place_, inside->name, sliced_name(text),
                   names_of(inside->components));
      }
      if (component->is_device != more) {
        fail_input("{}: '{}' {}", place_, text,
                   more ? "has no components of its own" : "is a device; name one of its components behind a dot");
      }
      const InfraSlice places = slice(text, component->count);
      std::vector<std::string> longer;
      for (const std::string& name : names) {
        for (uint32_t i = places.first; i < places.end; i += places.step) {
          longer.push_back(fmt::format("{}.{}.{}", name, component->name, i));
        }
      }
      names = std::move(longer);
      if (more) inside = &device_named(component->name, device.origin);
    }
    std::vector<uint32_t> nodes;
    for (const std::string& name : names) nodes.push_back(numbers_.at(name));
    return nodes;
  }

  std::vector<uint32_t> instances_of(const InfraEnd& end) const {
    const InfraInstance* const instance = named(infrastructure_.instances, sliced_name(end.instance));
    if (instance == nullptr) {
      fail_input("{}: '{}' is not the name of an instance; there are {}", place_, sliced_name(end.instance),
                 names_of(infrastructure_.instances));
    }
    const InfraDevice& device = device_named(instance->device, instance->origin);
    const InfraSlice places = slice(end.instance, instance->count);
    std::vector<uint32_t> nodes;
    for (uint32_t i = places.first; i < places.end; i += places.step) {
      for (const uint32_t node : components_of(device, end, fmt::format("{}.{}", instance->name, i))) {
        nodes.push_back(node);
      }
    }
    return nodes;
  }

  void add_edge(const InfraEdge& edge, const std::vector<uint32_t>& first, const std::vector<uint32_t>& second,
                const std::vector<InfraLink>& links, bool within_device) {
    const InfraLink* const link = named(links, edge.link);
    if (link == nullptr) {
      fail_input("{}: '{}' is not the name of a link; there are {}", place_, edge.link, names_of(links));
    }
    made_ += edge.scheme == InfraScheme::kManyToMany ? first.size() * second.size() : first.size();
    if (made_ > kMostEdges) fail_input("{}: the file has more than {} edges", place_, kMostEdges);
    switch (edge.scheme) {
      case InfraScheme::kNone:
        fail_input("{}: needs 'scheme', one2one or many2many", place_);
      case InfraScheme::kOneToOne:
        if (first.size() != second.size()) {
          fail_input("{}: one2one joins {} components with {}", place_, first.size(), second.size());
        }
        for (size_t i = 0; i < first.size(); ++i) join(first[i], second[i], *link, within_device);
        break;
      case InfraScheme::kManyToMany:
        for (const uint32_t a : first) {
          for (const uint32_t b : second) join(a, b, *link, within_device);
        }
        break;
    }
  }

  void join(uint32_t a, uint32_t b, const InfraLink& link, bool within_device) {
    if (a == b) return;
    const uint64_t pair = uint64_t{std::min(a, b)} << 32 | std::max(a, b);
    const auto [place, is_new] = edges_.emplace(pair, graph_.edges.size());
    if (is_new) graph_.edges.emplace_back();
    graph_.edges[place->second] = {a, b, link, within_device};
  }

  const Infrastructure& infrastructure_;
  InfraGraph graph_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<uint64_t, size_t> edges_;
  size_t parts_ = 0, made_ = 0;
  std::string place_;  ///< of the edge at hand
};

/// Which nodes are one switch.
class Contraction {
 public:
  Contraction(const InfraGraph& graph, const std::string& host_type) : graph_(graph), parent_(graph.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (const InfraGraph::Node& node : graph.nodes) {
      is_part_.push_back(node.type != host_type && node.type != "switch" && node.type != "cpu");
    }
    for (const InfraGraph::Edge& edge : graph.edges) {
      if (is_bare(edge) && is_part_[edge.a] && is_part_[edge.b]) parent_[root(edge.b)] = root(edge.a);
    }
    std::map<uint32_t, std::set<uint32_t>> owners;  // by root of parts
    for (const InfraGraph::Edge& edge : graph.edges) {
      if (!is_bare(edge) || is_part_[edge.a] == is_part_[edge.b]) continue;
      owners[root(is_part_[edge.a] ? edge.a : edge.b)].insert(is_part_[edge.a] ? edge.b : edge.a);
    }
    for (const auto& [parts, found] : owners) {
      if (found.size() == 1) parent_[parts] = *found.begin();
    }
  }

  uint32_t root(uint32_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

 private:
  static bool is_bare(const InfraGraph::Edge& edge) {
    return edge.within_device && !edge.link.rate && !edge.link.latency;
  }

  const InfraGraph& graph_;
  std::vector<uint32_t> parent_;
  std::vector<bool> is_part_;
};

}  // namespace

InfraGraph expand(const Infrastructure& infrastructure) {
  return Expansion(infrastructure).run();
}

Topology infragraph_topology(const InfraGraph& graph, const Line& standard) {
  const auto is_of = [](const char* type) {
    return [type](const InfraGraph::Node& node) { return node.type == type; };
  };
  const std::string host_type = std::ranges::any_of(graph.nodes, is_of("xpu")) ? "xpu" : "nic";
  Contraction one(graph, host_type);
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> switch_of(graph.nodes.size(), kNone);
  Topology topology;
  const auto add = [&](uint32_t node) {
    uint32_t& number = switch_of[one.root(node)];
    if (number == kNone) number = topology.add_switch(graph.nodes[one.root(node)].name).value;
    return SwitchId(number);
  };
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].type != host_type) continue;
    topology.hosts.push_back({add(node), {}});
    topology.no_transit.push_back(1);
  }
  if (topology.hosts.empty()) fail_input("the file has no component of type xpu or nic, so nobody sends");
  for (const InfraGraph::Edge& edge : graph.edges) {
    if (one.root(edge.a) == one.root(edge.b)) continue;
    const bool at_cpu = graph.nodes[one.root(edge.a)].type == "cpu" || graph.nodes[one.root(edge.b)].type == "cpu";
    const SwitchId a = add(edge.a), b = add(edge.b);
    topology.cables.push_back(
        {.a = a,
         .b = b,
         .line = {edge.link.rate.value_or(standard.rate), edge.link.latency.value_or(standard.latency)},
         .cost = at_cpu ? kCostOfCpu : 1});
  }
  topology.no_transit.resize(topology.switches.size(), 0);
  return topology;
}

}  // namespace rankwire
