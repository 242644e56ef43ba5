#include "emulator/traces/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

/// 8 Gb/s is 1 ns a byte.
constexpr TimingOptions kByteANanosecond{.rate = Bandwidth(8'000'000'000), .peak_flops = 1'000'000'000};

Timing time(const CheckedSet& checked) {
  return time_operations(checked.set, checked.matches, kByteANanosecond);
}

std::vector<int64_t> starts(const Timing& timing, size_t place) {
  std::vector<int64_t> list;
  for (const Span& span : timing.spans[place]) list.push_back(span.start.ps / 1'000'000);
  return list;
}

std::vector<uint64_t> path(const CheckedSet& checked, const Timing& timing) {
  std::vector<uint64_t> ids;
  for (const PathStep& step : timing.critical) ids.push_back(checked.set.node(step.at).id);
  return ids;
}

// 10 us of compute, 20,000 bytes in 20 us, but rank 1 comes to it only after 10 + 15 us, then 10 us more.
TEST(Timing, CollectivesStartWhenTheLastMemberCan) {
  const Nodes early = {step(1), all_reduce(2, {1}, 20'000), step(3, {2})};
  const Nodes late = {step(1), step(4, {1}).micros(15), all_reduce(2, {4}, 20'000), step(3, {2})};
  const CheckedSet checked = check(TraceSet({early, late}));
  const Timing timing = time(checked);
  EXPECT_THAT(starts(timing, 0), ElementsAre(0, 25, 45));
  EXPECT_THAT(starts(timing, 1), ElementsAre(0, 10, 25, 45));
  EXPECT_EQ(timing.end, Time(0) + microseconds(55));
  EXPECT_THAT(path(checked, timing), ElementsAre(1, 4, 2, 3));
}

TEST(Timing, AStreamDoesOneThingAtATimeTheLowestIdFirst) {
  const Nodes nodes = {on_host(1), kernel(4, {1}), kernel(2, {1}), kernel(3, {1}, 8)};
  const CheckedSet checked = check(TraceSet({nodes}));
  const Timing timing = time(checked);
  // The host takes 1 us, kernels 10; node 3 has a stream of its own.
  EXPECT_THAT(starts(timing, 0), ElementsAre(0, 11, 1, 1));
  EXPECT_THAT(path(checked, timing), ElementsAre(1, 2, 4));
}

TEST(Timing, ReceivesEndAfterTheirSends) {
  const CheckedSet checked = check(
      TraceSet({{step(1), send(2, "out", 1).after({1}).size(5'000)}, {receive(1, "in", 0).size(5'000), step(2, {1})}}));
  const Timing timing = time(checked);
  EXPECT_THAT(starts(timing, 0), ElementsAre(0, 10));
  EXPECT_THAT(starts(timing, 1), ElementsAre(15, 15));
}

TEST(Timing, DurationsComeFromOperationsWhereNoneAreRecorded) {
  const CheckedSet checked = check(TraceSet({{compute(1, "gemm").integer("num_ops", 7'000), step(2, {1})}}));
  EXPECT_THAT(starts(time(checked), 0), ElementsAre(0, 7));
}

TEST(Timing, RecordedStartsCount) {
  chakra::Node first = step(1), second = step(2, {1});
  first.set_start_time_micros(1000);
  second.set_start_time_micros(1100);
  const Timing timing = time(check(TraceSet({{first, second}})));
  EXPECT_TRUE(timing.recorded);
  EXPECT_THAT(starts(timing, 0), ElementsAre(0, 100));
  EXPECT_EQ(timing.end, Time(0) + microseconds(110));
}

TEST(Timing, ACycleHasNoTimes) {
  const Timing timing = time(check(TraceSet({{step(1, {2}), step(2, {1})}})));
  EXPECT_THAT(timing.problem, ::testing::HasSubstr("wait for each other"));
}

}  // namespace
}  // namespace rankwire
