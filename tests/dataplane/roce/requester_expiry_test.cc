#include "dataplane/roce/requester_expiry.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class RequesterExpiryTest : public PartsTest {
 protected:
  // The profile's: 4.096 us x 2^14.
  static constexpr Duration kTimeout = nanoseconds(4096) * (1 << 14);
  static constexpr Time kSent = Time() + milliseconds(1);

  /// The source has sent the one packet of a message at kSent.
  void send_one() {
    post_silently(source(), 1000);
    send_silently(source(), 1, kSent);
    parts_->steps.note_deadline(source(), kSent, Time::never());
  }
  Time first() const { return parts_->expiry.earliest(Time::never()); }
};

TEST_F(RequesterExpiryTest, ATimeOutIsCountedAndThePacketSentAgain) {
  make();
  EXPECT_EQ(first(), Time::never());
  send_one();
  EXPECT_EQ(first(), kSent + kTimeout);
  parts_->expiry.expire(kSent + kTimeout - Duration(1));
  EXPECT_EQ(parts_->counters.totals.timeouts, 0u);
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
  parts_->expiry.expire(kSent + kTimeout);
  EXPECT_EQ(parts_->counters.totals.timeouts, 1u);
  EXPECT_EQ(parts_->counters.of[source()].timeouts, 1u);
  EXPECT_EQ(parts_->lanes[0].senders.size(), 1u);
  EXPECT_EQ(first(), Time::never()) << "nothing is under way";
}

TEST_F(RequesterExpiryTest, OnlyWhatIsEarlierThanAskedIsLookedFor) {
  make();
  send_one();
  const Time early = kSent + kTimeout - milliseconds(1);
  EXPECT_GE(parts_->expiry.earliest(early), early);
  EXPECT_EQ(parts_->expiry.earliest(kSent + kTimeout + Duration(1)), kSent + kTimeout);
}

// A gap of 50 ms between two looks, of which 1 ms would have been the network's, gives answers as long as a time-out.
TEST_F(RequesterExpiryTest, ATimeOutWaitsAfterAStandstill) {
  options_.standstill = milliseconds(1);
  make();
  send_one();
  parts_->standstills.look(kSent);
  parts_->standstills.look(kSent + milliseconds(50));
  EXPECT_EQ(first(), kSent + milliseconds(50) + kTimeout);
  parts_->expiry.expire(kSent + kTimeout);
  EXPECT_EQ(parts_->counters.totals.timeouts, 0u);
}

// Code 1 of the RNR timer is 10 us, whether or not the loop stood still.
TEST_F(RequesterExpiryTest, TheWaitForTheReceiverEndsInTimeAndIsNoTimeOut) {
  options_.standstill = milliseconds(1);
  make();
  send_one();
  parts_->standstills.look(kSent);
  parts_->standstills.look(kSent + milliseconds(50));
  Requester& requester = parts_->pairs.requesters[source()];
  const Time answered = kSent + milliseconds(50);
  const Time deadline = requester.deadline();
  constexpr uint8_t kTenMicroseconds = kSyndromeTypeNotReady | 1;
  requester.acknowledge(parts_->outbound.pool, answered,
                        {.psn = requester.oldest_unacknowledged(), .syndrome = kTenMicroseconds});
  parts_->steps.after(source(), answered, deadline);
  EXPECT_EQ(first(), answered + microseconds(10));
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
  parts_->expiry.expire(answered + microseconds(10));
  EXPECT_EQ(parts_->lanes[0].senders.size(), 1u);
  EXPECT_EQ(parts_->counters.totals.timeouts, 0u);
}

TEST_F(RequesterExpiryTest, WhoGivesUpEndsItsConnection) {
  options_.profile.retry_count = 0;
  make();
  send_one();
  parts_->expiry.expire(kSent + kTimeout);
  EXPECT_EQ(parts_->counters.totals.timeouts, 1u);
  EXPECT_TRUE(parts_->pairs.ends[source()].failed);
  EXPECT_TRUE(parts_->pairs.ends[destination()].failed);
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].failure, Failure::kRetryExceeded);
}

}  // namespace
}  // namespace rankwire
