#include "dataplane/roce/cause_watch.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class CauseWatchTest : public PartsTest {
 protected:
  CauseWatchTest() { options_.causes = CauseRecording::kOn; }
};

TEST_F(CauseWatchTest, OffUnlessRecorded) {
  options_.causes = CauseRecording::kOff;
  EXPECT_FALSE(make().causes.on());
  options_.causes = CauseRecording::kOn;
  EXPECT_TRUE(make().causes.on());
}

TEST_F(CauseWatchTest, TheStateOfTheRequesterIsTheCause) {
  options_.profile.window = 2;
  make();
  post(3 * 4096);
  EXPECT_EQ(parts_->causes.cause_of(source()), Cause::kPort) << "it may send";
  send_silently(source(), 2);
  EXPECT_EQ(parts_->causes.cause_of(source()), Cause::kWindow) << "two of three packets are under way";
  parts_->pairs.requesters[source()].acknowledge(
      parts_->outbound.pool, Time(), {.psn = psn_add(parts_->pairs.requesters[source()].next_psn(), (1 << 24) - 1)});
  send_silently(source(), 1);
  EXPECT_EQ(parts_->causes.cause_of(source()), Cause::kAcknowledgement) << "nothing is left to send";
}

TEST_F(CauseWatchTest, TimeIsChargedUntilTheQueuePairFails) {
  make();
  post(1000);
  parts_->causes.note(source(), Time() + nanoseconds(40));
  parts_->causes.stop(source(), Time() + nanoseconds(50));
  const TimeByCause spent = parts_->causes.read(source(), Time() + microseconds(1));
  EXPECT_EQ(spent[Cause::kPort], nanoseconds(50));
  EXPECT_EQ(spent.total(), nanoseconds(50));
}

}  // namespace
}  // namespace rankwire
