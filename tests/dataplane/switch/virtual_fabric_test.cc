// Fabrics of several switches.
#include "dataplane/switch/virtual_fabric.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "tests/dataplane/switch/fabric_bench.h"

namespace rankwire {
namespace {

using testing::FabricBench;
using testing::Got;
using testing::Sent;

constexpr Line kTenGigabit{Bandwidth(10'000'000'000), nanoseconds(100)};
constexpr int64_t kThousandByteTime = 819'200;  // 1000 B at 10 Gb/s
constexpr uint8_t kLosslessDscp = 24;
constexpr PrioritySet kLosslessPriority = priority_bit(3);

std::vector<Line> lines(size_t hosts, Line line = kTenGigabit) {
  return std::vector<Line>(hosts, line);
}

/// Of frames sent by the ports of a switch that lead to other switches (Jain, Chiu, Hawe 1984).
double fairness(const VirtualFabric& fabric, SwitchId at) {
  double sum = 0, squares = 0, n = 0;
  const Topology& topology = fabric.topology();
  const auto counters = fabric.counters();
  for (uint32_t p = 0; p < topology.host_port(0); ++p) {
    if (topology.switch_of(p) != at) continue;
    const auto sent = static_cast<double>(counters[p].tx_frames);
    sum += sent, squares += sent * sent, ++n;
  }
  return sum * sum / (n * squares);
}

TEST(VirtualFabric, TakesASerializationALatencyAndALinkAHop) {
  FabricSwitchOptions device;
  device.latency = microseconds(1);
  FabricBench bench(leaf_spine({.leaves = 2, .spines = 2, .uplink = kTenGigabit}, lines(4)), {device});
  bench.send({.from = 0, .to = 1}, Time());
  bench.send({.from = 2, .to = 0}, Time());
  bench.run();
  // One switch: 2 links, 2 serializations, 1 us. Three switches: 4 links, 4 serializations, 3 us.
  EXPECT_EQ(bench.received(1).front().arrival.ps, 2 * 100'000 + 2 * kThousandByteTime + 1'000'000);
  EXPECT_EQ(bench.received(0).front().arrival.ps, 4 * 100'000 + 4 * kThousandByteTime + 3'000'000);
  EXPECT_EQ(bench.fabric().hops(), 1u + 3u);
}

TEST(VirtualFabric, EveryHostReachesEveryOtherOfAFatTree) {
  FabricBench bench(fat_tree({.k = 4, .uplink = kTenGigabit}, lines(16)), {FabricSwitchOptions()});
  for (uint32_t from = 0; from < 16; ++from) {
    for (uint32_t to = 0; to < 16; ++to) {
      if (from != to) bench.send({.from = from, .to = to, .length = 100}, Time());
    }
  }
  bench.run();
  for (uint32_t to = 0; to < 16; ++to) {
    std::multiset<uint32_t> from;
    for (const Got& got : bench.received(to)) from.insert(got.from);
    EXPECT_EQ(from.size(), 15u);
    EXPECT_EQ(std::set<uint32_t>(from.begin(), from.end()).size(), 15u) << "host " << to;
  }
  EXPECT_EQ(bench.drops(), 0u);
}

TEST(VirtualFabric, FloodsToEveryHostOnce) {
  FabricBench bench(fat_tree({.k = 4, .uplink = kTenGigabit}, lines(16)), {FabricSwitchOptions()});
  bench.send({.from = 5, .to = 0xFFFF, .length = 100}, Time());  // nobody's address
  bench.run();
  for (uint32_t to = 0; to < 16; ++to) EXPECT_EQ(bench.received(to).size(), to == 5 ? 0u : 1u) << to;
  EXPECT_EQ(bench.pool().available(), bench.pool().size());
}

TEST(VirtualFabric, AFlowKeepsItsPathAndItsOrder) {
  FabricBench bench(leaf_spine({.leaves = 2, .spines = 8, .uplink = kTenGigabit}, lines(2)), {FabricSwitchOptions()});
  for (uint16_t i = 0; i < 100; ++i) bench.send({.from = 0, .to = 1, .length = 100}, Time());
  bench.run();
  EXPECT_EQ(bench.received(1).size(), 100u);
  EXPECT_NEAR(fairness(bench.fabric(), SwitchId(0)), 1.0 / 8, 1e-9);
}

TEST(VirtualFabric, FlowsSpreadAsTheirHashes) {
  FabricBench bench(leaf_spine({.leaves = 2, .spines = 8, .uplink = kTenGigabit}, lines(2)), {FabricSwitchOptions()});
  constexpr int kFlows = 4000;
  for (uint16_t i = 0; i < kFlows; ++i) {
    bench.send({.from = 0, .to = 1, .length = 100, .source_port = static_cast<uint16_t>(0xC000 + i)}, Time());
  }
  bench.run();
  // With m balls in n bins at random E[JFI] is about 1 / (1 + (n - 1) / m) = 0.9983; 0.99 is 6 times the deviation.
  EXPECT_GT(fairness(bench.fabric(), SwitchId(0)), 0.99);
  EXPECT_LT(fairness(bench.fabric(), SwitchId(0)), 0.99999);
}

TEST(VirtualFabric, SprayingUsesAllPathsAlike) {
  FabricOptions options;
  options.balancing.spreading = Spreading::kPacket;
  FabricBench bench(leaf_spine({.leaves = 2, .spines = 8, .uplink = kTenGigabit}, lines(2)), {FabricSwitchOptions()},
                    options);
  for (int i = 0; i < 800; ++i) bench.send({.from = 0, .to = 1, .length = 100}, Time());
  bench.run();
  EXPECT_GE(fairness(bench.fabric(), SwitchId(0)), 0.99);
  EXPECT_EQ(bench.received(1).size(), 800u);
}

TEST(VirtualFabric, AFlowletChangesThePathAfterAGapAlone) {
  FabricOptions options;
  options.balancing.spreading = Spreading::kFlowlet;
  options.balancing.flowlet_gap = microseconds(10);
  const auto spread = [&](Duration interval) {
    FabricBench bench(leaf_spine({.leaves = 2, .spines = 8, .uplink = kTenGigabit}, lines(2)), {FabricSwitchOptions()},
                      options);
    for (int i = 0; i < 400; ++i) bench.send({.from = 0, .to = 1, .length = 100}, Time() + interval * i);
    bench.run();
    return fairness(bench.fabric(), SwitchId(0));
  };
  EXPECT_NEAR(spread(microseconds(9)), 1.0 / 8, 1e-9);
  EXPECT_GT(spread(microseconds(11)), 0.9);  // 400 choices of 8: E[JFI] is about 1 / (1 + 7 / 400) = 0.98
}

TEST(VirtualFabric, EqualSeedsPolarise) {
  const auto used_paths = [](bool seed_per_switch) {
    FabricOptions options;
    options.balancing.seed_per_switch = seed_per_switch;
    FabricBench bench(fat_tree({.k = 8, .uplink = kTenGigabit}, lines(128)), {FabricSwitchOptions()}, options);
    for (uint16_t i = 0; i < 500; ++i) {
      bench.send({.from = 0, .to = 127, .length = 100, .source_port = static_cast<uint16_t>(0xC000 + i)}, Time());
    }
    bench.run();
    int used = 0;  // downlinks of core switches, of which 16 lead to the destination's pod
    for (uint32_t p = 0; p < bench.fabric().topology().host_port(0); ++p) {
      const bool core = bench.fabric().topology().switches[bench.fabric().topology().switch_of(p).value][0] == 'c';
      used += core && bench.port(p).tx_frames > 0;
    }
    return used;
  };
  // Edge and aggregation choose one of 4 each; choosing alike leaves 4 of the 16 paths.
  EXPECT_EQ(used_paths(true), 16);
  EXPECT_EQ(used_paths(false), 4);
}

/// 16 leaves with a host each send to one host behind the switch in their middle, which pauses them.
class Incast : public ::testing::Test {
 protected:
  static constexpr uint32_t kSenders = 16;
  static constexpr Line kLine{Bandwidth(10'000'000'000), microseconds(2)};

  /// Everything that can arrive after the decision to send XOFF: the line both ways, the frame that the PFC frame waits
  /// for here, the PFC frame, the switch latency until it is obeyed, the frame that has begun there, and the switch
  /// latency of what was in whole when the decision fell. In bytes at 1.25 B/ns.
  static Bytes formula(Duration latency) {
    const Duration silent = kLine.latency * 2 + Duration(kThousandByteTime) * 2 + Duration(67'200) + latency * 2;
    return Bytes(silent.ps / 800 + 1000);
  }

  static std::unique_ptr<FabricBench> bench(Bytes headroom) {
    Topology topology;
    for (uint32_t s = 0; s < kSenders; ++s) {
      topology.switches.push_back("leaf" + std::to_string(s));
      topology.cables.push_back({SwitchId(s), SwitchId(kSenders), kLine});
      topology.hosts.push_back({SwitchId(s), kLine});
    }
    topology.switches.push_back("middle");
    topology.hosts.push_back({SwitchId(kSenders), kLine});
    FabricSwitchOptions leaf;
    leaf.latency = nanoseconds(500);
    leaf.classes.lossless = kLosslessPriority;
    FabricSwitchOptions middle = leaf;
    middle.buffer.shared = Bytes(100'000);
    middle.buffer.ingress.exponent = -2;
    middle.buffer.headroom = headroom;
    middle.buffer.resume_offset = Bytes(1'000);
    std::vector<FabricSwitchOptions> devices(kSenders, leaf);
    devices.push_back(middle);
    auto made = std::make_unique<FabricBench>(topology, devices, FabricOptions());
    for (int i = 0; i < 200; ++i) {
      for (uint32_t s = 0; s < kSenders; ++s) made->send({.from = s, .to = kSenders, .dscp = kLosslessDscp}, Time());
    }
    made->run();
    return made;
  }
};

TEST_F(Incast, LosesNothingWithHeadroomByTheFormula) {
  const auto with = bench(formula(nanoseconds(500)));
  EXPECT_EQ(with->drops(), 0u);
  EXPECT_EQ(with->received(kSenders).size(), 200u * kSenders);
  EXPECT_GT(with->port(1).pauses_tx, 0u);
  EXPECT_GT(with->port(0).paused[3], Duration());
}

TEST_F(Incast, LosesFramesWithoutHeadroom) {
  const auto without = bench(Bytes());
  EXPECT_GT(without->drops(FabricDrop::kHeadroom), 0u);
  EXPECT_EQ(without->drops(), without->drops(FabricDrop::kHeadroom));
}

TEST_F(Incast, LosesFramesWithATenthOfTheHeadroom) {
  EXPECT_GT(bench(Bytes(formula(nanoseconds(500)).count / 10))->drops(FabricDrop::kHeadroom), 0u);
}

TEST(VirtualFabric, RoutesAroundACableThatFails) {
  // Two spines; the first fails at 100 us, routes follow 50 us later, it is back at 300 us.
  const Topology topology = leaf_spine({.leaves = 2, .spines = 2, .uplink = kTenGigabit}, lines(2));
  FabricOptions options;
  options.balancing.spreading = Spreading::kPacket;
  options.schedule = {{Time() + microseconds(100), 0, kDownCable}, {Time() + microseconds(300), 0, kWholeCable}};
  options.convergence = microseconds(50);
  FabricBench bench(topology, {FabricSwitchOptions()}, options);
  for (int i = 0; i < 400; ++i) bench.send({.from = 0, .to = 1, .length = 100}, Time() + microseconds(i));
  bench.run();
  // Frames pass leaf 0 once a microsecond, every other by the cable: 25 between failure and convergence, and one may
  // be on the way.
  EXPECT_NEAR(static_cast<double>(bench.drops(FabricDrop::kCableDown)), 25, 1);
  EXPECT_EQ(bench.drops(), bench.drops(FabricDrop::kCableDown));
  EXPECT_EQ(bench.received(1).size(), 400 - bench.drops());
  // By the cable: 50 before, then of the last 50 us (routes follow at 350 us) every other.
  EXPECT_NEAR(static_cast<double>(bench.port(0).tx_frames), 50 + 25, 2);
}

/// Two leaves and a spine, so cables 0 and 1, and then those of the hosts. That of number `cable` is like this from 100
/// to 300 us.
std::unique_ptr<FabricBench> with_cable(uint32_t cable, const CableCondition& condition) {
  const Topology topology = leaf_spine({.leaves = 2, .spines = 1, .uplink = kTenGigabit}, lines(2));
  FabricOptions options;
  options.schedule = {{Time() + microseconds(100), cable, condition}, {Time() + microseconds(300), cable, kWholeCable}};
  options.convergence = microseconds(50);
  auto bench = std::make_unique<FabricBench>(topology, std::vector{FabricSwitchOptions()}, options);
  for (int i = 0; i < 400; ++i) bench->send({.from = 0, .to = 1, .length = 100}, Time() + microseconds(i));
  bench->run();
  return bench;
}

// A frame a microsecond: 200 are lost, and some may be on the way when the cable fails.
TEST(VirtualFabric, WhatIsForAHostThatIsCutOffIsLost) {
  const auto bench = with_cable(2 + 1, kDownCable);
  EXPECT_NEAR(static_cast<double>(bench->drops(FabricDrop::kCableDown)), 200, 5);
  EXPECT_EQ(bench->drops(), bench->drops(FabricDrop::kCableDown));
  EXPECT_EQ(bench->received(1).size(), 400 - bench->drops());
}

TEST(VirtualFabric, WhatAHostSendsThatIsCutOffIsLost) {
  const auto bench = with_cable(2 + 0, kDownCable);
  EXPECT_NEAR(static_cast<double>(bench->drops(FabricDrop::kCableDown)), 200, 1);
  EXPECT_EQ(bench->received(1).size(), 400 - bench->drops());
}

// From and to a host, and between switches: of 200 frames all, or a half of them on the average (binomial: 100 +- 7 is
// one standard deviation).
TEST(VirtualFabric, ACableLosesTheShareOfItsCondition) {
  for (uint32_t cable = 0; cable < 4; ++cable) {
    const auto all = with_cable(cable, {.loss_ppm = 1'000'000});
    EXPECT_NEAR(static_cast<double>(all->drops(FabricDrop::kRandomLoss)), 200, 1) << cable;
    EXPECT_EQ(all->received(1).size(), 400 - all->drops()) << cable;
    EXPECT_EQ(all->drops(), all->drops(FabricDrop::kRandomLoss)) << cable;
    const auto half = with_cable(cable, {.loss_ppm = 500'000});
    EXPECT_NEAR(static_cast<double>(half->drops(FabricDrop::kRandomLoss)), 100, 35) << cable;
  }
}

TEST(VirtualFabric, WithoutAPathFramesAreLost) {
  const Topology topology = leaf_spine({.leaves = 2, .spines = 1, .uplink = kTenGigabit}, lines(2));
  FabricOptions options;
  options.schedule = {{Time(), 0, kDownCable}};
  FabricBench bench(topology, {FabricSwitchOptions()}, options);
  bench.send({.from = 0, .to = 1}, Time() + microseconds(1));
  bench.run();
  EXPECT_EQ(bench.drops(FabricDrop::kNoRoute), 1u);
}

/// A ring of five switches, each host sending to the host two switches on: every cable carries what has one cable to go
/// and what has two, and buffers are small against what the hosts offer.
class Ring : public ::testing::Test {
 protected:
  static constexpr uint32_t kSwitches = 5;

  static std::unique_ptr<FabricBench> bench(PrioritySet lossless) {
    Topology topology;
    for (uint32_t s = 0; s < kSwitches; ++s) {
      topology.switches.push_back("s" + std::to_string(s));
      topology.cables.push_back({SwitchId(s), SwitchId((s + 1) % kSwitches), kTenGigabit});
      topology.hosts.push_back({SwitchId(s), {Bandwidth(40'000'000'000), nanoseconds(100)}});
    }
    FabricSwitchOptions device;
    device.classes.lossless = lossless;
    device.buffer.ingress.fixed = Bytes(20'000);
    device.buffer.headroom = Bytes(20'000);
    auto made = std::make_unique<FabricBench>(topology, std::vector{device});
    for (int i = 0; i < 500; ++i) {
      for (uint32_t h = 0; h < kSwitches; ++h) {
        made->send({.from = h, .to = (h + 2) % kSwitches, .dscp = kLosslessDscp}, Time(i * 204'800));
      }
    }
    made->run(Time() + milliseconds(20));
    return made;
  }
};

TEST_F(Ring, OfLosslessQueuesDeadlocksAndIsReported) {
  const auto stuck = bench(kLosslessPriority);
  const std::vector<FabricQueueId> cycle = stuck->fabric().deadlocked();
  // Cable s leads from switch s on; its port there is 2s.
  ASSERT_EQ(cycle.size(), 5u);
  for (size_t i = 0; i < cycle.size(); ++i) {
    EXPECT_EQ(cycle[(i + 1) % 5], (FabricQueueId{(cycle[i].port + 2) % 10, 3}));
  }
  EXPECT_GT(stuck->fabric().held(), 0u);
  const std::array<std::string, 5> hosts = {"h0", "h1", "h2", "h3", "h4"};
  EXPECT_EQ(stuck->fabric().topology().port_name(2, hosts), "s1.s2");
  // Nothing moves any more.
  const uint64_t hops = stuck->fabric().hops();
  stuck->run(Time() + milliseconds(40));
  EXPECT_EQ(stuck->fabric().hops(), hops);
}

TEST_F(Ring, OfLossyQueuesDrains) {
  const auto lossy = bench(0);
  EXPECT_TRUE(lossy->fabric().deadlocked().empty());
  EXPECT_EQ(lossy->fabric().held(), 0u);
}

TEST(VirtualFabric, RepeatsFromItsSeed) {
  const auto arrivals = [](uint64_t seed) {
    FabricSwitchOptions device;
    device.loss_ppm = 50'000;
    device.red = RedOptions{.minimum = Bytes(0), .maximum = Bytes(50'000), .most_ppm = 500'000};
    FabricOptions options;
    options.seed = seed;
    FabricBench bench(fat_tree({.k = 4, .uplink = kTenGigabit}, lines(16)), {device}, options);
    Random random(5);
    for (int i = 0; i < 2000; ++i) {
      const auto from = static_cast<uint32_t>(random.below(16)), to = static_cast<uint32_t>(random.below(16));
      if (from != to) bench.send({.from = from, .to = to}, Time(i * 20'000));
    }
    bench.run();
    std::vector<std::pair<int64_t, int>> got;
    for (uint32_t h = 0; h < 16; ++h) {
      for (const Got& frame : bench.received(h)) got.emplace_back(frame.arrival.ps, frame.ecn);
    }
    return got;
  };
  const auto first = arrivals(3);
  EXPECT_EQ(arrivals(3), first);
  EXPECT_NE(arrivals(4), first);
}

/// With marks, pauses and drops: ahead of the steps everything happens at the same times and in the same order. Of the
/// steps only those remain that hand frames to hosts or take them from there. Nor do samples change anything, although
/// no window goes on beyond one. And no step at all remains where links hold back what hosts are to get.
TEST(VirtualFabric, RunsAheadAsItSteps) {
  enum class Way { kSteps, kAhead, kHandsOut };
  const auto traffic = [](Way way, bool sampled, uint32_t& steps) {
    FabricOptions options;
    if (sampled) options.series = SeriesOptions{.interval = nanoseconds(77)};
    FabricSwitchOptions device;
    device.latency = nanoseconds(300);
    device.classes.lossless = kLosslessPriority;
    device.buffer.shared = Bytes(60'000);
    device.buffer.ingress.exponent = -2;
    device.buffer.headroom = Bytes(20'000);
    device.red = RedOptions{.minimum = Bytes(2'000), .maximum = Bytes(20'000), .most_ppm = 500'000};
    FabricBench bench(fat_tree({.k = 4, .uplink = kTenGigabit}, lines(16)), {device}, options, 16384,
                      way == Way::kHandsOut ? PoolUse::kOneThread : PoolUse::kManyThreads);
    Random random(9);
    for (int i = 0; i < 3000; ++i) {
      const auto from = static_cast<uint32_t>(random.below(16)), to = static_cast<uint32_t>(random.below(4));
      const uint8_t dscp = random.below(2) == 0 ? kLosslessDscp : 0;
      if (from != to) bench.send({.from = from, .to = to, .dscp = dscp}, Time(i * 50'000));
    }
    switch (way) {
      case Way::kSteps:
        bench.run();
        break;
      case Way::kAhead:
        steps = bench.run_ahead();
        break;
      case Way::kHandsOut:
        bench.hand_out_ahead();
    }
    std::vector<std::array<int64_t, 3>> got;
    for (uint32_t h = 0; h < 16; ++h) {
      for (const Got& frame : bench.received(h)) got.push_back({frame.arrival.ps, frame.from, frame.ecn});
      got.push_back({static_cast<int64_t>(bench.pauses.size()), 0, 0});
    }
    for (const FabricPortCounters& c : bench.fabric().counters())
      got.push_back(
          {static_cast<int64_t>(c.tx_bytes + c.pauses_tx), c.peak_queue.count, static_cast<int64_t>(c.dropped())});
    return got;
  };
  uint32_t steps = 0;
  const auto stepped = traffic(Way::kSteps, false, steps);
  EXPECT_EQ(traffic(Way::kSteps, true, steps), stepped);
  EXPECT_EQ(traffic(Way::kAhead, true, steps), stepped);
  EXPECT_EQ(traffic(Way::kAhead, false, steps), stepped);
  EXPECT_EQ(traffic(Way::kHandsOut, false, steps), stepped);
  EXPECT_EQ(traffic(Way::kHandsOut, true, steps), stepped);
  EXPECT_GT(steps, 0u);
}

TEST(VirtualFabric, SamplesQueuesAtAnInterval) {
  FabricSwitchOptions device;
  device.buffer.queue_limit = Bytes(5'000);
  FabricOptions options;
  options.series = SeriesOptions{.interval = microseconds(2), .rows = 64};
  FabricBench bench(star(lines(2)), {device}, options);
  bench.send_pause(1, {.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities, .quanta = {400}}, Time());
  for (int i = 0; i < 7; ++i) bench.send({.from = 0, .to = 1}, Time(1'000'000));
  bench.run();
  // Frame k (1 .. 7) is queued at 1.1 us + k x 0.8192 us: 1 until 2 us, 3 until 4 us, 5 until 6 us; two are dropped
  // before 8 us. The pause ends at 0.167 + 20.48 us.
  const auto rows = bench.fabric().series()->rows();
  ASSERT_GE(rows.size(), 5u);
  const auto of_queue = [&](int64_t us) {
    for (const FabricSample& row : rows) {
      if (row.at == Time() + microseconds(us) && row.priority == 0 && row.port == 1) return row;
    }
    FabricSample none;
    none.length = 999;
    return none;
  };
  EXPECT_EQ(of_queue(2).length, 1'000u);
  EXPECT_TRUE(of_queue(2).paused);
  EXPECT_EQ(of_queue(2).events.xoff_rx, 1u);
  EXPECT_EQ(of_queue(4).length, 3'000u);
  EXPECT_EQ(of_queue(6).length, 5'000u);
  EXPECT_EQ(of_queue(8).length, 5'000u);
  EXPECT_EQ(of_queue(6).events.drops + of_queue(8).events.drops, 2u);
  EXPECT_EQ(of_queue(22).length, 3'000u);  // out at 20.65, 21.47 us
}

}  // namespace
}  // namespace rankwire
