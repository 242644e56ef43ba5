#include "emulator/input/fabric_topology.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "emulator/input/fabric_astra.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

constexpr int64_t kGbps = 1'000'000'000;

class FabricTopology : public ::testing::Test {
 protected:
  RunConfig load(const std::string& ports, const std::string& fabric) const {
    write("run.yaml", "workload: {generate: {}}\nports: " + ports + "\nfabric: " + fabric + "\n");
    return load_config((folder_.path() / "run.yaml").string(), {});
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }

  const testing::TemporaryFolder folder_;
};

// The router of a 4 x 4 torus has four cables, that in the corner of a 3 x 3 mesh two, in its middle four.
TEST_F(FabricTopology, PortsHaveTheRateOfTheirRouters) {
  const RunConfig torus = load("{count: 16}", "{topology: torus2d, extents: [4, 4], link_rate: 100Gbps}");
  for (const PortConfig& port : torus.ports) EXPECT_EQ(port.rate.bits_per_second, 400 * kGbps);
  const RunConfig mesh = load("{count: 9}", "{topology: torus2d, extents: [3, 3], wrap: off, link_rate: 100Gbps}");
  EXPECT_EQ(mesh.ports[0].rate.bits_per_second, 200 * kGbps);
  EXPECT_EQ(mesh.ports[1].rate.bits_per_second, 300 * kGbps);
  EXPECT_EQ(mesh.ports[4].rate.bits_per_second, 400 * kGbps);
}

TEST_F(FabricTopology, APortThatSaysSoIsTheBottleneck) {
  const RunConfig config = load("{count: 4, rate: 50Gbps}", "{topology: ring, link_rate: 100Gbps}");
  const Topology ring = fabric_topology(config);
  EXPECT_EQ(ring.hosts[0].line.rate.bits_per_second, 50 * kGbps);
  EXPECT_EQ(ring.cables[0].line.rate.bits_per_second, 100 * kGbps);
}

// Six NPUs are joined with five others each.
TEST_F(FabricTopology, CablesShareThePortsRate) {
  const RunConfig config = load("{count: 6, rate: 500Gbps}", "{topology: fully_connected}");
  EXPECT_EQ(fabric_topology(config).cables[0].line.rate.bits_per_second, 100 * kGbps);
  EXPECT_EQ(fabric_topology(config).hosts[0].line.latency, Duration());
}

// A leaf of 4 ports of 100 Gb/s with 2 x 2 cables upwards at 2:1 has 200 Gb/s of them; an edge switch of a fat-tree has
// as many cables upwards as ports.
TEST_F(FabricTopology, OversubscriptionIsARatioOfRates) {
  const RunConfig leaves = load("{count: 8, rate: 100Gbps}",
                                "{topology: leaf_spine, leaves: 2, spines: 2, parallel: 2, oversubscription: 2}");
  EXPECT_EQ(fabric_topology(leaves).cables[0].line.rate.bits_per_second, 50 * kGbps);
  const RunConfig tree = load("{count: 16, rate: 100Gbps}", "{topology: fat_tree, k: 4, oversubscription: 5/2}");
  EXPECT_EQ(fabric_topology(tree).cables[0].line.rate.bits_per_second, 40 * kGbps);
}

// 4 x 100 Gb/s come into a leaf; over 2 spines at 4:1 that is 50 Gb/s a cable.
TEST_F(FabricTopology, LevelsTakeTheirRatesFromThoseBelow) {
  const std::string levels =
      "{name: leaf, count: 4, rate: 100Gbps, latency: 300ns}, {name: spine, count: 2, switches: 2, oversubscription: "
      "4}";
  const RunConfig config = load("{count: 8}", "{topology: hierarchy, link_latency: 7us, levels: [" + levels + "]}");
  EXPECT_EQ(config.ports[0].rate.bits_per_second, 100 * kGbps);
  const Topology tree = fabric_topology(config);
  EXPECT_EQ(tree.hosts[0].line.latency, nanoseconds(300));
  ASSERT_EQ(tree.cables.size(), 4u);
  EXPECT_EQ(tree.cables[0].line.rate.bits_per_second, 50 * kGbps);
  EXPECT_EQ(tree.cables[0].line.latency, microseconds(7));
}

// 1 GB/s of 2^30 bytes is 8,589,934,592 bit/s.
TEST_F(FabricTopology, ReadsNetworkFilesOfAstraSim) {
  write("network.yml",
        "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 2 ]  # GB/s\n"
        "latency: [ 936.25, 1000.0 ]  # ns\n");
  const RunConfig config = load("{count: 8}", "{astra_network: network.yml, routing: dimension_order}");
  EXPECT_EQ(config.fabric->topology, TopologyName::kAstraNetwork);
  EXPECT_EQ(config.ports[0].rate.bits_per_second, (2 * 50 + 2) * 8'589'934'592);
  const Topology network = fabric_topology(config);
  EXPECT_EQ(network.switches.size(), 8u + 4);
  EXPECT_EQ(network.cables[0].line.rate.bits_per_second, 50 * 8'589'934'592);
  EXPECT_EQ(network.cables[0].line.latency, Duration(936'250));
  EXPECT_EQ(network.cables.back().line.latency, microseconds(1));
}

std::string error_of(const std::filesystem::path& file) {
  try {
    read_astra_network(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST_F(FabricTopology, SaysWhatIsWrongWithANetworkFile) {
  const std::string path = (folder_.path() / "network.yml").string();
  write("network.yml", "topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [1]\nlatency: [1]\n");
  EXPECT_EQ(error_of(path), path + ":2: npus_count: has 2 values, and topology has 1");
  write("network.yml", "topology: [Ring]\nnpus_count: [4]\nlatency: [1]\n");
  EXPECT_EQ(error_of(path), path + ":1: bandwidth: has 0 values, and topology has 1");
  write("network.yml", "topology: [Rong]\n");
  EXPECT_EQ(error_of(path), path + ":1: topology[0]: 'Rong' is not one of Ring, Switch, FullyConnected");
  write("network.yml", "topology: [Ring]\nnpus_count: [4]\nbandwidth: [1x]\nlatency: [1]\n");
  EXPECT_EQ(error_of(path), path + ":3: bandwidth[0]: '1x' is not a number of 1e-06 .. 8000");
}

}  // namespace
}  // namespace rankwire
