#include "dataplane/roce/queue_pairs.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::pair_plan;

constexpr Bandwidth kRate(100'000'000'000);

/// Both NICs of the plan are here: NIC 0 behind a port of two queues, NIC 1 behind one.
class QueuePairsTest : public ::testing::Test {
 protected:
  FramePool pool_{64};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link_ = make_memory_link(pool_, 16, "link");
  const std::vector<PortBinding> bindings_{{PortId(0), link_.first.get(), kRate},
                                           {PortId(0), link_.first.get(), kRate},
                                           {PortId(1), link_.second.get(), kRate}};
  const TransportPlan plan_ = pair_plan(2);  // connections 0, 1 from NIC 0 and 2, 3 to it
  RoceOptions options_;
};

TEST_F(QueuePairsTest, LanesOfAPortAreItsQueues) {
  EXPECT_EQ(lanes_of(bindings_, PortId(0)), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(lanes_of(bindings_, PortId(1)), std::vector<uint32_t>{2});
  EXPECT_TRUE(lanes_of(bindings_, PortId(2)).empty());
}

TEST_F(QueuePairsTest, SourcesComeFirstAndTakeTheQueuesInTurns) {
  options_.queue_pairs = 2;
  const QueuePairs pairs(options_, plan_, bindings_, 0);
  // Four connections with two queue pairs at either end.
  ASSERT_EQ(pairs.size(), 16u);
  for (uint32_t c = 0; c < 4; ++c) {
    EXPECT_EQ(pairs.connections[c].source, 2 * c);
    EXPECT_EQ(pairs.connections[c].destination, 8 + 2 * c);
  }
  EXPECT_TRUE(pairs.ends[3].at_source);
  EXPECT_EQ(pairs.ends[3].member, 1);
  EXPECT_EQ(pairs.ends[3].outbound, ConnectionId(1));
  EXPECT_FALSE(pairs.ends[3].inbound.valid());
  EXPECT_EQ(pairs.nic_of(pairs.ends[3]).id, NicId(0));
  EXPECT_EQ(pairs.peer_nic_of(pairs.ends[3]).id, NicId(1));
  // NIC 0 has the sources of connections 0 and 1 and the destinations of 2 and 3: 8 queue pairs over two queues.
  EXPECT_EQ(pairs.count_by_lane(3), (std::vector<uint32_t>{4, 4, 8}));
}

TEST_F(QueuePairsTest, NumbersAreTheSameWhoeverHasTheOtherNics) {
  const QueuePairs all(options_, plan_, bindings_, 0);
  const QueuePairs right(options_, plan_, std::span(bindings_).last(1), 0);
  // NIC 1 has the sources of connections 2 and 3, and the destinations of 0 and 1, which come behind four sources.
  ASSERT_EQ(right.size(), 4u);
  const uint32_t of_all[] = {2, 3, 4, 5};
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t number = QueuePairNumbers::kFirst + of_all[i];
    EXPECT_EQ(right.number_of(i), number);
    EXPECT_EQ(right.index_of(number), i);
    EXPECT_EQ(right.end_point(i).queue_pair, number);
    EXPECT_EQ(all.end_point(of_all[i]).queue_pair, number);
    EXPECT_EQ(all.index_of(number), of_all[i]);
  }
  for (const uint32_t elsewhere :
       {0u, QueuePairNumbers::kFirst, QueuePairNumbers::kFirst + 6, QueuePairNumbers::kFirst + 8, 0xFFFFFFu})
    EXPECT_GE(right.index_of(elsewhere), right.size()) << elsewhere;
}

TEST_F(QueuePairsTest, OnlyDataIsSplit) {
  options_.queue_pairs = 2;
  const QueuePairs pairs(options_, plan_, bindings_, 0);
  ConnectionEnds control = pairs.connections[0];
  control.control = true;
  EXPECT_TRUE(pairs.is_split(pairs.connections[0]));
  EXPECT_FALSE(pairs.is_split(control));
}

TEST_F(QueuePairsTest, ConnectedEndsKnowEachOther) {
  QueuePairs pairs(options_, plan_, bindings_, 0);
  const PatternIcrc pattern_icrc(options_.mtu);
  const EndPoint source = pairs.end_point(0), destination = pairs.end_point(4);
  const std::array<EndPoint, 2> all{destination, source};
  const std::vector<const EndPoint*> peers = pairs.peers_among(all);
  EXPECT_EQ(peers[0], &all[0]);
  EXPECT_EQ(peers[4], &all[1]);
  EXPECT_EQ(peers[1], nullptr);
  EXPECT_EQ(pairs.peer_number(0), 0u);
  EXPECT_EQ(pairs.connect(0, peers[0], pattern_icrc), "");
  EXPECT_EQ(pairs.ends[0].link, LinkState::kOpen);
  EXPECT_EQ(pairs.ends[0].peer, 4u);
  EXPECT_EQ(pairs.peer_number(0), QueuePairNumbers::kFirst + 4);
  EXPECT_EQ(pairs.requesters[0].next_psn(), source.psn);
  EXPECT_EQ(pairs.responders[0].expected_psn(), destination.psn);
}

TEST_F(QueuePairsTest, SaysWhyAnEndIsNotConnected) {
  QueuePairs pairs(options_, plan_, bindings_, 0);
  const PatternIcrc pattern_icrc(options_.mtu);
  EXPECT_EQ(pairs.connect(0, nullptr, pattern_icrc), "its other end is not known");
  EndPoint peer = pairs.end_point(4);
  peer.slots = 0;
  EXPECT_EQ(pairs.connect(0, &peer, pattern_icrc), "the other end has no memory to write to");
  EXPECT_EQ(pairs.ends[0].link, LinkState::kUnconnected);
  peer.connection = ConnectionId(4);
  EXPECT_THROW(pairs.peers_among({&peer, 1}), Error) << "the plan has connections 0 to 3";
}

TEST_F(QueuePairsTest, OneWhoseNextHopMustBeFoundIsNotOpen) {
  options_.neighbours = NeighbourMode::kResolve;
  QueuePairs pairs(options_, plan_, bindings_, 0);
  const PatternIcrc pattern_icrc(options_.mtu);
  const EndPoint peer = pairs.end_point(4);
  EXPECT_EQ(pairs.connect(0, &peer, pattern_icrc), "");
  EXPECT_EQ(pairs.ends[0].link, LinkState::kResolving);
}

TEST_F(QueuePairsTest, SourcesOfReadsAreReadable) {
  EXPECT_FALSE(QueuePairs(options_, plan_, bindings_, 0).any_readable());
  options_.verb = DataVerb::kRead;
  const QueuePairs pairs(options_, plan_, bindings_, 8);
  EXPECT_TRUE(pairs.is_readable(pairs.ends[0]));
  EXPECT_FALSE(pairs.is_readable(pairs.ends[4]));
}

}  // namespace
}  // namespace rankwire
