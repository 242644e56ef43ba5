// Runs all members' schedules of one operation without time, and tracks whose contributions every byte holds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "emulator/collective/partition.h"
#include "emulator/collective/schedule.h"

namespace rankwire {

/// Bit r: the contribution of the member at position r. At most 64 members.
using Contributions = uint64_t;

/// Which of the steps that could be executed is executed next.
enum class Order { kOldest, kNewest, kRandom };

class Executor {
 public:
  Executor(const ScheduleRequest& request, const ScheduleOptions& options) {
    ScheduleRequest own = request;
    for (own.position = 0; own.position < std::max<size_t>(request.members, request.aggregation.size()); ++own.position)
      schedules_.push_back(make_schedule(own, options));
  }

  const std::vector<Schedule>& schedules() const { return schedules_; }

  /// Data is tracked between these offsets and those of all steps. `initial[m]` says what member m holds at the start.
  struct Holding {
    Extent extent;
    Contributions contributions;
  };
  void set_initial(const std::vector<std::vector<Holding>>& initial, const std::vector<int64_t>& cuts) {
    cuts_ = cuts;
    for (const Schedule& schedule : schedules_)
      for (const Step& step : schedule.steps)
        for (const Extent& piece : schedule.pieces_of(step)) {
          cuts_.push_back(piece.offset.count);
          cuts_.push_back((piece.offset + piece.bytes).count);
        }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    buffers_.assign(schedules_.size(), std::vector<Contributions>(cuts_.size()));
    for (size_t m = 0; m < initial.size(); ++m)
      for (const Holding& holding : initial[m])
        for (size_t i = cut(holding.extent.offset.count); i < cut_end(holding.extent); ++i)
          buffers_[m][i] = holding.contributions;
  }

  /// Executes everything that can be. Fails the test when a step cannot or when a contribution would be added twice.
  void run(Order order) {
    ready_.clear();
    sent_.clear();
    waiting_.clear();
    received_.clear();
    missing_.clear();
    for (uint32_t m = 0; m < schedules_.size(); ++m) {
      missing_.emplace_back(schedules_[m].predecessors);
      for (uint32_t s = 0; s < schedules_[m].steps.size(); ++s)
        if (missing_[m][s] == 0) make_ready(m, s);
    }
    Random random(1);
    size_t done = 0, total = 0;
    for (const Schedule& schedule : schedules_) total += schedule.steps.size();
    for (; !ready_.empty(); ++done) {
      size_t pick = 0;
      if (order == Order::kNewest) pick = ready_.size() - 1;
      if (order == Order::kRandom) pick = random.below(ready_.size());
      std::swap(ready_[pick], order == Order::kOldest ? ready_.front() : ready_.back());
      const auto [m, s] = order == Order::kOldest ? ready_.front() : ready_.back();
      order == Order::kOldest ? ready_.pop_front() : ready_.pop_back();
      execute(m, s);
      for (const uint32_t next : schedules_[m].successors_of(s))
        if (--missing_[m][next] == 0) make_ready(m, next);
    }
    EXPECT_EQ(done, total) << "steps that can never be executed";
  }

  /// The contributions that member `m` holds everywhere in the extent, or none and a failure when they differ.
  Contributions held(uint32_t m, Extent extent) const {
    const size_t first = cut(extent.offset.count);
    for (size_t i = first; i < cut_end(extent); ++i)
      if (buffers_[m][i] != buffers_[m][first]) {
        ADD_FAILURE() << "member " << m << " holds different contributions in one extent";
        return 0;
      }
    return buffers_[m][first];
  }

 private:
  size_t cut(int64_t offset) const {
    return static_cast<size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), offset) - cuts_.begin());
  }
  size_t cut_end(Extent extent) const { return cut((extent.offset + extent.bytes).count); }

  /// Between which cuts the step's data stands, in the order of the message.
  std::vector<size_t> places(uint32_t m, const Step& step) const {
    std::vector<size_t> result;
    for (const Extent& piece : schedules_[m].pieces_of(step))
      for (size_t i = cut(piece.offset.count); i < cut_end(piece); ++i) result.push_back(i);
    return result;
  }

  static uint64_t key(uint64_t source, uint64_t destination, const Step& step) {
    return source << 48 | destination << 40 | uint64_t{step.channel} << 32 | uint64_t{step.step} << 16 |
           uint64_t{step.control} << 15 | step.slice;
  }

  void make_ready(uint32_t m, uint32_t s) {
    const Step& step = schedules_[m].steps[s];
    const uint64_t message = key(step.peer, m, step);
    if (step.kind == StepKind::kReceive && !sent_.contains(message))
      waiting_[message] = {m, s};
    else
      ready_.emplace_back(m, s);
  }

  void execute(uint32_t m, uint32_t s) {
    const Step& step = schedules_[m].steps[s];
    std::vector<Contributions>& buffer = buffers_[m];
    const std::vector<size_t> places = this->places(m, step);
    if (step.kind == StepKind::kSend) {
      const uint64_t message = key(m, step.peer, step);
      std::vector<Contributions> data;
      for (const size_t place : places) data.push_back(buffer[place]);
      EXPECT_TRUE(sent_.emplace(message, std::move(data)).second);
      if (const auto receiver = waiting_.find(message); receiver != waiting_.end()) {
        ready_.push_back(receiver->second);
        waiting_.erase(receiver);
      }
      return;
    }
    const uint64_t message = key(step.peer, m, step);
    const bool reduced = step.kind == StepKind::kReceive && is_reduced(m, s);
    if (step.kind == StepKind::kReceive) received_[message] = std::move(sent_.at(message));
    if (reduced) return;
    const std::vector<Contributions>& data = received_.at(message);
    ASSERT_EQ(data.size(), places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      Contributions& held = buffer[places[i]];
      if (step.kind == StepKind::kReduce && (held & data[i]) != 0) ADD_FAILURE() << "added twice";
      held = step.kind == StepKind::kReduce ? held | data[i] : data[i];
    }
  }

  /// What is received to be reduced goes to a place of its own; otherwise it overwrites.
  bool is_reduced(uint32_t m, uint32_t s) const {
    for (const uint32_t next : schedules_[m].successors_of(s))
      if (reduces(schedules_[m].steps[next], schedules_[m].steps[s])) return true;
    return false;
  }

  std::vector<Schedule> schedules_;
  std::vector<int64_t> cuts_;
  std::vector<std::vector<Contributions>> buffers_;  ///< by member: what begins at each cut
  std::vector<std::vector<uint16_t>> missing_;       ///< by member and step: incomplete predecessors
  std::deque<std::pair<uint32_t, uint32_t>> ready_;
  std::unordered_map<uint64_t, std::vector<Contributions>> sent_, received_;
  std::unordered_map<uint64_t, std::pair<uint32_t, uint32_t>> waiting_;
};

}  // namespace rankwire
