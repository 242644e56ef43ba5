#include "dataplane/roce/requester_steps.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class RequesterStepsTest : public PartsTest {
 protected:
  void tell(uint32_t queue_pair, Time now = Time()) { parts_->steps.after(queue_pair, now, Time::never()); }
};

TEST_F(RequesterStepsTest, WhoCanSendHasOneTurnInItsLane) {
  make();
  tell(source());
  EXPECT_TRUE(parts_->lanes[0].senders.empty()) << "nothing is posted";
  post_silently(source(), 1000);
  tell(source());
  tell(source());
  ASSERT_EQ(parts_->lanes[0].senders.size(), 1u);
  EXPECT_EQ(parts_->lanes[0].senders.front(), source());
  EXPECT_TRUE(parts_->lanes[1].senders.empty());
}

TEST_F(RequesterStepsTest, NoTurnWhileThePeerIsNotReached) {
  make();
  post_silently(source(), 1000);
  parts_->pairs.ends[source()].link = LinkState::kResolving;
  tell(source());
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
}

// The profile's time-out is 4.096 us x 2^14.
TEST_F(RequesterStepsTest, DeadlinesAreNotedWithAllElseOrAlone) {
  make();
  const auto armed = [this] { return parts_->deadlines.next([](uint32_t) { return Time(); }); };
  for (const bool alone : {false, true}) {
    const auto note = [&](Time before) {
      alone ? parts_->steps.note_deadline(source(), Time(), before) : parts_->steps.after(source(), Time(), before);
    };
    post_silently(source(), 1000);
    send_silently(source(), 1);
    EXPECT_EQ(armed(), RequesterDeadlines::kNone) << "nobody has told";
    note(Time::never());
    EXPECT_EQ(armed(), source());
    const Time deadline = Time() + nanoseconds(4096) * (1 << 14);
    EXPECT_EQ(parts_->expiry.earliest(Time::never()), deadline);
    // The acknowledgement of the one packet ends the wait.
    Requester& requester = parts_->pairs.requesters[source()];
    requester.acknowledge(parts_->outbound.pool, Time(), {.psn = requester.oldest_unacknowledged(), .msn = 1});
    note(deadline);
    EXPECT_EQ(armed(), RequesterDeadlines::kNone);
  }
}

TEST_F(RequesterStepsTest, AFailureEndsTheConnection) {
  make();
  post_silently(source(), 1000);
  parts_->pairs.requesters[source()].fail(parts_->outbound.pool, Failure::kRetryExceeded);
  tell(source());
  EXPECT_TRUE(parts_->pairs.ends[source()].failed);
  EXPECT_TRUE(parts_->pairs.ends[destination()].failed);
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
}

TEST_F(RequesterStepsTest, CongestionControlSaysWhenTheTurnIs) {
  options_.congestion.algorithm = CongestionAlgorithm::kStatic;
  options_.congestion.rate = Bandwidth(1'000'000'000);
  make();
  post_silently(source(), 2 * 4096);
  tell(source());
  EXPECT_TRUE(parts_->paced->is_queued(source()));
  // 4096 bytes at 1 Gb/s keep it waiting for 32.768 us.
  parts_->lanes[0].senders.pop();
  send_silently(source(), 1);
  parts_->paced->sent(source(), 1, Bytes(4096), Time());
  parts_->order.place(source(), Time());
  tell(source());
  EXPECT_FALSE(parts_->paced->is_queued(source()));
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
  EXPECT_EQ(parts_->paced->next_event(0), Time() + nanoseconds(32'768));
}

TEST_F(RequesterStepsTest, TheLaneHasSomethingToDo) {
  make_with_bells();
  std::vector<uint32_t> marked;
  parts_->watch.agenda().take([](uint32_t) { return Time::never(); }, [](uint32_t, size_t) {});
  parts_->watch.agenda().look([&](uint32_t lane) { marked.push_back(lane); });
  EXPECT_TRUE(marked.empty());
  tell(destination());
  parts_->watch.agenda().look([&](uint32_t lane) { marked.push_back(lane); });
  EXPECT_EQ(marked, std::vector<uint32_t>{1});
}

}  // namespace
}  // namespace rankwire
