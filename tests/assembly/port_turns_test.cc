#include "emulator/assembly/port_turns.h"

#include <gtest/gtest.h>

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

/// Four ranks, two behind each of two ports of 100 Gb/s; ranks 0 and 2, and ranks 1 and 3, reduce among themselves, in
/// a ring: each sends half of the input, and then half of the result.
/// A message's time on a line of 100 Gb/s, and from its last bit to its delivery.
Duration on_line(Bytes message) {
  return serialization_time(line_size(message, rocev2_framing(Bytes(4096))), Bandwidth(100'000'000'000));
}
Duration delay(const rankwire::Setup& setup, Bytes message) {
  const Network network = reference_network(setup);
  return forwarding_time(network, network.routes.front(), message);
}

class PortTurnsTest : public ::testing::Test {
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
  Duration reference(const rankwire::Setup& setup) const {
    return run_unrecorded(setup, {.label = "reference"}, reference_network(setup), {stop_})->completion;
  }
  /// Of two steps, in each of which two messages share a port, the reference has the delay of both and turns have none.
  void expect_hidden_delay(const rankwire::Setup& setup, Bytes message) const {
    const Duration line = on_line(message), beyond = delay(setup, message);
    ASSERT_GT(line, beyond);
    EXPECT_EQ(reference(setup), (line * 2 + beyond) * 2 + nanoseconds(1200));
    const auto with_turns = completion_with_turns(setup, {stop_});
    ASSERT_TRUE(with_turns);
    EXPECT_GE(*with_turns, line * 4);
    EXPECT_LE(*with_turns, line * 4 + kHeads);
  }

  const testing::TemporaryFolder folder_;
  testing::TraceSet traces_;
  const std::atomic<bool> stop_{false};
  /// The first 64 bytes of a frame, at the two hops after the first of each of two steps; 10 ns for rounding.
  const Duration kHeads = Duration(64 * 80) * 4 + nanoseconds(10);
};

// Halves of 64 KiB are 5.4 us on the line and 1.5 us beyond: the other rank's message hides all of that. The reference
// ends with an acknowledgement, 1.2 us after the last message.
TEST_F(PortTurnsTest, HideTheDelayBehindAnothersMessage) {
  const TwinRun twin(config(128 << 10));
  expect_hidden_delay(twin.setup(), Bytes(64 << 10));
}

// Halves of 4 KiB are 0.34 us on the line, which is all that another's message hides of what is beyond: of two steps,
// and of the acknowledgement in the end.
TEST_F(PortTurnsTest, HideNoMoreThanAnothersMessageTakes) {
  const TwinRun twin(config(8 << 10));
  const Bytes half(4 << 10);
  const Duration line = on_line(half), beyond = delay(twin.setup(), half);
  ASSERT_LT(line, beyond);
  const auto with_turns = completion_with_turns(twin.setup(), {stop_});
  ASSERT_TRUE(with_turns);
  const Duration expected = (line + beyond) * 2 + (beyond - line);
  EXPECT_GE(*with_turns, expected);
  EXPECT_LE(*with_turns, expected + kHeads);
}

TEST_F(PortTurnsTest, BoundThePacketsOfTheTwin) {
  TwinRun twin(config(128 << 10));
  ASSERT_EQ(twin.run().verdict, Verdict::kOk);
  const std::vector<Duration> times = twin.engine().rank_times();
  EXPECT_GE(*std::ranges::max_element(times), *completion_with_turns(twin.setup(), {stop_}));
}

// Each rank has a port, and two channels that share it: each sends a quarter in each of two steps.
TEST_F(PortTurnsTest, AreThoseOfChannelsToo) {
  TwinRun twin(config(256 << 10, "{count: 4, npus: 1, nics: 1}", 4, 2));
  expect_hidden_delay(twin.setup(), Bytes(64 << 10));
  ASSERT_EQ(twin.run().verdict, Verdict::kOk);
  const std::vector<Duration> times = twin.engine().rank_times();
  EXPECT_GE(*std::ranges::max_element(times), *completion_with_turns(twin.setup(), {stop_}));
  EXPECT_LT(*std::ranges::max_element(times), reference(twin.setup()));
}

TEST_F(PortTurnsTest, AreNothingToPortsOfOneRank) {
  rankwire::Setup setup;
  prepare(setup, config(8 << 10, "{count: 4, npus: 1, nics: 1}", 4), folder_.path());
  EXPECT_FALSE(network_with_turns(setup, reference_network(setup)));
  EXPECT_FALSE(completion_with_turns(setup, {stop_}));
}

}  // namespace
}  // namespace rankwire
