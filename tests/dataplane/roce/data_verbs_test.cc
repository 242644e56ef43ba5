// Every way of carrying messages, over good links and lossy ones.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "dataplane/protocol/queue_pair_numbers.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::RocePair;

constexpr std::array<int64_t, 12> kSizes = {0, 1, 7, 8, 127, 128, 129, 1000, 1024, 3000, 5000, 40'000};

/// (verb, queue pairs, spread, loss in parts per million)
using Way = std::tuple<DataVerb, uint32_t, Spread, uint32_t>;

std::string name_of(const ::testing::TestParamInfo<Way>& info) {
  const auto& [verb, queue_pairs, spread, loss] = info.param;
  constexpr std::array<const char*, 4> kVerbs = {"WriteImm", "WriteThenImm", "SendImm", "Read"};
  return std::string(kVerbs[static_cast<size_t>(verb)]) + std::to_string(queue_pairs) +
         (spread == Spread::kSplit ? "Split" : "Deal") + (loss > 0 ? "Lossy" : "");
}

class RoceWays : public ::testing::TestWithParam<Way> {
 protected:
  static RoceOptions options() {
    RoceOptions options;
    options.mtu = 1024;
    options.profile.timeout_exponent = 4;  // 65.536 us
    options.payload = PayloadMode::kChecking;
    std::tie(options.verb, options.queue_pairs, options.spread, std::ignore) = GetParam();
    return options;
  }
  static testing::Impairments impairments() {
    testing::Impairments result;
    result.loss_ppm = std::get<3>(GetParam());
    result.seed = 7;
    return result;
  }
};

// Both ways at once, so that every queue pair's two halves are at work.
TEST_P(RoceWays, EveryMessageArrivesOnceWithItsPayload) {
  constexpr uint32_t kRounds = 8;
  RocePair pair(options(), impairments());
  pair.connect();
  std::map<std::pair<uint32_t, uint32_t>, Message> expected;
  for (uint32_t i = 0; i < kRounds * kSizes.size(); ++i) {
    for (uint32_t connection = 0; connection < 2; ++connection) {
      const Message message = RocePair::message(connection, i, kSizes[i % kSizes.size()]);
      expected[{connection, i}] = message;
      pair.post(message);
    }
  }
  pair.run_until();

  ASSERT_TRUE(pair.events(EventKind::kFailed).empty());
  const auto received = pair.events(EventKind::kReceived);
  EXPECT_EQ(received.size(), expected.size());
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> times;
  for (const Event& event : received) {
    const auto name = std::pair(event.connection.value, event.index);
    ASSERT_TRUE(expected.contains(name));
    EXPECT_EQ(++times[name], 1u);
    EXPECT_EQ(event.bytes, expected[name].bytes);
    EXPECT_EQ(event.received.payload_key, testing::visible_key(expected[name])) << event.bytes.count;
    EXPECT_LE(event.received.first_rx, event.received.delivered);
  }
  times.clear();
  const auto sent = pair.events(EventKind::kSent);
  EXPECT_EQ(sent.size(), expected.size());
  for (const Event& event : sent) {
    const auto name = std::pair(event.connection.value, event.index);
    EXPECT_EQ(++times[name], 1u);
    EXPECT_EQ(event.bytes, expected[name].bytes);
    EXPECT_LE(event.sent.posted, event.sent.first_tx);
    EXPECT_LE(event.sent.first_tx, event.sent.last_tx);
    EXPECT_LT(event.sent.last_tx, event.sent.acked);
  }
  for (RoceTransport* side : {&pair.a(), &pair.b()}) {
    EXPECT_EQ(side->counters().payload_errors, 0u);
    EXPECT_EQ(side->counters().messages_failed, 0u);
    EXPECT_EQ(RocePair::detail(*side, "unknown_offers"), 0u);
    EXPECT_EQ(RocePair::detail(*side, "not_admitted"), 0u);
    EXPECT_EQ(side->counters().retransmitted > 0, std::get<3>(GetParam()) > 0);
  }
}

class RoceShares : public RoceWays {};

// Bytes are where the rule says: ceil(ceil(bytes / n) / 128) x 128 a queue pair, or a whole message on one.
TEST_P(RoceShares, QueuePairsCarryTheirShare) {
  const auto& [verb, queue_pairs, spread, loss] = GetParam();
  RocePair pair(options(), {});
  pair.connect();
  pair.post(RocePair::message(0, 5, 1000));
  pair.run_until();
  const auto flows = pair.a().flows();
  ASSERT_EQ(flows.size(), 2 * queue_pairs);
  for (uint32_t i = 0; i < queue_pairs; ++i) {
    EXPECT_EQ(flows[i].connection, ConnectionId(0));
    EXPECT_EQ(flows[i].member, i);
    EXPECT_EQ(flows[i].source_qp, QueuePairNumbers::kFirst + i);
    uint64_t bytes = i == 5 % queue_pairs ? 1000 : 0;
    // 3: 384, 384, 232. 16: ceil(62.5) is below 128, so seven of 128, one of 104, the rest none.
    if (spread == Spread::kSplit && queue_pairs == 3) bytes = i < 2 ? 384 : 232;
    if (spread == Spread::kSplit && queue_pairs == 16) bytes = i < 7 ? 128 : i == 7 ? 104 : 0;
    EXPECT_EQ(flows[i].bytes, bytes) << i;
  }
}

const auto kVerbs =
    ::testing::Values(DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead);
const auto kQueuePairs = ::testing::Values(1u, 3u, 16u);
const auto kSpreads = ::testing::Values(Spread::kSplit, Spread::kDeal);

INSTANTIATE_TEST_SUITE_P(All, RoceWays,
                         ::testing::Combine(kVerbs, kQueuePairs, kSpreads, ::testing::Values(0u, 10'000u)), name_of);
INSTANTIATE_TEST_SUITE_P(All, RoceShares, ::testing::Combine(kVerbs, kQueuePairs, kSpreads, ::testing::Values(0u)),
                         name_of);

// Messages far longer than the window, with the pattern as payload: acknowledgements come from within them.
TEST(RoceWindow, LongPatternMessagesNeedNoTimeOut) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    RoceOptions options;
    options.mtu = 256;
    options.verb = verb;
    options.profile.window = 8;
    options.profile.ack_every = 4;
    RocePair pair(options, {});
    pair.connect();
    for (uint32_t i = 0; i < 3; ++i) pair.post(RocePair::message(0, i, 100'000));
    pair.run_until();
    EXPECT_EQ(pair.events(EventKind::kReceived).size(), 3u);
    for (RoceTransport* side : {&pair.a(), &pair.b()}) {
      EXPECT_EQ(side->counters().timeouts, 0u);
      EXPECT_EQ(side->counters().retransmitted, 0u);
      EXPECT_EQ(side->counters().icrc_errors, 0u);
    }
  }
}

// At 100 Gb/s a byte takes 80 ps, and a packet has 82 bytes beside extended headers and payload.
TEST(RoceRead, TakesItsClosedForm) {
  constexpr Duration kByte(80), kLatency = nanoseconds(500);
  RoceOptions options;
  options.mtu = 1024;
  options.verb = DataVerb::kRead;
  options.payload = PayloadMode::kChecking;
  RocePair pair(options, {});
  pair.connect();
  pair.post(RocePair::message(0, 0, 3000));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived), sent = pair.events(EventKind::kSent);
  ASSERT_EQ(received.size(), 1u);
  ASSERT_EQ(sent.size(), 1u);
  // Ready-to-send of 24 bytes; its acknowledgement (86) goes before the READ request (82 + 16); a response of three
  // packets, the first and the last with AETH; the FIN of 4 bytes.
  const Time asked = Time() + kByte * (82 + 24) + kLatency + kByte * (86 + 98) + kLatency;
  EXPECT_EQ(received[0].received.first_rx, asked + kByte * (82 + 4 + 1024) + kLatency);
  const Time delivered = asked + kByte * (3 * 82 + 8 + 3000) + kLatency;
  EXPECT_EQ(received[0].received.delivered, delivered);
  EXPECT_EQ(sent[0].sent.acked, delivered + kByte * (82 + 4) + kLatency);
  EXPECT_EQ(pair.a().counters().read_requests_rx, 1u);
  EXPECT_EQ(pair.b().counters().read_requests_tx, 1u);
}

// While a sends a long READ response, its own requests have their turns: it fetches what b offers meanwhile.
TEST(RoceRead, ResponsesLeaveRequestsTheirTurns) {
  RoceOptions options;
  options.mtu = 1024;
  options.verb = DataVerb::kRead;
  RocePair pair(options, {});
  pair.connect();
  pair.post(RocePair::message(0, 0, 1 << 20));
  pair.run_until(Time() + microseconds(20));
  pair.post(RocePair::message(1, 0, 1000));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].connection, ConnectionId(1));
  // 1 MiB takes 90 us. The small one needs four crossings, and on two of them waits for a turn of 16 packets.
  constexpr Duration kTurn = Duration(80 * 1106 * RoceOptions().turn);
  EXPECT_LT(received[0].received.delivered, Time() + microseconds(20) + microseconds(3) + kTurn * 2);
  EXPECT_GT(received[1].received.delivered, Time() + microseconds(90));
}

TEST(RoceWriteThenImm, BytesOfBothAreTheMessages) {
  RoceOptions options;
  options.mtu = 1024;
  options.verb = DataVerb::kWriteThenImm;
  options.payload = PayloadMode::kChecking;
  RocePair pair(options, {});
  pair.connect();
  pair.post(RocePair::message(0, 0, 2048));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  EXPECT_EQ(pair.events(EventKind::kReceived)[0].bytes, Bytes(2048));
  EXPECT_EQ(pair.a().counters().data_packets_tx, 3u);
  EXPECT_EQ(pair.a().flows()[0].messages, 1u);
}

TEST(RoceSplit, MessageFailsOnceWhenAnyPartDoes) {
  RoceOptions options;
  options.queue_pairs = 4;
  options.profile.timeout_exponent = 4;
  options.profile.retry_count = 1;
  RocePair pair(options, {});
  // The key of one of the four is wrong.
  for (EndPoint& end : pair.ends())
    if (end.member == 2) ++end.rkey;
  pair.connect();
  pair.post(RocePair::message(0, 0, 4000));
  pair.post(RocePair::message(0, 1, 4000));
  pair.run_until();
  const auto failed = pair.events(EventKind::kFailed);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].failure, Failure::kRemoteAccess);
  EXPECT_EQ(failed[1].failure, Failure::kFlushed);
  EXPECT_TRUE(pair.events(EventKind::kSent).empty());
  EXPECT_TRUE(pair.events(EventKind::kReceived).empty());
}

TEST(RoceRead, FailedReadIsReportedAtTheDestination) {
  RoceOptions options;
  options.verb = DataVerb::kRead;
  options.profile.timeout_exponent = 4;
  options.profile.retry_count = 1;
  RocePair pair(options, {});
  pair.connect();
  pair.post(RocePair::message(0, 3, 4000));
  // b receives the offer, and nothing comes back any more.
  pair.port_a().lose_all_from(0);
  pair.run_until();
  const auto failed = pair.events(EventKind::kFailed);
  ASSERT_EQ(failed.size(), 2u);
  for (const Event& event : failed) {
    EXPECT_EQ(event.failure, Failure::kRetryExceeded);
    EXPECT_EQ(event.index, 3u);
  }
  EXPECT_NE(failed[0].at_source, failed[1].at_source);
}

}  // namespace
}  // namespace rankwire
