#include "fabric/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rankwire {
namespace {

// Wire bytes of a middle packet over IPv4 including preamble and gap: MTU + 82 (1106, 2130, 4178). A message adds RETH
// 16 on the first and ImmDt 4 on the last.
TEST(Framing, SplitMessagesAreFramedPartByPart) {
  Framing framing = rocev2_framing(Bytes(1024));
  framing.parts = 4;
  // 5000 bytes: ceil(5000 / 4) = 1250, in units of 128 bytes 1280: three parts of 1280 and one of 1160, two frames
  // each.
  EXPECT_EQ(line_size(Bytes(5000), framing), Bytes(5000 + 4 * (2 * 82 + 20)));
  // 100 bytes: one part of 100, in one frame, and three empty ones.
  EXPECT_EQ(line_size(Bytes(100), framing), Bytes(100 + 4 * (82 + 20)));
  EXPECT_EQ(line_size(Bytes(0), framing), Bytes(4 * (82 + 20)));
  // The last frame of a part of 1280 bytes has 256.
  EXPECT_EQ(last_frame_size(Bytes(5000), framing), Bytes(256 + 82 + 4));
}

TEST(LongFrames, IPv6AndVlanMakeFramesLonger) {
  TransportPlan plan;
  plan.nics = {{.id = NicId(0), .port = PortId(0), .ip = *parse_ip("2001:db8::1"), .vlan = 100},
               {.id = NicId(1), .port = PortId(1), .ip = *parse_ip("198.18.0.1")}};
  plan.connections = {{.id = ConnectionId(0), .source_nic = NicId(0), .destination_nic = NicId(1)},
                      {.id = ConnectionId(1), .source_nic = NicId(1), .destination_nic = NicId(0)}};
  const Network network =
      star_network({.port_bandwidth = {Bandwidth(1), Bandwidth(1)}, .framing = rocev2_framing(Bytes(1024))}, plan);
  EXPECT_EQ(network.routes[0].framing.overhead_per_frame, Bytes(82 + 20 + 4));
  EXPECT_EQ(network.routes[1].framing.overhead_per_frame, Bytes(82));
}

TEST(Framing, CountsEverythingOnTheLine) {
  for (const int64_t mtu : {1024, 2048, 4096}) {
    const Framing framing = rocev2_framing(Bytes(mtu));
    EXPECT_EQ(line_size(Bytes(mtu), framing), Bytes(mtu + 82 + 20));
    EXPECT_EQ(line_size(Bytes(10 * mtu), framing), Bytes(10 * (mtu + 82) + 20));
  }
  // Preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12.
  EXPECT_EQ(rocev2_framing(Bytes(1024)).overhead_per_frame, Bytes(8 + 14 + 20 + 8 + 12 + 4 + 4 + 12));
}

// 4097 bytes at MTU 4096 are two frames and are padded to 4100.
TEST(Framing, PadsPayloadToFourBytes) {
  const Framing framing = rocev2_framing(Bytes(4096));
  EXPECT_EQ(line_size(Bytes(1), framing), Bytes(4 + 82 + 20));
  EXPECT_EQ(line_size(Bytes(4), framing), Bytes(4 + 82 + 20));
  EXPECT_EQ(line_size(Bytes(4097), framing), Bytes(4100 + 2 * 82 + 20));
}

TEST(Framing, AMessageWithoutBytesIsOneFrame) {
  const Framing framing = rocev2_framing(Bytes(4096));
  EXPECT_EQ(line_size(Bytes(0), framing), Bytes(102));
  EXPECT_EQ(last_frame_size(Bytes(0), framing), Bytes(102));
}

// The only frame of a message carries RETH and immediate, the last of several the immediate alone.
TEST(Framing, LastFrameCarriesTheImmediate) {
  const Framing framing = rocev2_framing(Bytes(1024));
  EXPECT_EQ(last_frame_size(Bytes(1000), framing), Bytes(1000 + 82 + 16 + 4));
  EXPECT_EQ(last_frame_size(Bytes(1024), framing), Bytes(1024 + 82 + 16 + 4));
  EXPECT_EQ(last_frame_size(Bytes(1025), framing), Bytes(4 + 82 + 4));
  EXPECT_EQ(last_frame_size(Bytes(4096), framing), Bytes(1024 + 82 + 4));
}

// A message of many frames is line_size = first (MTU + 82 + 16) + middles (MTU + 82) + last_frame_size.
TEST(Framing, LineSizeIsTheSumOfTheFrames) {
  const Framing framing = rocev2_framing(Bytes(256));
  for (int64_t bytes = 257; bytes < 3000; bytes += 13) {
    const int64_t full = (bytes - 1) / 256;
    EXPECT_EQ(line_size(Bytes(bytes), framing).count,
              full * (256 + 82) + 16 + last_frame_size(Bytes(bytes), framing).count);
  }
}

TEST(Framing, WithoutFramingAMessageIsItself) {
  EXPECT_EQ(line_size(Bytes(12345), Framing{}), Bytes(12345));
  EXPECT_EQ(line_size(Bytes(0), Framing{}), Bytes(0));
  EXPECT_EQ(last_frame_size(Bytes(12345), Framing{}), Bytes(0));
}

/// Ranks 0, 1 on NIC 0, rank 2 on NIC 1; the NICs on ports 1 and 0. Connections 0 -> 2 by wire, 0 -> 1 local.
TransportPlan small_plan() {
  TransportPlan plan;
  plan.ranks = 3;
  plan.nics = {{.id = NicId(0), .port = PortId(1), .mac = {}, .ip = {}},
               {.id = NicId(1), .port = PortId(0), .mac = {}, .ip = {}}};
  plan.connections.resize(2);
  plan.connections[0].source = RankId(0), plan.connections[0].destination = RankId(2);
  plan.connections[0].source_nic = NicId(0), plan.connections[0].destination_nic = NicId(1);
  plan.connections[1].source = RankId(0), plan.connections[1].destination = RankId(1);
  plan.connections[1].source_nic = plan.connections[1].destination_nic = NicId(0);
  plan.connections[1].path = Path::kLocal;
  return plan;
}

class StarNetwork : public ::testing::Test {
 protected:
  StarNetwork() {
    StarOptions options;
    options.port_bandwidth = {Bandwidth(10'000'000'000), Bandwidth(25'000'000'000)};
    options.port_latency = nanoseconds(100);
    options.switch_latency = microseconds(1);
    options.framing = rocev2_framing(Bytes(1024));
    options.local_bandwidth = Bandwidth(800'000'000'000);
    options.local_latency = nanoseconds(500);
    network_ = star_network(options, small_plan());
  }

  std::vector<std::string> names(uint32_t connection) const {
    std::vector<std::string> names;
    for (const LinkUse& use : network_.routes[connection].links) names.push_back(network_.links[use.link.value].name);
    return names;
  }
  Duration latency(uint32_t connection) const {
    Duration sum;
    for (const LinkUse& use : network_.routes[connection].links) sum += network_.links[use.link.value].latency;
    return sum;
  }

  Network network_;
};

TEST_F(StarNetwork, HasTwoLinksAPortAndTwoARank) {
  ASSERT_EQ(network_.links.size(), 2u * 2 + 2 * 3);
  EXPECT_EQ(network_.links[0].bandwidth, Bandwidth(10'000'000'000));
  EXPECT_EQ(network_.links[1].bandwidth, Bandwidth(10'000'000'000));
  EXPECT_EQ(network_.links[3].bandwidth, Bandwidth(25'000'000'000));
  EXPECT_EQ(network_.links[4].bandwidth, Bandwidth(800'000'000'000));
}

// Up the source's port, down the destination's; 100 ns + 1 us + 100 ns.
TEST_F(StarNetwork, WireRoutesGoThroughTheSwitch) {
  EXPECT_EQ(names(0), (std::vector<std::string>{"port1.up", "port0.down"}));
  EXPECT_EQ(latency(0), nanoseconds(1200));
  EXPECT_EQ(network_.routes[0].framing.payload, Bytes(1024));
}

TEST_F(StarNetwork, LocalRoutesUseNoPortAndNoFraming) {
  EXPECT_EQ(names(1), (std::vector<std::string>{"rank0.out", "rank1.in"}));
  EXPECT_EQ(latency(1), nanoseconds(500));
  EXPECT_EQ(network_.routes[1].framing.payload, Bytes(0));
}

/// A route over links of these rates, without latency.
Network chain(const std::vector<int64_t>& gigabits, Bytes mtu) {
  Network network;
  Route route{.framing = rocev2_framing(mtu)};
  for (uint32_t hop = 0; hop < gigabits.size(); ++hop) {
    network.links.push_back({"", Bandwidth(gigabits[hop] * 1'000'000'000), {}, {}});
    route.links.push_back({LinkId(hop), hop});
  }
  network.routes = {route};
  return network;
}

/// Frame by frame: each goes on when all of it is there and the one before it has gone on.
Duration frame_by_frame(const Network& network, Bytes message) {
  const Framing& framing = network.routes[0].framing;
  std::vector<Bytes> frames;
  for (Bytes left = message; left > framing.payload; left -= framing.payload)
    frames.push_back(framing.payload + framing.overhead_per_frame + Bytes(frames.empty() ? 16 : 0));
  frames.push_back(last_frame_size(message, framing));
  std::vector<Duration> free(network.links.size());
  for (const Bytes frame : frames) {
    Duration there;
    for (size_t hop = 0; hop < free.size(); ++hop)
      there = free[hop] = std::max(there, free[hop]) + serialization_time(frame, network.links[hop].bandwidth);
  }
  return free.back();
}

// Rates that divide 8 ps a byte x 10^12, so that nothing is rounded; the first, the last, and one in the middle
// slowest.
TEST(ForwardingTime, IsThatOfTheFramesOneByOne) {
  const std::vector<std::vector<int64_t>> chains = {
      {10}, {10, 10}, {100, 10}, {10, 100}, {100, 25, 50}, {50, 100, 25, 100, 40}, {40, 50, 100, 25, 200, 25, 100}};
  for (const std::vector<int64_t>& rates : chains) {
    const Network network = chain(rates, Bytes(1024));
    for (const int64_t bytes : {0, 1, 1000, 1024, 1025, 1500, 2047, 2048, 2049, 3000, 10'000, 10'240, 10'241}) {
      EXPECT_EQ(undisturbed_time(network, network.routes[0], Bytes(bytes)), frame_by_frame(network, Bytes(bytes)))
          << bytes << " bytes over " << rates.size() << " links";
    }
  }
}

// 8390 bytes at MTU 4096: the last frame, of 198 + 2 + 82 + 4 bytes, waits for the one before it, so what store and
// forward adds is the first frame's 4096 + 82 + 16 bytes at 0.8 ns each.
TEST(ForwardingTime, AShortLastFrameDoesNotOvertake) {
  const Network network = chain({10, 10}, Bytes(4096));
  EXPECT_EQ(forwarding_time(network, network.routes[0], Bytes(8390)).ps, 4194 * 800);
}

}  // namespace
}  // namespace rankwire
