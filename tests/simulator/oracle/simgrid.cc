#include "tests/simulator/oracle/simgrid.h"

#include <simgrid/s4u.hpp>
#include <string>

namespace rankwire {
namespace {

namespace s4u = simgrid::s4u;

/// No latency, no overhead, no traffic of acknowledgements and no window: what is left of CM02 are max-min shares.
void configure() {
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/latency-factor:1", "network/bandwidth-factor:1",
        "network/weight-S:0", "network/TCP-gamma:0", "maxmin/precision:1e-9", "contexts/factory:thread"}) {
    s4u::Engine::set_config(setting);
  }
}

/// A host of its own for both ends of every flow would make a table of routes that is larger than all else: flows are
/// told apart by their pairs of hosts.
class Platform {
 public:
  explicit Platform(std::span<const FlowSet> sets) : zone_(s4u::create_full_zone("all")) {
    size_t flows = 0;
    for (const FlowSet& set : sets) flows += set.links_of_flow.size();
    while (hosts_.size() * (hosts_.size() - (hosts_.empty() ? 0 : 1)) < flows) {
      hosts_.push_back(zone_->create_host("h" + std::to_string(hosts_.size()), 1e9)->seal());
    }
    size_t number = 0;
    for (const FlowSet& set : sets) add(set, number);
    zone_->seal();
  }

  std::pair<s4u::Host*, s4u::Host*> ends(size_t flow) const {
    const size_t source = flow / (hosts_.size() - 1), other = flow % (hosts_.size() - 1);
    return {hosts_[source], hosts_[other < source ? other : other + 1]};
  }

 private:
  void add(const FlowSet& set, size_t& number) {
    std::vector<s4u::Link*> links;
    for (const int64_t capacity : set.capacities) {
      const std::string name = "l" + std::to_string(created_++);
      links.push_back(zone_->create_link(name, static_cast<double>(capacity) / 8)->set_latency(0.0)->seal());
    }
    for (const std::vector<uint32_t>& flow : set.links_of_flow) {
      std::vector<s4u::LinkInRoute> route;
      for (const uint32_t link : flow) route.emplace_back(links[link]);
      const auto [source, destination] = ends(number++);
      zone_->add_route(source->get_netpoint(), destination->get_netpoint(), nullptr, nullptr, route, false);
    }
  }

  s4u::NetZone* zone_;
  std::vector<s4u::Host*> hosts_;
  size_t created_ = 0;
};

}  // namespace

std::optional<std::vector<std::vector<double>>> simgrid_rates(std::span<const FlowSet> sets) {
  // In one second no flow ends.
  constexpr uint64_t kBytes = 1'000'000'000'000;
  std::string name = "simgrid", quiet = "--log=root.thresh:warning";
  char* arguments[] = {name.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine(&count, arguments);
  configure();
  const Platform platform(sets);
  std::vector<std::vector<double>> rates;
  s4u::Actor::create("all", platform.ends(0).first, [&]() {
    std::vector<s4u::CommPtr> flows;
    for (const FlowSet& set : sets) {
      for (size_t f = 0; f < set.links_of_flow.size(); ++f) {
        const auto [source, destination] = platform.ends(flows.size());
        flows.push_back(s4u::Comm::sendto_async(source, destination, kBytes));
      }
    }
    s4u::this_actor::sleep_for(1.0);
    size_t next = 0;
    for (const FlowSet& set : sets) {
      std::vector<double>& of_set = rates.emplace_back();
      for (size_t f = 0; f < set.links_of_flow.size(); ++f) {
        of_set.push_back((static_cast<double>(kBytes) - flows[next++]->get_remaining()) * 8);
      }
    }
    for (const s4u::CommPtr& flow : flows) flow->cancel();
  });
  engine.run();
  return rates;
}

}  // namespace rankwire
