// What collectives are, as what every member holds before and after; and that the two ends of every message agree.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "emulator/collective/schedule.h"
#include "tests/collective/executor.h"

namespace rankwire {

inline Extent whole(const ScheduleRequest& r) {
  return {Bytes(0), r.bytes};
}
inline Extent input_of(const ScheduleRequest& r, uint32_t m) {
  return {Bytes(m * r.bytes.count), r.bytes};
}
inline Extent part_of(const ScheduleRequest& r, uint32_t m) {
  return partition(whole(r), m, r.members, r.element);
}
inline Contributions only(uint32_t m) {
  return Contributions{1} << m;
}
inline Contributions all(uint32_t n) {
  return n == 64 ? ~Contributions{0} : only(n) - 1;
}

/// What each member holds before: its own input, where the operation's buffer keeps it.
inline std::vector<Executor::Holding> initial(const ScheduleRequest& r, uint32_t m) {
  switch (r.operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kReduce:
      return {{whole(r), only(m)}};
    case Operation::kAllGather:
    case Operation::kGather:
    case Operation::kAllToAll:
      return {{input_of(r, m), only(m)}};
    default:
      break;
  }
  const bool is_source = m == (r.operation == Operation::kPointToPoint ? 0 : r.root);
  return {{whole(r), is_source ? only(m) : 0}};
}

/// What each member must hold after, from the definitions of MPI 4.0 chapter 6 (parts may differ by one element).
inline std::vector<Executor::Holding> expected(const ScheduleRequest& r, uint32_t m) {
  std::vector<Executor::Holding> result;
  const auto from_each = [&](auto extent_of) {
    for (uint32_t source = 0; source < r.members; ++source) result.push_back({extent_of(source), only(source)});
  };
  switch (r.operation) {
    case Operation::kAllReduce:
      return {{whole(r), all(r.members)}};
    case Operation::kReduceScatter:
      return {{part_of(r, m), all(r.members)}};
    case Operation::kReduce:
      if (m == r.root) result = {{whole(r), all(r.members)}};
      return result;
    case Operation::kBroadcast:
      return {{whole(r), only(r.root)}};
    case Operation::kScatter:
      return {{part_of(r, m), only(r.root)}};
    case Operation::kPointToPoint:
      return {{whole(r), only(0)}};
    case Operation::kAllGather:
      from_each([&](uint32_t source) { return input_of(r, source); });
      return result;
    case Operation::kGather:
      if (m == r.root) from_each([&](uint32_t source) { return input_of(r, source); });
      return result;
    case Operation::kAllToAll:
      from_each([&](uint32_t source) { return partition(input_of(r, source), m, r.members, r.element); });
      return result;
    case Operation::kBarrier:
      return result;
  }
  return result;
}

/// The k-th send of a to b on a channel is the k-th receive of b from a: same step, slice, place and size. Data and
/// clear-to-send are counted apart.
inline void expect_matched(const std::vector<Schedule>& schedules) {
  using Pair = std::tuple<uint32_t, uint32_t, uint8_t, bool>;
  using Ends = std::vector<std::tuple<uint16_t, uint16_t, Bytes, Bytes, Bytes>>;
  std::map<Pair, Ends> sends, receives;
  for (uint32_t m = 0; m < schedules.size(); ++m)
    for (const Step& s : schedules[m].steps) {
      if (s.kind == StepKind::kSend)
        sends[{m, s.peer, s.channel, s.control}].emplace_back(s.step, s.slice, s.offset, s.bytes, s.message);
      else if (s.kind == StepKind::kReceive)
        receives[{s.peer, m, s.channel, s.control}].emplace_back(s.step, s.slice, s.offset, s.bytes, s.message);
    }
  EXPECT_EQ(sends, receives);
  for (auto& [pair, ends] : sends) {
    std::sort(ends.begin(), ends.end());
    EXPECT_EQ(std::adjacent_find(ends.begin(), ends.end(),
                                 [](const auto& a, const auto& b) {
                                   return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
                                 }),
              ends.end());
  }
}

/// Executes the operation in several orders: every step is executed, and every member ends with what it must.
inline void expect_delivered(Executor& executor, const ScheduleRequest& r) {
  std::vector<std::vector<Executor::Holding>> before;
  std::vector<int64_t> cuts;
  for (uint32_t m = 0; m < r.members; ++m) {
    before.push_back(initial(r, m));
    for (const auto& holdings : {initial(r, m), expected(r, m)})
      for (const auto& [extent, contributions] : holdings) {
        cuts.push_back(extent.offset.count);
        cuts.push_back((extent.offset + extent.bytes).count);
      }
  }
  for (const Order order : {Order::kOldest, Order::kNewest, Order::kRandom}) {
    executor.set_initial(before, cuts);
    executor.run(order);
    for (uint32_t m = 0; m < r.members; ++m)
      for (const auto& [extent, contributions] : expected(r, m))
        if (extent.bytes.count > 0 && executor.held(m, extent) != contributions)
          ADD_FAILURE() << "member " << m << " at " << extent.offset.count;
  }
}

}  // namespace rankwire
