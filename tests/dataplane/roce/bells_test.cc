// One transport behind many ports of a fabric, looked at port by port or by their bells.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/run_ahead.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/roce/transport.h"
#include "dataplane/switch/virtual_fabric.h"

namespace rankwire {
namespace {

constexpr uint32_t kHosts = 16;
constexpr Line kTreeLine{Bandwidth(25'000'000'000), nanoseconds(500)};
constexpr int64_t kLargest = 50'000;

enum class Looking { kEverywhere, kByBells };

/// When what was said of which message of which connection.
using Log = std::vector<std::tuple<int64_t, EventKind, uint32_t, uint32_t>>;

TransportPlan ring_and_incast() {
  TransportPlan plan;
  plan.ranks = kHosts;
  plan.messages_in_flight = 1000;
  for (uint32_t h = 0; h < kHosts; ++h)
    plan.nics.push_back({.id = NicId(h),
                         .port = PortId(h),
                         .mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(h)}},
                         .ip = Ipv4Address{0xC6120001 + h},
                         .prefix_length = 15});
  for (uint32_t c = 0; c < 2 * kHosts; ++c) {
    Connection connection;
    connection.id = ConnectionId(c);
    connection.source_nic = NicId(c % kHosts);
    connection.destination_nic = NicId(c < kHosts ? (c + 1) % kHosts : c % kHosts == 0 ? 1 : 0);
    connection.largest_message = Bytes(kLargest);
    plan.connections.push_back(connection);
  }
  return plan;
}

class Lab {
 public:
  Lab(Looking looking, const RoceOptions& options, Spreading spreading = Spreading::kFlow)
      : bells_(kHosts), arrivals_(kHosts), pool_(make_pool(looking)), ahead_(looking == Looking::kByBells) {
    const TransportPlan plan = ring_and_incast();
    std::vector<FramePort*> ends;
    std::vector<PortBinding> bindings;
    std::vector<FabricStation> stations;
    for (uint32_t h = 0; h < kHosts; ++h) {
      auto [nic, end] = make_memory_link(*pool_, 4096, "host", {&bells_, h}, {&arrivals_, h});
      ends.push_back(end.get());
      bindings.push_back({PortId(h), nic.get(), kTreeLine.rate});
      stations.push_back({plan.nics[h].mac, h});
      links_.push_back(std::move(nic));
      links_.push_back(std::move(end));
    }
    FabricSwitchOptions device;
    device.latency = nanoseconds(400);
    device.loss_ppm = 2'000;
    device.red = RedOptions{.minimum = Bytes(20'000), .maximum = Bytes(80'000), .most_ppm = 200'000};
    FabricOptions fabric;
    fabric.stations = stations;
    fabric.balancing.spreading = spreading;
    fabric.bells = &bells_;
    fabric_ =
        std::make_unique<VirtualFabric>(fat_tree({.k = 4, .uplink = kTreeLine}, std::vector<Line>(kHosts, kTreeLine)),
                                        ends, std::span(&device, 1), fabric);
    transport_ = std::make_unique<RoceTransport>(options, bindings, ahead_ ? &arrivals_ : nullptr);
    EXPECT_TRUE(transport_->connect(transport_->prepare(plan)).empty());
  }
  ~Lab() { transport_->close(); }

  /// 40 messages on each connection, of random lengths, at random times.
  Log run() {
    Random random(4);
    Log log;
    std::vector<uint32_t> posted(2 * kHosts);
    Time next_post;
    uint32_t left = 40 * 2 * kHosts, reports = 2 * left;
    while (reports > 0 && now_ < Time() + seconds(2)) {
      for (; left > 0 && next_post <= now_; --left) {
        post(left % (2 * kHosts), posted, random);
        next_post += Duration(static_cast<int64_t>(random.below(2'000'000)));
      }
      reports -= turn(log);
      if (reports == 0) break;  // what still is on its way would be run ahead
      const Time limit = left > 0 ? next_post : Time::never();
      const Time next = ahead_ ? run_ahead(*fabric_, *transport_, limit)
                               : std::min({limit, transport_->next_event(), fabric_->next_event()});
      if (next == Time::never()) break;
      now_ = std::max(now_, next);
    }
    EXPECT_EQ(reports, 0u);
    EXPECT_TRUE(fabric_->conserved());
    return log;
  }
  const RoceTransport& transport() const { return *transport_; }

 private:
  static std::unique_ptr<FramePool> make_pool(Looking looking) {
    if (looking == Looking::kEverywhere) return std::make_unique<FramePool>(16384);
    return std::make_unique<FramePool>(16384, kHeaderRoom + kMaxControlBytes + kTrailerRoom, PoolUse::kOneThread);
  }
  void post(uint32_t connection, std::vector<uint32_t>& posted, Random& random) {
    Message message;
    message.id.source = connection;
    message.bytes = Bytes(1 + static_cast<int64_t>(random.below(kLargest)));
    message.connection = ConnectionId(connection);
    message.index = posted[connection]++;
    ASSERT_EQ(transport_->post(now_, {&message, 1}), 1u);
  }
  uint32_t turn(Log& log) {
    fabric_->step(now_);
    std::array<Event, 64> events;
    const size_t n = transport_->poll(now_, events);
    for (const Event& event : std::span(events).first(n)) {
      EXPECT_NE(event.kind, EventKind::kFailed);
      log.emplace_back(now_.ps, event.kind, event.connection.value, event.index);
    }
    return static_cast<uint32_t>(n);
  }

  Doorbells bells_, arrivals_;
  std::unique_ptr<FramePool> pool_;
  bool ahead_;
  std::vector<std::unique_ptr<FramePort>> links_;
  std::unique_ptr<VirtualFabric> fabric_;
  std::unique_ptr<RoceTransport> transport_;
  Time now_;
};

class RoceAgenda : public ::testing::TestWithParam<CongestionAlgorithm> {};

/// Whoever looks only where a bell has rung, and lets the fabric run ahead, sees every message end at the same time:
/// with losses and time-outs, marks, windows and paced queue pairs.
TEST_P(RoceAgenda, MissesNothing) {
  RoceOptions options;
  options.profile.timeout_exponent = 8;  // 1 ms: longer than what the buffers hold takes
  options.receive_check = ReceiveCheck::kHeaderAndTrailer;
  options.congestion.algorithm = GetParam();
  options.congestion.notifies = GetParam() == CongestionAlgorithm::kDcqcn;
  Lab everywhere(Looking::kEverywhere, options), by_bells(Looking::kByBells, options);
  const Log expected = everywhere.run();
  EXPECT_EQ(by_bells.run(), expected);
  const TransportCounters a = everywhere.transport().counters(), b = by_bells.transport().counters();
  EXPECT_GT(a.retransmitted, 0u);
  EXPECT_EQ(a.packets_tx, b.packets_tx);
  EXPECT_EQ(a.bytes_rx, b.bytes_rx);
  EXPECT_EQ(a.retransmitted, b.retransmitted);
  EXPECT_EQ(a.timeouts, b.timeouts);
  EXPECT_EQ(a.ecn_ce_rx, b.ecn_ce_rx);
  EXPECT_EQ(a.cnp_rx, b.cnp_rx);
  EXPECT_EQ(by_bells.transport().ports()[0].arrival_error, Duration()) << "nothing is noticed late";
}

/// A packet in the middle of a message may be what its end has waited for.
TEST(RoceAgendaOutOfOrder, MissesNothing) {
  RoceOptions options;
  options.profile.timeout_exponent = 8;
  options.receive_check = ReceiveCheck::kHeaderAndTrailer;
  options.out_of_order = 64;
  Lab everywhere(Looking::kEverywhere, options, Spreading::kPacket);
  Lab by_bells(Looking::kByBells, options, Spreading::kPacket);
  const Log expected = everywhere.run();
  EXPECT_EQ(by_bells.run(), expected);
  EXPECT_EQ(everywhere.transport().counters().packets_tx, by_bells.transport().counters().packets_tx);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, RoceAgenda,
                         ::testing::Values(CongestionAlgorithm::kNone, CongestionAlgorithm::kDcqcn,
                                           CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift));

}  // namespace
}  // namespace rankwire
