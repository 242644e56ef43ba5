// Collectives as fluids: when their messages end, computed apart from NetworkModel and MaxMin.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/simulator/walk.h"

namespace rankwire {

/// By source, destination and channel: the links of the way, each of kRate and kPortLatency, with a switch between two.
using Ways = std::map<std::tuple<uint32_t, uint32_t, uint8_t>, std::vector<uint32_t>>;

/// Of a way of so many links, one way: propagation and switches.
inline Duration way_latency(size_t links) {
  const auto switches = static_cast<int64_t>(links - 1);
  return kPortLatency * static_cast<int64_t>(links) + kSwitchLatency * switches;
}
/// From the last bit at the source to delivery: every switch stores a frame before it forwards it, see `tail`.
inline Duration way_tail(Bytes message, size_t links) {
  return way_latency(links) + (tail(message) - kOneWay) * static_cast<int64_t>(links - 1);
}

/// Messages as fluids that share links max-min fairly, by progressive filling in floating point; times in ps. A
/// connection's messages follow one another. Reductions take no time.
class Fluid {
 public:
  /// `ways` has those of all connections. Each message is longer by up to `disturbance`, in bytes, by chance.
  Fluid(const std::vector<Schedule>& schedules, const Ways& ways, double disturbance = 0, uint64_t seed = 0)
      : schedules_(schedules), receivers_(schedules), disturbance_(disturbance), random_(seed) {
    for (const Schedule& schedule : schedules) missing_.push_back(schedule.predecessors);
    uint32_t links = 0;
    for (const auto& [name, way] : ways) {
      Connection& connection = connections_[name];
      connection.source = std::get<0>(name), connection.destination = std::get<1>(name);
      connection.links = way;
      links = std::max(links, 1 + *std::ranges::max_element(way));
    }
    links_.resize(links);
  }

  /// When the last delivery happens. Where no two messages meet on a link, this is the longest path through all
  /// members' steps.
  double run() {
    for (uint32_t m = 0; m < schedules_.size(); ++m)
      for (uint32_t s = 0; s < schedules_[m].steps.size(); ++s)
        if (missing_[m][s] == 0) start(m, s);
    for (;;) {
      begin_messages();
      const double until = std::min(share_links(), notices_.empty() ? kNever : notices_.top().at);
      if (until == kNever) break;
      transmit(until);
      for (; !notices_.empty() && notices_.top().at <= now_ + kAtOnce; notices_.pop())
        complete(notices_.top().member, notices_.top().step);
    }
    EXPECT_EQ(delivered_, receivers_.count());
    return end_;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr double kAtOnce = 2;                            // what is closer is one event: the model rounds to 1
  static constexpr double kBytesAPicosecond = 1e-12 / 8 * 100e9;  // kRate

  struct Connection {
    uint32_t source = 0, destination = 0;
    std::vector<uint32_t> links;
    std::deque<uint32_t> steps;  // of the source, the first is being sent
    double remaining = 0;        // of it, bytes on the line
    double rate = 0;
    double last_delivered = 0;
  };
  struct SharedLink {
    double left = 0;
    std::vector<Connection*> growing;  // with some that are fixed already
    uint32_t unfixed = 0;
  };
  struct Notice {
    double at;
    uint32_t member, step;
    bool operator>(const Notice& other) const { return at > other.at; }
  };

  void start(uint32_t m, uint32_t s) {
    if (schedules_[m].steps[s].kind == StepKind::kReduce) complete(m, s);
    if (schedules_[m].steps[s].kind == StepKind::kSend) ready_.emplace_back(m, s);
  }
  void complete(uint32_t m, uint32_t s) {
    for (const uint32_t next : schedules_[m].successors_of(s))
      if (--missing_[m][next] == 0) start(m, next);
  }

  void begin_messages() {
    std::sort(ready_.begin(), ready_.end());
    for (const auto& [m, s] : ready_) {
      const Step& step = schedules_[m].steps[s];
      Connection& connection = connections_.at({m, step.peer, step.channel});
      connection.steps.push_back(s);
      if (connection.steps.size() == 1) begin(connection);
    }
    ready_.clear();
  }
  void begin(Connection& connection) {
    if (connection.steps.empty()) return;
    const Bytes bytes = schedules_[connection.source].steps[connection.steps.front()].bytes;
    connection.remaining = static_cast<double>(line_size(bytes, Star::framing()).count);
    constexpr uint64_t kSteps = 1 << 20;
    if (disturbance_ > 0)
      connection.remaining += disturbance_ * static_cast<double>(random_.below(kSteps)) / static_cast<double>(kSteps);
    sending_.push_back(&connection);
  }

  /// Rates of what is being sent: all grow together until a link is full, whose connections then are fixed. Returns
  /// when the first of it has been sent.
  double share_links() {
    std::vector<uint32_t> used;
    for (Connection* c : sending_) {
      c->rate = 0;
      for (const uint32_t l : c->links) {
        SharedLink& link = links_[l];
        if (link.unfixed++ == 0) {
          used.push_back(l);
          link.left = kBytesAPicosecond;
          link.growing.clear();
        }
        link.growing.push_back(c);
      }
    }
    double first = kNever;
    for (size_t fixed = 0; fixed < sending_.size();) {
      double share = kNever;
      uint32_t full = 0;
      for (const uint32_t l : used) {
        const SharedLink& link = links_[l];
        if (link.unfixed == 0 || link.left / link.unfixed >= share) continue;
        share = link.left / link.unfixed;
        full = l;
      }
      for (Connection* c : links_[full].growing) {
        if (c->rate > 0) continue;
        c->rate = share, ++fixed;
        for (const uint32_t l : c->links) --links_[l].unfixed, links_[l].left -= share;
        first = std::min(first, now_ + c->remaining / share);
      }
    }
    return first;
  }

  void transmit(double until) {
    std::vector<Connection*> before = std::exchange(sending_, {});
    const double passed = until - now_;
    now_ = until;
    for (Connection* c : before) {
      c->remaining -= c->rate * passed;
      if (c->remaining > c->rate * kAtOnce) {
        sending_.push_back(c);
        continue;
      }
      const uint32_t s = c->steps.front();
      const Step& step = schedules_[c->source].steps[s];
      const auto way = static_cast<double>(way_tail(step.bytes, c->links.size()).ps);
      c->last_delivered = std::max(c->last_delivered, now_ + way);
      notices_.push({c->last_delivered, c->destination, receivers_.of(c->source, step)});
      notices_.push({c->last_delivered + static_cast<double>(way_latency(c->links.size()).ps), c->source, s});
      end_ = std::max(end_, c->last_delivered);
      ++delivered_;
      c->steps.pop_front();
      begin(*c);
    }
  }

  const std::vector<Schedule>& schedules_;
  Receivers receivers_;
  const double disturbance_;
  Random random_;
  std::vector<std::vector<uint16_t>> missing_;
  std::map<std::tuple<uint32_t, uint32_t, uint8_t>, Connection> connections_;
  std::vector<SharedLink> links_;
  std::vector<Connection*> sending_;
  std::vector<std::pair<uint32_t, uint32_t>> ready_;
  std::priority_queue<Notice, std::vector<Notice>, std::greater<>> notices_;
  double now_ = 0, end_ = 0;
  size_t delivered_ = 0;
};

}  // namespace rankwire
