// When flows over a fat-tree end, against an event simulation that shares nothing with the model but the routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "emulator/simulator/network_model.h"
#include "fabric/ecmp_hash.h"
#include "fabric/fabric_network.h"
#include "tests/simulator/flow_sets.h"

namespace rankwire {
namespace {

constexpr Bandwidth kCable{100'000'000'000};
constexpr uint32_t kHosts = 16;

struct Flow {
  uint32_t source = 0, destination = 0;
  Bytes size;
  Time start;
};

/// A fat-tree of 4-port switches without latencies, and a connection for each flow. Messages are not framed, so one
/// ends when its last bit has been sent.
class FatTreeFlows {
 public:
  explicit FatTreeFlows(std::vector<Flow> flows) : flows_(std::move(flows)) {
    plan_.ranks = kHosts;
    plan_.messages_in_flight = static_cast<uint32_t>(flows_.size());
    for (uint32_t h = 0; h < kHosts; ++h)
      plan_.nics.push_back({.id = NicId(h), .port = PortId(h), .mac = {}, .ip = {}});
    for (const Flow& flow : flows_) {
      Connection connection;
      connection.id = ConnectionId(static_cast<uint32_t>(plan_.connections.size()));
      connection.source = RankId(flow.source), connection.destination = RankId(flow.destination);
      connection.source_nic = NicId(flow.source), connection.destination_nic = NicId(flow.destination);
      plan_.connections.push_back(connection);
    }
  }

  Network network(std::span<const FlowHashes> hashes) const {
    const Line line{kCable, Duration()};
    const Topology tree = fat_tree({.k = 4, .uplink = line}, std::vector<Line>(kHosts, line));
    FabricNetworkOptions options{.switch_latency = {}, .framing = {}, .local_bandwidth = kCable, .local_latency = {}};
    for (uint32_t h = 0; h < kHosts; ++h) options.hosts.push_back("h" + std::to_string(h));
    for (uint32_t s = 0; s < tree.switches.size(); ++s) options.hash_seeds.push_back(switch_hash_seed(1, s, true));
    return fabric_network(tree, options, plan_, hashes);
  }

  /// By flow: when the model has delivered it.
  std::vector<Time> modelled(const Network& network) const {
    NetworkModel model(network);
    model.prepare(plan_);
    std::vector<uint32_t> order(flows_.size());
    for (uint32_t f = 0; f < order.size(); ++f) order[f] = f;
    std::ranges::stable_sort(order, {}, [&](uint32_t f) { return flows_[f].start; });
    std::vector<Time> ends(flows_.size());
    Event events[16];
    size_t posted = 0;
    for (Time now;;) {
      for (; posted < order.size() && flows_[order[posted]].start <= now; ++posted) post(model, order[posted], now);
      const size_t n = model.poll(now, events);
      for (size_t i = 0; i < n; ++i) {
        if (events[i].kind == EventKind::kReceived) ends[events[i].connection.value] = events[i].received.delivered;
      }
      if (n > 0) continue;
      const Time arrival = posted < order.size() ? flows_[order[posted]].start : Time::never();
      now = std::min(model.next_event(), arrival);
      if (now == Time::never()) return ends;
    }
  }

  /// In picoseconds, from event to event: all flows that have begun and not ended have their exact max-min rates.
  std::vector<double> simulated(const Network& network) const {
    const FlowSet set = flow_set(network);
    std::vector<long double> bits;
    for (const Flow& flow : flows_) bits.push_back(8.0L * static_cast<long double>(flow.size.count));
    std::vector<double> ends(flows_.size());
    std::vector<bool> active(flows_.size()), ended(flows_.size());
    for (long double now = 0;;) {
      for (size_t f = 0; f < flows_.size(); ++f) {
        active[f] = !ended[f] && static_cast<long double>(flows_[f].start.ps) <= now;
      }
      const std::vector<double> rates = max_min_rates(set, active);
      long double next = std::numeric_limits<long double>::max();
      size_t first = flows_.size();
      for (size_t f = 0; f < flows_.size(); ++f) {
        const long double start = static_cast<long double>(flows_[f].start.ps);
        const long double end = active[f] ? now + bits[f] * 1e12L / rates[f] : start;
        if (ended[f] || (!active[f] && start <= now) || end >= next) continue;
        next = end;
        first = active[f] ? f : flows_.size();
      }
      if (next == std::numeric_limits<long double>::max()) return ends;
      for (size_t f = 0; f < flows_.size(); ++f) bits[f] -= active[f] ? (next - now) * rates[f] / 1e12L : 0;
      now = next;
      if (first == flows_.size()) continue;
      ended[first] = true;
      ends[first] = static_cast<double>(now);
    }
  }

 private:
  void post(NetworkModel& model, uint32_t flow, Time now) const {
    Message message;
    message.bytes = flows_[flow].size;
    message.connection = ConnectionId(flow);
    EXPECT_EQ(model.post(now, {&message, 1}), 1u);
  }

  static FlowSet flow_set(const Network& network) {
    FlowSet set;
    for (const Link& link : network.links) set.capacities.push_back(link.bandwidth.bits_per_second);
    for (const Route& route : network.routes) {
      auto& links = set.links_of_flow.emplace_back();
      for (const LinkUse& use : route.links) links.push_back(use.link.value);
    }
    return set;
  }

  std::vector<Flow> flows_;
  TransportPlan plan_;
};

/// Most flows over one link.
uint32_t most_crowded(const Network& network) {
  std::map<LinkId, uint32_t> flows;
  for (const Route& route : network.routes) {
    for (const LinkUse& use : route.links) ++flows[use.link];
  }
  return std::ranges::max_element(flows, {}, [](const auto& entry) { return entry.second; })->second;
}

// Every host sends to the one of the same place in the next pod. Host 4p + 2e + i takes aggregation switch i of its pod
// and core switch e of that: no cable has two flows. Their hashes are tried.
TEST(FlowTimes, WithoutCollisionsEveryFlowHasTheLineRate) {
  std::vector<Flow> flows;
  for (uint32_t h = 0; h < kHosts; ++h) {
    flows.push_back({h, (h + 4) % kHosts, Bytes(1'000'000 + 12'345 * h), Time(1'000'000 * h)});
  }
  const FatTreeFlows run(flows);
  std::vector<FlowHashes> hashes(kHosts, FlowHashes{0});
  for (uint32_t h = 0; h < kHosts; ++h) {
    const uint32_t pod = h / 4, edge = h % 4 / 2, place = h % 2;
    const std::string wanted =
        "aggregation" + std::to_string(pod) + "." + std::to_string(place) + ".core" + std::to_string(2 * place + edge);
    const auto takes_it = [&] {
      const Network network = run.network(hashes);
      return std::ranges::any_of(network.routes[h].links,
                                 [&](const LinkUse& use) { return network.links[use.link.value].name == wanted; });
    };
    while (!takes_it()) ++hashes[h][0];
  }
  const Network network = run.network(hashes);
  ASSERT_EQ(most_crowded(network), 1u);
  const std::vector<Time> ends = run.modelled(network);
  // 80 ps a byte.
  for (uint32_t h = 0; h < kHosts; ++h) EXPECT_EQ(ends[h], flows[h].start + Duration(80 * flows[h].size.count)) << h;
}

// Rates are whole bits a second and times whole picoseconds; flows share cables with a dozen others at most, so that a
// rate is above 1 Gb/s and right to 1e-9.
TEST(FlowTimes, WithCollisionsTheyAreThoseOfAnEventSimulation) {
  Random random(7);
  uint32_t crowded = 0;
  for (int round = 0; round < 25; ++round) {
    std::vector<Flow> flows;
    std::vector<FlowHashes> hashes;
    for (uint64_t i = 0, n = 20 + random.below(41); i < n; ++i) {
      const auto source = static_cast<uint32_t>(random.below(kHosts));
      const auto step = static_cast<uint32_t>(1 + random.below(kHosts - 1));
      flows.push_back({source, (source + step) % kHosts,
                       Bytes(static_cast<int64_t>(100'000 + random.below(10'000'000))),
                       Time(static_cast<int64_t>(random.below(1'000'000'000)))});
      hashes.push_back({static_cast<uint32_t>(random.next())});
    }
    const FatTreeFlows run(flows);
    const Network network = run.network(hashes);
    crowded = std::max(crowded, most_crowded(network));
    const std::vector<Time> ends = run.modelled(network);
    const std::vector<double> expected = run.simulated(network);
    for (size_t f = 0; f < flows.size(); ++f) {
      ASSERT_NEAR(static_cast<double>(ends[f].ps) / expected[f], 1, 1e-8) << "flow " << f << " of round " << round;
    }
  }
  EXPECT_GT(crowded, 5u);
}

}  // namespace
}  // namespace rankwire
