// Every algorithm over the model on a star, against a simulation of the same messages that shares nothing with it.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <queue>

#include "tests/collective/named_algorithms.h"
#include "tests/simulator/walk.h"

namespace rankwire {
namespace {

/// Messages as fluids that share ports max-min fairly, by progressive filling in floating point; times in ps.
class Fluid {
 public:
  explicit Fluid(const std::vector<Schedule>& schedules) : schedules_(schedules), receivers_(schedules) {
    for (const Schedule& schedule : schedules) missing_.push_back(schedule.predecessors);
  }

  /// When the last delivery happens. Where no two messages meet at a port, this is the longest path through all
  /// members' steps.
  double run() {
    for (uint32_t m = 0; m < schedules_.size(); ++m)
      for (uint32_t s = 0; s < schedules_[m].steps.size(); ++s)
        if (missing_[m][s] == 0) start(m, s);
    for (;;) {
      begin_messages();
      const double until = std::min(share_ports(), notices_.empty() ? kNever : notices_.top().at);
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
  static constexpr double kAtOnce = 2;                            // what is closer is one event: roundings of the model
  static constexpr double kBytesAPicosecond = 1e-12 / 8 * 100e9;  // kRate

  struct Connection {
    uint32_t source = 0, destination = 0;
    std::deque<uint32_t> steps;  // of the source, the first is being sent
    double remaining = 0;        // of it, bytes on the line
    double rate = 0;
    double last_delivered = 0;
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
      Connection& connection = connections_[{m, step.peer, step.channel}];
      connection.source = m, connection.destination = step.peer;
      connection.steps.push_back(s);
      if (connection.steps.size() == 1) begin(connection);
    }
    ready_.clear();
  }
  void begin(Connection& connection) {
    if (connection.steps.empty()) return;
    const Bytes bytes = schedules_[connection.source].steps[connection.steps.front()].bytes;
    connection.remaining = static_cast<double>(line_size(bytes, Star::framing()).count);
    sending_.push_back(&connection);
  }

  /// Rates of what is being sent; returns when the first of it has been sent.
  double share_ports() {
    const size_t n = schedules_.size();
    std::vector<double> left(2 * n, kBytesAPicosecond);
    std::vector<int> unfixed(2 * n);
    for (Connection* c : sending_) ++unfixed[c->source], ++unfixed[n + c->destination], c->rate = 0;
    for (size_t fixed = 0; fixed < sending_.size();) {
      double share = kNever;
      for (size_t port = 0; port < 2 * n; ++port)
        if (unfixed[port] > 0) share = std::min(share, left[port] / unfixed[port]);
      std::vector<bool> full(2 * n);
      for (size_t port = 0; port < 2 * n; ++port)
        full[port] = unfixed[port] > 0 && left[port] / unfixed[port] <= share * (1 + 1e-9);
      for (Connection* c : sending_) {
        if (c->rate > 0 || (!full[c->source] && !full[n + c->destination])) continue;
        c->rate = share, ++fixed;
        for (const size_t port : {size_t{c->source}, n + c->destination}) --unfixed[port], left[port] -= share;
      }
    }
    double first = kNever;
    for (const Connection* c : sending_) first = std::min(first, now_ + c->remaining / c->rate);
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
      c->last_delivered = std::max(c->last_delivered, now_ + static_cast<double>(tail(step.bytes).ps));
      notices_.push({c->last_delivered, c->destination, receivers_.of(c->source, step)});
      notices_.push({c->last_delivered + static_cast<double>(kOneWay.ps), c->source, s});
      end_ = std::max(end_, c->last_delivered);
      ++delivered_;
      c->steps.pop_front();
      begin(*c);
    }
  }

  const std::vector<Schedule>& schedules_;
  Receivers receivers_;
  std::vector<std::vector<uint16_t>> missing_;
  std::map<std::tuple<uint32_t, uint32_t, uint8_t>, Connection> connections_;
  std::vector<Connection*> sending_;
  std::vector<std::pair<uint32_t, uint32_t>> ready_;
  std::priority_queue<Notice, std::vector<Notice>, std::greater<>> notices_;
  double now_ = 0, end_ = 0;
  size_t delivered_ = 0;
};

std::vector<Schedule> schedules_by(const NamedAlgorithm& named, uint32_t n, Bytes bytes, Bytes chunk) {
  ScheduleRequest request{.operation = named.operation, .members = n, .root = n / 2, .bytes = bytes};
  for (uint32_t i = 0; i < n; ++i) request.hosts.push_back(i / 2);
  return schedules_of(request, options_of(named, 1, chunk));
}

class AlgorithmTime : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(AlgorithmTime, IsThatOfAnIndependentSimulation) {
  for (const uint32_t n : {2, 4, 6, 8, 16, 64})
    for (const int64_t bytes : {16 << 10, 16 << 20, 1 << 30}) {
      SCOPED_TRACE(::testing::Message() << n << " members, " << bytes << " bytes");
      // Some slices a message, and not so many that large gathers take long.
      const std::vector<Schedule> schedules =
          schedules_by(GetParam(), n, Bytes(bytes), Bytes(n == 64 ? bytes : bytes / 4));
      const double expected = Fluid(schedules).run();
      EXPECT_NEAR(static_cast<double>(Walk(schedules).run().ps), expected, expected / 1000);
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AlgorithmTime, ::testing::ValuesIn(named_algorithms()), name_of);

/// The time of the steps one after another, if a step's messages are alone at their ports: each takes its time on the
/// line, its way, and `between` before the next can begin.
Duration in_turn(const std::vector<int64_t>& messages, Duration between = Duration()) {
  Duration sum = between * -1;
  for (const int64_t bytes : messages) sum += line_time(Bytes(bytes)) + tail(Bytes(bytes)) + between;
  return sum;
}

// 8 members, 64 KB in one slice: halves of 32, 16, 8 KB there and 8, 16, 32 KB back.
TEST(AlgorithmTimes, HalvingDoublingTakesItsHalves) {
  EXPECT_EQ(
      Walk(schedules_by({Operation::kAllReduce, Algorithm::kHalvingDoubling}, 8, Bytes(64'000), Bytes(64'000))).run(),
      in_turn({32'000, 16'000, 8'000, 8'000, 16'000, 32'000}));
}

// What is being sent may only be added to when it has been acknowledged, one way later than it is delivered.
TEST(AlgorithmTimes, RecursiveDoublingWaitsForAcknowledgements) {
  EXPECT_EQ(
      Walk(schedules_by({Operation::kAllReduce, Algorithm::kRecursiveDoubling}, 8, Bytes(64'000), Bytes(64'000))).run(),
      in_turn({64'000, 64'000, 64'000}, kOneWay));
}

// Of 8 members, 1, 2 and 4 blocks, each step all that has come before.
TEST(AlgorithmTimes, BruckGathersInThreeSteps) {
  EXPECT_EQ(Walk(schedules_by({Operation::kAllGather, Algorithm::kBruck}, 8, Bytes(16'000), Bytes(64'000))).run(),
            in_turn({16'000, 32'000, 64'000}));
}

// Member s sends 16 KB less 1 KB times the distance s ^ d to d: 15 KB at distance 1, .. 9 KB at distance 7; 3 sends 4
// nothing at distance 7, but the others do.
TEST(AlgorithmTimes, PairwiseTakesTheLargestOfEveryStep) {
  constexpr uint32_t kMembers = 8;
  std::vector<Bytes> blocks{Bytes(0)};
  for (uint32_t s = 0; s < kMembers; ++s)
    for (uint32_t d = 0; d < kMembers; ++d)
      blocks.push_back(blocks.back() + Bytes(s == 3 && d == 4 ? 0 : 16'000 - 1'000 * (s ^ d)));
  const ScheduleRequest request = with_blocks({.operation = Operation::kAllToAll, .members = kMembers}, blocks);
  const auto schedules =
      schedules_of(request, options_of({Operation::kAllToAll, Algorithm::kPairwise}, 1, Bytes(64'000)));
  EXPECT_EQ(Walk(schedules).run(), in_turn({15'000, 14'000, 13'000, 12'000, 11'000, 10'000, 9'000}, kOneWay));
}

// At once member 0 sends 3 MB, and all others little: what the port of the busiest takes.
TEST(AlgorithmTimes, DirectTakesWhatTheBusiestSends) {
  std::vector<Bytes> blocks{Bytes(0)};
  for (uint32_t s = 0; s < 4; ++s)
    for (uint32_t d = 0; d < 4; ++d) blocks.push_back(blocks.back() + Bytes(s == 0 && d > 0 ? 1'000'000 : 0));
  const ScheduleRequest request = with_blocks({.operation = Operation::kAllToAll, .members = 4}, blocks);
  const auto schedules =
      schedules_of(request, options_of({Operation::kAllToAll, Algorithm::kDirect}, 1, Bytes(1'000'000)));
  const Duration expected = line_time(Bytes(1'000'000)) * 3 + tail(Bytes(1'000'000));
  EXPECT_NEAR(static_cast<double>(Walk(schedules).run().ps), static_cast<double>(expected.ps), 10);
}

// Pairs of members exchange an eighth of the input 7 times; the next exchange begins when the last is acknowledged.
TEST(AlgorithmTimes, PairwiseExchangesOneAfterAnother) {
  EXPECT_EQ(Walk(schedules_by({Operation::kAllToAll, Algorithm::kPairwise}, 8, Bytes(64'000), Bytes(64'000))).run(),
            in_turn(std::vector<int64_t>(7, 8'000), kOneWay));
}

}  // namespace
}  // namespace rankwire
