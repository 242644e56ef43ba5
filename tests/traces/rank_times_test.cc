#include "emulator/traces/rank_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

IdleTimes idle(Duration host, Duration communication, Duration stream, Duration launch, Duration other) {
  return {{host, communication, stream, launch, other}};
}

RankTimes times_of(const TraceSet& set, std::vector<NodeArrival>* arrivals = nullptr) {
  const CheckedSet checked = check(set);
  const Timing timing = time_operations(checked.set, checked.matches, {});
  return rank_times(checked.set.ranks[0], timing.spans[0], timing.recorded, arrivals);
}

// Compute from 0 to 10 and from 15 to 25, communication from 5 to 20: ten of its fifteen microseconds are hidden.
TEST(RankTimes, Overlap) {
  const RankTimes times = times_of(
      TraceSet({{recorded(step(1), 1000, 10), recorded(all_reduce(2, {}), 1005, 15), recorded(step(3), 1015, 10)}}));
  EXPECT_EQ(times.compute, microseconds(20));
  EXPECT_EQ(times.communication, microseconds(15));
  EXPECT_EQ(times.exposed(), microseconds(5));
  EXPECT_EQ(times.idle.sum(), Duration());
}

// The accelerator, in microseconds from 1000, and the causes of what lies between:
//   stream 7: kernel 3 from 10 to 20, kernel 4 from 35 to 45, kernel 6 from 62 to 70, a copy from 70 to 75
//   stream 8: communication from 40 to 60
// Kernel 4 was launched at 30, behind the end of kernel 3. Kernel 6 waits for the communication, which ended 15 us
// behind kernel 4, but 2 us before it begins, so of the whole accelerator that is for no known reason.
TEST(RankTimes, WhyNothingWasAtWork) {
  const Nodes nodes = {recorded(on_host(1), 1000, 5),
                       recorded(on_host(2), 1030, 2),
                       recorded(kernel(3, {1}), 1010, 10),
                       recorded(kernel(4, {2}), 1035, 10),
                       recorded(all_reduce(5, {2}).integer("stream", 8), 1040, 20),
                       recorded(kernel(6, {5}), 1062, 8),
                       recorded(compute(7, "Memcpy HtoD (Pinned -> Device)").after({6}).integer("stream", 7), 1070, 5)};
  const RankTimes times = times_of(TraceSet({nodes}));
  EXPECT_EQ(times.begin, Time(0) + microseconds(10));
  EXPECT_EQ(times.span(), microseconds(65));
  EXPECT_EQ(times.compute, microseconds(28));
  EXPECT_EQ(times.exposed(), microseconds(15));
  EXPECT_EQ(times.memory, microseconds(5));
  EXPECT_EQ(times.idle.by_cause, idle(microseconds(15), {}, {}, {}, microseconds(2)).by_cause);
  ASSERT_EQ(times.streams.size(), 2u);
  EXPECT_EQ(times.streams[0].stream, 7);
  EXPECT_EQ(times.streams[0].operations, 4u);
  EXPECT_EQ(times.streams[0].busy, microseconds(33));
  EXPECT_EQ(times.streams[0].idle.by_cause, idle(microseconds(15), microseconds(17), {}, {}, {}).by_cause);
  EXPECT_EQ(times.streams[1].busy, microseconds(20));
}

// Nanoseconds are those of schema 0.0.1 alone, so gaps are set by hand: 29 ns are a launch, 30 ns are not.
TEST(RankTimes, AShortGapIsALaunch) {
  const CheckedSet checked = check(TraceSet({{step(1), step(2), step(3)}}));
  const auto span = [](int64_t from, int64_t to) {
    return Span{Time(0) + nanoseconds(from), Time(0) + nanoseconds(to)};
  };
  const std::vector<Span> spans = {span(0, 100), span(129, 200), span(230, 300)};
  const RankTimes times = rank_times(checked.set.ranks[0], spans, true);
  EXPECT_EQ(times.idle.by_cause, idle({}, {}, {}, nanoseconds(29), nanoseconds(30)).by_cause);
}

// Rank 0 can begin the collective after 10 us, rank 1 after 25 us: an ideal schedule has rank 0 wait for 15 us.
TEST(RankTimes, ASchedulesGapsAreThoseOfOtherRanks) {
  std::vector<NodeArrival> arrivals;
  const RankTimes times = times_of(
      TraceSet({{step(1), all_reduce(2, {1})}, {step(1), step(3, {1}).micros(15), all_reduce(2, {3})}}), &arrivals);
  EXPECT_EQ(times.idle.by_cause, idle({}, microseconds(15), {}, {}, {}).by_cause);
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].node, 1u);
  EXPECT_EQ(arrivals[0].time, Time(0) + microseconds(10));
}

TEST(RankTimes, HostOperationsComputeWhereThereIsNoKernel) {
  const RankTimes times = times_of(TraceSet({{on_host(1), on_host(2, {1})}}));
  EXPECT_EQ(times.compute, microseconds(2));
}

TEST(RankTimes, CopiesAreToldByTheirNames) {
  for (const auto& [name, moves] : {std::pair{"Memcpy DtoD", true},
                                    {"Memset (Device)", true},
                                    {"hipMemcpyAsync", true},
                                    {"gemm_Memcpy", false},
                                    {"hipLaunch", false}}) {
    const CheckedSet checked = check(TraceSet({{compute(1, name).micros(1)}}));
    EXPECT_EQ(moves_memory(checked.set.ranks[0].nodes[0]), moves) << name;
  }
}

}  // namespace
}  // namespace rankwire
