// Who drives what of a run over several machines, and what such a run refuses.
#include "emulator/assembly/machine_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/assembly/setup.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Four ranks, one a host and port: p0 and p2 on machine b, p1 and p3 on a.
std::vector<std::string> settings() {
  std::vector<std::string> all{"name=machines",
                               "workload.generate.layers=1",
                               "workload.generate.hidden=64",
                               "workload.generate.sequence=16",
                               "workload.generate.vocabulary=100",
                               "workload.generate.tensor_parallel=1",
                               "workload.generate.data_parallel=4",
                               "hosts.count=4",
                               "hosts.npus=1",
                               "ports.count=4"};
  for (int p = 0; p < 4; ++p) {
    all.push_back("ports[" + std::to_string(p) + "].device=net_af_packet" + std::to_string(p) + ",iface=x");
    all.push_back("ports[" + std::to_string(p) + "].on=" + (p % 2 == 0 ? "b" : "a"));
  }
  return all;
}

RunConfig config_with(const std::string& more) {
  std::vector<std::string> all = settings();
  if (!more.empty()) all.push_back(more);
  return load_config("", all);
}

std::string refusal(const std::string& more) {
  try {
    const RunConfig config = config_with(more);
    require_machines_can(config);
    machine_of_ports(config, machines_of(config));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "none";
}

TEST(MachineShares, AreByPortsInTheOrderOfTheFile) {
  const RunConfig config = config_with("");
  EXPECT_THAT(machines_of(config), ElementsAre("b", "a"));
  EXPECT_THAT(machine_of_ports(config, std::vector<std::string>{"a", "b"}), ElementsAre(1, 0, 1, 0));
  TemporaryFolder folder;
  rankwire::Setup setup;
  prepare(setup, config, folder.path());
  const WorkerShares shares = machine_shares(setup, std::vector<std::string>{"a", "b"});
  EXPECT_THAT(shares.ranks(0), ElementsAre(false, true, false, true));
  EXPECT_THAT(shares.ranks(1), ElementsAre(true, false, true, false));
  setup.machine = "a";
  EXPECT_FALSE(setup.is_here(PortId(0)));
  EXPECT_TRUE(setup.is_here(PortId(1)));
}

// As `run.repeat`, which several machines do not do, shows.
TEST(MachineShares, OfOneMachineAreNone) {
  const auto config = [] {
    RunConfig all_on_a = config_with("run.repeat=2");
    for (PortConfig& port : all_on_a.ports) port.on = "a";
    return all_on_a;
  };
  RunConfig here = config();
  be_only_machine(here, "a");
  EXPECT_THAT(machines_of(here), ElementsAre());
  RunConfig elsewhere = config();
  EXPECT_THAT([&] { be_only_machine(elsewhere, "lab1"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("on machine 'a', and this one is called 'lab1'")));
  RunConfig several = config_with("");
  be_only_machine(several, "a");
  EXPECT_THAT(machines_of(several), ElementsAre("b", "a"));
}

TEST(MachineShares, RefuseWhatOneMachineAloneCanDo) {
  EXPECT_EQ(refusal(""), "none");
  EXPECT_THAT(refusal("run.repeat=2"), HasSubstr("run.repeat"));
  EXPECT_THAT(refusal("dilation.factor=2"), HasSubstr("dilation.factor"));
  EXPECT_THAT(refusal("run.on_failure=continue"), HasSubstr("run.on_failure"));
  EXPECT_THAT(refusal("ports[2].on=none"), HasSubstr("port 'p2' needs 'on'"));
}

// Of a, whose ports are p1 and p3, with two workers; b is the others.
TEST(MachineShares, OfOneMachineAreItsWorkersAndTheOthers) {
  TemporaryFolder folder;
  rankwire::Setup setup;
  prepare(setup, config_with("workers.count=2"), folder.path());
  setup.machine = "a";
  const WorkerShares shares(setup, 2);
  EXPECT_EQ(shares.workers(), 2u);
  EXPECT_TRUE(shares.has_others());
  std::vector<uint32_t> of_port, of_queue, of_nic;
  for (uint32_t p = 0; p < 4; ++p) {
    of_port.push_back(shares.of_port(PortId(p)));
    of_queue.push_back(shares.of_queue(PortId(p), 0));
    of_nic.push_back(shares.of_nic(NicId(p)));
  }
  for (const auto& of : {of_port, of_queue, of_nic}) EXPECT_THAT(of, ElementsAre(2, 0, 2, 1));
  ASSERT_EQ(shares.parts(), 3u);
  EXPECT_THAT(shares.ranks(0), ElementsAre(false, true, false, false));
  EXPECT_THAT(shares.ranks(1), ElementsAre(false, false, false, true));
  EXPECT_THAT(shares.ranks(2), ElementsAre(true, false, true, false));
  const std::array<uint32_t, 4> of_rank{2, 0, 2, 1};
  for (const Connection& c : setup.plan.transport.connections) {
    const WorkerRoute& route = shares.route(c.id);
    EXPECT_EQ(route.source, of_rank[c.source.value]);
    EXPECT_EQ(route.sender, route.source);
    EXPECT_EQ(route.destination, of_rank[c.destination.value]);
    EXPECT_EQ(route.receiver, route.destination);
  }
}

// As many as it has ports, however many there are in all; those of other machines cannot be shared.
TEST(MachineShares, WorkersAreOfTheMachinesOwnPorts) {
  const RunConfig config = config_with("workers.count=auto");
  constexpr std::array<uint32_t, 8> kCores{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(worker_threads(config, kCores, "a").count, 2u);
  TemporaryFolder folder;
  rankwire::Setup setup;
  prepare(setup, config, folder.path());
  setup.machine = "a";
  try {
    const WorkerShares shares(setup, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("workers.count: 1 more than ports of machine 'a' can be shared by"));
  }
}

// Two ranks of a host with a NIC each, behind ports on two machines.
TEST(MachineShares, AnEmulatedHostIsOnOneMachine) {
  std::vector<std::string> all = settings();
  for (const char* more : {"hosts.count=2", "hosts.npus=2", "hosts.nics=2", "mapping.policy=block"})
    all.push_back(more);
  TemporaryFolder folder;
  rankwire::Setup setup;
  prepare(setup, load_config("", all), folder.path());
  try {
    machine_shares(setup, machines_of(setup.config));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("an emulated host is on one machine"));
  }
}

// Four ranks, all alike, in the same groups: a step of a ring's all-reduce is a send or a receive, so that one rank of
// four has room for twice its quarter of the sends of all.
TEST(MachineShares, HaveRoomForTheMessagesOfTheirRanks) {
  const TemporaryFolder folder;
  rankwire::Setup setup;
  prepare(setup, config_with(""), folder.path());
  const uint32_t all = setup.plan.transport.messages_in_flight;
  ASSERT_GT(all, 0u);
  EXPECT_EQ(messages_in_flight(setup.plan, {false, false, false, false}), 0u);
  const uint32_t one = messages_in_flight(setup.plan, {false, true, false, false});
  EXPECT_GE(one, 2 * (all / 4));
  EXPECT_LT(one, all);
  EXPECT_EQ(messages_in_flight(setup.plan, {true, true, true, true}), all);
}

}  // namespace
}  // namespace rankwire
