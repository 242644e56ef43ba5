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

// The same with NCCL's slices and grants, where members see two others of their host, or nobody does.
TEST(Turning, WithNcclMembersTurnToThoseThatSeeTheSame) {
  uint32_t turning = 0, others = 0;
  for (const Operation operation : kTried) {
    for (const uint32_t members : {2u, 3u, 6u, 9u, 12u}) {
      for (const int64_t bytes : {4 * 720720, 4 * 720721, 4 * 96, 4 * 96 * 1000, 4}) {
        for (const uint32_t a_host : {1u, 3u}) {
          ScheduleRequest request{.operation = operation,
                                  .members = members,
                                  .bytes = Bytes(bytes),
                                  .element = Bytes(4),
                                  .nodes = members / a_host};
          if (members % a_host != 0) continue;
          for (uint32_t m = 0; m < members; ++m) request.hosts.push_back(m / a_host);
          const ScheduleOptions options{.nccl = NcclProfile{.channels = 2}};
          if (!may_turn(request, options) || !turns(request, options, at(request, 0, options))) {
            ++others;
            continue;
          }
          ++turning;
          const auto of_member = [&](uint32_t p) {
            request.local.clear();
            for (uint32_t m = 0; m < members && a_host > 1; ++m) request.local.push_back(m / a_host == p / a_host);
            return at(request, p, options);
          };
          for (uint32_t p = 0; p < members; ++p) {
            const uint32_t base = p % a_host;
            ASSERT_TRUE(is_turned(of_member(base), of_member(p), p - base, members))
                << to_string(operation) << " of " << bytes << " bytes, " << p << " of " << members;
          }
        }
      }
    }
  }
  EXPECT_GT(turning, 50u);
  EXPECT_GT(others, 50u);
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
