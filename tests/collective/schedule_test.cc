// Every algorithm, executed: each member ends with what the operation defines, in any order of execution.
#include "emulator/collective/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "base/error.h"
#include "tests/collective/definitions.h"

namespace rankwire {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr Operation kData[] = {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                               Operation::kBroadcast, Operation::kReduce,        Operation::kAllToAll,
                               Operation::kGather,    Operation::kScatter};

struct Case {
  ScheduleRequest request;
  ScheduleOptions options;
};

/// Bytes that member m must send: the sum of the parts that it passes on.
int64_t expected_bytes(const ScheduleRequest& r, uint32_t m) {
  const int64_t s = r.bytes.count, n = r.members;
  const auto part = [&](uint32_t i) { return part_of(r, i % r.members).bytes.count; };
  switch (r.operation) {
    // All blocks but its own while scattering, all but the next member's while gathering.
    case Operation::kAllReduce:
      return s - part(m) + s - part(m + 1);
    case Operation::kReduceScatter:
      return s - part(m);
    case Operation::kAllGather:
      return (n - 1) * s;
    case Operation::kBroadcast:
      return (m + 1) % n == r.root ? 0 : s;
    case Operation::kReduce:
    case Operation::kGather:
      return m == r.root ? 0 : s;
    case Operation::kAllToAll:
      return s - part(m);
    case Operation::kScatter:
      return m == r.root ? s - part(m) : 0;
    case Operation::kPointToPoint:
      return m == 0 ? s : 0;
    case Operation::kBarrier:
      return 0;
  }
  return -1;
}

void check(const Case& c) {
  const ScheduleRequest& r = c.request;
  SCOPED_TRACE(::testing::Message() << "bytes " << r.bytes.count << " channels " << c.options.channels << " chunk "
                                    << c.options.chunk.count << " root " << r.root);
  Executor executor(r, c.options);
  expect_matched(executor.schedules());
  for (uint32_t m = 0; m < r.members; ++m) {
    expect_well_formed(r, c.options.chunk, c.options.channels, executor.schedules()[m]);
    EXPECT_EQ(bytes_sent(executor.schedules()[m]).count, expected_bytes(r, m)) << "member " << m;
  }
  expect_delivered(executor, r);
}

class EveryOperation : public ::testing::TestWithParam<std::tuple<Operation, uint32_t>> {
 protected:
  void check_sizes(std::initializer_list<int64_t> elements, Bytes element, std::initializer_list<int64_t> chunks) {
    const auto [operation, members] = GetParam();
    for (const int64_t count : elements)
      for (const uint32_t channels : {1, 2, 3})
        for (const int64_t chunk : chunks) {
          if (members == 64 && (channels == 2 || chunk != *chunks.begin())) continue;
          Case c{
              {.operation = operation, .members = members, .bytes = Bytes(count * element.count), .element = element},
              {.channels = channels, .chunk = Bytes(chunk)}};
          c.request.root = static_cast<uint32_t>(count + channels) % members;
          check(c);
          if (HasFailure()) return;
        }
  }
};

TEST_P(EveryOperation, DeliversFewElements) {
  const int64_t n = std::get<1>(GetParam());
  check_sizes({0, 1, n - 1, n, 2 * n + 1}, Bytes(4), {41, 4});
}

TEST_P(EveryOperation, DeliversOddSizes) {
  check_sizes({1009}, Bytes(2), {64, 1000});
}

TEST_P(EveryOperation, DeliversAMebibyteAndThreeElements) {
  check_sizes({(1 << 18) + 3}, Bytes(4), {1 << 18, 1 << 20, 1 << 16});
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryOperation,
                         ::testing::Combine(::testing::ValuesIn(kData), ::testing::Values(2, 3, 4, 5, 8, 17, 64)));
INSTANTIATE_TEST_SUITE_P(PointToPoint, EveryOperation,
                         ::testing::Combine(::testing::Values(Operation::kPointToPoint), ::testing::Values(2)));

class Barrier : public ::testing::TestWithParam<uint32_t> {};

// A member may leave when it knows, directly or through others, that every member has entered. What a step knows is
// what its predecessors know, whatever else has happened by chance.
TEST_P(Barrier, NobodyLeavesBeforeEverybodyEntered) {
  const uint32_t n = GetParam();
  std::vector<Schedule> schedules;
  for (uint32_t m = 0; m < n; ++m)
    schedules.push_back(make_schedule(
        {.operation = Operation::kBarrier, .members = n, .position = m, .bytes = Bytes(0)}, {.channels = 2}));
  expect_matched(schedules);
  std::vector<std::vector<Contributions>> known(n);
  for (uint32_t m = 0; m < n; ++m) known[m].assign(schedules[m].steps.size(), only(m));
  std::map<std::tuple<uint32_t, uint32_t, uint16_t>, Contributions> signals;
  // In round k every member sends before it receives, so two passes a round see every step after its predecessors.
  uint16_t rounds = 0;
  for (const Step& step : schedules[0].steps) rounds = std::max<uint16_t>(rounds, step.step + 1);
  for (uint16_t round = 0; round < rounds; ++round)
    for (const StepKind pass : {StepKind::kSend, StepKind::kReceive})
      for (uint32_t m = 0; m < n; ++m)
        for (uint32_t s = 0; s < schedules[m].steps.size(); ++s) {
          const Step& step = schedules[m].steps[s];
          if (step.step != round || step.kind != pass) continue;
          EXPECT_EQ(step.bytes, Bytes(0));
          if (pass == StepKind::kSend)
            signals[{m, step.peer, round}] = known[m][s];
          else
            known[m][s] |= signals.at({step.peer, m, round});
          for (const uint32_t next : schedules[m].successors_of(s)) known[m][next] |= known[m][s];
        }
  for (uint32_t m = 0; m < n; ++m) {
    Contributions knows = 0;
    for (const Contributions k : known[m]) knows |= k;
    EXPECT_EQ(knows, all(n)) << "member " << m;
  }
  // ceil(log2 n) rounds.
  EXPECT_GE(1u << rounds, n);
  EXPECT_LT(1u << (rounds - 1), n);
}

INSTANTIATE_TEST_SUITE_P(Members, Barrier, ::testing::Values(2, 3, 4, 5, 8, 17, 64));

TEST(Schedule, OneMemberAloneHasNoSteps) {
  for (const Operation operation : kData)
    EXPECT_TRUE(make_schedule({.operation = operation, .members = 1, .bytes = Bytes(100)}, {}).steps.empty());
  EXPECT_TRUE(make_schedule({.operation = Operation::kBarrier, .members = 1, .bytes = Bytes(0)}, {}).steps.empty());
}

// 4 members, 4 MiB: blocks of 1 MiB. Sends carry 2(n-1)/n of the input, and each of the 6 steps is one message.
TEST(Schedule, RingAllReduceHasTheKnownShape) {
  const Schedule schedule =
      make_schedule({.operation = Operation::kAllReduce, .members = 4, .position = 1, .bytes = Bytes(4 << 20)}, {});
  EXPECT_EQ(bytes_sent(schedule), Bytes(6 << 20));
  std::vector<std::tuple<StepKind, int, int64_t>> got;
  for (const Step& s : schedule.steps) got.emplace_back(s.kind, s.step, s.offset.count >> 20);
  using enum StepKind;
  const std::vector<std::tuple<StepKind, int, int64_t>> want = {
      {kSend, 0, 0},    {kReceive, 0, 3}, {kReduce, 0, 3},  {kSend, 1, 3},   {kReceive, 1, 2},
      {kReduce, 1, 2},  {kSend, 2, 2},    {kReceive, 2, 1}, {kReduce, 2, 1}, {kSend, 3, 1},
      {kReceive, 3, 0}, {kSend, 4, 0},    {kReceive, 4, 3}, {kSend, 5, 3},   {kReceive, 5, 2}};
  EXPECT_EQ(got, want);
}

// The slices of a broadcast are forwarded one by one: slice s leaves as soon as it has arrived, not when all have.
TEST(Schedule, BroadcastIsPipelinedBySlices) {
  const Schedule schedule = make_schedule(
      {.operation = Operation::kBroadcast, .members = 3, .position = 1, .bytes = Bytes(4096)}, {.chunk = Bytes(1024)});
  ASSERT_EQ(schedule.steps.size(), 8u);
  for (uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(schedule.predecessors[4 + s], 1);
    ASSERT_EQ(schedule.successors_of(s).size(), 1u);
    EXPECT_EQ(schedule.successors_of(s)[0], 4 + s);
  }
}

TEST(Schedule, RefusesWhatAMessageCannotName) {
  // 2^13 slices of 1 KiB are 8 MiB; one byte more needs another slice.
  ScheduleRequest request{.operation = Operation::kPointToPoint, .members = 2, .bytes = Bytes(8 << 20)};
  EXPECT_EQ(make_schedule(request, {.chunk = Bytes(1024)}).steps.size(), 8192u);
  request.bytes += Bytes(1);
  EXPECT_THROW(make_schedule(request, {.chunk = Bytes(1024)}), Error);
  // A ring of 2^15 + 2 members needs 2^16 + 2 steps.
  EXPECT_THROW(
      make_schedule({.operation = Operation::kAllReduce, .members = (1 << 15) + 2, .bytes = Bytes(1 << 17)}, {}),
      Error);
}

// With NCCL's rules `chunk` decides nothing. A ring of two in protocol Simple sends messages of two eighths of the
// buffer; LL has steps of its own; what goes from point to point goes in chunks of their own.
TEST(Schedule, NamesTheKeyThatMakesMessagesLarger) {
  const auto error_of = [](ScheduleRequest request, ScheduleOptions options) -> std::string {
    request.members = 2;
    try {
      make_schedule(request, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "made";
  };
  const NcclProfile simple{.protocol = NcclProtocol::kSimple, .buffer = Bytes(64 << 10), .p2p_chunk = Bytes(4 << 10)};
  NcclProfile ll = simple;
  ll.protocol = NcclProtocol::kLl;
  const ScheduleRequest broadcast{.operation = Operation::kBroadcast, .bytes = Bytes(int64_t{1} << 36)};
  const ScheduleRequest transfer{.operation = Operation::kPointToPoint, .bytes = Bytes(int64_t{1} << 36)};
  EXPECT_THAT(error_of(broadcast, {.nccl = simple}), EndsWith(" can be named: raise collectives.nccl.buffer"));
  EXPECT_THAT(error_of(broadcast, {.nccl = ll}), EndsWith(" can be named: set collectives.nccl.protocol to simple"));
  EXPECT_THAT(error_of(transfer, {.nccl = simple}), HasSubstr(" can be named: raise collectives.nccl.p2p_chunk"));
  EXPECT_THAT(error_of(transfer, {.chunk = Bytes(1024)}), EndsWith(" can be named: use a larger chunk"));
  const ScheduleRequest largest{.operation = Operation::kPointToPoint, .bytes = Bytes(int64_t{1} << 50)};
  EXPECT_THAT(error_of(largest, {.chunk = Bytes(INT32_MAX)}), EndsWith(" can be named: use more channels"));
}

TEST(Schedule, RefusesContradictions) {
  const ScheduleRequest good{.members = 2, .bytes = Bytes(8), .element = Bytes(4)};
  const auto refused = [&](auto change, ScheduleOptions options = {}) {
    ScheduleRequest request = good;
    change(request);
    EXPECT_THROW(make_schedule(request, options), Error);
  };
  EXPECT_NO_THROW(make_schedule(good, {}));
  refused([](ScheduleRequest& r) { r.position = 2; });
  refused([](ScheduleRequest& r) { r.root = 2; });
  refused([](ScheduleRequest& r) { r.bytes = Bytes(9); });
  refused([](ScheduleRequest& r) { r.bytes = Bytes(-4); });
  refused([](ScheduleRequest& r) { r.operation = Operation::kPointToPoint, r.members = 3; });
  refused([](ScheduleRequest&) {}, {.channels = 0});
  refused([](ScheduleRequest&) {}, {.channels = 33});
  refused([](ScheduleRequest&) {}, {.chunk = Bytes(3)});
}

}  // namespace
}  // namespace rankwire
