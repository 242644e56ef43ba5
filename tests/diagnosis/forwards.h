// Executions at random times, and what follows when one of them takes another time, by asking each pair of them once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "emulator/diagnosis/executions.h"
#include "tests/diagnosis/path_record.h"

namespace rankwire::testing {

/// The same graph walked forwards, by what each execution waited for as Executions tells it: for each pair of them
/// asked once, so that many ends can be tried.
class Forwards {
 public:
  /// What a RECV waits for: that its SEND has begun, or that the message is there (own_time of replay.h).
  enum class Receives { kFromStart, kOnArrival };
  explicit Forwards(const Executions& executions, Receives receives = Receives::kFromStart)
      : receives_(receives), steps_(2 * executions.count()) {
    for (uint32_t i = 0; i < executions.count(); ++i) note(executions, i);
    put_in_order();
  }

  /// Whether nothing waits for itself.
  bool has_all() const { return order_.size() == steps_.size(); }

  /// The end of the run when execution `late` ends `by` later.
  Time end_with(uint32_t late, Duration by) const {
    std::vector<Duration> more(steps_.size() / 2);
    more[late] = by;
    return end_with(more);
  }
  /// The same when each execution takes so much more from the last start that it waited for, or to arrive.
  Time end_with(const std::vector<Duration>& more) const {
    std::vector<Time> at(steps_.size());
    Time last;
    for (const uint32_t step : order_) {
      const Step& own = steps_[step];
      Time ready = own.begins;
      for (const uint32_t before : own.waits_for) ready = std::max(ready, at[before]);
      const Duration extra = step % 2 == 1 ? more[step / 2] : Duration();
      at[step] = ready + std::max(Duration(), own.takes + extra);
      if (own.sender)
        at[step] = std::max(ready, at[start_of(*own.sender)] + std::max(Duration(), own.arrives + extra)) + own.takes;
      last = std::max(last, at[step]);
    }
    return last;
  }

 private:
  /// A start or an end. Starts that wait for nothing, and they alone, have a time of their own.
  struct Step {
    std::vector<uint32_t> waits_for;
    Time begins;
    Duration takes;
    std::optional<uint32_t> sender = {};  ///< with Receives::kOnArrival
    Duration arrives = {};                ///< from the sender's start
  };
  static uint32_t start_of(uint32_t execution) { return 2 * execution; }
  static uint32_t end_of(uint32_t execution) { return 2 * execution + 1; }

  void note(const Executions& executions, uint32_t i) {
    const Executions::Execution& own = executions.at(i);
    const auto gate = executions.gate(i, executions.before_on_rank(i));
    Step& start = steps_[start_of(i)];
    for (uint32_t j = 0; j < executions.count(); ++j) {
      const Executions::Execution& other = executions.at(j);
      const bool on_rank = other.rank == own.rank && j < i && other.end <= own.start;
      const bool in_gate =
          gate && executions.job(j) == gate->job && (!gate->iteration || other.iteration == *gate->iteration);
      if (on_rank || in_gate) start.waits_for.push_back(end_of(j));
    }
    if (const auto last = executions.before(i)) {
      start.takes = own.start - executions.at(*last).end;
    } else {
      start.begins = own.start;
    }
    Step& end = steps_[end_of(i)];
    end.waits_for.push_back(start_of(i));
    end.takes = own.end - executions.release(i).at;
    const NodeMeeting meeting = executions.meeting(i);
    const auto both = executions.together_with(i);
    if (receives_ == Receives::kOnArrival && !meeting.for_all && meeting.from.valid() && meeting.from != own.rank &&
        both.size() == 2) {
      const uint32_t sender = both[both[0] == i ? 1 : 0];
      const Executions::Execution& sends = executions.at(sender);
      if (sends.start < own.end) {
        end.sender = sender;
        end.arrives = std::min(own.end, sends.end) - sends.start;
        end.takes = own.end - std::max(own.start, sends.start + end.arrives);
        end.waits_for.push_back(start_of(sender));
        return;
      }
    }
    for (const uint32_t j : executions.together_with(i)) {
      const bool waits = meeting.for_all || executions.at(j).rank == meeting.from;
      if (j != i && waits && executions.at(j).start < own.end) end.waits_for.push_back(start_of(j));
    }
  }

  void put_in_order() {
    std::vector<bool> placed(steps_.size());
    for (size_t before = SIZE_MAX; before != order_.size();) {
      before = order_.size();
      for (uint32_t step = 0; step < steps_.size(); ++step) {
        if (placed[step] || !std::ranges::all_of(steps_[step].waits_for, [&](uint32_t b) { return placed[b]; }))
          continue;
        placed[step] = true;
        order_.push_back(step);
      }
    }
  }

  const Receives receives_;
  std::vector<Step> steps_;
  std::vector<uint32_t> order_;
};

/// Some ranks that compute, all-reduce, broadcast and send to each other, in up to four iterations at random times:
/// whatever times a run may have. Times are whole microseconds.
inline void fill(PathRecord& record, std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  constexpr uint32_t kRanks = 4;
  std::vector<std::vector<uint32_t>> nodes(kRanks);
  for (int64_t turn = 0, turns = 2 + below(3); turn < turns; ++turn) {
    const int64_t kind = below(4);
    record.sequence = static_cast<uint32_t>(turn);
    const auto root = static_cast<uint32_t>(below(kRanks)), peer = (root + 1) % kRanks;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      if (kind == 0) nodes[rank].push_back(record.compute(rank, "work"));
      if (kind == 1) nodes[rank].push_back(record.collective(rank, "all_reduce"));
      if (kind == 2) nodes[rank].push_back(record.collective(rank, "broadcast", RankId(root)));
    }
    if (kind == 3) nodes[root].push_back(record.send(root, peer)), nodes[peer].push_back(record.receive(peer, root));
  }
  const auto iterations = static_cast<uint32_t>(1 + below(4));
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    int64_t at = below(5);
    for (uint32_t iteration = 0; iteration < iterations; ++iteration) {
      for (const uint32_t node : nodes[rank]) {
        const int64_t start = std::max<int64_t>(0, at - below(6)), end = start + below(20);
        record.ran(rank, node, {.start = start, .end = end, .iteration = iteration});
        at = std::max(at, end + below(4));
      }
    }
  }
}

}  // namespace rankwire::testing
