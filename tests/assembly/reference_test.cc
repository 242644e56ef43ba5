// The reference's network beside the packets of the same run.
#include "emulator/assembly/reference.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "dataplane/protocol/queue_pair_numbers.h"
#include "tests/assembly/twin_run.h"

namespace rankwire {
namespace {

/// Eight ranks' data parallel step on as many ports; the ring's neighbours stand behind different leaves.
RunConfig fabric_run() {
  RunConfig config;
  config.workload.generate = {.transformer = {.layers = 2,
                                              .hidden = 256,
                                              .sequence = 128,
                                              .vocabulary = 1024,
                                              .micro_batches = 1,
                                              .tensor_parallel = 1,
                                              .pipeline_parallel = 1,
                                              .data_parallel = 8}};
  config.hosts = {.count = 8, .npus = 1, .nics = 1};
  config.mapping.policy = MappingPolicy::kExplicit;
  config.ports = memory_ports(8);
  for (uint32_t p = 0; p < 8; ++p) {
    const uint32_t place = p / 2 + p % 2 * 4;
    config.mapping.ranks.push_back({p, place, 0, 0, "p" + std::to_string(place)});
  }
  config.fabric = FabricConfig{.leaves = 2, .spines = 3};
  config.fabric->lossless = {3};
  return config;
}

/// Payload bytes over each link in the reference, by the name that a switch's port has in the run.
std::map<std::string, double> reference_loads(const Setup& setup) {
  const Network network = reference_network(setup);
  std::map<std::string, double> loads;
  for (const Connection& connection : setup.plan.transport.connections) {
    const double bytes = static_cast<double>(connection.bytes_per_iteration.count);
    for (const LinkUse& use : network.routes[connection.id.value].links)
      loads[network.links[use.link.value].name] += bytes * use.share / LinkUse::kWhole;
  }
  return loads;
}

/// Every switch port carries what the reference says: besides payload a run sends 0.5 to 8 % of headers and
/// acknowledgements (MTU 1024: 58 of 1024 bytes, and ACKs the other way).
void expect_same_loads(const RunConfig& config) {
  TwinRun twin(config);
  ASSERT_EQ(twin.run().verdict, Verdict::kOk);
  const std::map<std::string, double> reference = reference_loads(twin.setup());
  double largest = 0;
  for (const auto& [name, bytes] : reference) largest = std::max(largest, bytes);
  uint32_t compared = 0;
  for (const PortCounters& port : twin.testbed().finish()) {
    const auto found = reference.find(port.name);
    const double expected = found == reference.end() ? 0 : found->second;
    EXPECT_GE(static_cast<double>(port.tx_bytes), expected) << port.name;
    EXPECT_LE(static_cast<double>(port.tx_bytes), 1.09 * expected + 0.05 * largest) << port.name;
    ++compared;
  }
  EXPECT_GT(compared, 8u);
}

TEST(Reference, FlowsTakeTheirHashesPaths) {
  expect_same_loads(fabric_run());
}

TEST(Reference, SeedsDecideAboutPaths) {
  for (const uint64_t seed : {2, 3}) {
    RunConfig config = fabric_run();
    config.seed = seed;
    expect_same_loads(config);
    config.fabric->balancing.seed_per_switch = false;
    expect_same_loads(config);
  }
}

TEST(Reference, QueuePairsHavePathsOfTheirOwn) {
  RunConfig config = fabric_run();
  config.transport.queue_pairs = 3;
  expect_same_loads(config);
  config.transport.source_port = {.rule = SourcePortConfig::Rule::kFixed, .fixed = 0xC123};
  config.fabric->balancing.hash_queue_pair = true;
  expect_same_loads(config);
}

TEST(Reference, ReverseConnectionsUseTheQueuePairsOfTheirs) {
  RunConfig config = fabric_run();
  config.collectives.profile = CollectivesProfile::kNccl;  // clear-to-send travels against the data
  expect_same_loads(config);
}

// Clear-to-send has the data's queue pairs, so there are connections of both kinds.
TEST(Reference, ThePlanNumbersTheTransportsQueuePairs) {
  RunConfig config = fabric_run();
  config.collectives.profile = CollectivesProfile::kNccl;
  config.transport.queue_pairs = 3;
  const TwinRun twin(config);
  const TransportPlan& plan = twin.setup().plan.transport;
  const auto numbers = number_queue_pairs(plan, 3, [](NicId) { return true; });
  uint32_t own = 0, reverse = 0;
  for (const FlowCounters& flow : twin.transport().flows()) {
    const Connection& connection = plan.connections[flow.connection.value];
    if (connection.path != Path::kWire) continue;
    ++(connection.reverse_of.valid() ? reverse : own);
    EXPECT_EQ(flow.source_qp, numbers[flow.connection.value].source + flow.member);
    EXPECT_EQ(flow.destination_qp, numbers[flow.connection.value].destination + flow.member);
  }
  EXPECT_GT(own, 0u);
  EXPECT_EQ(own, reverse);
}

// What arrives out of order is sent again, so only parts of the whole are compared: each of the three uplinks of a leaf
// has a third, within 2 %.
TEST(Reference, SprayedPacketsTakeAllPaths) {
  RunConfig config = fabric_run();
  config.fabric->balancing.spreading = SpreadingName::kPacket;
  TwinRun twin(config);
  ASSERT_EQ(twin.run().verdict, Verdict::kOk);
  const std::map<std::string, double> reference = reference_loads(twin.setup());
  std::map<std::string, double> sent;
  for (const PortCounters& port : twin.testbed().finish()) sent[port.name] = static_cast<double>(port.tx_bytes);
  for (const std::string leaf : {"leaf0", "leaf1"}) {
    const auto uplinks = [&leaf](const std::map<std::string, double>& loads) {
      std::array<double, 3> part;
      for (size_t s = 0; s < 3; ++s) part[s] = loads.at(leaf + ".spine" + std::to_string(s));
      const double sum = part[0] + part[1] + part[2];
      for (double& p : part) p /= sum;
      return part;
    };
    const std::array<double, 3> expected = uplinks(reference), actual = uplinks(sent);
    for (size_t s = 0; s < 3; ++s) {
      EXPECT_NEAR(expected[s], 1.0 / 3, 0.001);
      EXPECT_NEAR(actual[s], expected[s], 0.02);
    }
  }
}

TEST(Reference, Ipv6AddressesAreHashedAlike) {
  RunConfig config = fabric_run();
  config.addresses.ip = {
      .first = IpAddress(std::array<uint8_t, 16>{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
      .prefix_length = 64};
  expect_same_loads(config);
}

TEST(Reference, FollowsAFatTree) {
  RunConfig config = fabric_run();
  config.fabric->topology = TopologyName::kFatTree;
  config.fabric->k = 4;
  expect_same_loads(config);
}

}  // namespace
}  // namespace rankwire
