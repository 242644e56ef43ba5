#include "emulator/assembly/nic_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"
#include "emulator/input/config.h"
#include "tests/assembly/twin_run.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

/// A message's time on a line of 100 Gb/s, and from its last bit to its delivery.
Duration on_line(Bytes message) {
  return serialization_time(line_size(message, rocev2_framing(Bytes(4096))), Bandwidth(100'000'000'000));
}
Duration delay(const rankwire::Setup& setup, Bytes message) {
  const Network network = reference_network(setup);
  return forwarding_time(network, network.routes.front(), message);
}

/// An acknowledgement is 86 bytes on the line: 82 around every frame, and an AETH.
constexpr Duration kAcknowledgement(86 * 80);
/// From the last delivery to its acknowledgement, with which a run ends: over two hops and the switch.
constexpr Duration kWayBack = nanoseconds(1200) + kAcknowledgement * 2;
/// For rounding.
constexpr int64_t kPicoseconds = 100;

/// Four ranks, two behind each of two ports of 100 Gb/s; ranks 0 and 2, and ranks 1 and 3, reduce among themselves, in
/// a ring: each sends half of the input, and then half of the result. A turn is 16 packets of 4096 bytes.
class NicNetworkTest : public ::testing::Test {
 protected:
  RunConfig config(int64_t bytes, const char* hosts = "{count: 2, npus: 2, nics: 1}", int ports = 2, int channels = 1) {
    for (int rank = 0; rank < 4; ++rank)
      traces_.add({testing::collective(1, "sum").size(bytes).group(rank % 2 == 0 ? "even" : "odd")});
    std::ofstream(folder_ / "groups.json") << R"({"even": [0, 2], "odd": [1, 3]})";
    const std::filesystem::path file = folder_ / "four.yaml";
    std::ofstream(file) << "workload: {traces: " << traces_.options.traces.front()
                        << ", groups: groups.json}\nhosts: " << hosts
                        << "\nmapping: {policy: block}\nports: {count: " << ports
                        << ", device: memory, rate: 100Gbps}\nswitch: {latency: 1us, link_latency: 100ns}\n"
                        << "collectives: {channels: " << channels << ", chunk: 1GiB}\n";
    return load_config(file, {});
  }
  Duration shared(const rankwire::Setup& setup) const {
    return run_unrecorded(setup, {.label = "shared"}, reference_network(setup), {stop_})->completion;
  }
  Duration in_turn(const rankwire::Setup& setup) const {
    return run_unrecorded(setup, {.label = "in turn"}, network_with(Nics::kTurns, setup, reference_network(setup)),
                          {stop_})
        ->completion;
  }
  /// Packets of the twin take as long.
  void expect_time_of_packets(TwinRun& twin) const {
    ASSERT_EQ(twin.run().verdict, Verdict::kOk);
    const double packets = static_cast<double>(std::ranges::max(twin.engine().rank_times()).ps);
    EXPECT_NEAR(packets / static_cast<double>(in_turn(twin.setup()).ps), 1, 0.002);
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  const std::atomic<bool> stop_{false};
};

// Halves of 64 KiB, a turn, are 5.4 us on the line and 1.5 us beyond: the other rank's message hides all of that but
// that of the last, and the acknowledgement of a rank's first message goes out before its second. Fair shares end both
// messages of a step at once, and both steps have the delay.
TEST_F(NicNetworkTest, HideTheDelayBehindAnothersMessage) {
  TwinRun twin(config(128 << 10));
  const Bytes half(64 << 10);
  const Duration line = on_line(half), beyond = delay(twin.setup(), half);
  ASSERT_GT(line, beyond);
  EXPECT_NEAR(shared(twin.setup()).ps, ((line * 2 + beyond) * 2 + nanoseconds(1200)).ps, kPicoseconds);
  EXPECT_NEAR(in_turn(twin.setup()).ps, (line * 4 + kAcknowledgement * 2 + beyond + kWayBack).ps, kPicoseconds);
  expect_time_of_packets(twin);
}

// Halves of 4 KiB are 0.34 us on the line, which is all that another's message hides: the first rank's second message
// goes out at t + d, behind an acknowledgement, the second's at 2 t + d behind two, and is there at 3 t + 2 d.
TEST_F(NicNetworkTest, HideNoMoreThanAnothersMessageTakes) {
  TwinRun twin(config(8 << 10));
  const Bytes half(4 << 10);
  const Duration line = on_line(half), beyond = delay(twin.setup(), half);
  ASSERT_LT(line, beyond);
  EXPECT_NEAR(in_turn(twin.setup()).ps, (line * 3 + kAcknowledgement * 2 + beyond * 2 + kWayBack).ps, kPicoseconds);
  expect_time_of_packets(twin);
}

// Halves of 128 KiB are two turns. The second rank's begins after the first's first turn; the first ends after three,
// and its delay passes during the fourth: no line is ever idle.
TEST_F(NicNetworkTest, LetNoLineBeIdleWhereMessagesAreLarge) {
  TwinRun twin(config(256 << 10));
  const Bytes half(128 << 10);
  EXPECT_NEAR(in_turn(twin.setup()).ps, (on_line(half) * 4 + delay(twin.setup(), half) + kWayBack).ps, kPicoseconds);
  expect_time_of_packets(twin);
}

// Each rank has a port, and two channels that share it: each sends a quarter in each of two steps.
TEST_F(NicNetworkTest, AreThoseOfChannelsToo) {
  TwinRun twin(config(256 << 10, "{count: 4, npus: 1, nics: 1}", 4, 2));
  const Bytes quarter(64 << 10);
  EXPECT_NEAR(in_turn(twin.setup()).ps,
              (on_line(quarter) * 4 + kAcknowledgement * 2 + delay(twin.setup(), quarter) + kWayBack).ps, kPicoseconds);
  expect_time_of_packets(twin);
}

TEST_F(NicNetworkTest, HaveNoTurnsAtPortsOfOneRank) {
  rankwire::Setup setup;
  prepare(setup, config(8 << 10, "{count: 4, npus: 1, nics: 1}", 4), folder_.path());
  const Network network = network_with(Nics::kTurns, setup, reference_network(setup));
  EXPECT_TRUE(std::ranges::all_of(network.links, [](const Link& link) { return link.turn.count == 0; }));
}

// Each rank has a port, and a step has its message, its delay, and from the second on the acknowledgement before it.
TEST_F(NicNetworkTest, AcknowledgeBeforeTheySendMore) {
  TwinRun twin(config(8 << 10, "{count: 4, npus: 1, nics: 1}", 4));
  const Bytes half(4 << 10);
  EXPECT_NEAR(in_turn(twin.setup()).ps,
              ((on_line(half) + delay(twin.setup(), half)) * 2 + kAcknowledgement + kWayBack).ps, kPicoseconds);
  expect_time_of_packets(twin);
}

// What is fetched by READ is not acknowledged.
TEST_F(NicNetworkTest, AcknowledgeNoResponses) {
  RunConfig reads = config(8 << 10, "{count: 4, npus: 1, nics: 1}", 4);
  reads.transport.verb = VerbName::kRead;
  rankwire::Setup setup;
  prepare(setup, reads, folder_.path());
  EXPECT_TRUE(network_with(Nics::kTurns, setup, reference_network(setup)).acknowledgements.empty());
}

}  // namespace
}  // namespace rankwire
