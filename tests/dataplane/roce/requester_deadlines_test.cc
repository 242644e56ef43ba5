#include "dataplane/roce/requester_deadlines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace rankwire {
namespace {

constexpr uint32_t kRequesters = 4;

constexpr Time at_us(int64_t us) {
  return Time() + microseconds(us);
}

/// Deadlines as requesters keep them, with a time before which none takes effect.
struct Requesters {
  std::array<Time, kRequesters> deadline{Time::never(), Time::never(), Time::never(), Time::never()};
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
  RequesterDeadlines deadlines(kRequesters);
  Requesters of;
  EXPECT_EQ(deadlines.next(of.expiry()), RequesterDeadlines::kNone);
  EXPECT_EQ(deadlines.earliest(at_us(1000), of.expiry()), Time::never());
  of.set(deadlines, 0, at_us(0), at_us(100));  // 100 us
  of.set(deadlines, 1, at_us(10), at_us(30));  // 20 us
  of.set(deadlines, 2, at_us(20), at_us(40));  // 20 us
  EXPECT_EQ(deadlines.next(of.expiry()), 1u);
  EXPECT_EQ(deadlines.earliest(at_us(1000), of.expiry()), at_us(30));
  of.set(deadlines, 1, at_us(25), Time::never());
  EXPECT_EQ(deadlines.next(of.expiry()), 2u);
  deadlines.disarm(2);
  EXPECT_EQ(deadlines.next(of.expiry()), 0u);
}

TEST(RequesterDeadlines, LooksOnlyWhenTheFirstMayHaveCome) {
  RequesterDeadlines deadlines(kRequesters);
  Requesters of;
  of.set(deadlines, 0, at_us(0), at_us(100));
  of.looks = 0;
  EXPECT_GE(deadlines.earliest(at_us(50), of.expiry()), at_us(50));
  EXPECT_GE(deadlines.earliest(at_us(100), of.expiry()), at_us(100));
  EXPECT_EQ(of.looks, 0u);
  EXPECT_EQ(deadlines.earliest(at_us(101), of.expiry()), at_us(100));
  EXPECT_GT(of.looks, 0u);
}

TEST(RequesterDeadlines, OneThatIsPutOffIsFoundLater) {
  RequesterDeadlines deadlines(kRequesters);
  Requesters of;
  of.set(deadlines, 3, at_us(0), at_us(100));
  of.hold = at_us(250);
  EXPECT_GE(deadlines.earliest(at_us(200), of.expiry()), at_us(200));
  EXPECT_EQ(deadlines.earliest(at_us(300), of.expiry()), at_us(250));
}

TEST(RequesterDeadlines, TimesMayDecreaseAsFarAsAllowed) {
  RequesterDeadlines deadlines(kRequesters);
  Requesters of;
  // Lanes that run ahead one after another: the second is at 3 us when the first has been at 12 us.
  of.set(deadlines, 0, at_us(10), at_us(110));
  of.set(deadlines, 2, at_us(12), at_us(112));
  of.set(deadlines, 1, at_us(3), at_us(103));
  EXPECT_EQ(deadlines.next(of.expiry()), 0u) << "without disorder none behind one that is later is looked at";
  deadlines.allow_disorder(microseconds(9));
  deadlines.allow_disorder(microseconds(2));  // the most counts
  EXPECT_EQ(deadlines.next(of.expiry()), 1u);
  EXPECT_EQ(deadlines.earliest(at_us(1000), of.expiry()), at_us(103));
}

}  // namespace
}  // namespace rankwire
