// Formulas of algorithms beside their schedules.
#include "emulator/collective/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr int64_t kBytes = 16 * 3 * 1024;  // whole parts for 2, 4, 8, 16 members

ScheduleRequest request_of(Operation operation, uint32_t members, uint32_t per_host) {
  ScheduleRequest request{.operation = operation, .members = members, .bytes = Bytes(kBytes)};
  for (uint32_t m = 0; m < members; ++m) request.hosts.push_back(m / per_host);
  return request;
}

ScheduleOptions options_of(Operation operation, Algorithm algorithm) {
  ScheduleOptions options{.chunk = Bytes(1 << 30)};
  options.algorithms[static_cast<size_t>(operation)] = algorithm;
  return options;
}

/// What the busiest member sends.
int64_t most_sent(ScheduleRequest request, const ScheduleOptions& options) {
  int64_t most = 0;
  for (request.position = 0; request.position < request.members; ++request.position) {
    int64_t sent = 0;
    for (const Step& step : make_schedule(request, options).steps)
      sent += step.kind == StepKind::kSend ? step.bytes.count : 0;
    most = std::max(most, sent);
  }
  return most;
}

int64_t bytes_of(const std::vector<CostPhase>& phases) {
  return std::accumulate(phases.begin(), phases.end(), int64_t{0},
                         [](int64_t sum, const CostPhase& phase) { return sum + phase.messages * phase.bytes.count; });
}

TEST(Cost, BytesAreThoseOfTheBusiestMember) {
  uint32_t compared = 0;
  for (const Operation operation :
       {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather, Operation::kAllToAll}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      // A tree's busiest member has two children; a NIC that serves both is busier than that in and out.
      if (algorithm == Algorithm::kDoubleBinaryTree || algorithm == Algorithm::kInNetwork) continue;
      for (const uint32_t members : {2u, 4u, 8u, 16u}) {
        const ScheduleRequest request = request_of(operation, members, 2);
        const ScheduleOptions options = options_of(operation, algorithm);
        EXPECT_EQ(bytes_of(cost_phases(request, options)), most_sent(request, options))
            << to_string(operation) << " by " << to_string(algorithm) << " of " << members;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 80u);
}

TEST(Cost, TextbookFormulas) {
  const auto phases = [](Operation operation, Algorithm algorithm, uint32_t members, int64_t chunk) {
    ScheduleOptions options = options_of(operation, algorithm);
    options.chunk = Bytes(chunk);
    std::vector<std::pair<uint32_t, int64_t>> result;
    for (const CostPhase& phase : cost_phases(request_of(operation, members, 1), options))
      result.emplace_back(phase.messages, phase.bytes.count);
    return result;
  };
  using ::testing::ElementsAre;
  using ::testing::Pair;
  const int64_t all = kBytes, whole = 1 << 30;
  // Ring: 2(n-1) messages of S/n, of which the first half is added.
  EXPECT_THAT(phases(Operation::kAllReduce, Algorithm::kRing, 3, whole),
              ElementsAre(Pair(2, all / 3), Pair(2, all / 3)));
  // Recursive doubling of 6: fold, 2 exchanges of S among 4, unfold.
  EXPECT_THAT(phases(Operation::kAllReduce, Algorithm::kRecursiveDoubling, 6, whole),
              ElementsAre(Pair(1, all), Pair(2, all), Pair(1, all)));
  // Halving and doubling of 4: S/2, S/4, and back.
  EXPECT_THAT(phases(Operation::kAllReduce, Algorithm::kHalvingDoubling, 4, whole),
              ElementsAre(Pair(1, all / 2), Pair(1, all / 4), Pair(1, all / 4), Pair(1, all / 2)));
  // A pipeline of 4 slices through 4 others: 4 + 3 messages of S/4.
  EXPECT_THAT(phases(Operation::kBroadcast, Algorithm::kRing, 5, all / 4), ElementsAre(Pair(7, all / 4)));
  // Bruck of 6: distances 1 3 5, then 2 3, then 4 5.
  EXPECT_THAT(phases(Operation::kAllToAll, Algorithm::kBruck, 6, whole),
              ElementsAre(Pair(1, all / 6 * 3), Pair(1, all / 6 * 2), Pair(1, all / 6 * 2)));
  EXPECT_THAT(phases(Operation::kAllReduce, Algorithm::kRing, 1, whole), ElementsAre());
}

TEST(Cost, AnAlgorithmFromAFileHasNoFormula) {
  EXPECT_THROW(
      cost_phases(request_of(Operation::kAllReduce, 4, 1), options_of(Operation::kAllReduce, Algorithm::kCustom)),
      Error);
}

}  // namespace
}  // namespace rankwire
