// Many queue pairs through the embedded switch into one port, under congestion control, in virtual time.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/frame_pool.h"
#include "dataplane/memory_port.h"
#include "dataplane/roce_transport.h"
#include "dataplane/star_switch.h"

namespace rankwire {
namespace {

constexpr Bandwidth kLine{25'000'000'000};
constexpr int64_t kMessage = 64 * 4096;

uint64_t detail(const RoceTransport& transport, std::string_view name) {
  for (const NamedCounter& counter : transport.details())
    if (counter.name == name) return counter.value;
  return 0;
}

/// Senders 0 .. n-1, each behind a port of its own, that never run out of messages for the one receiver behind port n.
class Incast {
 public:
  static constexpr uint32_t kPosted = 4;  ///< messages of a sender at a time

  Incast(uint32_t senders, const RoceOptions& options, Bytes threshold)
      : plan_(plan_of(senders)), delivered_(senders), posted_(senders) {
    std::vector<SwitchPort> ports;
    for (uint32_t i = 0; i <= senders; ++i) {
      auto [nic, inner] = make_memory_link(pool_, 8192, "port" + std::to_string(i));
      nics_.push_back(std::move(nic));
      inner_.push_back(std::move(inner));
      ports.push_back({inner_.back().get(), kLine});
    }
    switch_ = make_star_switch(
        ports, SwitchOptions{.latency = microseconds(1), .link_latency = nanoseconds(500), .ecn_threshold = threshold});
    std::vector<PortBinding> bindings;
    for (uint32_t i = 0; i < senders; ++i) bindings.push_back({PortId(i), nics_[i].get(), kLine});
    senders_ = std::make_unique<RoceTransport>(options, bindings);
    receiver_ = std::make_unique<RoceTransport>(
        options, std::vector<PortBinding>{{PortId(senders), nics_[senders].get(), kLine}});
    auto ends = senders_->prepare(plan_);
    std::ranges::copy(receiver_->prepare(plan_), std::back_inserter(ends));
    EXPECT_TRUE(senders_->connect(ends).empty());
    EXPECT_TRUE(receiver_->connect(ends).empty());
  }
  ~Incast() {
    senders_->close();
    receiver_->close();
  }

  void start(uint32_t sender) {
    for (uint32_t i = 0; i < kPosted; ++i) post(sender);
  }
  void run_until(Time end) {
    while (now_ < end) {
      switch_->step(now_);
      most_held_ = std::max(most_held_, switch_->held());
      poll(*senders_);
      poll(*receiver_);
      const Time next = std::min({switch_->next_event(), senders_->next_event(), receiver_->next_event()});
      now_ = std::min(std::max(now_, next), end);
    }
  }
  /// Bytes delivered of each sender since the last call.
  std::vector<int64_t> take_delivered() { return std::exchange(delivered_, std::vector<int64_t>(delivered_.size())); }

  RoceTransport& senders() { return *senders_; }
  RoceTransport& receiver() { return *receiver_; }
  uint64_t drops() const {
    uint64_t drops = 0;
    for (const FabricPortCounters& port : switch_->counters()) drops += port.dropped(FabricDrop::kTail);
    return drops;
  }
  /// The most frames that were in the switch or on its lines since the last call.
  size_t take_most_held() { return std::exchange(most_held_, 0); }

 private:
  static TransportPlan plan_of(uint32_t senders) {
    TransportPlan plan;
    plan.messages_in_flight = 2 * kPosted * senders;
    for (uint32_t i = 0; i <= senders; ++i)
      plan.nics.push_back({.id = NicId(i),
                           .port = PortId(i),
                           .mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}},
                           .ip = Ipv4Address{0xC6120001 + i},
                           .prefix_length = 15});
    for (uint32_t i = 0; i < senders; ++i) {
      Connection connection;
      connection.id = ConnectionId(i);
      connection.source_nic = NicId(i);
      connection.destination_nic = NicId(senders);
      connection.largest_message = Bytes(kMessage);
      plan.connections.push_back(connection);
    }
    return plan;
  }
  void post(uint32_t sender) {
    Message message;
    message.id.source = sender;
    message.bytes = Bytes(kMessage);
    message.connection = ConnectionId(sender);
    message.index = posted_[sender]++;
    ASSERT_EQ(senders_->post(now_, {&message, 1}), 1u);
  }
  void poll(RoceTransport& transport) {
    Event events[64];
    const size_t n = transport.poll(now_, events);
    for (const Event& event : std::span(events).first(n)) {
      ASSERT_NE(event.kind, EventKind::kFailed);
      if (event.kind == EventKind::kReceived) {
        delivered_[event.connection.value] += event.bytes.count;
      } else {
        post(event.connection.value);
      }
    }
  }

  FramePool pool_{32768};
  TransportPlan plan_;
  std::vector<std::unique_ptr<FramePort>> nics_, inner_;
  std::unique_ptr<VirtualFabric> switch_;
  std::unique_ptr<RoceTransport> senders_, receiver_;
  std::vector<int64_t> delivered_;
  std::vector<uint32_t> posted_;
  size_t most_held_ = 0;
  Time now_;
};

/// Jain, Chiu and Hawe 1984: (sum x)^2 / (n sum x^2).
double jain(const std::vector<int64_t>& shares) {
  double sum = 0, squares = 0;
  for (const auto share : shares) {
    sum += static_cast<double>(share);
    squares += static_cast<double>(share) * static_cast<double>(share);
  }
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

/// Of the payload that the receiver's line carries: 4096 of 4178 bytes of each packet.
double share_of_line(const std::vector<int64_t>& delivered, Duration time) {
  const auto bytes = static_cast<double>(std::accumulate(delivered.begin(), delivered.end(), int64_t{0}));
  const double most = static_cast<double>(kLine.bits_per_second) / 8 * (static_cast<double>(time.ps) / 1e12);
  return bytes * 4178 / 4096 / most;
}

void expect_alike_at_both_ends(Incast& incast) {
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
  options.congestion.dcqcn = dcqcn_preset(DcqcnPreset::kHpcc, kLine);
  options.congestion.notifies = true;
  options.congestion.notification.min_time_between_cnps = microseconds(1);
  return options;
}

// The second flow comes when the first has the line. HPCC's rule marks from 100 KB on at 25 Gb/s. After they have
// converged both have the same share, the line is busy, and nothing was lost.
TEST(RoceIncast, TwoFlowsConvergeUnderDcqcn) {
  Incast incast(2, dcqcn_options(), Bytes(100'000));
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
  Incast incast(16, dcqcn_options(), Bytes(100'000));
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
    Incast incast(4, options, Bytes(60'000));
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
    Incast incast(3, dcqcn_options(), Bytes(100'000));
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
