#include "dataplane/congestion/notification_point.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

Time arrival_at(int64_t us) {
  return Time() + microseconds(us);
}

// Marks every microsecond and an interval of 4 us: those at 0, 4, 8 ... are answered.
TEST(NotificationPoint, AnswersOnceAnInterval) {
  NotificationPoint point(microseconds(4), {0});
  for (int us = 0; us < 20; ++us) EXPECT_EQ(point.marked(0, arrival_at(us)), us % 4 == 0) << us;
}

TEST(NotificationPoint, WithoutIntervalEveryMarkIsAnswered) {
  NotificationPoint point(Duration(), {0});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(point.marked(0, arrival_at(5)));
}

// Queue pairs 0 and 1 are of one pair of addresses or port, 2 is of another.
TEST(NotificationPoint, QueuePairsOfAGroupShareTheInterval) {
  NotificationPoint point(microseconds(4), {0, 0, 1});
  EXPECT_TRUE(point.marked(0, arrival_at(0)));
  EXPECT_FALSE(point.marked(1, arrival_at(1)));
  EXPECT_TRUE(point.marked(2, arrival_at(2)));
  EXPECT_TRUE(point.marked(1, arrival_at(4)));
  EXPECT_FALSE(point.marked(0, arrival_at(5)));
  EXPECT_FALSE(point.marked(2, arrival_at(5)));
}

}  // namespace
}  // namespace rankwire
