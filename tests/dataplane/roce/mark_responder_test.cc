#include "dataplane/roce/mark_responder.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rankwire {
namespace {

constexpr Time micros(int64_t us) {
  return Time() + microseconds(us);
}

/// What a lane owes, in the order in which it goes out.
std::vector<uint32_t> take_all(OwedNotifications& owed) {
  std::vector<uint32_t> queue_pairs;
  for (; !owed.empty(); owed.pop()) queue_pairs.push_back(owed.front());
  return queue_pairs;
}

TEST(MarkResponder, EachLaneOwesItsOwnInOrder) {
  MarkResponder marks(Duration(), {0, 1, 2}, std::array<uint32_t, 2>{2, 1});
  EXPECT_TRUE(marks.marked(2, 1, micros(1)));
  EXPECT_TRUE(marks.marked(1, 0, micros(2)));
  EXPECT_TRUE(marks.marked(0, 0, micros(3)));
  EXPECT_TRUE(marks.marked(1, 0, micros(4)));
  // The second of queue pair 1 goes out with its first.
  EXPECT_EQ(take_all(marks.owed(0)), (std::vector<uint32_t>{1, 1, 0}));
  EXPECT_EQ(take_all(marks.owed(1)), std::vector<uint32_t>{2});
}

TEST(MarkResponder, OneAnIntervalOfThoseThatShareIt) {
  MarkResponder marks(microseconds(4), {0, 0, 1}, std::array<uint32_t, 1>{3});
  EXPECT_TRUE(marks.marked(0, 0, micros(0)));
  EXPECT_FALSE(marks.marked(1, 0, micros(3))) << "it shares the interval of queue pair 0";
  EXPECT_TRUE(marks.marked(2, 0, micros(3)));
  EXPECT_TRUE(marks.marked(1, 0, micros(4)));
  EXPECT_EQ(take_all(marks.owed(0)), (std::vector<uint32_t>{0, 2, 1}));
}

}  // namespace
}  // namespace rankwire
