#include "emulator/traces/rank_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
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

/// One operation of a device, with the call of the runtime that launched it, in microseconds.
struct Launched {
  enum Kind : uint8_t { kComputation, kCommunication, kMemory };
  Kind kind;
  int64_t stream, call, begin, end;
};

/// Operations of three streams, each of which does one thing at a time; calls come 1 to 12 us before.
std::vector<Launched> drawn_operations(uint64_t seed) {
  Random random(seed);
  const auto below = [&](uint32_t bound) { return static_cast<int64_t>(random.below(bound)); };
  std::vector<Launched> operations;
  for (const int64_t stream : {7, 8, 20}) {
    int64_t now = 1000 + below(9);
    for (int i = 0; i < 25; ++i) {
      now += below(8);
      const int64_t end = now + 1 + below(9);
      const auto kind = stream == 20    ? Launched::kCommunication
                        : below(4) == 0 ? Launched::kMemory
                                        : Launched::kComputation;
      operations.push_back({kind, stream, now - 1 - below(12), now, end});
      now = end;
    }
  }
  return operations;
}

struct Breakdown {
  int64_t span = 0, compute = 0, other_work = 0, idle = 0, communication = 0, hidden = 0;
};

/// By the definitions of Holistic Trace Analysis (facebookresearch, 01d8bd1, hta/analyzers/breakdown_analysis.py and
/// communication_analysis.py), microsecond by microsecond: idle is what no operation covers, compute what a computation
/// covers, non-compute the rest; overlap is what both a computation and a communication cover.
Breakdown breakdown_of(const std::vector<Launched>& operations) {
  const int64_t begin = std::ranges::min(operations, {}, &Launched::begin).begin;
  const int64_t end = std::ranges::max(operations, {}, &Launched::end).end;
  Breakdown sums{.span = end - begin};
  for (int64_t t = begin; t < end; ++t) {
    bool at_work[3] = {};
    for (const Launched& operation : operations) at_work[operation.kind] |= operation.begin <= t && t < operation.end;
    const bool compute = at_work[Launched::kComputation], communication = at_work[Launched::kCommunication];
    sums.compute += compute, sums.communication += communication, sums.hidden += compute && communication;
    sums.other_work += !compute && (communication || at_work[Launched::kMemory]);
    sums.idle += !compute && !communication && !at_work[Launched::kMemory];
  }
  return sums;
}

/// What HTA calls host_wait: gaps of a stream whose next operation was launched behind the end of the one before.
int64_t host_wait(const std::vector<Launched>& operations, int64_t stream) {
  int64_t sum = 0, before = INT64_MAX;
  for (const Launched& operation : operations) {
    if (operation.stream != stream) continue;
    if (operation.call > before) sum += operation.begin - before;
    before = operation.end;
  }
  return sum;
}

TEST(RankTimes, AreThoseOfHolisticTraceAnalysis) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Launched> operations = drawn_operations(seed);
    Nodes nodes;
    for (const Launched& operation : operations) {
      const uint64_t call = nodes.size() + 1, id = call + 1;
      nodes.push_back(recorded(on_host(call), static_cast<uint64_t>(operation.call), 1));
      Make node = operation.kind == Launched::kCommunication
                      ? all_reduce(id, {call})
                      : compute(id, operation.kind == Launched::kMemory ? "Memcpy DtoD" : "gemm").after({call});
      nodes.push_back(recorded(node.integer("stream", operation.stream), static_cast<uint64_t>(operation.begin),
                               static_cast<uint64_t>(operation.end - operation.begin)));
    }
    const RankTimes times = times_of(TraceSet({nodes}));
    const Breakdown expected = breakdown_of(operations);
    EXPECT_EQ(times.span(), microseconds(expected.span)) << seed;
    EXPECT_EQ(times.compute, microseconds(expected.compute)) << seed;
    EXPECT_EQ(times.exposed() + times.memory, microseconds(expected.other_work)) << seed;
    EXPECT_EQ(times.idle.sum(), microseconds(expected.idle)) << seed;
    EXPECT_EQ(times.communication, microseconds(expected.communication)) << seed;
    EXPECT_EQ(times.communication - times.exposed(), microseconds(expected.hidden)) << seed;
    ASSERT_EQ(times.streams.size(), 3u);
    for (const StreamTimes& stream : times.streams)
      EXPECT_EQ(stream.idle.by_cause[0], microseconds(host_wait(operations, stream.stream)))
          << seed << " " << stream.stream;
  }
}

}  // namespace
}  // namespace rankwire
