#include "dataplane/roce/sent_reports.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class SentReportsTest : public PartsTest {
 protected:
  /// Sends all that the queue pair has, and has it acknowledged.
  void finish(uint32_t queue_pair, Time sent, Time acknowledged) {
    Requester& requester = parts_->pairs.requesters[queue_pair];
    RequesterPool& pool = parts_->outbound.pool;
    uint32_t messages = 0;
    while (requester.can_send(parts_->reliable)) {
      const RequestRun run = requester.next_run(pool, 1);
      messages += pool.messages[run.message].packets == 1;
      requester.sent(pool, run, sent);
    }
    requester.acknowledge(pool, acknowledged,
                          {.psn = psn_add(requester.next_psn(), (1 << 24) - 1), .msn = messages, .syndrome = 0x1F});
  }
};

TEST_F(SentReportsTest, ARequestThatHasFinishedIsReportedOnce) {
  make();
  post(1000, Time(), 5);
  EXPECT_FALSE(parts_->reports.any());
  finish(source(), Time() + nanoseconds(10), Time() + nanoseconds(30));
  ASSERT_TRUE(parts_->reports.any());
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::kSent);
  EXPECT_EQ(events[0].connection, ConnectionId(0));
  EXPECT_EQ(events[0].index, 5u);
  EXPECT_EQ(events[0].bytes, Bytes(1000));
  EXPECT_EQ(events[0].sent.first_tx, Time() + nanoseconds(10));
  EXPECT_EQ(events[0].sent.acked, Time() + nanoseconds(30));
  EXPECT_FALSE(parts_->reports.any());
  EXPECT_EQ(parts_->counters.totals.messages_sent, 1u);
  EXPECT_EQ(parts_->pairs.ends[source()].bytes, 1000u);
}

TEST_F(SentReportsTest, AMessageInPartsEndsWithTheLast) {
  options_.queue_pairs = 2;
  make();
  post(1000);
  finish(source(), Time() + nanoseconds(10), Time() + nanoseconds(30));
  EXPECT_TRUE(take_sent().empty());
  finish(source() + 1, Time() + nanoseconds(20), Time() + nanoseconds(25));
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  // What went out first, last, and was acknowledged last, of either part.
  EXPECT_EQ(events[0].sent.first_tx, Time() + nanoseconds(10));
  EXPECT_EQ(events[0].sent.last_tx, Time() + nanoseconds(20));
  EXPECT_EQ(events[0].sent.acked, Time() + nanoseconds(30));
}

TEST_F(SentReportsTest, PacketsAreUnderWayUntilTheyAreSettled) {
  make();
  post(1000);
  EXPECT_EQ(parts_->reports.packets_under_way()[source()], 0u) << "posted, and not sent";
  finish(source(), Time(), Time());
  EXPECT_EQ(parts_->reports.packets_under_way()[source()], 1u);
  EXPECT_EQ(parts_->pairs.ends[source()].packets, 0u);
  take_sent();
  EXPECT_EQ(parts_->reports.packets_under_way()[source()], 0u);
  EXPECT_EQ(parts_->pairs.ends[source()].packets, 1u);
}

}  // namespace
}  // namespace rankwire
