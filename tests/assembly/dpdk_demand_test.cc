#include "emulator/assembly/dpdk_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/dpdk/demand.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Data-parallel ranks behind ports of the device, a rank each.
RunConfig run_of(uint32_t ports, const std::string& device) {
  RunConfig config = tiny_run(1, ports);
  config.file = "test.yaml";
  config.dpdk.eal_arguments = {"--no-huge"};
  for (PortConfig& port : config.ports) port.device = device;
  return config;
}

std::string objection(const RunConfig& config) {
  const testing::TemporaryFolder folder;
  Setup setup;
  prepare(setup, config, folder.path());
  try {
    require_room_in_dpdk(setup);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return {};
}

TEST(DpdkDemand, TheDefaultOfManyPortsIsThatOfDpdk) {
  EXPECT_EQ(kMostRingPorts, most_dpdk_devices() / 2);
}

// With two workers each ring port has two links, of two devices each.
TEST(DpdkDemand, NineRingPortsOnTwoShardsAreTooMany) {
  const auto sharded = [](uint32_t ports) {
    RunConfig config = run_of(ports, "ring");
    config.embedded_switch.core = SwitchCore::kSharded;
    config.workers.count = 2;
    return config;
  };
  EXPECT_EQ(objection(sharded(8)), "");
  EXPECT_THAT(objection(sharded(9)), AllOf(HasSubstr("ports: 9 ring ports are 36 devices"),
                                           HasSubstr("at most 8 ports on a switch of 2 shards")));
}

TEST(DpdkDemand, SeventeenRingPortsAreTooMany) {
  EXPECT_EQ(objection(run_of(16, "ring")), "");
  EXPECT_THAT(objection(run_of(17, "ring")), AllOf(HasSubstr("ports: 17 ring ports are 34 devices"),
                                                   HasSubstr("at most 16 ports"), HasSubstr("'device: memory'")));
  EXPECT_EQ(objection(run_of(17, "memory")), "");
}

TEST(DpdkDemand, ThirtyThreeDevicesAreTooMany) {
  RunConfig config = run_of(33, "");
  for (uint32_t p = 0; p < 33; ++p) config.ports[p].device = "net_null" + std::to_string(p);
  config.dpdk.memory = Bytes(4LL << 30);
  EXPECT_THAT(objection(config), HasSubstr("ports: 33 DPDK devices, but DPDK has room for 32"));
  config.ports.pop_back();
  config.hosts.npus = 2;
  EXPECT_EQ(objection(config), "");
}

// A ring of two ranks: each sends to the other on one queue pair with a window of 64, so a port's pool has
// 64 + 2048 = 2112 frames of two pages each, 16.5 MiB, beside 1.2 MiB of the pool's caches and 0.1 MiB of rings: two
// ports take 36 MiB, of which the last can do without some 7 MiB.
TEST(DpdkDemand, FramesThatDoNotFitAreForeseen) {
  RunConfig config = run_of(2, "ring");
  config.transport.window = 64;
  config.dpdk.memory = Bytes(28 << 20);
  EXPECT_THAT(objection(config), AllOf(HasSubstr("dpdk.memory: 28 MiB"), HasSubstr("raise it to 44MiB")));
  config.dpdk.memory = Bytes(44 << 20);
  EXPECT_EQ(objection(config), "");
  config.dpdk.memory = Bytes(28 << 20);
  config.dpdk.eal_arguments = {"--no-huge", "-m", "512"};
  EXPECT_EQ(objection(config), "");
}

// Of a memzone's 32 characters "RG_" and the end of the text leave 28 for a ring, "net_ring_" and ".a" 17 for the port.
TEST(DpdkDemand, ANameThatIsTooLongForARingIsForeseen) {
  RunConfig config = run_of(2, "ring");
  config.ports[1].name = "a_name_of_17_____";
  EXPECT_EQ(objection(config), "");
  config.ports[1].name += "_";
  EXPECT_THAT(objection(config), AllOf(HasSubstr("ports[1].name: 'a_name_of_17______' has 18 characters"),
                                       HasSubstr("17 at most: take a shorter one, such as 'a_name_of_17_____'")));
  for (PortConfig& port : config.ports) port.device = "memory";
  EXPECT_EQ(objection(config), "");
}

}  // namespace
}  // namespace rankwire
