#include "emulator/engine/stall.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

/// Facts of a run in which each rank of a ring waits for a message of the one before it; connection i is from rank i to
/// the next. All messages that were posted are finished, unless a test says otherwise.
class Ring {
 public:
  explicit Ring(uint32_t ranks) {
    facts_.ranks = ranks;
    facts_.stall_timeout = seconds(5);
    for (uint32_t i = 0; i < ranks; ++i) add(WaitKind::kMessage, i, before(i), before(i));
  }

  uint32_t before(uint32_t rank) const { return (rank + facts_.ranks - 1) % facts_.ranks; }
  uint32_t after(uint32_t rank) const { return (rank + 1) % facts_.ranks; }
  StallFacts& facts() { return facts_; }

  void add(WaitKind kind, uint32_t rank, uint32_t peer, uint32_t connection) {
    facts_.waits.push_back(
        {.kind = kind, .rank = RankId(rank), .peer = RankId(peer), .node = 0, .connection = ConnectionId(connection)});
  }
  void add(WaitKind kind, uint32_t rank) { facts_.waits.push_back({.kind = kind, .rank = RankId(rank), .node = 1}); }
  /// The rank does not wait, but to begin the next iteration.
  void free(uint32_t rank) {
    std::erase_if(facts_.waits, [&](const RankWait& wait) { return wait.rank == RankId(rank); });
  }
  /// What the rank has sent to the next one is stuck, for which it waits, too.
  void stick(uint32_t rank, const QueuePairState& state) {
    states_[rank] = state;
    add(WaitKind::kAnswer, rank, after(rank), rank);
  }

  Stall diagnose() const {
    return diagnose_stall(facts_, [&](ConnectionId connection) {
      const auto known = states_.find(connection.value);
      return std::vector{known == states_.end() ? QueuePairState{.hold = Hold::kNothing} : known->second};
    });
  }

 private:
  StallFacts facts_;
  std::map<uint32_t, QueuePairState> states_;  // by connection; others have nothing to send
};

QueuePairState unanswered() {
  return {.hold = Hold::kAnswer, .retries = 3, .unacknowledged = 100, .expected = 100};
}

QueuePairState arrived_unheard() {
  return {.hold = Hold::kAnswer, .retries = 3, .unacknowledged = 0xffffff, .expected = 2};
}

TEST(Stall, EndsAtTheRankThatBothOfItsNeighboursAccuse) {
  // 1 > 0 > 5 > 4 > 3: rank 3 has heard nothing of what rank 2 sent, nor rank 4 of what rank 3 sent.
  Ring ring(6);
  ring.stick(2, unanswered());
  ring.stick(3, unanswered());
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kDeadPeer);
  EXPECT_EQ(stall.culprit, RankId(3));
  EXPECT_EQ(stall.behind, 5u);
  EXPECT_EQ(stall.accused, 4u);
  EXPECT_FALSE(stall.is_cycle);
  // The farthest is rank 1: behind 0, 5, 4, which waits for rank 3 itself.
  ASSERT_EQ(stall.chain.size(), 4u);
  EXPECT_EQ(stall.chain.front().rank, RankId(1));
  EXPECT_EQ(stall.chain.back().rank, RankId(4));
  EXPECT_EQ(stall.chain.back().peer, RankId(3));
}

// What ranks 2 and 6 send and are sent is lost, as behind one port: three connections of rank 6, and two each of 0 and
// 2, at some of which both ends wait, or one twice.
TEST(Stall, AConnectionAccusesItsEndsOnceHoweverManyWaitAtIt) {
  StallFacts facts;
  facts.ranks = 8;
  facts.stall_timeout = seconds(5);
  const auto add = [&](WaitKind kind, uint32_t rank, uint32_t peer, uint32_t connection) {
    facts.waits.push_back(
        {.kind = kind, .rank = RankId(rank), .peer = RankId(peer), .node = 0, .connection = ConnectionId(connection)});
  };
  add(WaitKind::kAnswer, 6, 0, 3);
  add(WaitKind::kAnswer, 6, 0, 3);
  add(WaitKind::kMessage, 0, 6, 3);
  add(WaitKind::kAnswer, 0, 2, 2);
  add(WaitKind::kMessage, 2, 0, 2);
  add(WaitKind::kAnswer, 3, 2, 7);
  add(WaitKind::kAnswer, 4, 6, 12);
  add(WaitKind::kAnswer, 7, 6, 15);
  const Stall stall = diagnose_stall(facts, [](ConnectionId) { return std::vector{unanswered()}; });
  EXPECT_EQ(stall.kind, StallClass::kDeadPeer);
  EXPECT_EQ(stall.culprit, RankId(6));
}

TEST(Stall, AReceiverWithoutRoomIsAccusedAloneAndOfRoom) {
  Ring ring(4);
  ring.stick(1, {.hold = Hold::kReceiver});
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kCreditShortage);
  EXPECT_EQ(stall.culprit, RankId(2));
}

// Rank 2 cannot send to rank 3, nor can the acknowledgements pass that all others wait for.
TEST(Stall, APauseExplainsWhyOthersAreSilent) {
  Ring ring(5);
  ring.stick(2, {.hold = Hold::kPaused});
  for (const uint32_t rank : {0, 3, 4}) ring.stick(rank, arrived_unheard());
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kPfcDeadlock);
  EXPECT_EQ(stall.culprit, RankId(3));
  EXPECT_EQ(stall.behind, 4u);
}

// Ranks 4, 0 and 1 cannot send: rank 1 not to rank 2, which is at fault, and what stands behind that holds up the
// others.
TEST(Stall, APauseHoldsUpWhatIsSentToOthers) {
  Ring ring(5);
  ring.stick(1, {.hold = Hold::kPaused});
  ring.stick(4, {.hold = Hold::kPaused});
  ring.stick(0, {.hold = Hold::kPaused});
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kPfcDeadlock);
  EXPECT_EQ(stall.culprit, RankId(2)) << "4, 0 and 1 are paused themselves";
  EXPECT_EQ(stall.behind, 4u);
}

TEST(Stall, PortsThatAllPauseEachOtherAreACircle) {
  Ring ring(5);
  for (uint32_t rank = 0; rank < 5; ++rank) ring.stick(rank, {.hold = Hold::kPaused});
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kPfcDeadlock);
  EXPECT_TRUE(stall.is_cycle);
  EXPECT_FALSE(stall.culprit.valid());
}

// What rank 2 has sent has arrived, and nothing that was sent to it: neither data nor answers.
TEST(Stall, WhoHearsNothingIsDeadHoweverManyAnswersAreMissing) {
  Ring ring(5);
  ring.stick(1, unanswered());
  ring.stick(2, arrived_unheard());
  ring.add(WaitKind::kAnswer, 2, 3, 2);
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kDeadPeer);
  EXPECT_EQ(stall.culprit, RankId(2));
}

// Something of what rank 4 sends has come to rank 0 before the pause, so that it is rank 2 that holds both up.
TEST(Stall, WhoseDataArrivedBeforeThePauseIsNotAccused) {
  Ring ring(5);
  QueuePairState begun = arrived_unheard();
  begun.hold = Hold::kPaused;
  ring.stick(4, begun);
  ring.stick(1, {.hold = Hold::kPaused, .unacknowledged = 7, .expected = 7});
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kPfcDeadlock);
  EXPECT_EQ(stall.culprit, RankId(2));
}

TEST(Stall, ASequenceNumberWrapsAround) {
  EXPECT_TRUE(arrived_unheard().has_unheard()) << "3 packets from 0xffffff on";
  EXPECT_FALSE(unanswered().has_unheard());
  EXPECT_FALSE((QueuePairState{.unacknowledged = 2, .expected = 0xffffff}.has_unheard())) << "behind, not ahead";
  EXPECT_FALSE((QueuePairState{.unacknowledged = 2}.has_unheard())) << "one end is not known";
}

TEST(Stall, WhoHasFinishedAndNeverSendsIsMismatched) {
  Ring ring(4);
  ring.free(2);
  ring.facts().finished = {RankId(2)};
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kMismatchedCollective);
  EXPECT_EQ(stall.culprit, RankId(2));
  EXPECT_EQ(stall.behind, 3u);
}

TEST(Stall, AMessageThatWasAcknowledgedAndNeverCameIsLost) {
  Ring ring(4);
  ring.free(2);
  ring.add(WaitKind::kIteration, 2);
  ring.facts().messages_undelivered = 1;
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kLostCompletion);
  EXPECT_EQ(stall.culprit, RankId(3)) << "the destination, of the two";
}

TEST(Stall, ARankWhoseNodesNeverBecomeReadyEndsIt) {
  Ring ring(4);
  ring.free(2);
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kTraceCycle);
  EXPECT_EQ(stall.culprit, RankId(2));
}

TEST(Stall, WhoHoldsACollectiveBackAndWaitsForNobodyIsACycleOfItsOwn) {
  Ring ring(2);
  ring.free(0);
  ring.free(1);
  ring.add(WaitKind::kOrder, 1);
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kTraceCycle);
  EXPECT_EQ(stall.culprit, RankId(1));
  EXPECT_EQ(stall.behind, 0u);
}

TEST(Stall, ACycleHasNoCulprit) {
  const Stall stall = Ring(5).diagnose();
  EXPECT_EQ(stall.kind, StallClass::kTraceCycle);
  EXPECT_TRUE(stall.is_cycle);
  EXPECT_FALSE(stall.culprit.valid());
  EXPECT_EQ(stall.chain.size(), 5u);
  EXPECT_EQ(stall.behind, 5u);
}

TEST(Stall, NothingToGoByIsUnknown) {
  StallFacts facts;
  facts.ranks = 3;
  facts.stall_timeout = seconds(5);
  const Stall stall = diagnose_stall(facts, [](ConnectionId) { return std::vector<QueuePairState>(); });
  EXPECT_EQ(stall.kind, StallClass::kUnknown);
  EXPECT_TRUE(stall.chain.empty());
}

TEST(Stall, ABrokenConnectionSaysByWhat) {
  Ring ring(4);
  ring.facts().broken = {
      {.kind = WaitKind::kAnswer, .rank = RankId(0), .peer = RankId(2), .connection = ConnectionId(9)}};
  ring.facts().broken_by = {Failure::kNotReadyExceeded};
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kCreditShortage);
  EXPECT_EQ(stall.culprit, RankId(2));
  EXPECT_EQ(stall.accused, 1u);
}

// Of ranks 2 and 3 nothing is known. What rank 0 has sent is stuck as well, and the ends of that are accused by three
// waits, those of rank 4 among them; but 4 waits for a rank that has gone, and so 5 and 0 do.
TEST(Stall, WhoHasGoneIsTheCulpritHoweverManyAccuseOthers) {
  Ring ring(6);
  for (const uint32_t rank : {2, 3}) ring.free(rank);
  ring.facts().gone = {RankId(3), RankId(2)};
  ring.stick(0, unanswered());
  ring.stick(0, unanswered());
  const Stall stall = ring.diagnose();
  EXPECT_STREQ(to_string(stall.kind), "gone_machine");
  EXPECT_EQ(stall.culprit, RankId(3));
  EXPECT_EQ(stall.accused, 1u) << "rank 4's wait alone";
  EXPECT_EQ(stall.behind, 3u) << "4, 5 and 0";
  ASSERT_EQ(stall.chain.size(), 3u);
  EXPECT_EQ(stall.chain.front().rank, RankId(0));
  EXPECT_EQ(stall.chain.back().peer, RankId(3));
}

// Ranks 2 and 3 wait for rank 1, 5 and 0 for rank 4. Of two chains as long as each other the last is told: 0, 5, 4.
TEST(Stall, AllRanksOfAMachineThatHasGoneAreOne) {
  Ring ring(6);
  for (const uint32_t rank : {1, 4}) ring.free(rank);
  ring.facts().gone = {RankId(1), RankId(4)};
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.culprit, RankId(4));
  EXPECT_EQ(stall.accused, 2u) << "those of 2 and 5";
  EXPECT_EQ(stall.behind, 4u) << "2 and 3, 5 and 0";
  EXPECT_EQ(stall.chain.back().peer, RankId(4));
}

TEST(Stall, WhoHasGoneIsTheCulpritWhereNobodyWaitsForIt) {
  Ring ring(3);
  for (uint32_t rank = 0; rank < 3; ++rank) ring.free(rank);
  ring.add(WaitKind::kIteration, 0);
  ring.facts().gone = {RankId(2)};
  const Stall stall = ring.diagnose();
  EXPECT_EQ(stall.kind, StallClass::kGoneMachine);
  EXPECT_EQ(stall.culprit, RankId(2));
  EXPECT_EQ(stall.behind, 1u);
  EXPECT_TRUE(stall.chain.empty());
}

TEST(Stall, FactsAreInTheOrderOfRanks) {
  StallFacts facts;
  for (const auto& [rank, node] : {std::pair(2, 7), std::pair(1, 9), std::pair(2, 3), std::pair(0, 5)}) {
    facts.waits.push_back({.rank = RankId(static_cast<uint32_t>(rank)), .node = static_cast<uint32_t>(node)});
    facts.broken.push_back(facts.waits.back());
    facts.broken.back().connection = ConnectionId(static_cast<uint32_t>(node));
  }
  facts.broken_by = {Failure::kDevice, Failure::kFlushed, Failure::kUnreachable, Failure::kRemoteAccess};
  facts.sort();
  std::vector<uint32_t> nodes, connections;
  for (const RankWait& wait : facts.waits) nodes.push_back(wait.node);
  for (const RankWait& wait : facts.broken) connections.push_back(wait.connection.value);
  EXPECT_EQ(nodes, (std::vector<uint32_t>{5, 9, 7, 3})) << "those of rank 2 as they were";
  EXPECT_EQ(connections, (std::vector<uint32_t>{5, 9, 3, 7})) << "by rank and connection";
  EXPECT_EQ(facts.broken_by,
            (std::vector{Failure::kRemoteAccess, Failure::kFlushed, Failure::kUnreachable, Failure::kDevice}));
}

/// Every class in rings of 3 to 66 ranks, at any rank of them.
TEST(Stall, WhatIsPlantedIsNamed) {
  const auto plant = [](StallClass kind, uint32_t at, Ring& ring) {
    switch (kind) {
      case StallClass::kDeadPeer:
        ring.stick(ring.before(at), unanswered());
        return ring.stick(at, unanswered());
      case StallClass::kLostCompletion:
        ring.stick(ring.before(at), arrived_unheard());
        return ring.stick(at, arrived_unheard());
      case StallClass::kCreditShortage:
        return ring.stick(ring.before(at), {.hold = Hold::kNoCredits});
      case StallClass::kPfcDeadlock:
        return ring.stick(ring.before(at), {.hold = Hold::kPaused});
      case StallClass::kGeneratorStarvation:
        ring.facts().longest_turn = milliseconds(2'500);
        return;
      case StallClass::kMismatchedCollective:
        return ring.add(WaitKind::kOrder, at);
      case StallClass::kConcurrencyLimit:
        return ring.add(WaitKind::kPlace, at);
      case StallClass::kTraceCycle:
      case StallClass::kUnknown:
      case StallClass::kGoneMachine:
        return;
    }
  };
  Random random(7);
  for (int seed = 0; seed < 12; ++seed) {
    for (const StallClass kind :
         {StallClass::kDeadPeer, StallClass::kLostCompletion, StallClass::kCreditShortage, StallClass::kPfcDeadlock,
          StallClass::kGeneratorStarvation, StallClass::kMismatchedCollective, StallClass::kConcurrencyLimit,
          StallClass::kTraceCycle}) {
      const auto ranks = static_cast<uint32_t>(3 + random.below(64)), at = static_cast<uint32_t>(random.below(ranks));
      SCOPED_TRACE(::testing::Message() << to_string(kind) << " at " << at << " of " << ranks);
      Ring ring(ranks);
      plant(kind, at, ring);
      const Stall stall = ring.diagnose();
      EXPECT_STREQ(to_string(stall.kind), to_string(kind));
      const bool has_culprit = kind == StallClass::kDeadPeer || kind == StallClass::kLostCompletion ||
                               kind == StallClass::kCreditShortage || kind == StallClass::kPfcDeadlock;
      EXPECT_EQ(stall.culprit, has_culprit ? RankId(at) : RankId());
      EXPECT_EQ(stall.behind, has_culprit ? ranks - 1 : ranks);
    }
  }
}

}  // namespace
}  // namespace rankwire
