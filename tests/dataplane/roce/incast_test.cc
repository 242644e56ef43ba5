// Many queue pairs through the embedded switch into one port, under congestion control, in virtual time.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/dataplane/roce/fabric.h"

namespace rankwire {
namespace {

using testing::detail;
using testing::incast_shape;
using testing::jain;
using testing::RoceFabric;

constexpr Bandwidth kIncastLine{25'000'000'000};

/// Senders 0 .. n-1, each behind a port of its own, that never run out of messages for the one receiver behind port n
/// of a switch that marks what finds more than `threshold` in its queue.
class IncastNetwork : public RoceFabric {
 public:
  IncastNetwork(uint32_t count, const RoceOptions& options, Bytes threshold)
      : RoceFabric(incast_shape(count, {kIncastLine, nanoseconds(500)}, device(threshold), options)) {}

  RoceTransport& senders() { return side(0); }
  RoceTransport& receiver() { return side(1); }

 private:
  static FabricSwitchOptions device(Bytes threshold) {
    FabricSwitchOptions device{.latency = microseconds(1)};
    device.buffer.queue_limit = Bytes(16 << 20);
    device.red = RedOptions{.minimum = threshold, .maximum = threshold};
    return device;
  }
};

/// Of the payload that the receiver's line carries: 4096 of 4178 bytes of each packet.
double share_of_line(const std::vector<int64_t>& delivered, Duration time) {
  const auto bytes = static_cast<double>(std::accumulate(delivered.begin(), delivered.end(), int64_t{0}));
  const double most = static_cast<double>(kIncastLine.bits_per_second) / 8 * (static_cast<double>(time.ps) / 1e12);
  return bytes * 4178 / 4096 / most;
}

void expect_alike_at_both_ends(IncastNetwork& incast) {
  const uint64_t sent = incast.receiver().counters().cnp_tx;
  EXPECT_GT(sent, 0u);
  EXPECT_EQ(detail(incast.receiver(), "np_cnp_sent"), sent);
  EXPECT_LE(sent, detail(incast.receiver(), "np_ecn_marked_roce_packets"));
  EXPECT_EQ(detail(incast.receiver(), "np_ecn_marked_roce_packets"), incast.receiver().counters().ecn_ce_rx);
  // Those on their way are at most one a sender: the interval is as long as the way.
  EXPECT_LE(incast.senders().counters().cnp_rx, sent);
  EXPECT_GE(incast.senders().counters().cnp_rx + 16, sent);
  EXPECT_EQ(detail(incast.senders(), "rp_cnp_handled"), incast.senders().counters().cnp_rx);
}

RoceOptions dcqcn_options() {
  RoceOptions options;
  options.profile.window = 1 << 12;
  options.profile.timeout_exponent = 14;
  options.congestion.algorithm = CongestionAlgorithm::kDcqcn;
  options.congestion.dcqcn = dcqcn_preset(DcqcnPreset::kHpcc, kIncastLine);
  options.congestion.notifies = true;
  options.congestion.notification.min_time_between_cnps = microseconds(1);
  return options;
}

// The second flow comes when the first has the line. HPCC's rule marks from 100 KB on at 25 Gb/s. After they have
// converged both have the same share, the line is busy, and nothing was lost.
TEST(RoceIncast, TwoFlowsConvergeUnderDcqcn) {
  IncastNetwork incast(2, dcqcn_options(), Bytes(100'000));
  incast.start(0);
  incast.run_until(Time() + milliseconds(2));
  EXPECT_EQ(incast.receiver().counters().cnp_tx, 0u);
  EXPECT_GT(share_of_line(incast.take_delivered(), milliseconds(2)), 0.9);
  incast.start(1);
  incast.run_until(Time() + milliseconds(60));
  incast.take_delivered();
  incast.run_until(Time() + milliseconds(120));
  const std::vector<int64_t> delivered = incast.take_delivered();
  EXPECT_GE(jain(delivered), 0.95);
  EXPECT_GT(share_of_line(delivered, milliseconds(60)), 0.8);
  EXPECT_EQ(incast.drops(), 0u);
  EXPECT_EQ(incast.senders().counters().retransmitted, 0u);
  expect_alike_at_both_ends(incast);
}

// 16 x hpcc's 1 Gb/s at least leave 9 Gb/s to share out.
TEST(RoceIncast, SixteenFlowsShareUnderDcqcn) {
  IncastNetwork incast(16, dcqcn_options(), Bytes(100'000));
  for (uint32_t sender = 0; sender < 16; ++sender) incast.start(sender);
  incast.run_until(Time() + milliseconds(40));
  incast.take_delivered();
  incast.run_until(Time() + milliseconds(80));
  const std::vector<int64_t> delivered = incast.take_delivered();
  EXPECT_GE(jain(delivered), 0.95);
  EXPECT_GT(share_of_line(delivered, milliseconds(40)), 0.8);
  EXPECT_EQ(incast.drops(), 0u);
  expect_alike_at_both_ends(incast);
}

// The same data, fetched: the receiver asks, the senders answer, and its CNPs slow down the answers.
TEST(RoceIncast, SixteenFlowsShareUnderDcqcnWhenTheyAreRead) {
  RoceOptions options = dcqcn_options();
  options.verb = DataVerb::kRead;
  options.markings.ack.ecn = Ecn::kNotCapable;  // those of the receiver's words meet the queue, too
  IncastNetwork incast(16, options, Bytes(100'000));
  for (uint32_t sender = 0; sender < 16; ++sender) incast.start(sender);
  incast.run_until(Time() + milliseconds(40));
  incast.take_delivered();
  incast.take_most_held();
  incast.run_until(Time() + milliseconds(80));
  const std::vector<int64_t> delivered = incast.take_delivered();
  EXPECT_GE(jain(delivered), 0.95);
  EXPECT_GT(share_of_line(delivered, milliseconds(40)), 0.8);
  EXPECT_EQ(incast.drops(), 0u);
  EXPECT_EQ(incast.receiver().counters().timeouts, 0u);
  expect_alike_at_both_ends(incast);
}

// DCTCP keeps the queue near its threshold of 15 frames, Swift the round trip near its target, in which the line sends
// 23. The windows of 256 packets, with which all begin, have hundreds of frames in the switch at first.
TEST(RoceIncast, WindowsKeepTheQueueShort) {
  for (const CongestionAlgorithm algorithm : {CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift}) {
    RoceOptions options = dcqcn_options();
    options.profile.window = 256;
    options.congestion.algorithm = algorithm;
    options.congestion.notification.min_time_between_cnps = Duration();
    options.congestion.swift.base_target = microseconds(30);
    options.congestion.swift.fs_range = Duration();
    IncastNetwork incast(4, options, Bytes(60'000));
    for (uint32_t sender = 0; sender < 4; ++sender) incast.start(sender);
    incast.run_until(Time() + milliseconds(20));
    EXPECT_GT(incast.take_most_held(), 400u);
    incast.take_delivered();
    incast.run_until(Time() + milliseconds(40));
    const std::vector<int64_t> delivered = incast.take_delivered();
    EXPECT_LT(incast.take_most_held(), 80u) << static_cast<int>(algorithm);
    EXPECT_GE(jain(delivered), 0.95) << static_cast<int>(algorithm);
    EXPECT_GT(share_of_line(delivered, milliseconds(20)), 0.9) << static_cast<int>(algorithm);
    EXPECT_EQ(incast.drops(), 0u);
    EXPECT_EQ(incast.senders().counters().timeouts, 0u);
  }
}

// The same seed and configuration, the same packets.
TEST(RoceIncast, RunsAreRepeatable) {
  std::vector<int64_t> delivered[2];
  uint64_t notifications[2];
  for (int run = 0; run < 2; ++run) {
    IncastNetwork incast(3, dcqcn_options(), Bytes(100'000));
    for (uint32_t sender = 0; sender < 3; ++sender) incast.start(sender);
    incast.run_until(Time() + milliseconds(5));
    delivered[run] = incast.take_delivered();
    notifications[run] = incast.senders().counters().cnp_rx;
  }
  EXPECT_EQ(delivered[0], delivered[1]);
  EXPECT_EQ(notifications[0], notifications[1]);
}

}  // namespace
}  // namespace rankwire
