// What machines tell each other of their RDMA devices, over links of threads.
#include "emulator/assembly/machine_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/machines/fake_links.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::FakeLinks;
using testing::FakeNetwork;
using ::testing::HasSubstr;

constexpr uint32_t kThree = 3;
/// Nobody is gone because the others had the processors.
constexpr MachinePatience kOfThree{.silence = std::chrono::minutes(1), .presence = std::chrono::milliseconds(250)};

/// `work` of three machines, and what kept each from going on.
std::array<std::string, kThree> on_machines(const std::function<void(Machines&)>& work) {
  FakeNetwork network(kThree);
  std::array<std::string, kThree> errors;
  std::vector<std::thread> threads;
  for (uint32_t own = 0; own < kThree; ++own)
    threads.emplace_back([&, own] {
      Machines machines(std::make_unique<FakeLinks>(network, own, "node" + std::to_string(own)), "", kOfThree);
      try {
        work(machines);
      } catch (const Error& error) {
        errors[own] = error.what();
        machines.fail(error);
      }
      machines.leave({});
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(MachineVerbs, ThePathMtuIsTheLeastOfAll) {
  std::array<uint32_t, kThree> known{};
  const std::array<uint32_t, kThree> own{4096, 1024, 2048};
  const auto errors =
      on_machines([&](Machines& machines) { known[machines.own()] = least_path_mtu(machines, own[machines.own()]); });
  EXPECT_THAT(errors, ElementsAre("", "", ""));
  EXPECT_THAT(known, ElementsAre(1024, 1024, 1024));
}

// One that does not know the question says what it would say next.
TEST(MachineVerbs, AVersionThatTellsNoPathMtuIsRefused) {
  const auto errors = on_machines([](Machines& machines) {
    if (machines.own() != 1) {
      least_path_mtu(machines, 4096);
      return;
    }
    machines.gather("differs");
    machines.from_leader("");
  });
  for (const std::string& error : errors)
    EXPECT_THAT(error, HasSubstr("machine 'node1' runs another version of rankwire: 'differs' is no path MTU"));
}

VerbsPort port_of(uint32_t number) {
  VerbsPort port{.id = PortId(number), .name = "p" + std::to_string(number), .place = {}};
  const auto gid = [&](uint32_t index, uint8_t last) {
    return VerbsGid{.index = index,
                    .ip = Ipv4Address{0xC6120000 + 256 * number + last},  // 198.18.number.last
                    .netdev = "eth2",
                    .mac = {{2, 0, 0, 0, static_cast<uint8_t>(number), last}},
                    .vlan = 7};
  };
  port.place.device.name = "mlx5_0";
  port.place.port.number = 2;
  port.place.port.speed = Bandwidth(400'000'000'000);
  port.place.port.gids = {gid(3, 1), gid(4, 2)};
  port.place.gid = port.place.port.gids[0];
  return port;
}

/// Ports 1 and 2 are node2's, 3 is the leader's, and 0, a DPDK device, node1's.
TEST(MachineVerbs, AllKnowTheAddressesOfAll) {
  rankwire::Setup setup;
  setup.config.ports = {{.name = "p0", .on = "node1", .device = "0000:01:00.0"},
                        {.name = "p1", .on = "node2", .verbs = "mlx5_0"},
                        {.name = "p2", .on = "node2", .verbs = "mlx5_0", .gid = 3},
                        {.name = "p3", .on = "node0", .verbs = "mlx5_0"}};
  const std::array<std::vector<VerbsPort>, kThree> own{
      std::vector{port_of(3)}, {}, std::vector{port_of(1), port_of(2)}};
  std::array<std::vector<std::string>, kThree> known;
  const auto errors = on_machines([&](Machines& machines) {
    for (const VerbsAddresses& port : addresses_of_all(machines, setup, own[machines.own()])) {
      std::string text = fmt::format("{} {} {} {} {}", port.port.value, port.host, port.device, port.number,
                                     port.speed.bits_per_second);
      for (const VerbsAddresses::Address& a : port.addresses)
        text += fmt::format(" {} {} {}", to_string(a.ip), to_string(a.mac), a.vlan.value_or(0));
      known[machines.own()].push_back(text);
    }
  });
  EXPECT_THAT(errors, ElementsAre("", "", ""));
  // With a gid that the configuration chooses there is one address alone.
  EXPECT_THAT(known[0], ElementsAre("1 node2 mlx5_0 2 400000000000 198.18.1.1 02:00:00:00:01:01 7 198.18.1.2 "
                                    "02:00:00:00:01:02 7",
                                    "2 node2 mlx5_0 2 400000000000 198.18.2.1 02:00:00:00:02:01 7",
                                    "3 node0 mlx5_0 2 400000000000 198.18.3.1 02:00:00:00:03:01 7 198.18.3.2 "
                                    "02:00:00:00:03:02 7"));
  EXPECT_EQ(known[1], known[0]);
  EXPECT_EQ(known[2], known[0]);
}

}  // namespace
}  // namespace rankwire
