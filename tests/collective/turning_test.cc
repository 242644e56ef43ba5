#include "emulator/collective/turning.h"

#include <gtest/gtest.h>

#include <array>

namespace rankwire {
namespace {

constexpr std::array kTried = {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                               Operation::kBroadcast, Operation::kReduce,        Operation::kAllToAll,
                               Operation::kGather,    Operation::kScatter,       Operation::kBarrier};

Schedule at(ScheduleRequest request, uint32_t position, const ScheduleOptions& options) {
  request.position = position;
  return make_schedule(request, options);
}

// The claim of `turns` rests on few positions; here it is held against all of them, for every operation.
TEST(Turning, WhatTurnsIsTheSameFromEveryPosition) {
  uint32_t turning = 0, others = 0;
  for (const Operation operation : kTried) {
    for (uint32_t members = 1; members <= 17; ++members) {
      for (const int64_t bytes : {4 * 720720, 4 * 720721, 4 * 96, 4 * 17, 4}) {
        for (const uint32_t channels : {1u, 3u}) {
          const ScheduleRequest request{
              .operation = operation, .members = members, .bytes = Bytes(bytes), .element = Bytes(4)};
          const ScheduleOptions options{.channels = channels, .chunk = Bytes(100'000)};
          const Schedule first = at(request, 0, options);
          if (!turns(request, options, first)) {
            ++others;
            continue;
          }
          ++turning;
          for (uint32_t p = 0; p < members; ++p) {
            ASSERT_TRUE(is_turned(first, at(request, p, options), p, members))
                << "operation " << static_cast<int>(operation) << ", position " << p << " of " << members << ", "
                << bytes << " bytes, " << channels << " channels";
          }
        }
      }
    }
  }
  EXPECT_GT(turning, 300u);
  EXPECT_GT(others, 300u);
}

TEST(Turning, EqualPartsTurnAndOthersDoNot) {
  const auto turn = [](Operation operation, int64_t bytes) {
    const ScheduleRequest request{.operation = operation, .members = 8, .bytes = Bytes(bytes)};
    return turns(request, {}, make_schedule(request, {}));
  };
  EXPECT_TRUE(turn(Operation::kAllReduce, 8'000));
  EXPECT_FALSE(turn(Operation::kAllReduce, 8'001)) << "one part is a byte longer";
  EXPECT_TRUE(turn(Operation::kAllGather, 8'001)) << "all inputs are alike";
  EXPECT_TRUE(turn(Operation::kAllToAll, 8'000));
  EXPECT_TRUE(turn(Operation::kBarrier, 0));
  EXPECT_FALSE(turn(Operation::kBroadcast, 8'000)) << "the root is one of them";
}

// An algorithm that claims to turn and does not is found out by the positions that are looked at.
TEST(Turning, ADifferentPeerIsNoticed) {
  const ScheduleRequest request{.members = 8, .bytes = Bytes(8'000)};
  const Schedule first = make_schedule(request, {});
  Schedule other = at(request, 3, {});
  ASSERT_TRUE(is_turned(first, other, 3, 8));
  EXPECT_FALSE(is_turned(first, other, 2, 8));
  other.steps.back().peer = other.steps.front().peer;
  EXPECT_FALSE(is_turned(first, other, 3, 8));
  EXPECT_FALSE(turns(request, {}, other));
}

}  // namespace
}  // namespace rankwire
