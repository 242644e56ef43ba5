// RDMA devices as ports of a run: which device, which addresses, which options.
#include "emulator/assembly/verbs_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "emulator/assembly/verbs_options.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IpAddress ip(const char* text) {
  return *parse_ip(text);
}

VerbsGid gid(uint32_t index, const char* address, const char* netdev = "eth2") {
  return {.index = index, .ip = ip(address), .netdev = netdev, .mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(index)}}};
}

/// A link-local address, two of IPv4 and one of IPv6 on eth2, and one of IPv4 on its VLAN 7.
std::vector<VerbsDeviceInfo> one_device() {
  VerbsPortInfo port{.state = "active",
                     .link_layer = "Ethernet",
                     .netdev = "eth2",
                     .active_mtu = 4096,
                     .speed = Bandwidth(100'000'000'000),
                     .max_message = 1 << 30};
  port.gids = {gid(0, "fe80::1"), gid(1, "10.5.0.1"), gid(2, "10.5.0.2"), gid(3, "2001:db8::1"),
               gid(4, "10.6.0.1", "eth2.7")};
  port.gids[4].vlan = 7;
  return {
      {.name = "mlx5_0", .pci_address = "0000:c1:00.0", .driver = "mlx5_core", .firmware = "28.1", .ports = {port}}};
}

PortConfig rdma_port(const char* name, std::optional<uint32_t> chosen = {}) {
  return {.name = name, .device = "", .verbs = "mlx5_0", .gid = chosen, .rate = Bandwidth(100'000'000'000)};
}

/// 4 ranks, each on a host of its own, behind the ports in turn.
RunConfig four_ranks(std::vector<PortConfig> ports) {
  RunConfig config;
  config.file = "lab.yaml";
  config.workload.generate = {.transformer = {.layers = 1,
                                              .hidden = 256,
                                              .vocabulary = 1000,
                                              .tensor_parallel = 1,
                                              .pipeline_parallel = 1,
                                              .data_parallel = 4}};
  config.hosts = {.count = 4, .npus = 1};
  config.addresses.ip = {.first = ip("10.5.0.9"), .prefix_length = 24};
  config.ports = std::move(ports);
  return config;
}

struct Prepared {
  explicit Prepared(const RunConfig& config) { prepare(setup, config, folder.path()); }
  std::vector<std::string> addresses() const {
    std::vector<std::string> texts;
    for (const NicId nic : setup.placement.nic) texts.push_back(to_string(setup.plan.transport.nics[nic.value].ip));
    return texts;
  }

  testing::TemporaryFolder folder;
  Setup setup;
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "accepted";
}

TEST(VerbsPorts, NicsTakeTheAddressesOfTheInterfaceInTurn) {
  Prepared run(four_ranks({rdma_port("a"), {.name = "b", .device = "0000:01:00.0"}}));
  const auto ports = find_verbs_ports(run.setup.config, one_device());
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].id, PortId(0));
  EXPECT_EQ(ports[0].place.gid.index, 1u) << "the first of IPv4, as addresses.ip is";
  take_device_addresses(run.setup, ports);
  // Ranks 0 and 2 stand behind the device. The VLAN's address and that of IPv6 are not for them.
  const std::vector<std::string> addresses = run.addresses();
  EXPECT_EQ(addresses[0], "10.5.0.1");
  EXPECT_EQ(addresses[2], "10.5.0.2");
  EXPECT_THAT(addresses[1], HasSubstr("10.5.0."));
  const Nic& nic = run.setup.placement.nics[run.setup.placement.nic[2].value];
  EXPECT_EQ(to_string(nic.mac), "02:00:00:00:00:02");
  EXPECT_FALSE(nic.vlan);
  EXPECT_THAT(run.setup.warnings, IsEmpty());
}

TEST(VerbsPorts, PortsOfOneDeviceGoOnWithItsAddresses) {
  Prepared run(four_ranks({rdma_port("a"), rdma_port("b")}));
  take_device_addresses(run.setup, find_verbs_ports(run.setup.config, one_device()));
  // Port a has ranks 0 and 2 and takes both addresses, port b begins with the first again.
  EXPECT_THAT(run.addresses(), ElementsAre("10.5.0.1", "10.5.0.1", "10.5.0.2", "10.5.0.2"));
}

TEST(VerbsPorts, PortsOfOneDeviceAreWarnedOfWhateverTheyCallIt) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b"), rdma_port("c"), rdma_port("d")});
  config.ports[1].verbs = "netdev eth2";
  config.ports[2].verbs = "0000:c1:00.0";
  config.ports[3].verbs = "mlx5_1";
  std::vector<VerbsDeviceInfo> devices = one_device();
  devices.push_back(devices.front());
  devices[1].name = "mlx5_1", devices[1].pci_address = "0000:c1:00.1", devices[1].ports[0].netdev = "eth3";
  devices[1].ports[0].gids = {gid(1, "10.5.0.3", "eth3")};
  Prepared run(config);
  take_device_addresses(run.setup, find_verbs_ports(run.setup.config, devices));
  EXPECT_THAT(
      run.setup.warnings,
      ElementsAre("ports 'a' and 'b' are both port 1 of mlx5_0: what they send each other stays within the NIC",
                  "ports 'a' and 'c' are both port 1 of mlx5_0: what they send each other stays within the NIC"));
}

TEST(VerbsPorts, AGidThatIsChosenIsTheOnlyOne) {
  Prepared run(four_ranks({rdma_port("a", 4), {.name = "b", .device = "0000:01:00.0"}}));
  take_device_addresses(run.setup, find_verbs_ports(run.setup.config, one_device()));
  EXPECT_EQ(run.addresses()[0], "10.6.0.1");
  EXPECT_EQ(run.addresses()[2], "10.6.0.1");
  EXPECT_EQ(run.setup.placement.nics[run.setup.placement.nic[0].value].vlan, 7);
}

TEST(VerbsPorts, TheIpVersionIsThatOfTheAddresses) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b")});
  config.addresses.ip = {.first = ip("2001:db8::9"), .prefix_length = 64};
  Prepared run(config);
  take_device_addresses(run.setup, find_verbs_ports(run.setup.config, one_device()));
  EXPECT_THAT(run.addresses(), ElementsAre("2001:db8::1", "2001:db8::1", "2001:db8::1", "2001:db8::1"));
}

TEST(VerbsPorts, TwoIpVersionsAreAnError) {
  Prepared run(four_ranks({rdma_port("a", 3), {.name = "b", .device = "0000:01:00.0"}}));
  const auto ports = find_verbs_ports(run.setup.config, one_device());
  const std::string error = error_of([&] { take_device_addresses(run.setup, ports); });
  EXPECT_THAT(error, HasSubstr("lab.yaml: a NIC behind port 'b' has the IPv4 address 10.5.0."));
  EXPECT_THAT(error,
              HasSubstr("port 'a' has 2001:db8::1: choose 'gid' or addresses.ip so that all are of one IP version"));
}

TEST(VerbsPorts, AnAddressOfTheDeviceForAnotherPortIsAnError) {
  RunConfig config = four_ranks({rdma_port("a"), {.name = "b", .device = "0000:01:00.0"}});
  config.addresses.ip.first = ip("10.5.0.1");  // NICs 0 and 1 would have 10.5.0.1 and 10.5.0.2
  Prepared run(config);
  const auto ports = find_verbs_ports(run.setup.config, one_device());
  EXPECT_EQ(error_of([&] { take_device_addresses(run.setup, ports); }),
            "lab.yaml: 10.5.0.2 is the address of NICs behind port 'b' and behind port 'a'; change addresses.ip, whose "
            "addresses go to DPDK ports only");
}

TEST(VerbsPorts, ADeviceThatIsNotThereIsNamedWithItsPort) {
  RunConfig config = four_ranks({{.name = "b", .device = "0000:01:00.0"}, rdma_port("a")});
  config.ports[1].verbs = "mlx5_9";
  const std::string error = error_of([&] { find_verbs_ports(config, one_device()); });
  EXPECT_THAT(error, HasSubstr("lab.yaml: ports[1].verbs: there is no RDMA device 'mlx5_9'; there are mlx5_0"));
  EXPECT_THAT(error_of([&] { find_verbs_ports(config, {}); }), HasSubstr("there is no RDMA device 'mlx5_9'"));
}

TEST(VerbsPorts, OfSeveralMachinesEachFindsItsOwn) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b")});
  config.ports[0].on = "one", config.ports[1].on = "two";
  config.ports[0].verbs = "mlx5_9";
  const auto ports = find_verbs_ports(config, one_device(), "two");
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].id, PortId(1));
  EXPECT_THAT(error_of([&] { find_verbs_ports(config, one_device(), "one"); }),
              HasSubstr("lab.yaml: ports[0].verbs: there is no RDMA device 'mlx5_9'"));
}

/// A port of this device name on a host.
VerbsAddresses on_host(uint32_t port, const char* host, const char* address) {
  return {.port = PortId(port),
          .host = host,
          .device = "mlx5_0",
          .speed = Bandwidth(100'000'000'000),
          .addresses = {{.ip = ip(address), .mac = {}, .vlan = {}}}};
}

// Devices are told apart by machine and name.
TEST(VerbsPorts, EveryMachineMayHaveADeviceOfTheSameName) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b")});
  config.ports[0].on = "one", config.ports[1].on = "two";
  Prepared apart(config), together(config), clash(config);
  take_device_addresses(apart.setup, std::vector{on_host(0, "node1", "10.5.0.1"), on_host(1, "node2", "10.5.0.2")});
  EXPECT_THAT(apart.addresses(), ElementsAre("10.5.0.1", "10.5.0.2", "10.5.0.1", "10.5.0.2"));
  EXPECT_THAT(apart.setup.warnings, IsEmpty());
  // Two processes on one machine, which share its NIC.
  take_device_addresses(together.setup, std::vector{on_host(0, "node1", "10.5.0.1"), on_host(1, "node1", "10.5.0.1")});
  EXPECT_THAT(
      together.setup.warnings,
      ElementsAre("ports 'a' and 'b' are both port 1 of mlx5_0: what they send each other stays within the NIC"));
  EXPECT_EQ(
      error_of([&] {
        take_device_addresses(clash.setup,
                              std::vector{on_host(0, "node1", "10.5.0.1"), on_host(1, "node2", "10.5.0.1")});
      }),
      "lab.yaml: 10.5.0.1 is the address of mlx5_0 behind port 'a' of machine 'one' and of mlx5_0 behind port 'b' "
      "of machine 'two': give each interface its own, or choose another by gid");
}

TEST(VerbsPorts, ARateThatIsNotTheDevicesIsAWarning) {
  RunConfig config = four_ranks({rdma_port("a"), {.name = "b", .device = "0000:01:00.0"}});
  config.ports[0].rate = Bandwidth(25'000'000'000);
  Prepared run(config);
  take_device_addresses(run.setup, find_verbs_ports(run.setup.config, one_device()));
  EXPECT_THAT(run.setup.warnings, ElementsAre("port 'a' has a rate of 25 Gbps in the configuration, and mlx5_0 runs at "
                                              "100 Gbps: the reference counts with the former"));
}

TEST(VerbsPorts, ThePathMtuIsThatOfTheNarrowest) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b"), {.name = "c", .device = "0000:01:00.0"}});
  config.ports[1].verbs = "mlx5_1";
  std::vector<VerbsDeviceInfo> devices = one_device();
  devices.push_back(devices.front());
  devices[1].name = "mlx5_1";
  const auto path_mtu = [&] { return largest_path_mtu(find_verbs_ports(config, devices)); };
  EXPECT_EQ(path_mtu(), 4096u);
  devices[1].ports[0].active_mtu = 1024;
  EXPECT_EQ(path_mtu(), 1024u);
  devices[0].ports[0].active_mtu = 512;
  EXPECT_EQ(path_mtu(), 512u);
  config.ports = {config.ports[1]};
  EXPECT_EQ(path_mtu(), 1024u) << "the other device is no port of the run";
  EXPECT_EQ(largest_path_mtu({}), 4096u) << "without RDMA devices";
}

// `check` and `simulate` touch no device.
TEST(VerbsPorts, WithoutDevicesThePathMtuIsTheLargest) {
  const Prepared run(four_ranks({rdma_port("a"), rdma_port("b")}));
  EXPECT_EQ(run.setup.config.transport.mtu, 4096u);
  EXPECT_EQ(verbs_options(run.setup).mtu, 4096u);
}

TEST(VerbsPorts, ReadingsAreJoinedByPortAndName) {
  const HardwareReading before{
      .counters = {{PortId(0), {"sent", 5}}, {PortId(1), {"sent", 6}}, {PortId(1), {"old", 7}}},
      .settings = {{PortId(0), {"state", "active"}}}};
  const HardwareReading after{
      .counters = {{PortId(1), {"sent", 60}}, {PortId(0), {"sent", 50}}, {PortId(0), {"new", 1}}},
      .settings = {{PortId(0), {"state", "down"}}, {PortId(1), {"state", "active"}}}};
  std::vector<std::string> rows;
  for (const HardwareCounterRow& row : counter_rows(before, after))
    rows.push_back(fmt::format("{} {} {} {}", row.port.value, row.name, row.before, row.after));
  EXPECT_THAT(rows, ElementsAre("0 sent 5 50", "1 sent 6 60", "1 old 7 0", "0 new 0 1"));
  const auto settings = setting_rows(before, after);
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].before + settings[0].after, "activedown");
  EXPECT_EQ(settings[1].before + settings[1].after, "active");
}

TEST(VerbsOptions, AreWhatTheConfigurationSays) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b")});
  TransportConfig& t = config.transport;
  t.mtu = 1024, t.queue_pairs = 3, t.spread = SpreadName::kDeal, t.verb = VerbName::kRead;
  t.timeout = 17, t.retry_count = 5, t.rnr_retry = 3, t.rnr_timer = 9, t.read_depth = 4, t.receive_queue = 12;
  t.dscp = 10, t.ecn = false, t.data.dscp = 11, t.ttl = 33, t.checking = true;
  t.source_port = {SourcePortConfig::Rule::kFixed, 50'000};
  t.verbs = {.service_level = 5,
             .send_queue = 32,
             .signal_every = 8,
             .inline_size = Bytes(99),
             .shared_receive_queue = true,
             .max_message = Bytes(10'000),
             .memory = Bytes(123 << 20)};
  config.seed = 77, config.run.deadline = seconds(5);
  Prepared run(config);
  const VerbsOptions options = verbs_options(run.setup);
  EXPECT_EQ(options.mtu, 1024u);
  EXPECT_EQ(options.queue_pairs, 3u);
  EXPECT_EQ(options.spread, Spread::kDeal);
  EXPECT_EQ(options.verb, DataVerb::kRead);
  EXPECT_EQ(options.payload, PayloadMode::kChecking);
  EXPECT_EQ(options.send_queue, 32u);
  EXPECT_EQ(options.receive_queue, 12u);
  EXPECT_TRUE(options.shared_receive_queue);
  EXPECT_EQ(options.signal_every, 8u);
  EXPECT_EQ(options.inline_bytes, 99u);
  EXPECT_EQ(options.max_message, 10'000u);
  EXPECT_EQ(options.memory, 123u << 20);
  EXPECT_EQ(traffic_class(options, JobId(0)), 11 << 2) << "the marking of data, and not ECN-capable";
  EXPECT_EQ(options.service_level, 5);
  EXPECT_EQ(options.hop_limit, 33);
  EXPECT_EQ(options.timeout_exponent, 17);
  EXPECT_EQ(options.retry_count, 5);
  EXPECT_EQ(options.not_ready_retry_count, 3);
  EXPECT_EQ(options.not_ready_code, 9);
  EXPECT_EQ(options.max_reads, 4);
  EXPECT_EQ(options.source_port, SourcePortPolicy::kFixed);
  EXPECT_EQ(options.fixed_source_port, 50'000);
  EXPECT_EQ(options.seed, 77u);
  EXPECT_EQ(options.connect_deadline, seconds(5));
  EXPECT_NO_THROW(check_options(options));
}

TEST(VerbsOptions, JobsAndBackgroundHaveTheirDscp) {
  RunConfig config = four_ranks({rdma_port("a"), rdma_port("b")});
  config.transport.dscp = 10;
  config.background.push_back({.name = "noise",
                               .pattern = BackgroundPatternName::kPairs,
                               .from = {"a"},
                               .to = {"b"},
                               .size = {.fixed = Bytes(1000), .published = {}, .file = {}},
                               .outstanding = 2});
  config.background.back().marking.dscp = 8;
  Prepared run(config);
  const VerbsOptions options = verbs_options(run.setup);
  EXPECT_EQ(traffic_class(options, JobId(0)) >> 2, 10);
  EXPECT_EQ(traffic_class(options, JobId(1)) >> 2, 8);  // the background's, behind the one workload
}

TEST(VerbsOptions, AreValidWhateverTheProfile) {
  for (const ProfileName profile : {ProfileName::kRankwire, ProfileName::kMlx5, ProfileName::kRxe}) {
    RunConfig config = four_ranks({rdma_port("a"), rdma_port("b")});
    config.transport.profile = profile;
    Prepared run(config);
    EXPECT_NO_THROW(check_options(verbs_options(run.setup)));
  }
}

TEST(VerbsOptions, KeysThatTheDevicesDoNotHeedAreWarnedOf) {
  RunConfig config = four_ranks({rdma_port("a"), {.name = "b", .device = "0000:01:00.0"}});
  config.transport.window = 9;
  config.transport.acks = AckPolicy::kPerRequest;
  config.transport.neighbours = NeighbourChoice::kStatic;
  config.transport.receive_check = ReceiveCheckName::kHeaderAndTrailer;
  config.transport.catch_up = microseconds(1);
  config.transport.ack.dscp = 48;
  Prepared run(config);
  std::vector<std::string> keys;
  for (const std::string& warning : run.setup.warnings) {
    EXPECT_THAT(warning, HasSubstr(" is for DPDK ports; the RDMA devices of 'a' do not heed it"));
    keys.push_back(warning.substr(0, warning.find(' ')));
  }
  EXPECT_THAT(keys, ElementsAre("transport.window", "transport.acks", "transport.neighbours", "transport.receive_check",
                                "transport.catch_up", "transport.markings.ack"));
}

// What the configuration leaves open, and what is written down of that, is no choice.
TEST(VerbsOptions, DefaultsAreNotWarnedOf) {
  for (const ProfileName profile : {ProfileName::kRankwire, ProfileName::kMlx5, ProfileName::kRxe}) {
    RunConfig config = four_ranks({rdma_port("a"), {.name = "b", .device = "0000:01:00.0"}});
    config.transport.profile = profile;
    Prepared first(config);
    EXPECT_THAT(first.setup.warnings, IsEmpty());
    Prepared resolved(first.setup.config);
    EXPECT_THAT(resolved.setup.warnings, IsEmpty());
  }
}

}  // namespace
}  // namespace rankwire
