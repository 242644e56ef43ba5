// Collectives whose blocks are not equal: vector all-to-all, all-gather and reduce-scatter.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "emulator/collective/cost.h"
#include "emulator/collective/custom_algorithm.h"
#include "emulator/collective/turning.h"
#include "tests/collective/definitions.h"
#include "tests/collective/named_algorithms.h"

namespace rankwire {
namespace {

std::vector<Bytes> begins_of(const std::vector<int64_t>& sizes) {
  std::vector<Bytes> begins{Bytes(0)};
  for (const int64_t size : sizes) begins.push_back(begins.back() + Bytes(size));
  return begins;
}

uint32_t blocks_of(Operation operation, uint32_t members) {
  return operation == Operation::kAllToAll ? members * members : members;
}

/// Sizes in elements of 4 bytes: `kind` 0 up to 40 elements, 1 most of them empty, 2 one long block alone, 3 all empty.
std::vector<Bytes> uneven_blocks(Operation operation, uint32_t members, uint32_t kind) {
  Random random(members * 4 + kind);
  std::vector<int64_t> sizes(blocks_of(operation, members));
  for (int64_t& size : sizes) {
    const bool empty = kind == 1 && random.below(4) != 0;
    size = kind > 1 || empty ? 0 : 4 * static_cast<int64_t>(random.below(41));
  }
  if (kind == 2) sizes[random.below(static_cast<uint32_t>(sizes.size()))] = 4 * 100;
  return begins_of(sizes);
}

std::vector<NamedAlgorithm> vector_algorithms() {
  std::vector<NamedAlgorithm> result;
  for (const NamedAlgorithm& named : named_algorithms())
    if (named.operation == Operation::kAllToAll || named.operation == Operation::kAllGather ||
        named.operation == Operation::kReduceScatter)
      result.push_back(named);
  return result;
}

class UnevenBlocksBy : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(UnevenBlocksBy, AreDelivered) {
  const Operation operation = GetParam().operation;
  for (const uint32_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16})
    for (const uint32_t kind : {0, 1, 2, 3})
      for (const uint32_t channels : {1, 2}) {
        SCOPED_TRACE(::testing::Message() << n << " members, kind " << kind << ", " << channels << " channels");
        const std::vector<Bytes> blocks = uneven_blocks(operation, n, kind);
        ScheduleRequest request = with_blocks({.operation = operation, .members = n, .element = Bytes(4)}, blocks);
        for (uint32_t m = 0; m < n; ++m) request.hosts.push_back(n % 2 == 0 ? m / 2 : m % 3);
        Executor executor(request, options_of(GetParam(), channels, Bytes(44)));
        expect_matched(executor.schedules());
        for (const Schedule& schedule : executor.schedules())
          expect_well_formed(request, Bytes(44), 2 * channels, schedule);
        expect_delivered(executor, request);
        if (HasFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, UnevenBlocksBy, ::testing::ValuesIn(vector_algorithms()), name_of);

TEST(UnevenBlocks, AreDeliveredUnderTheNcclProfile) {
  for (const Operation operation : {Operation::kAllToAll, Operation::kAllGather, Operation::kReduceScatter})
    for (const Algorithm algorithm : nccl_algorithms_for(operation))
      for (const uint32_t n : {2, 5, 8})
        for (const uint32_t kind : {0, 1, 2}) {
          SCOPED_TRACE(::testing::Message() << to_string(operation) << " " << to_string(algorithm) << " " << n);
          std::vector<Bytes> blocks = uneven_blocks(operation, n, kind);
          for (Bytes& begin : blocks) begin = Bytes(begin.count * 2048);  // up to 320 KiB, several channels and chunks
          ScheduleRequest request = with_blocks({.operation = operation, .members = n, .element = Bytes(4)}, blocks);
          for (uint32_t m = 0; m < n; ++m) request.hosts.push_back(m / 2);
          ScheduleOptions options{.nccl = NcclProfile{.channels = 4, .p2p_channels = 4}};
          options.algorithms[static_cast<size_t>(operation)] = algorithm;
          Executor executor(request, options);
          expect_matched(executor.schedules());
          expect_delivered(executor, request);
        }
}

// Rank s sends member d 4 (10 s + d) bytes: nothing more, nothing twice, and nothing to itself.
TEST(UnevenBlocks, DirectAndPairwiseSendEachRowOnce) {
  constexpr uint32_t kMembers = 6;
  std::vector<int64_t> sizes;
  for (uint32_t s = 0; s < kMembers; ++s)
    for (uint32_t d = 0; d < kMembers; ++d) sizes.push_back(4 * (10 * s + d));
  const std::vector<Bytes> blocks = begins_of(sizes);
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kPairwise}) {
    ScheduleRequest request =
        with_blocks({.operation = Operation::kAllToAll, .members = kMembers, .element = Bytes(4)}, blocks);
    for (request.position = 0; request.position < kMembers; ++request.position) {
      const Schedule schedule = make_schedule(request, options_of({Operation::kAllToAll, algorithm}, 1, Bytes(4096)));
      // 4 (6 * 10 s + 0 + 1 + .. + 5) less the own block of 4 (11 s).
      EXPECT_EQ(bytes_sent(schedule), Bytes(4 * (60 * request.position + 15 - 11 * request.position)));
    }
  }
}

// Around a ring every block goes n-1 times, the first step of a reduce-scatter included.
TEST(UnevenBlocks, ARingPassesEveryBlockButOne) {
  const std::vector<Bytes> blocks = begins_of({8, 0, 400, 12});
  for (const Operation operation : {Operation::kAllGather, Operation::kReduceScatter}) {
    ScheduleRequest request = with_blocks({.operation = operation, .members = 4, .element = Bytes(4)}, blocks);
    for (request.position = 0; request.position < 4; ++request.position) {
      const Schedule schedule = make_schedule(request, options_of({operation, Algorithm::kRing}, 1, Bytes(4096)));
      // All but the block of the member ahead, or of an own reduced one.
      const uint32_t left_out = operation == Operation::kAllGather ? (request.position + 1) % 4 : request.position;
      const Bytes kept = blocks[left_out + 1] - blocks[left_out];
      EXPECT_EQ(bytes_sent(schedule), Bytes(420) - kept) << to_string(operation) << " at " << request.position;
    }
  }
}

TEST(UnevenBlocks, AnAlgorithmFromFilesGivesWayToTheDefault) {
  const std::vector<Bytes> blocks = begins_of({8, 0, 400, 12});
  const ScheduleRequest request = with_blocks({.operation = Operation::kAllGather, .members = 4}, blocks);
  ScheduleOptions options = options_of({Operation::kAllGather, Algorithm::kCustom}, 1, Bytes(4096));
  CustomAlgorithm nothing{.operation = Operation::kAllGather};
  nothing.members.resize(4);
  options.custom[static_cast<size_t>(Operation::kAllGather)] = std::make_shared<CustomAlgorithm>(nothing);
  const Schedule given = make_schedule(request, options);
  EXPECT_TRUE(is_turned(make_schedule(request, {}), given, 0, 4));  // the same steps
  EXPECT_EQ(given.steps.size(), 5u);  // sends blocks 0, 3 and 2, receives 3, 2 and the empty 1
}

TEST(UnevenBlocks, OneScheduleDoesNotServeAll) {
  const std::vector<Bytes> blocks = begins_of({8, 8, 8, 8});  // even where they happen to be equal
  const ScheduleRequest request = with_blocks({.operation = Operation::kAllGather, .members = 4}, blocks);
  EXPECT_FALSE(turns(request, {}, make_schedule(request, {})));
}

TEST(UnevenBlocks, AreRefusedWhereTheyMakeNoSense) {
  const auto made = [](Operation operation, const std::vector<Bytes>& blocks) {
    with_blocks({.operation = operation, .members = 2, .element = Bytes(4)}, blocks);
  };
  EXPECT_NO_THROW(made(Operation::kAllGather, begins_of({4, 8})));
  EXPECT_NO_THROW(made(Operation::kAllToAll, begins_of({4, 8, 0, 4})));
  EXPECT_THROW(made(Operation::kAllReduce, begins_of({4, 8})), Error);
  EXPECT_THROW(made(Operation::kAllToAll, begins_of({4, 8})), Error) << "two blocks for four pairs";
  EXPECT_THROW(made(Operation::kAllGather, begins_of({4, 6})), Error) << "half an element";
  EXPECT_THROW(made(Operation::kAllGather, begins_of({8, -4})), Error);
  ScheduleRequest request = with_blocks({.operation = Operation::kAllGather, .members = 2}, begins_of({4, 8}));
  const std::vector<Bytes> blocks = begins_of({4, 8});
  request.blocks = blocks;
  request.bytes = Bytes(4);
  EXPECT_THROW(make_schedule(request, {}), Error) << "the largest has 8 bytes";
}

std::vector<std::pair<uint32_t, int64_t>> phases(Operation operation, Algorithm algorithm,
                                                 const std::vector<int64_t>& sizes, uint32_t members) {
  const std::vector<Bytes> blocks = begins_of(sizes);
  const ScheduleRequest request = with_blocks({.operation = operation, .members = members}, blocks);
  std::vector<std::pair<uint32_t, int64_t>> result;
  for (const CostPhase& phase : cost_phases(request, options_of({operation, algorithm}, 1, Bytes(1 << 20))))
    result.emplace_back(phase.messages, phase.bytes.count);
  return result;
}

TEST(UnevenBlocks, FormulasTakeTheBusiestOrTheLargest) {
  using Phases = std::vector<std::pair<uint32_t, int64_t>>;
  // From 0: 9 1 2; from 1: 3 9 4; from 2: 50 6 9.
  const std::vector<int64_t> pairs = {9, 1, 2, 3, 9, 4, 50, 6, 9};
  // 2 sends 56, 0 receives 53.
  EXPECT_EQ(phases(Operation::kAllToAll, Algorithm::kDirect, pairs, 3), (Phases{{1, 56}}));
  // Distance 1: 1, 4, 50; distance 2: 2, 3, 6.
  EXPECT_EQ(phases(Operation::kAllToAll, Algorithm::kPairwise, pairs, 3), (Phases{{1, 50}, {1, 6}}));
  // As if all were 50: steps of distances 1 and 2.
  EXPECT_EQ(phases(Operation::kAllToAll, Algorithm::kBruck, pairs, 3), (Phases{{1, 50}, {1, 50}}));
  EXPECT_EQ(phases(Operation::kAllGather, Algorithm::kRing, {7, 0, 3}, 3), (Phases{{2, 7}}));
  // 0 sends its 7 twice; 1 and 2 receive 10 and 7.
  EXPECT_EQ(phases(Operation::kAllGather, Algorithm::kDirect, {7, 0, 3}, 3), (Phases{{1, 14}}));
  // 0 receives its part of 7 twice.
  EXPECT_EQ(phases(Operation::kReduceScatter, Algorithm::kDirect, {7, 0, 3}, 3), (Phases{{1, 14}}));
}

}  // namespace
}  // namespace rankwire
