#include "dataplane/fabric_events.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace rankwire {
namespace {

/// Against a sorted map, which keeps the order of insertion among equal keys. Delays at random make more runs than
/// there are, and some are into the past.
TEST(FabricEventQueue, KeepsTheOrderOfTimeAndOfPushing) {
  for (const int64_t reach : {1'000LL, 100'000LL, 30'000'000LL, 50'000'000LL, 5'000'000'000LL}) {
    FabricEventQueue queue(1000);
    std::multimap<int64_t, uint32_t> model;
    Random random(static_cast<uint64_t>(reach));
    int64_t now = -5'000'000'000'000;
    uint32_t number = 0;
    for (int i = 0; i < 200'000; ++i) {
      ASSERT_EQ(queue.size(), model.size());
      if (model.size() < 1000 && (model.empty() || random.below(1000) < 550 - model.size() / 10)) {
        const int64_t at = now + static_cast<int64_t>(random.below(reach)) - 100;
        queue.push(Time(at), FabricEventKind::kArrive, number % 7, number);
        model.emplace(at, number++);
        continue;
      }
      const auto first = model.begin();
      ASSERT_EQ(queue.next(), Time(first->first));
      const FabricEvent event = queue.pop();
      ASSERT_EQ(event.at, Time(first->first));
      ASSERT_EQ(event.argument, first->second);
      ASSERT_EQ(event.port, first->second % 7);
      now = std::max(now, first->first);
      model.erase(first);
    }
  }
}

/// Whole crowds at a few times, with single events before and between them.
TEST(FabricEventQueue, KeepsCrowdsInTheOrderOfPushing) {
  FabricEventQueue queue(4000);
  std::multimap<int64_t, uint32_t> model;
  Random random(11);
  int64_t now = 0;
  uint32_t number = 0;
  const auto push = [&](int64_t at) {
    queue.push(Time(at), FabricEventKind::kArrive, 0, number);
    model.emplace(at, number++);
  };
  for (int round = 0; round < 300; ++round) {
    const int64_t day = now + static_cast<int64_t>(random.below(20'000));
    for (uint32_t i = 0; i < 300; ++i) push(day + static_cast<int64_t>(random.below(5)) * 700);
    for (uint32_t i = 0; i < 300; ++i) {
      const auto first = model.begin();
      const FabricEvent event = queue.pop();
      ASSERT_EQ(event.at, Time(first->first));
      ASSERT_EQ(event.argument, first->second);
      now = std::max(now, first->first);
      model.erase(first);
      if (i % 3 == 0) push(now + static_cast<int64_t>(random.below(3'000)));
    }
    for (; queue.size() > 1000; model.erase(model.begin())) ASSERT_EQ(queue.pop().argument, model.begin()->second);
  }
}

/// Of 50 delays, more than there are runs, each is used again and again, so that runs begin and end within blocks.
TEST(FabricEventQueue, KeepsTheOrderOfConstantDelays) {
  FabricEventQueue queue(5000);
  std::multimap<int64_t, uint32_t> model;
  Random random(5);
  int64_t now = 0;
  for (uint32_t number = 0; number < 200'000; ++number) {
    const int64_t at = now + 80 * static_cast<int64_t>(1 + random.below(50) * random.below(50));
    queue.push(Time(at), FabricEventKind::kArrive, 0, number);
    model.emplace(at, number);
    while (model.size() > (number % 1000 < 500 ? 4000u : 100u)) {
      const FabricEvent event = queue.pop();
      ASSERT_EQ(event.argument, model.begin()->second);
      now = event.at.ps;
      model.erase(model.begin());
    }
  }
}

/// With one delay all are in one run, 42 events a block.
TEST(FabricEventQueue, ShowsWhatIsBehindInTheRun) {
  FabricEventQueue queue(1000);
  uint32_t pushed = 0;
  while (pushed < 100) queue.push(Time(pushed), FabricEventKind::kArrive, 0, pushed), ++pushed;
  for (uint32_t popped = 0; popped < 900; ++popped) {
    ASSERT_EQ(queue.pop().argument, popped);
    for (const uint32_t n : {1u, 5u, 42u}) {
      const FabricEvent* const event = queue.behind(n);
      ASSERT_EQ(event != nullptr, popped + n < pushed);
      if (event != nullptr) {
        EXPECT_EQ(event->argument, popped + n);
      }
    }
    if (pushed < 900) queue.push(Time(pushed), FabricEventKind::kArrive, 0, pushed), ++pushed;
  }
  EXPECT_EQ(queue.next(), Time::never());
}

TEST(FabricEventQueue, IsEmptyAtNever) {
  FabricEventQueue queue(4);
  EXPECT_EQ(queue.next(), Time::never());
  queue.push(Time(5), FabricEventKind::kWake, 3);
  EXPECT_EQ(queue.next(), Time(5));
  EXPECT_EQ(queue.pop().kind, FabricEventKind::kWake);
  EXPECT_EQ(queue.next(), Time::never());
}

}  // namespace
}  // namespace rankwire
