// Collectives over the model, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/collective/schedule.h"
#include "tests/simulator/star.h"

namespace rankwire {

/// On the line at the full rate.
inline Duration line_time(Bytes message) {
  return serialization_time(line_size(message, Star::framing()), kRate);
}
/// From the last bit at the source to delivery: the last frame of several waits in the switch for the one before it, so
/// the longest one, the first with its RETH, counts.
inline Duration tail(Bytes message) {
  const Framing framing = Star::framing();
  const Bytes longest = message > framing.payload ? framing.payload + framing.overhead_per_frame + Bytes(16)
                                                  : last_frame_size(message, framing);
  return kOneWay + serialization_time(longest, kRate);
}

/// Of all members, and of the aggregators behind them.
inline std::vector<Schedule> schedules_of(const ScheduleRequest& request, const ScheduleOptions& options) {
  std::vector<Schedule> schedules;
  ScheduleRequest own = request;
  for (own.position = 0; own.position < std::max<size_t>(own.members, own.aggregation.size()); ++own.position)
    schedules.push_back(make_schedule(own, options));
  return schedules;
}

/// Which receive of which member a send is for.
class Receivers {
 public:
  explicit Receivers(const std::vector<Schedule>& schedules) {
    for (uint32_t m = 0; m < schedules.size(); ++m)
      for (uint32_t s = 0; s < schedules[m].steps.size(); ++s)
        if (const Step& step = schedules[m].steps[s]; step.kind == StepKind::kReceive)
          receives_[name(step.peer, m, step)] = s;
  }

  uint32_t of(uint32_t source, const Step& sent) const { return receives_.at(name(source, sent.peer, sent)); }
  size_t count() const { return receives_.size(); }

 private:
  using Name = std::tuple<uint32_t, uint32_t, uint8_t, uint16_t, uint16_t>;
  static Name name(uint32_t source, uint32_t destination, const Step& step) {
    return {source, destination, step.channel, step.step, step.slice};
  }

  std::map<Name, uint32_t> receives_;
};

/// Walks all members' schedules; reductions take no time. A connection for every pair and channel, of which there are
/// at most two. What becomes possible at one time is posted in the order of members and steps.
class Walk {
 public:
  static constexpr uint32_t kChannels = 2;

  /// On a star.
  explicit Walk(const std::vector<Schedule>& schedules)
      : Walk(schedules, pairs(static_cast<uint32_t>(schedules.size()))) {}
  /// On a network between the star's ranks, with routes for its connections.
  Walk(const std::vector<Schedule>& schedules, const Star& star, const Network& network)
      : schedules_(schedules), star_(star), model_(network), receivers_(schedules) {
    model_.prepare(star_.plan());
    for (const Schedule& schedule : schedules) missing_.push_back(schedule.predecessors);
  }

  /// Connections enough for all that members send one another at once.
  static Star pairs(uint32_t ranks) { return Star(ranks, Path::kWire, 1 << 16, kChannels); }

  /// When the last delivery happens.
  Duration run() {
    for (uint32_t m = 0; m < schedules_.size(); ++m)
      for (uint32_t s = 0; s < schedules_[m].steps.size(); ++s)
        if (missing_[m][s] == 0) start(m, s);
    Time end;
    Event events[64];
    for (;;) {
      post();
      size_t total = 0;
      while (const size_t n = model_.poll(now_, events)) {
        total += n;
        for (size_t i = 0; i < n; ++i) {
          const Message& message = sent_[events[i].index];
          if (events[i].kind == EventKind::kSent) {
            complete(message.member, message.step);
          } else {
            end = std::max(end, events[i].received.delivered);
            complete(message.peer, message.received);
          }
        }
      }
      if (total == 0 && model_.next_event() == Time::never()) break;
      if (total == 0) now_ = model_.next_event();
    }
    EXPECT_EQ(model_.counters().messages_delivered, receivers_.count());
    return end - Time();
  }

 private:
  struct Message {
    uint32_t member, step, peer, received;
  };

  Walk(const std::vector<Schedule>& schedules, const Star& star) : Walk(schedules, star, star.network()) {}

  void start(uint32_t m, uint32_t s) {
    const Step& step = schedules_[m].steps[s];
    if (step.kind == StepKind::kReduce) complete(m, s);
    if (step.kind == StepKind::kSend) ready_.emplace_back(m, s);
  }
  void complete(uint32_t m, uint32_t s) {
    for (const uint32_t next : schedules_[m].successors_of(s))
      if (--missing_[m][next] == 0) start(m, next);
  }
  void post() {
    std::sort(ready_.begin(), ready_.end());
    std::vector<rankwire::Message> posts;
    for (const auto& [m, s] : ready_) {
      const Step& step = schedules_[m].steps[s];
      posts.push_back(star_.message(m, step.peer, step.bytes, static_cast<uint32_t>(sent_.size()), step.channel));
      sent_.push_back({m, s, step.peer, receivers_.of(m, step)});
    }
    ready_.clear();
    EXPECT_EQ(model_.post(now_, posts), posts.size());
  }

  const std::vector<Schedule>& schedules_;
  Star star_;
  NetworkModel model_;
  Receivers receivers_;
  Time now_;
  std::vector<std::vector<uint16_t>> missing_;
  std::vector<std::pair<uint32_t, uint32_t>> ready_;  ///< sends: members and steps
  std::vector<Message> sent_;                         ///< by message index
};

}  // namespace rankwire
