#include "emulator/simulator/notice_queue.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/random.h"

namespace rankwire {
namespace {

/// Pushes and pops by chance; `delay` says how far ahead of a clock that moves forward. Every pop is compared with an
/// ordered set.
template <class Delay>
void compare_with_set(uint64_t seed, Delay delay) {
  constexpr uint32_t kIds = 500;
  Random random(seed);
  NoticeQueue queue(kIds);
  std::set<std::tuple<Time, uint64_t, uint32_t>> expected;
  std::vector<uint32_t> unused(kIds);
  for (uint32_t i = 0; i < kIds; ++i) unused[i] = i;
  Time now;
  uint64_t order = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!unused.empty() && random.below(100) < 52) {
      const uint32_t id = unused.back();
      unused.pop_back();
      const Time at = now + delay(random);
      queue.push(id, at, order);
      expected.emplace(at, order++, id);
    } else if (!expected.empty()) {
      const auto [at, o, id] = *expected.begin();
      ASSERT_EQ(queue.top_time(), at);
      ASSERT_EQ(queue.top(), id);
      queue.pop();
      expected.erase(expected.begin());
      unused.push_back(id);
      now = std::max(now, at);
    }
    ASSERT_EQ(queue.empty(), expected.empty());
  }
}

TEST(NoticeQueue, FewDelaysComeInOrder) {
  compare_with_set(1, [](Random& random) { return nanoseconds(100 + 1'000 * static_cast<int64_t>(random.below(3))); });
}

TEST(NoticeQueue, ManyDelaysComeInOrder) {
  compare_with_set(2, [](Random& random) { return nanoseconds(static_cast<int64_t>(random.below(1'000'000))); });
}

TEST(NoticeQueue, EqualTimesComeInTheirOrder) {
  compare_with_set(3, [](Random& random) { return nanoseconds(static_cast<int64_t>(random.below(2))); });
}

TEST(NoticeQueue, NothingIsNeverDue) {
  EXPECT_EQ(NoticeQueue(3).top_time(), Time::never());
}

}  // namespace
}  // namespace rankwire
