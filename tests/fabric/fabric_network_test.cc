#include "fabric/fabric_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

constexpr Line kHost{Bandwidth(100'000'000'000), nanoseconds(500)};
constexpr Line kUplink{Bandwidth(400'000'000'000), nanoseconds(700)};

/// One NIC and rank a host; connections 0 -> 1, 0 -> 2, ... and a last one within host 0.
TransportPlan plan_of(uint32_t hosts) {
  TransportPlan plan;
  plan.ranks = hosts;
  for (uint32_t h = 0; h < hosts; ++h) plan.nics.push_back({.id = NicId(h), .port = PortId(h), .mac = {}, .ip = {}});
  for (uint32_t h = 1; h <= hosts; ++h) {
    Connection connection;
    connection.id = ConnectionId(h - 1);
    connection.source = RankId(0), connection.destination = RankId(h % hosts);
    connection.source_nic = NicId(0), connection.destination_nic = NicId(h % hosts);
    if (h == hosts) connection.path = Path::kLocal;
    plan.connections.push_back(connection);
  }
  return plan;
}

FabricNetworkOptions options_of(const Topology& topology) {
  FabricNetworkOptions options{.switch_latency = microseconds(1),
                               .framing = rocev2_framing(Bytes(4096)),
                               .local_bandwidth = Bandwidth(800'000'000'000),
                               .local_latency = nanoseconds(300)};
  for (size_t h = 0; h < topology.hosts.size(); ++h) options.hosts.push_back("h" + std::to_string(h));
  for (uint32_t s = 0; s < topology.switches.size(); ++s) options.hash_seeds.push_back(switch_hash_seed(1, s, true));
  return options;
}

/// "2:leaf1.h3" -> share: hop and link.
using Uses = std::map<std::string, uint32_t>;

Uses uses_of(const Network& network, uint32_t connection) {
  Uses uses;
  for (const LinkUse& use : network.routes[connection].links)
    uses[std::to_string(use.hop) + ":" + network.links[use.link.value].name] = use.share;
  return uses;
}

class LeafSpineNetwork : public ::testing::Test {
 protected:
  // Hosts 0, 1 behind leaf 0, hosts 2, 3 behind leaf 1.
  const Topology topology_ = leaf_spine({.leaves = 2, .spines = 2, .uplink = kUplink}, std::vector<Line>(4, kHost));
  const FabricNetworkOptions options_ = options_of(topology_);
  const TransportPlan plan_ = plan_of(4);

  Network network(const FlowHashes& hashes) const {
    return fabric_network(topology_, options_, plan_, std::vector<FlowHashes>(plan_.connections.size(), hashes));
  }
  std::string spine_of(uint32_t hash) const {
    return "spine" + std::to_string(ecmp_member(hash, options_.hash_seeds[0], 2));
  }
};

TEST_F(LeafSpineNetwork, StaysBelowACommonLeaf) {
  const Uses expected = {{"0:h0.up", LinkUse::kWhole}, {"1:leaf0.h1", LinkUse::kWhole}};
  EXPECT_EQ(uses_of(network({5}), 0), expected);
  EXPECT_EQ(uses_of(network({}), 0), expected);
}

TEST_F(LeafSpineNetwork, AFlowTakesThePathOfItsHash) {
  for (uint32_t hash = 0; hash < 20; ++hash) {
    const std::string spine = spine_of(hash * 0x9E3779B9);
    EXPECT_EQ(uses_of(network({hash * 0x9E3779B9}), 1), (Uses{{"0:h0.up", LinkUse::kWhole},
                                                              {"1:leaf0." + spine, LinkUse::kWhole},
                                                              {"2:" + spine + ".leaf1", LinkUse::kWhole},
                                                              {"3:leaf1.h2", LinkUse::kWhole}}));
  }
}

// Three queue pairs: kWhole = 4096 = 1366 + 1365 + 1365.
TEST_F(LeafSpineNetwork, QueuePairsCarryEqualParts) {
  const FlowHashes hashes = {1, 0x40000001, 0x80000001};
  std::map<std::string, uint32_t> by_spine;
  for (uint32_t i = 0; i < 3; ++i) by_spine[spine_of(hashes[i])] += i == 0 ? 1366 : 1365;
  Uses expected = {{"0:h0.up", LinkUse::kWhole}, {"3:leaf1.h3", LinkUse::kWhole}};
  for (const auto& [spine, share] : by_spine) expected["1:leaf0." + spine] = expected["2:" + spine + ".leaf1"] = share;
  EXPECT_EQ(uses_of(network(hashes), 2), expected);
}

TEST_F(LeafSpineNetwork, SprayedPacketsTakeAllPaths) {
  const uint32_t half = LinkUse::kWhole / 2;
  EXPECT_EQ(uses_of(network({}), 1), (Uses{{"0:h0.up", LinkUse::kWhole},
                                           {"1:leaf0.spine0", half},
                                           {"1:leaf0.spine1", half},
                                           {"2:spine0.leaf1", half},
                                           {"2:spine1.leaf1", half},
                                           {"3:leaf1.h2", LinkUse::kWhole}}));
}

// Four lines of 500 or 700 ns and three switches.
TEST_F(LeafSpineNetwork, CountsEverySwitchOnce) {
  const Network built = network({1});
  Duration latency;
  for (const LinkUse& use : built.routes[1].links) latency += built.links[use.link.value].latency;
  EXPECT_EQ(latency, nanoseconds(500 + 700 + 700 + 500 + 3 * 1000));
}

TEST_F(LeafSpineNetwork, LocalTrafficDoesNotEnterIt) {
  EXPECT_EQ(uses_of(network({1}), 3), (Uses{{"0:rank0.out", LinkUse::kWhole}, {"1:rank0.in", LinkUse::kWhole}}));
}

// k = 4: 2 paths from the edge, 2 from each aggregation switch; a quarter over each core link, and all comes together.
TEST(FatTreeNetwork, SprayedPacketsMeetAgain) {
  const Topology topology = fat_tree({.k = 4, .uplink = kUplink}, std::vector<Line>(16, kHost));
  const TransportPlan plan = plan_of(16);
  const Network network =
      fabric_network(topology, options_of(topology), plan, std::vector<FlowHashes>(plan.connections.size()));
  const auto& links = network.routes[14].links;  // to host 15, in the last pod
  std::map<uint32_t, std::vector<uint32_t>> shares;
  for (const LinkUse& use : links) shares[use.hop].push_back(use.share);
  const uint32_t whole = LinkUse::kWhole;
  const std::vector<uint32_t> one = {whole}, halves(2, whole / 2), quarters(4, whole / 4);
  EXPECT_EQ(shares, (std::map<uint32_t, std::vector<uint32_t>>{
                        {0, one}, {1, halves}, {2, quarters}, {3, quarters}, {4, halves}, {5, one}}));
}

/// By connection and time in ps: the hops between the leaves, none where nothing passes.
using TimedWays = std::map<uint32_t, std::map<int64_t, std::vector<std::string>>>;

TimedWays ways_of(const Network& network) {
  TimedWays ways;
  for (const Reroute& reroute : network.reroutes) {
    std::vector<std::string>& names = ways[reroute.connection][reroute.at.ps];
    for (const LinkUse& use : reroute.links)
      if (use.hop == 1 || use.hop == 2) names.push_back(network.links[use.link.value].name);
  }
  return ways;
}

// The cable fails at 10 us and is back at 50 us; routes follow 5 us later. Connections 1 and 2 cross the spines, of
// which the other has the flow meanwhile.
TEST_F(LeafSpineNetwork, FlowsLeaveACableThatFailsWhenRoutesFollow) {
  const uint32_t hash = 7;
  const std::string spine = spine_of(hash), other = spine == "spine0" ? "spine1" : "spine0";
  const Network whole = network({hash});
  const auto port = std::ranges::find(whole.links, "leaf0." + spine, &Link::name) - whole.links.begin();
  FabricNetworkOptions options = options_;
  options.schedule = {{Time() + microseconds(10), static_cast<uint32_t>(port) / 2, kDownCable},
                      {Time() + microseconds(50), static_cast<uint32_t>(port) / 2, kWholeCable}};
  options.convergence = microseconds(5);
  const Network network =
      fabric_network(topology_, options, plan_, std::vector<FlowHashes>(plan_.connections.size(), FlowHashes{hash}));
  for (size_t c = 0; c < whole.routes.size(); ++c) EXPECT_EQ(network.routes[c].links, whole.routes[c].links);
  const std::map<int64_t, std::vector<std::string>> expected = {{10'000'000, {}},
                                                                {15'000'000, {"leaf0." + other, other + ".leaf1"}},
                                                                {55'000'000, {"leaf0." + spine, spine + ".leaf1"}}};
  EXPECT_EQ(ways_of(network), (TimedWays{{1, expected}, {2, expected}}));
}

// Behind the cables between switches are those of the hosts: what goes to or comes from host 1 waits, and at 50 us it
// goes on the way that it had, whenever routes follow.
TEST_F(LeafSpineNetwork, WhatIsBehindAHostsCableWaitsForIt) {
  FabricNetworkOptions options = options_;
  const auto cable = static_cast<uint32_t>(topology_.cables.size()) + 1;
  options.schedule = {{Time() + microseconds(10), cable, kDownCable}, {Time() + microseconds(50), cable, kWholeCable}};
  options.convergence = microseconds(5);
  const Network network =
      fabric_network(topology_, options, plan_, std::vector<FlowHashes>(plan_.connections.size(), FlowHashes{7}));
  size_t waiting = 0;
  for (const Connection& c : plan_.connections) {
    std::vector<Reroute> turns;
    std::ranges::copy_if(network.reroutes, std::back_inserter(turns),
                         [&](const Reroute& turn) { return turn.connection == c.id.value; });
    const bool of_host = c.path == Path::kWire && (plan_.nics[c.source_nic.value].port == PortId(1) ||
                                                   plan_.nics[c.destination_nic.value].port == PortId(1));
    ASSERT_EQ(turns.size(), of_host ? 2u : 0u) << c.id.value;
    waiting += of_host;
    if (!of_host) continue;
    EXPECT_EQ(turns[0].at, Time() + microseconds(10));
    EXPECT_TRUE(turns[0].links.empty());
    EXPECT_EQ(turns[1].at, Time() + microseconds(50));
    EXPECT_EQ(turns[1].links, network.routes[c.id.value].links);
  }
  EXPECT_GT(waiting, 0u);
  EXPECT_LT(waiting, plan_.connections.size());
}

// The cable has a tenth of its rate and 3 us more from 10 us to 50 us, all that cross it take that instead of its
// links, the same of the two connections, and routes do not change.
TEST_F(LeafSpineNetwork, ADegradedCableIsOtherLinksForAWhile) {
  const uint32_t hash = 7;
  const Network whole = network({hash});
  const auto port = std::ranges::find(whole.links, "leaf0." + spine_of(hash), &Link::name) - whole.links.begin();
  const auto cable = static_cast<uint32_t>(port) / 2;
  const Link& own = whole.links[static_cast<size_t>(port)];
  FabricNetworkOptions options = options_;
  const Bandwidth tenth(own.bandwidth.bits_per_second / 10);
  options.schedule = {{Time() + microseconds(10), cable, {.rate = tenth, .latency = microseconds(3)}},
                      {Time() + microseconds(50), cable, kWholeCable}};
  options.convergence = microseconds(5);
  const Network network =
      fabric_network(topology_, options, plan_, std::vector<FlowHashes>(plan_.connections.size(), FlowHashes{hash}));
  std::set<uint32_t> slow;
  size_t turned = 0;
  for (const Reroute& turn : network.reroutes) {
    const std::vector<LinkUse>& before = network.routes[turn.connection].links;
    ASSERT_EQ(turn.links.size(), before.size());
    if (turn.at == Time() + microseconds(50)) {
      EXPECT_EQ(turn.links, before);
      continue;
    }
    EXPECT_EQ(turn.at, Time() + microseconds(10));
    ++turned;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].link.value / 2 != cable) {
        EXPECT_EQ(turn.links[i], before[i]);
        continue;
      }
      const Link& link = network.links[turn.links[i].link.value];
      EXPECT_EQ(link.whole, before[i].link);
      EXPECT_FALSE(network.links[before[i].link.value].whole.valid());
      EXPECT_EQ(link.bandwidth, tenth);
      EXPECT_EQ(link.latency, network.links[before[i].link.value].latency + microseconds(3));
      slow.insert(turn.links[i].link.value);
    }
  }
  EXPECT_EQ(turned, 2u);  // connections 1 and 2
  EXPECT_EQ(network.links.size(), whole.links.size() + slow.size());
  EXPECT_GE(slow.size(), 1u);
}

// Both uplinks of a leaf are down from 10 us on: nothing finds a way, also when routes follow, but within the leaf.
TEST_F(LeafSpineNetwork, WithoutAPathNothingPasses) {
  FabricNetworkOptions options = options_;
  const Network whole = network({7});
  for (uint32_t p = 0; p < 2 * topology_.cables.size(); ++p) {
    if (whole.links[p].name.starts_with("leaf0.spine"))
      options.schedule.push_back({Time() + microseconds(10), p / 2, kDownCable});
  }
  ASSERT_EQ(options.schedule.size(), 2u);
  for (const FlowHashes& hashes : {FlowHashes{7}, FlowHashes{}}) {
    const Network network =
        fabric_network(topology_, options, plan_, std::vector<FlowHashes>(plan_.connections.size(), hashes));
    EXPECT_EQ(ways_of(network), (TimedWays{{1, {{10'000'000, {}}}}, {2, {{10'000'000, {}}}}}));
  }
}

}  // namespace
}  // namespace rankwire
