#include "dataplane/roce/lane_watch.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"

namespace rankwire {
namespace {

TEST(LaneWatch, WithoutBellsItIsOff) {
  LaneWatch watch(nullptr, {});
  EXPECT_FALSE(watch.on());
  watch.mark(0);  // without effect
}

TEST(LaneWatch, LooksWhereABellHasRungOrALaneIsMarked) {
  FramePool pool(16, FramePool::kDefaultCapacity, PoolUse::kOneThread);
  const auto link = make_memory_link(pool, 8, "link");
  const std::vector<PortBinding> bindings(3, {PortId(0), link.second.get(), Bandwidth(1)});
  Doorbells bells(3, BellUse::kOneThread);
  LaneWatch watch(&bells, bindings);
  ASSERT_TRUE(watch.on());
  ASSERT_TRUE(watch.foresees());
  const auto at = [](uint32_t lane) { return Time() + nanoseconds(10 * (lane + 1)); };
  EXPECT_EQ(watch.next(at), at(0)) << "to begin with every lane is marked";
  watch.agenda().take([](uint32_t) { return Time::never(); }, [](uint32_t, size_t) {});
  EXPECT_EQ(watch.next(at), Time::never());
  watch.mark(2);
  EXPECT_EQ(watch.next(at), at(2));
  bells.ring(1);
  EXPECT_EQ(watch.next(at), at(1));

  std::vector<uint32_t> heard;
  const auto report = [&](uint32_t lane) {
    heard.push_back(lane);
    return Time() + nanoseconds(77);
  };
  watch.hear(report);
  EXPECT_EQ(heard, std::vector<uint32_t>{1});
  EXPECT_EQ(watch.reports().next(), Time() + nanoseconds(77));
  EXPECT_EQ(watch.reports().first(), 1u);
  watch.hear(report);
  EXPECT_EQ(heard.size(), 1u) << "a bell is heard once";
  // The port of the bell holds nothing.
  EXPECT_EQ(watch.next(at), at(2));
}

// What another thread sends cannot be looked at before it is received.
TEST(LaneWatch, ForeseesNothingWherePortsDoNotLookAhead) {
  FramePool pool(16);
  const auto link = make_memory_link(pool, 8, "link");
  const std::vector<PortBinding> bindings(2, {PortId(0), link.second.get(), Bandwidth(1)});
  Doorbells bells(2);
  LaneWatch watch(&bells, bindings);
  ASSERT_TRUE(watch.on());
  EXPECT_FALSE(watch.foresees());
  watch.agenda().take([](uint32_t) { return Time::never(); }, [](uint32_t, size_t) {});
  Frame frame;
  ASSERT_EQ(link.first->allocate({&frame, 1}), 1u);
  ASSERT_EQ(link.first->transmit(Time(5), {&frame, 1}), 1u);
  bells.ring(1);
  watch.hear([](uint32_t) { return Time::never(); });
  std::vector<uint32_t> woken;
  watch.agenda().begin(Time(5), [&](uint32_t lane) { woken.push_back(lane); });
  EXPECT_EQ(woken, std::vector<uint32_t>{1}) << "there is a frame in its port";
  link.second->receive(Time(5), {&frame, 1});
  link.second->release({&frame, 1});
}

}  // namespace
}  // namespace rankwire
