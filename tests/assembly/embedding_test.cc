// What a machine can embed is measured by runs. How much it is is nobody's to say here.
#include "emulator/assembly/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/record/reader.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kMtu = 1024;
constexpr uint64_t kOnTheWay = 4 * (64 + 64);  // four windows, and an acknowledgement for each packet
constexpr Duration kAnyTime = seconds(100);    // no more than the test may take

/// Four ports of the one switch.
class EmbeddingOfFour : public ::testing::Test {
 protected:
  EmbeddingOfFour() {
    config_.file = "test.yaml";
    config_.transport.mtu = kMtu;
  }
  Embedding measure(Duration measured = milliseconds(200), Duration most = kAnyTime) {
    return measure_embedding(config_, folder_.path() / "embedding", {measured, most}, interrupted_);
  }
  /// Of the run that was made last.
  RunReader record() const { return RunReader(folder_.path() / "embedding/run"); }

  const testing::TemporaryFolder folder_;
  std::atomic<bool> interrupted_{false};
  RunConfig config_ = tiny_run(1, 4);
};

// Nearly all packets are full: a frame is the MTU and 58 bytes of headers and ICRC, or 78 where a message begins or
// ends; on the line there are 24 more. Acknowledgements have 62 + 24 bytes, and there is one for each data packet at
// most.
TEST_F(EmbeddingOfFour, IsThatOfARunThroughTheSwitch) {
  const Embedding embedding = measure();
  EXPECT_EQ(embedding.failure, "");
  EXPECT_EQ(embedding.ports, 4u);
  EXPECT_EQ(embedding.mtu, kMtu);
  ASSERT_EQ(embedding.rates.size(), 1u);
  const EmbeddedRate& rate = embedding.rates.front();
  EXPECT_EQ(rate.failure, "");
  EXPECT_EQ(rate.core, SwitchCore::kShared);
  // It ends by its deadline, and sends until then.
  const EmbeddedTraffic& traffic = rate.traffic;
  EXPECT_GE(traffic.time, milliseconds(200));
  EXPECT_GT(traffic.data_packets, 0u);
  const auto sent = static_cast<int64_t>(traffic.data_packets + traffic.retransmitted);
  EXPECT_GT(traffic.wire.count, sent * (kMtu + 82) * 99 / 100);
  EXPECT_LT(traffic.wire.count, sent * (kMtu + 102 + 86));
  // Half of the time carries twice all at most.
  EXPECT_GT(traffic.second_half, 0);
  EXPECT_LE(traffic.second_half, 2);

  const RunReader reader = record();
  ASSERT_NE(reader.emulated(), nullptr);
  EXPECT_EQ(reader.emulated()->start.fidelity, Fidelity::kEmulated);
  EXPECT_THAT(reader.emulated()->end.reason, HasSubstr("deadline of 0.2 s passed"));
  EXPECT_EQ(reader.emulated()->end.counters.data_packets_tx, traffic.data_packets + traffic.retransmitted);
  uint64_t forwarded = 0;
  for (const PortCounters& port : reader.ports(*reader.emulated())) {
    if (!port.name.starts_with("switch.")) continue;
    EXPECT_GT(port.tx_frames, 0u) << port.name;
    forwarded += port.tx_frames;
  }
  // All but what was on the way.
  EXPECT_GE(forwarded + kOnTheWay, traffic.data_packets);
}

TEST_F(EmbeddingOfFour, IsMeasuredBothWaysForAnOwnCore) {
  config_.embedded_switch.core = SwitchCore::kOwn;
  const Embedding embedding = measure(milliseconds(600));
  ASSERT_EQ(embedding.rates.size(), 2u);
  EXPECT_EQ(embedding.rates[0].core, SwitchCore::kOwn);
  EXPECT_EQ(embedding.rates[1].core, SwitchCore::kShared);
  for (const EmbeddedRate& rate : embedding.rates) {
    EXPECT_EQ(rate.failure, "");
    EXPECT_GE(rate.traffic.time, milliseconds(300));
    EXPECT_GT(rate.traffic.data_packets, 0u);
  }
}

TEST_F(EmbeddingOfFour, DpdkStartsForEachRunAnew) {
  for (PortConfig& port : config_.ports) port.device = "ring";
  config_.embedded_switch.core = SwitchCore::kOwn;
  config_.dpdk = {.memory = Bytes(128 << 20), .eal_arguments = {"--no-huge"}};
  const Embedding embedding = measure(milliseconds(600));
  ASSERT_EQ(embedding.rates.size(), 2u) << embedding.failure;
  for (const EmbeddedRate& rate : embedding.rates) {
    EXPECT_EQ(rate.failure, "");
    EXPECT_GT(rate.traffic.data_packets, 0u);
  }
}

TEST_F(EmbeddingOfFour, KeepsWhatCostsTimeAndLeavesOutWhatLosesIt) {
  config_.embedded_switch.loss_ppm = 1'000'000;
  config_.embedded_switch.buffer = Bytes(3 << 20);
  config_.ports[2].drain_rate = Bandwidth(1'000'000);
  config_.transport.checking = true;
  config_.transport.congestion.algorithm = AlgorithmName::kStatic;
  config_.transport.congestion.rate = Bandwidth(1'000'000);
  config_.capture = Bytes(1 << 20);
  config_.background.emplace_back().name = "noise";
  config_.limits.emplace().ratio = 1;
  const Embedding embedding = measure();
  ASSERT_EQ(embedding.rates.size(), 1u) << embedding.failure;
  EXPECT_EQ(embedding.rates.front().failure, "");
  const RunReader reader = record();
  EXPECT_GT(reader.emulated()->end.counters.data_packets_rx, 0u);
  EXPECT_EQ(reader.emulated()->end.counters.payload_errors, 0u);
  const auto json = nlohmann::json::parse(reader.config());
  EXPECT_FALSE(json.contains("background"));
  EXPECT_FALSE(json.contains("limits"));
  EXPECT_EQ(json["switch"]["buffer"], "3MiB");
  EXPECT_EQ(json["transport"]["mtu"], "1024B");
  EXPECT_EQ(json["transport"]["checking"], "on");
  // Ports of 10 Gbit/s are 200 times as fast, and a queue pair of 1 Mbit/s as fast as they.
  EXPECT_EQ(json["ports"][2]["rate"], "2Tbps");
  EXPECT_EQ(json["transport"]["congestion_control"]["algorithm"], "static");
  EXPECT_EQ(json["transport"]["congestion_control"]["rate"], "2Tbps");
  EXPECT_FALSE(std::filesystem::exists(reader.folder() / "capture.pcapng"));
}

TEST_F(EmbeddingOfFour, ARunThatTakesTooLongIsKilled) {
  const Embedding embedding = measure(seconds(3600), milliseconds(1));
  ASSERT_EQ(embedding.rates.size(), 1u);
  EXPECT_EQ(embedding.rates.front().failure, "not done after 0.001 s, set-up included");
}

TEST_F(EmbeddingOfFour, AnInterruptEndsIt) {
  interrupted_ = true;
  const Embedding embedding = measure(seconds(3600), seconds(3600));
  ASSERT_EQ(embedding.rates.size(), 1u);
  EXPECT_EQ(embedding.rates.front().failure, "stopped by a signal");
}

// Two addresses are too few for four NICs.
TEST_F(EmbeddingOfFour, WhatTheRunRefusesIsTold) {
  config_.addresses.ip.prefix_length = 31;
  const Embedding embedding = measure();
  EXPECT_THAT(embedding.failure, Not(IsEmpty()));
  EXPECT_THAT(embedding.rates, IsEmpty());
}

TEST_F(EmbeddingOfFour, SixteenPortsOfTheOneSwitchStandForMore) {
  config_.ports = memory_ports(40);
  const Embedding embedding = measure();
  EXPECT_EQ(embedding.ports, 16u);
  ASSERT_EQ(embedding.rates.size(), 1u) << embedding.failure;
  EXPECT_EQ(embedding.rates.front().failure, "");
}

TEST_F(EmbeddingOfFour, AFabricHasAllItsPortsAndIsCrossed) {
  config_.fabric = {.topology = TopologyName::kLeafSpine, .leaves = 2, .spines = 1};
  config_.fabric->link_rate = Bandwidth(1'000'000);
  const Embedding embedding = measure();
  EXPECT_EQ(embedding.ports, 4u);
  ASSERT_EQ(embedding.rates.size(), 1u) << embedding.failure;
  EXPECT_EQ(embedding.rates.front().failure, "");
  // Ports 0 and 1 are behind one leaf, 2 and 3 behind the other. The ring is 0, 2, 1, 3: every frame crosses the spine.
  const RunReader reader = record();
  uint64_t at_ports = 0, at_spine = 0;
  for (const PortCounters& port : reader.ports(*reader.emulated())) {
    if (port.name.starts_with("spine0.")) at_spine += port.rx_frames;
    if (port.name == "p0" || port.name == "p1" || port.name == "p2" || port.name == "p3") at_ports += port.tx_frames;
  }
  EXPECT_GT(at_ports, 0u);
  EXPECT_GT(at_spine, 0u);
  EXPECT_GE(at_spine + kOnTheWay, at_ports);
}

// A port has 2048 frames of 4352 bytes beside its window: 128 ports take 1088 MiB and more.
TEST_F(EmbeddingOfFour, AFabricThatDoesNotFitIsNotMeasured) {
  config_.ports = memory_ports(128);
  config_.fabric = {.topology = TopologyName::kLeafSpine};
  const Embedding embedding = measure();
  EXPECT_THAT(embedding.failure,
              AllOf(HasSubstr("the frames of 128 ports take"), HasSubstr("a measurement may take 384")));
  EXPECT_THAT(embedding.rates, IsEmpty());
}

TEST_F(EmbeddingOfFour, AFabricWithRatesOfItsOwnIsNotMeasured) {
  config_.fabric = {.topology = TopologyName::kInfragraph, .infragraph = "nowhere.yaml"};
  EXPECT_EQ(measure().failure, "the rates of the fabric's cables are in a file");
}

TEST(EmbeddedPorts, AreThoseOfTheSwitch) {
  RunConfig config;
  EXPECT_FALSE(runs_embedded(config));
  config.ports = memory_ports(2);
  EXPECT_TRUE(runs_embedded(config));
  config.ports[0].device = config.ports[1].device = "ring";
  EXPECT_TRUE(runs_embedded(config));
  config.ports[0].device = "0000:81:00.0", config.ports[1].device = "net_null0";
  EXPECT_FALSE(runs_embedded(config));
  config.ports[0] = {.device = "", .verbs = "mlx5_0"};
  EXPECT_FALSE(runs_embedded(config));
}

// 10, 10, 25 and 40 Gbit/s. Two of any fit into 65, the fastest two; three of any into 75.
TEST(EmbeddedPorts, ThatFitAreCountedFromTheFastest) {
  RunConfig config;
  config.ports = memory_ports(4);
  config.ports[1].rate = Bandwidth(25'000'000'000);
  config.ports[3].rate = Bandwidth(40'000'000'000);
  EXPECT_EQ(rates_of_ports(config), 85e9);
  const auto within = [&](double gbps) { return ports_within(config, gbps * 1e9); };
  EXPECT_THAT((std::vector{within(39), within(40), within(64), within(65), within(75), within(84), within(85)}),
              ElementsAre(0u, 1u, 1u, 2u, 3u, 3u, 4u));
}

// 1000 data packets, and 10 requests that were sent again: WRITEs are among the 1000, READ requests are not.
TEST(EmbeddedRates, ReadRequestsAreNoDataPackets) {
  const TransportCounters counters{.data_packets_tx = 1000, .retransmitted = 10};
  EXPECT_EQ(data_packets_once(counters, VerbName::kWriteImm), 990u);
  EXPECT_EQ(data_packets_once(counters, VerbName::kRead), 1000u);
}

TEST(EmbeddedRates, ArePerSecondOfRunTime) {
  EmbeddedTraffic traffic{.time = milliseconds(500), .data_packets = 1000, .wire = Bytes(1'000'000)};
  EXPECT_DOUBLE_EQ(traffic.packets_per_second(), 2000);
  EXPECT_DOUBLE_EQ(traffic.wire_bits_per_second(), 16e6);
  traffic.second_half = 1.25;
  EXPECT_DOUBLE_EQ(traffic.packets_per_second(), 2500);
  EXPECT_DOUBLE_EQ(traffic.wire_bits_per_second(), 20e6);
}

}  // namespace
}  // namespace rankwire
