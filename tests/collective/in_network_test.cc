// Reduction by aggregators: what members end with for trees of one and two tiers, and how much everybody sends.
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/collective/cost.h"
#include "tests/collective/definitions.h"
#include "tests/collective/named_algorithms.h"

namespace rankwire {
namespace {

constexpr Operation kOperations[] = {Operation::kAllReduce, Operation::kReduceScatter, Operation::kReduce,
                                     Operation::kBroadcast};

/// n members below one aggregator, or below leaves of `per_leaf` (the last may have fewer) that have one above them.
std::vector<uint32_t> tree(uint32_t n, uint32_t per_leaf) {
  std::vector<uint32_t> parents;
  const uint32_t leaves = (n + per_leaf - 1) / per_leaf, top = n + (leaves > 1 ? leaves : 0);
  for (uint32_t m = 0; m < n; ++m) parents.push_back(n + (leaves > 1 ? m / per_leaf : 0));
  while (parents.size() <= top) parents.push_back(top);
  return parents;
}

TEST(InNetwork, DeliversForEveryNumberOfMembers) {
  for (const Operation operation : kOperations)
    for (const uint32_t n : {1u, 2u, 3u, 4u, 6u, 8u, 16u})
      for (const uint32_t per_leaf : {1u, 3u, 5u, 16u})
        for (const int64_t count : {0, 1, static_cast<int>(n) - 1, 101})
          for (const uint32_t channels : {1u, 2u}) {
            SCOPED_TRACE(::testing::Message() << to_string(operation) << " of " << n << " by " << per_leaf << ", "
                                              << count << " elements, " << channels << " channels");
            ScheduleRequest request{
                .operation = operation, .members = n, .bytes = Bytes(4 * count), .element = Bytes(4)};
            request.root = static_cast<uint32_t>(count) % n;
            request.aggregation = tree(n, per_leaf);
            Executor executor(request, options_of({operation, Algorithm::kInNetwork}, channels, Bytes(44)));
            expect_matched(executor.schedules());
            for (const Schedule& schedule : executor.schedules())
              expect_well_formed(request, Bytes(44), channels, schedule);
            expect_delivered(executor, request);
            if (HasFailure()) return;
          }
}

// A member sends S and nothing else; a leaf sends S up and S to each member; the top sends S to each leaf.
TEST(InNetwork, SendsInputsOnceUpAndOnceDown) {
  ScheduleRequest request{.members = 5, .bytes = Bytes(1000)};
  request.aggregation = tree(5, 3);  // 0 1 2 below 5, 3 4 below 6, both below 7
  const ScheduleOptions options = options_of({Operation::kAllReduce, Algorithm::kInNetwork}, 1, Bytes(300));
  const int64_t expected[] = {1000, 1000, 1000, 1000, 1000, 4000, 3000, 2000};
  for (request.position = 0; request.position < 8; ++request.position)
    EXPECT_EQ(bytes_sent(make_schedule(request, options)).count, expected[request.position]) << request.position;
}

// Up two hops as a pipeline of 4 slices of 250: 2 + 3 messages that are added; the last slice comes down two hops.
TEST(InNetwork, CostsThePipelineUpAndTheLastSliceDown) {
  ScheduleRequest request{.members = 5, .bytes = Bytes(1000)};
  request.aggregation = tree(5, 3);
  const auto phases = cost_phases(request, options_of({Operation::kAllReduce, Algorithm::kInNetwork}, 1, Bytes(250)));
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].messages, 5u);
  EXPECT_EQ(phases[0].bytes, Bytes(250));
  EXPECT_TRUE(phases[0].reduces);
  EXPECT_EQ(phases[1].messages, 2u);
  EXPECT_EQ(phases[1].bytes, Bytes(250));
}

TEST(InNetwork, NeedsAggregators) {
  const ScheduleOptions options = options_of({Operation::kAllReduce, Algorithm::kInNetwork}, 1, Bytes(300));
  EXPECT_THROW(make_schedule({.members = 2, .bytes = Bytes(8)}, options), Error);
}

}  // namespace
}  // namespace rankwire
