#include "dataplane/roce/requester_deadlines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace rankwire {
namespace {

constexpr uint32_t kQueuePairs = 4;

constexpr Time at(int64_t us) {
  return Time() + microseconds(us);
}

/// Deadlines as requesters keep them, with a time before which none takes effect.
struct Requesters {
  std::array<Time, kQueuePairs> deadline{Time::never(), Time::never(), Time::never(), Time::never()};
  Time hold = Time::long_ago();
  mutable uint32_t looks = 0;

  void set(RequesterDeadlines& deadlines, uint32_t queue_pair, Time now, Time to) {
    deadlines.note(queue_pair, now, deadline[queue_pair], to);
    deadline[queue_pair] = to;
  }
  auto expiry() const {
    return [this](uint32_t queue_pair) {
      ++looks;
      return std::max(deadline[queue_pair], hold);
    };
  }
};

TEST(RequesterDeadlines, FindsTheFirstOfSeveralDurations) {
  RequesterDeadlines deadlines(kQueuePairs);
  Requesters of;
  EXPECT_EQ(deadlines.next(of.expiry()), RequesterDeadlines::kNone);
  EXPECT_EQ(deadlines.earliest(at(1000), of.expiry()), Time::never());
  of.set(deadlines, 0, at(0), at(100));  // 100 us
  of.set(deadlines, 1, at(10), at(30));  // 20 us
  of.set(deadlines, 2, at(20), at(40));  // 20 us
  EXPECT_EQ(deadlines.next(of.expiry()), 1u);
  EXPECT_EQ(deadlines.earliest(at(1000), of.expiry()), at(30));
  of.set(deadlines, 1, at(25), Time::never());
  EXPECT_EQ(deadlines.next(of.expiry()), 2u);
  deadlines.disarm(2);
  EXPECT_EQ(deadlines.next(of.expiry()), 0u);
}

TEST(RequesterDeadlines, LooksOnlyWhenTheFirstMayHaveCome) {
  RequesterDeadlines deadlines(kQueuePairs);
  Requesters of;
  of.set(deadlines, 0, at(0), at(100));
  of.looks = 0;
  EXPECT_GE(deadlines.earliest(at(50), of.expiry()), at(50));
  EXPECT_GE(deadlines.earliest(at(100), of.expiry()), at(100));
  EXPECT_EQ(of.looks, 0u);
  EXPECT_EQ(deadlines.earliest(at(101), of.expiry()), at(100));
  EXPECT_GT(of.looks, 0u);
}

TEST(RequesterDeadlines, OneThatIsPutOffIsFoundLater) {
  RequesterDeadlines deadlines(kQueuePairs);
  Requesters of;
  of.set(deadlines, 3, at(0), at(100));
  of.hold = at(250);
  EXPECT_GE(deadlines.earliest(at(200), of.expiry()), at(200));
  EXPECT_EQ(deadlines.earliest(at(300), of.expiry()), at(250));
}

TEST(RequesterDeadlines, TimesMayDecreaseAsFarAsAllowed) {
  RequesterDeadlines deadlines(kQueuePairs);
  Requesters of;
  // Lanes that run ahead one after another: the second is at 3 us when the first has been at 12 us.
  of.set(deadlines, 0, at(10), at(110));
  of.set(deadlines, 2, at(12), at(112));
  of.set(deadlines, 1, at(3), at(103));
  EXPECT_EQ(deadlines.next(of.expiry()), 0u) << "without disorder none behind one that is later is looked at";
  deadlines.allow_disorder(microseconds(9));
  deadlines.allow_disorder(microseconds(2));  // the most counts
  EXPECT_EQ(deadlines.next(of.expiry()), 1u);
  EXPECT_EQ(deadlines.earliest(at(1000), of.expiry()), at(103));
}

}  // namespace
}  // namespace rankwire
