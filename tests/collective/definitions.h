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
  return {Bytes(0), r.blocks.empty() ? r.bytes : r.blocks.back()};
}
/// `count` of the request's blocks from the first on.
inline Extent blocks_from(const ScheduleRequest& r, size_t first, size_t count) {
  return {r.blocks[first], r.blocks[first + count] - r.blocks[first]};
}
inline Extent input_of(const ScheduleRequest& r, uint32_t m) {
  if (r.blocks.empty()) return {Bytes(m * r.bytes.count), r.bytes};
  const size_t count = r.operation == Operation::kAllToAll ? r.members : 1;
  return blocks_from(r, m * count, count);
}
inline Extent part_of(const ScheduleRequest& r, uint32_t m) {
  return r.blocks.empty() ? partition(whole(r), m, r.members, r.element) : blocks_from(r, m, 1);
}
inline Extent part_between(const ScheduleRequest& r, uint32_t source, uint32_t destination) {
  if (!r.blocks.empty()) return blocks_from(r, size_t{source} * r.members + destination, 1);
  return partition(input_of(r, source), destination, r.members, r.element);
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
      from_each([&](uint32_t source) { return part_between(r, source, m); });
      return result;
    case Operation::kBarrier:
      return result;
  }
  return result;
}

/// The k-th send of a to b on a channel is the k-th receive of b from a: same step, slice, places and size. Data and
/// clear-to-send are counted apart. No message carries a byte twice.
inline void expect_matched(const std::vector<Schedule>& schedules) {
  using Pair = std::tuple<uint32_t, uint32_t, uint8_t, bool>;
  using Ends = std::vector<std::tuple<uint16_t, uint16_t, std::vector<Extent>, Bytes, Bytes>>;
  std::map<Pair, Ends> sends, receives;
  for (uint32_t m = 0; m < schedules.size(); ++m)
    for (const Step& s : schedules[m].steps) {
      if (s.kind == StepKind::kReduce) continue;
      const std::vector<Extent> pieces = schedules[m].pieces_of(s);
      Bytes end, sum;
      for (const Extent& piece : pieces) {
        if (piece.offset < end) ADD_FAILURE() << "pieces of member " << m << " overlap";
        end = piece.offset + piece.bytes;
        sum += piece.bytes;
      }
      if (sum != s.bytes) ADD_FAILURE() << "pieces of " << sum.count << " bytes in a step of " << s.bytes.count;
      const bool sent = s.kind == StepKind::kSend;
      const Pair pair = sent ? Pair{m, s.peer, s.channel, s.control} : Pair{s.peer, m, s.channel, s.control};
      (sent ? sends : receives)[pair].emplace_back(s.step, s.slice, pieces, s.bytes, s.message);
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

inline Bytes bytes_sent(const Schedule& schedule) {
  Bytes sum;
  for (const Step& step : schedule.steps)
    if (step.kind == StepKind::kSend) sum += step.bytes;
  return sum;
}

/// Every step has data, whole elements and no more than a chunk, and stands after those that it waits for, so that none
/// can wait for itself.
inline void expect_well_formed(const ScheduleRequest& request, Bytes chunk, uint32_t channels,
                               const Schedule& schedule) {
  // Only an empty SEND moves a message without data.
  const bool empty = request.operation == Operation::kPointToPoint && request.bytes == Bytes(0);
  for (uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const bool sized =
        (step.bytes > Bytes(0) || empty) && step.bytes <= chunk && step.bytes.count % request.element.count == 0;
    if (step.channel >= channels || !sized) ADD_FAILURE() << "step " << i;
    for (const uint32_t next : schedule.successors_of(i))
      if (next <= i) ADD_FAILURE() << "step " << next << " stands before its predecessor " << i;
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
