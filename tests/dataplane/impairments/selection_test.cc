// Which packets a rule acts on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/impairments/pair.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::ImpairmentPair;

/// Marks do no harm: every packet passes, and is counted where a rule acts on it.
ImpairmentRule mark() {
  return {.action = ImpairmentAction::kMarkCe, .packets = PacketClass::kData};
}

struct Hit {
  uint32_t connection, message, packet;
  bool operator==(const Hit&) const = default;
};

std::vector<Hit> hits(const ImpairmentPair& pair) {
  std::vector<Hit> result;
  for (const ImpairmentEvent& event : pair.impairments().events())
    result.push_back({event.connection.value, event.message, event.packet});
  return result;
}

/// Six messages of three packets each way: one iteration has four.
std::vector<Hit> hits_of(const ImpairmentRule& rule, RoceOptions options = ImpairmentPair::default_options()) {
  ImpairmentPair pair({rule}, options);
  for (uint32_t i = 0; i < 6; ++i)
    for (uint32_t connection : {0, 1}) pair.send(3, connection);
  EXPECT_EQ(pair.count(EventKind::kReceived), 12u);
  return hits(pair);
}

TEST(ImpairmentSelection, ByMessageAndPacket) {
  ImpairmentRule rule = mark();
  rule.messages = {{ConnectionId(0), 2, 2}, {ConnectionId(1), 1, 1}};
  rule.packet = 1;
  // Messages 4 and 5 are 0 and 1 of the next iteration.
  EXPECT_THAT(hits_of(rule), ElementsAre(Hit{1, 1, 1}, Hit{0, 2, 1}, Hit{1, 5, 1}));
  rule.iteration = 1;
  EXPECT_THAT(hits_of(rule), ElementsAre(Hit{1, 5, 1}));
  rule.iteration = 0;
  rule.packet = ImpairmentRule::kLastPacket;
  EXPECT_THAT(hits_of(rule), ElementsAre(Hit{1, 1, 2}, Hit{0, 2, 2}));
}

TEST(ImpairmentSelection, ByConnectionPortAndSide) {
  ImpairmentRule rule = mark();
  rule.messages = {{.connection = ConnectionId(1)}};
  EXPECT_EQ(hits_of(rule).size(), 18u);
  rule.port = PortId(0);
  EXPECT_TRUE(hits_of(rule).empty()) << "connection 1 leaves port 1";
  rule.side = PortSide::kReceive;
  const std::vector<Hit> received = hits_of(rule);
  ASSERT_EQ(received.size(), 18u);
  EXPECT_EQ(received[4], (Hit{1, 1, 1}));
}

// Each message of 3 packets asks for one acknowledgement, with its last.
TEST(ImpairmentSelection, AnswersBelongToWhatTheyAnswer) {
  ImpairmentRule rule{.action = ImpairmentAction::kMarkCe, .packets = PacketClass::kAck};
  rule.messages = {{ConnectionId(0), 1, 1}};
  rule.side = PortSide::kReceive;
  EXPECT_THAT(hits_of(rule), ElementsAre(Hit{0, 1, 2}, Hit{0, 5, 2}));
}

TEST(ImpairmentSelection, EveryNthOfThoseThatMatchUpToALimit) {
  ImpairmentRule rule = mark();
  rule.messages = {{.connection = ConnectionId(0)}};
  rule.every = 5;
  // Of 18 the 5th, 10th and 15th.
  EXPECT_THAT(hits_of(rule), ElementsAre(Hit{0, 1, 1}, Hit{0, 3, 0}, Hit{0, 4, 2}));
  rule.limit = 2;
  EXPECT_EQ(hits_of(rule).size(), 2u);
}

TEST(ImpairmentSelection, ByTime) {
  ImpairmentRule rule = mark();
  rule.from = Time() + microseconds(10);
  rule.until = Time() + microseconds(20);
  ImpairmentPair pair({rule});
  for (const int64_t us : {9, 10, 19, 20}) {
    pair.run_to(Time() + microseconds(us));
    pair.send(1);
  }
  // Two ways of 500 ns and two short packets: each message is over before the next.
  EXPECT_THAT(hits(pair), ElementsAre(Hit{0, 1, 0}, Hit{0, 2, 0}));
}

// 10,000 x 10 % with a standard deviation of 30: within five of them.
TEST(ImpairmentSelection, ByProbabilityFromTheRulesOwnStream) {
  ImpairmentRule rule = mark();
  rule.probability_ppm = 100'000;
  const auto marked = [&](std::vector<ImpairmentRule> rules, uint64_t seed) {
    ImpairmentPair pair(std::move(rules), ImpairmentPair::default_options(), seed);
    for (int i = 0; i < 10; ++i) pair.send(1'000);
    std::vector<uint32_t> psns;
    for (const ImpairmentEvent& event : pair.impairments().events())
      if (event.rule == 0) psns.push_back(event.psn);
    return psns;
  };
  const std::vector<uint32_t> first = marked({rule}, 1);
  EXPECT_NEAR(static_cast<double>(first.size()), 1'000, 150);
  EXPECT_EQ(first, marked({rule}, 1));
  EXPECT_NE(first, marked({rule}, 2));
  // A later rule takes what the first leaves and changes nothing for it.
  EXPECT_EQ(first, marked({rule, rule}, 1));
}

TEST(ImpairmentSelection, FirstTransmissionsOrAll) {
  ImpairmentRule rule{.action = ImpairmentAction::kDrop, .packets = PacketClass::kData, .packet = 1};
  {
    ImpairmentPair pair({rule});
    pair.send(3);
    EXPECT_EQ(pair.impairments().counts()[0].done, 1u);
  }
  rule.transmissions = Transmissions::kAll;
  rule.limit = 3;
  ImpairmentPair pair({rule});
  pair.send(3);
  EXPECT_THAT(hits(pair), ElementsAre(Hit{0, 0, 1}, Hit{0, 0, 1}, Hit{0, 0, 1}));
  EXPECT_EQ(pair.count(EventKind::kReceived), 1u);
}

// What a port refuses is offered again; what was decided stays.
TEST(ImpairmentSelection, RefusedFramesAreNotJudgedTwice) {
  ImpairmentRule rule = mark();
  rule.transmissions = Transmissions::kAll;
  rule.every = 3;
  std::vector<Hit> expected;
  for (const uint32_t refuse : {0, 2}) {
    ImpairmentPair pair({rule, {.action = ImpairmentAction::kDuplicate, .packets = PacketClass::kData, .every = 7}});
    pair.port(0).refuse_every(refuse);
    pair.send(200);
    EXPECT_EQ(pair.count(EventKind::kReceived), 1u);
    if (refuse == 0) {
      expected = hits(pair);
    } else {
      EXPECT_EQ(hits(pair), expected);
    }
    EXPECT_EQ(pair.frames_missing(), 0u);
  }
  EXPECT_GT(expected.size(), 66u);
}

// A message of 6 packets in two parts of 3, each with its own numbers; a WRITE and its immediate are one message.
TEST(ImpairmentSelection, PartsAndFollowingImmediatesBelongToTheirMessage) {
  RoceOptions options = ImpairmentPair::default_options();
  options.queue_pairs = 2;
  ImpairmentRule rule = mark();
  rule.messages = {{ConnectionId(0), 1, 1}};
  const auto sorted_hits = [&] {
    ImpairmentPair pair({rule}, options);
    for (uint32_t i = 0; i < 3; ++i) pair.post(6);
    pair.run();
    std::vector<uint32_t> packets;
    for (const Hit& hit : hits(pair)) {
      EXPECT_EQ(hit.message, 1u);
      packets.push_back(hit.packet);
    }
    std::ranges::sort(packets);
    return packets;
  };
  EXPECT_THAT(sorted_hits(), ElementsAre(0, 0, 1, 1, 2, 2));
  options.verb = DataVerb::kWriteThenImm;
  EXPECT_THAT(sorted_hits(), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  options.spread = Spread::kDeal;
  EXPECT_THAT(sorted_hits(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(ImpairmentSelection, EventsBeyondThoseThatAreKeptAreCounted) {
  Impairments impairments({mark()}, {.recorded = 2});
  for (uint32_t i = 0; i < 5; ++i) impairments.note_done({.psn = i});
  EXPECT_EQ(impairments.events().size(), 2u);
  EXPECT_EQ(impairments.unrecorded(), 3u);
  EXPECT_EQ(impairments.counts()[0].done, 5u);
}

}  // namespace
}  // namespace rankwire
