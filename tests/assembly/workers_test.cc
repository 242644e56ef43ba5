#include "emulator/assembly/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/input/tree.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

RunConfig with_device_ports(uint32_t ports) {
  RunConfig config;
  for (uint32_t p = 0; p < ports; ++p) {
    PortConfig& port = config.ports.emplace_back();
    port.name = "p" + std::to_string(p);
    port.device = "net_null" + std::to_string(p);
  }
  return config;
}

constexpr std::array<uint32_t, 8> kEightCores = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<uint32_t, 4> kFourCores = {0, 1, 2, 3};

TEST(WorkerThreads, AreOneUnlessMoreAreAskedFor) {
  const WorkerThreads threads = worker_threads(with_device_ports(4), kFourCores);
  EXPECT_EQ(threads.count, 1u);
  EXPECT_THAT(threads.cpus, IsEmpty());
}

TEST(WorkerThreads, OfAutoLeaveTwoCoresAndHaveAPortEach) {
  RunConfig config = with_device_ports(8);
  config.workers.count.reset();
  EXPECT_EQ(worker_threads(config, kEightCores).count, 6u) << "8 cores";
  EXPECT_EQ(worker_threads(config, kFourCores).count, 2u) << "4 cores";
  EXPECT_EQ(worker_threads(config, std::span(kFourCores).first(1)).count, 1u) << "1 core";
  config.ports.resize(3);
  EXPECT_EQ(worker_threads(config, kEightCores).count, 3u) << "3 ports";
  config.ports.front().device = "ring";
  EXPECT_EQ(worker_threads(config, kEightCores).count, 1u) << "one worker drives the embedded switch for all";
  config.embedded_switch.core = SwitchCore::kSharded;
  EXPECT_EQ(worker_threads(config, kEightCores).count, 3u) << "each drives its shard of it";
}

TEST(WorkerThreads, StayOnTheLastCoresWhereOneIsLeft) {
  RunConfig config = with_device_ports(8);
  config.workers.count = 3;
  EXPECT_THAT(worker_threads(config, kFourCores).cpus, ElementsAre(1, 2, 3));
  config.workers.count = 4;
  EXPECT_THAT(worker_threads(config, kFourCores).cpus, IsEmpty()) << "none would be left for others";
}

TEST(WorkerThreads, ThatAreMoreThanCoresAreDoubtful) {
  RunConfig config = with_device_ports(4);
  EXPECT_FALSE(core_finding(config, {2, {}}, 2)) << "a core each";
  EXPECT_EQ(core_finding(config, {3, {}}, 2),
            "3 threads poll without a break (3 workers), and this process may use 2 cores: they will wait for each "
            "other");
  config.embedded_switch.core = SwitchCore::kOwn;
  EXPECT_FALSE(core_finding(config, {2, {}}, 2)) << "of an embedded switch that there is not";
  config.ports.front().device = "ring";
  EXPECT_THAT(core_finding(config, {2, {}}, 2).value(),
              HasSubstr("3 threads poll without a break (2 workers and the switch)"));
  EXPECT_FALSE(core_finding(config, {1, {}}, 2));
}

TEST(WorkerThreads, StayWhereTheyAreTold) {
  RunConfig config = with_device_ports(8);
  config.workers.cores = {5, 1};
  EXPECT_EQ(worker_threads(config, kFourCores).count, 2u);
  EXPECT_THAT(worker_threads(config, kFourCores).cpus, ElementsAre(5, 1));
  config.workers.cores = {1023};
  config.places = KeyPlaces(read_yaml_text("workers: {cores: [1023]}", {"run.yaml:7", ""}));
  try {
    require_cpus(config);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(),
                HasSubstr("run.yaml:7: workers.cores: 1023 is not a CPU that this process may use, such as "));
  }
}

TEST(WorkerThreads, OfOneLoopStayOnItsCpu) {
  RunConfig config = with_device_ports(2);
  config.run.cpu = 6;
  EXPECT_THAT(worker_threads(config, kFourCores).cpus, ElementsAre(6));
}

/// Ten ranks on five hosts with a port each: host h has the ranks 2h and 2h + 1, a tensor-parallel pair.
class WorkerSharesTest : public ::testing::Test {
 protected:
  WorkerSharesTest() {
    RunConfig config = tiny_run(2, 5);
    config.ports = memory_ports(5);
    config.hosts = {.count = 5, .npus = 2};
    config.mapping.policy = MappingPolicy::kBlock;
    prepare(setup_, config, folder_.path());
  }
  const TemporaryFolder folder_;
  rankwire::Setup setup_;
};

TEST_F(WorkerSharesTest, PortsGoInTheirOrderAsEvenlyAsTheyCan) {
  const WorkerShares shares(setup_, 2);
  std::vector<uint32_t> of_port;
  for (uint32_t p = 0; p < 5; ++p) of_port.push_back(shares.of_port(PortId(p)));
  // Port p of P is worker floor(p x W / P)'s: 0, 0.4, 0.8, 1.2, 1.6.
  EXPECT_THAT(of_port, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_EQ(shares.ports_of(0), 3u);
  EXPECT_EQ(shares.ports_of(1), 2u);
}

TEST_F(WorkerSharesTest, EveryRankIsWithItsPort) {
  for (uint32_t workers = 1; workers <= 5; ++workers) {
    const WorkerShares shares(setup_, workers);
    for (uint32_t rank = 0; rank < 10; ++rank) {
      const PortId port = setup_.placement.nics[setup_.placement.nic[rank].value].port;
      EXPECT_EQ(shares.of_rank(RankId(rank)), shares.of_port(port));
      for (uint32_t worker = 0; worker < workers; ++worker)
        EXPECT_EQ(shares.ranks(worker)[rank], shares.of_rank(RankId(rank)) == worker);
    }
  }
}

TEST_F(WorkerSharesTest, AConnectionIsSentByTheWorkerOfItsPort) {
  const WorkerShares shares(setup_, 3);
  bool crosses = false, local = false;
  for (const Connection& c : setup_.plan.transport.connections) {
    const WorkerRoute& route = shares.route(c.id);
    EXPECT_EQ(route.source, shares.of_rank(c.source));
    EXPECT_EQ(route.destination, shares.of_rank(c.destination));
    EXPECT_EQ(route.sender, route.source) << "each rank has one NIC, whose port is its worker's";
    EXPECT_EQ(route.receiver, route.destination);
    crosses |= route.sender != route.receiver;
    local |= c.path == Path::kLocal;
  }
  EXPECT_TRUE(crosses);
  EXPECT_TRUE(local);
}

// Two ports of one host are different workers': all its local traffic shares links, which one of them has. Four ranks
// of a ring are on each host, by turns behind its ports.
TEST(WorkerShares, LocalTrafficOfAHostIsOneWorkers) {
  const TemporaryFolder folder;
  RunConfig config = tiny_run(4, 2);
  config.hosts = {.count = 2, .npus = 4, .nics = 2};
  config.ports = memory_ports(4);
  config.mapping.policy = MappingPolicy::kBlock;
  rankwire::Setup setup;
  prepare(setup, config, folder.path());
  const WorkerShares shares(setup, 4);
  bool others = false;
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kLocal) continue;
    const WorkerRoute& route = shares.route(c.id);
    const bool first_host = shares.of_rank(c.source) < 2;
    EXPECT_EQ(route.sender, first_host ? 0 : 2) << "the lowest rank of the host is on its first port";
    EXPECT_EQ(route.receiver, route.sender);
    others |= route.sender != route.source;
  }
  EXPECT_TRUE(others);
}

/// Four hosts with a NIC each, of which two stand behind each of two ports with three queues.
class SharedPorts : public ::testing::Test {
 protected:
  void prepare_with(PfcChoice pfc, std::optional<Bandwidth> drain_rate = std::nullopt) {
    RunConfig config = tiny_run(1, 4);
    config.hosts = {.count = 4, .npus = 1};
    config.mapping.policy = MappingPolicy::kBlock;
    config.ports = with_device_ports(2).ports;
    for (PortConfig& port : config.ports) port.queues = 3, port.pfc = pfc, port.drain_rate = drain_rate;
    config.places = KeyPlaces(read_yaml_text("workers: {count: 9}", {"run.yaml:7", ""}));
    prepare(setup_.emplace(), config, folder_ / std::to_string(++prepared_));
  }
  std::string refusal(uint32_t workers) {
    try {
      const WorkerShares shares(*setup_, workers);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return {};
  }
  const TemporaryFolder folder_;
  int prepared_ = 0;
  std::optional<rankwire::Setup> setup_;
};

TEST_F(SharedPorts, EachWorkerHasQueuesAndTheNicsThatAreSteeredToThem) {
  prepare_with(PfcChoice::kAuto);
  const WorkerShares shares(*setup_, 4);
  for (const PortId port : {PortId(0), PortId(1)}) {
    EXPECT_TRUE(shares.is_shared(port));
    const uint32_t first = 2 * port.value;
    EXPECT_EQ(shares.of_port(port), first);
    // Queue q of 3 is worker floor(q x 2 / 3)'s of the port: 0, 0.67, 1.33.
    EXPECT_EQ(shares.of_queue(port, 0), first);
    EXPECT_EQ(shares.of_queue(port, 1), first);
    EXPECT_EQ(shares.of_queue(port, 2), first + 1);
    EXPECT_TRUE(shares.has_part(first, port) && shares.has_part(first + 1, port));
    EXPECT_FALSE(shares.has_part(3 - first, port));
  }
  for (uint32_t worker = 0; worker < 4; ++worker) EXPECT_EQ(std::ranges::count(shares.nics(worker), true), 1);
  for (const Nic& nic : setup_->plan.transport.nics) {
    EXPECT_EQ(shares.of_queue(nic.port, shares.queue_of(nic.id)), shares.of_nic(nic.id));
    EXPECT_TRUE(shares.nics(shares.of_nic(nic.id))[nic.id.value]);
  }
  for (uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(shares.of_rank(RankId(rank)), shares.of_nic(setup_->placement.nic[rank]));
}

// The second machine's: the first port is another one's, and needs no queues.
TEST_F(SharedPorts, AreThoseOfTheMachine) {
  prepare_with(PfcChoice::kAuto);
  setup_->config.ports[0].on = "a", setup_->config.ports[1].on = "b";
  setup_->machine = "b";
  const WorkerShares shares(*setup_, 2);
  EXPECT_FALSE(shares.is_shared(PortId(0)));
  EXPECT_EQ(shares.of_port(PortId(0)), 2u) << "the others'";
  EXPECT_TRUE(shares.has_part(0, PortId(1)) && shares.has_part(1, PortId(1)));
  EXPECT_EQ(shares.of_queue(PortId(1), 2), 1u);
  for (const Nic& nic : setup_->plan.transport.nics)
    EXPECT_EQ(shares.of_nic(nic.id), nic.port == PortId(0) ? 2 : shares.of_queue(nic.port, shares.queue_of(nic.id)));
  for (uint32_t worker = 0; worker < 2; ++worker) EXPECT_EQ(std::ranges::count(shares.nics(worker), true), 1);
}

TEST_F(SharedPorts, AreSharedOnlyWhereWorkersAreMoreThanPorts) {
  prepare_with(PfcChoice::kSoftware);
  const WorkerShares two(*setup_, 2);
  EXPECT_FALSE(two.is_shared(PortId(0)));
  EXPECT_EQ(two.of_queue(PortId(1), 2), 1u);
  prepare_with(PfcChoice::kAuto);
  const WorkerShares three(*setup_, 3);
  EXPECT_TRUE(three.is_shared(PortId(0)));
  EXPECT_FALSE(three.is_shared(PortId(1)));
  EXPECT_EQ(three.of_port(PortId(1)), 2u);
}

TEST_F(SharedPorts, NeedAQueueAndANicForEach) {
  prepare_with(PfcChoice::kAuto);
  // Of 6 queues, but 4 NICs.
  EXPECT_THAT(refusal(5), HasSubstr("run.yaml:7: workers.count: 1 more than ports can be shared by"));
}

TEST_F(SharedPorts, ObeyNoPausesInSoftwareAndDrainAtOnce) {
  prepare_with(PfcChoice::kSoftware);
  EXPECT_THAT(refusal(3), HasSubstr("run.yaml:7: ports[0].pfc: 'software' needs one worker"));
  prepare_with(PfcChoice::kAuto, Bandwidth(1'000'000));
  EXPECT_THAT(refusal(4), HasSubstr("ports[0].drain_rate: needs one worker"));
}

}  // namespace
}  // namespace rankwire
