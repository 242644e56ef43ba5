// Algorithms that users describe: executed as schedules, and refused when they do not do what they must.
#include "emulator/collective/custom_algorithm.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "tests/collective/definitions.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

/// Rings: reduce-scatter in steps 0 .. n-2, or all-gather, or one behind the other as an all-reduce. Chunk c belongs to
/// member c / parts.
CustomAlgorithm ring(Operation operation, uint32_t n, uint32_t parts = 1) {
  CustomAlgorithm algorithm{.name = "own", .operation = operation, .chunks = n * parts, .members = {}};
  for (uint32_t m = 0; m < n; ++m) {
    std::vector<CustomStep>& steps = algorithm.members.emplace_back();
    const auto pass = [&](uint32_t first, bool reduce) {
      for (uint32_t s = 0; s + 1 < n; ++s) {
        const uint32_t sent = (m + 2 * n - first - s) % n, received = (sent + n - 1) % n;
        CustomStep send{.peer = (m + 1) % n, .tag = s, .chunk = sent * parts, .count = parts, .after = {}};
        if (!steps.empty()) send.after = {static_cast<uint32_t>(steps.size()) - 1};
        steps.push_back(send);
        steps.push_back({.kind = StepKind::kReceive,
                         .reduce = reduce,
                         .peer = (m + n - 1) % n,
                         .tag = s,
                         .chunk = received * parts,
                         .count = parts,
                         .after = {}});
      }
    };
    if (operation != Operation::kAllGather) pass(1, true);
    if (operation != Operation::kReduceScatter) pass(0, false);
  }
  return algorithm;
}

/// Part (s, d) goes from s to d, over channel s.
CustomAlgorithm exchange(uint32_t n) {
  CustomAlgorithm algorithm{.name = "own", .operation = Operation::kAllToAll, .chunks = n * n, .members = {}};
  for (uint32_t m = 0; m < n; ++m) {
    std::vector<CustomStep>& steps = algorithm.members.emplace_back();
    for (uint32_t p = 0; p < n; ++p) {
      if (p == m) continue;
      steps.push_back({.channel = static_cast<uint8_t>(m), .peer = p, .chunk = m * n + p, .after = {}});
      steps.push_back(
          {.kind = StepKind::kReceive, .channel = static_cast<uint8_t>(p), .peer = p, .chunk = p * n + m, .after = {}});
    }
  }
  return algorithm;
}

ScheduleOptions options_of(const CustomAlgorithm& algorithm, Bytes chunk) {
  ScheduleOptions options{.chunk = chunk};
  const size_t place = static_cast<size_t>(algorithm.operation);
  options.algorithms[place] = Algorithm::kCustom;
  options.custom[place] = std::make_shared<CustomAlgorithm>(algorithm);
  return options;
}

TEST(CustomAlgorithm, DeliversWhatItDescribes) {
  for (const uint32_t n : {2u, 3u, 5u})
    for (const CustomAlgorithm& algorithm :
         {ring(Operation::kAllReduce, n), ring(Operation::kAllReduce, n, 2), ring(Operation::kReduceScatter, n, 2),
          ring(Operation::kAllGather, n), ring(Operation::kAllGather, n, 3), exchange(n)}) {
      EXPECT_NO_THROW(check_custom_algorithm(algorithm));
      for (const int64_t count : {0, 1, 7, 101}) {
        const ScheduleRequest request{
            .operation = algorithm.operation, .members = n, .bytes = Bytes(4 * count), .element = Bytes(4)};
        Executor executor(request, options_of(algorithm, Bytes(20)));
        expect_matched(executor.schedules());
        expect_delivered(executor, request);
      }
      if (HasFailure()) return;
    }
}

// Along a chain from or to member 1, for every root.
TEST(CustomAlgorithm, TurnsWithItsRoot) {
  CustomAlgorithm broadcast{.name = "own", .operation = Operation::kBroadcast, .chunks = 1, .root = 1, .members = {}};
  broadcast.members = {{{.kind = StepKind::kReceive, .peer = 2, .after = {}}},
                       {{.peer = 2, .after = {}}},
                       {{.kind = StepKind::kReceive, .peer = 1, .after = {}}, {.peer = 0, .after = {0}}}};
  CustomAlgorithm reduce = broadcast;
  reduce.operation = Operation::kReduce;
  reduce.members = {{{.peer = 2, .after = {}}},
                    {{.kind = StepKind::kReceive, .reduce = true, .peer = 2, .after = {}}},
                    {{.kind = StepKind::kReceive, .reduce = true, .peer = 0, .after = {}}, {.peer = 1, .after = {0}}}};
  for (const CustomAlgorithm& algorithm : {broadcast, reduce}) {
    EXPECT_NO_THROW(check_custom_algorithm(algorithm));
    for (uint32_t root = 0; root < 3; ++root) {
      const ScheduleRequest request{
          .operation = algorithm.operation, .members = 3, .root = root, .bytes = Bytes(100), .element = Bytes(4)};
      Executor executor(request, options_of(algorithm, Bytes(40)));
      expect_matched(executor.schedules());
      expect_delivered(executor, request);
    }
  }
}

// A ring of 2 chunks a member in slices of one chunk: a slice waits for the slice of the same bytes alone.
TEST(CustomAlgorithm, SlicesWaitForTheirBytes) {
  const Schedule schedule = make_schedule({.operation = Operation::kAllGather, .members = 3, .bytes = Bytes(16)},
                                          options_of(ring(Operation::kAllGather, 3, 2), Bytes(8)));
  // send 0: slices 0, 1; receive 0: 2, 3; send 1: 4, 5; receive 1: 6, 7.
  ASSERT_EQ(schedule.steps.size(), 8u);
  EXPECT_EQ(schedule.predecessors[4], 1u);
  ASSERT_EQ(schedule.successors_of(2).size(), 1u);
  EXPECT_EQ(schedule.successors_of(2)[0], 4u);
  ASSERT_EQ(schedule.successors_of(3).size(), 1u);
  EXPECT_EQ(schedule.successors_of(3)[0], 5u);
}

TEST(CustomAlgorithm, OtherGroupsTakeTheDefault) {
  const ScheduleRequest request{.operation = Operation::kAllGather, .members = 4, .bytes = Bytes(64)};
  const Schedule schedule = make_schedule(request, options_of(ring(Operation::kAllGather, 3), Bytes(64)));
  EXPECT_EQ(schedule.steps.size(), make_schedule(request, {.chunk = Bytes(64)}).steps.size());
}

TEST(CustomAlgorithm, WrongOnesAreRefused) {
  const auto refused = [](CustomAlgorithm algorithm, const std::function<void(CustomAlgorithm&)>& change,
                          const char* why) {
    change(algorithm);
    try {
      check_custom_algorithm(algorithm);
      ADD_FAILURE() << "accepted, not: " << why;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  const CustomAlgorithm gather = ring(Operation::kAllGather, 3), sum = ring(Operation::kAllReduce, 3);
  refused(
      gather, [](CustomAlgorithm& a) { a.operation = Operation::kGather; }, "gather cannot be described");
  refused(
      gather, [](CustomAlgorithm& a) { a.chunks = 4; }, "4 chunks do not divide the 3 blocks");
  refused(
      gather, [](CustomAlgorithm& a) { a.members[1].pop_back(); },
      "own: member 0, chunk 2: message 1 to member 1 on channel 0 is not received");
  refused(
      gather, [](CustomAlgorithm& a) { a.members[1][3].tag = 7; },
      "has tag 1 and 1 chunks, but the receiver expects tag 7");
  refused(
      gather, [](CustomAlgorithm& a) { a.members[1][2].after.clear(); },
      "own: member 1, chunk 0: is sent to member 2 before it is there");
  const auto wait_first = [](CustomAlgorithm& a) {
    for (auto& steps : a.members) std::swap(steps[0], steps[1]), steps[1].after = {0};
  };
  refused(gather, wait_first, "own: member 0, chunk 2: waits for ever for a message from member 2");
  refused(
      sum, [](CustomAlgorithm& a) { a.members[2][1].reduce = false; }, "ends with the data of");
  refused(
      sum, [](CustomAlgorithm& a) { a.members[2][5].reduce = true; }, "is added twice");
}

}  // namespace
}  // namespace rankwire
