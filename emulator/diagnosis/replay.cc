#include "emulator/diagnosis/replay.h"

#include <algorithm>
#include <map>
#include <optional>

#include "emulator/diagnosis/execution_moments.h"

namespace rankwire {

std::optional<uint32_t> sender_of(const Executions& executions, uint32_t index) {
  const NodeMeeting meeting = executions.meeting(index);
  if (meeting.for_all || !meeting.from.valid() || meeting.from == executions.at(index).rank) return std::nullopt;
  const std::vector<uint32_t> both = executions.together_with(index);
  if (both.size() != 2) return std::nullopt;
  const uint32_t sender = both[0] == index ? both[1] : both[0];
  // In an old record nodes may meet that do not belong together.
  const bool was_there = executions.at(sender).start < executions.at(index).end;
  return was_there ? std::optional(sender) : std::nullopt;
}

Duration own_time(const Executions& executions, uint32_t index) {
  const Executions::Execution& own = executions.at(index);
  const std::optional<uint32_t> sender = sender_of(executions, index);
  if (!sender) return own.end - executions.release(index).at;
  return std::min(own.end, executions.at(*sender).end) - executions.at(*sender).start;
}

Replay::Replay(const Executions& executions) : steps_(executions.count()) {
  note_starts(executions);
  note_ends(executions);
  order_.reserve(2 * steps_.size());
  for (const ExecutionMoment& moment : moments_from_the_end(executions))
    order_.push_back(2 * moment.index() + (moment.is_start() ? 1 : 0));
}

void Replay::note_starts(const Executions& executions) {
  std::map<GateKey, uint32_t> gates;
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const Executions::Execution& own = executions.at(i);
    Step& step = steps_[i];
    step.rank = own.rank.value, ranks_ = std::max(ranks_, step.rank + 1);
    const std::optional<uint32_t> on_rank = executions.before_on_rank(i);
    const std::optional<Executions::Gate> gate = executions.gate(i, on_rank);
    Time begin;
    if (on_rank) begin = executions.at(*on_rank).end;
    if (gate) {
      begin = std::max(begin, executions.at(*executions.last_of(*gate)).end);
      step.waits_for = gates.try_emplace({gate->job, gate->iteration}, gates.size()).first->second;
    }
    step.lag = own.start - begin;
  }
  gates_ = static_cast<uint32_t>(gates.size());
  if (gates.empty()) return;
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const JobId job = executions.job(i);
    if (const auto gate = gates.find({job, executions.at(i).iteration}); gate != gates.end())
      steps_[i].iteration = gate->second;
    if (const auto gate = gates.find({job, std::nullopt}); gate != gates.end()) steps_[i].job = gate->second;
  }
}

void Replay::note_ends(const Executions& executions) {
  const std::vector<uint32_t> numbers = executions.numbered_meetings();
  for (const uint32_t number : numbers)
    if (number != NodeMeeting::kNone) meetings_ = std::max(meetings_, number + 1);
  std::vector<Time> last_starts(meetings_);
  for (uint32_t i = 0; i < executions.count(); ++i)
    if (numbers[i] != NodeMeeting::kNone)
      last_starts[numbers[i]] = std::max(last_starts[numbers[i]], executions.at(i).start);
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const Executions::Execution& own = executions.at(i);
    const NodeMeeting meeting = executions.meeting(i);
    Step& step = steps_[i];
    step.own = own_time(executions, i);
    step.meeting = numbers[i];
    step.first_other = step.last_other = static_cast<uint32_t>(others_.size());
    if (const std::optional<uint32_t> sender = sender_of(executions, i)) {
      step.sender = *sender;
      step.behind = own.end - std::max(own.start, executions.at(*sender).start + step.own);
    } else if (meeting.for_all && last_starts[numbers[i]] < own.end) {
      step.waits_for_all = true;
    } else if (meeting.for_all || meeting.from.valid()) {
      for (const uint32_t other : executions.together_with(i)) {
        const Executions::Execution& member = executions.at(other);
        if (other == i || member.start >= own.end || (!meeting.for_all && member.rank != meeting.from)) continue;
        others_.push_back(other);
      }
      step.last_other = static_cast<uint32_t>(others_.size());
    }
  }
}

Duration Replay::completion(std::span<const Duration> less) const {
  std::vector<Time> starts(steps_.size()), of_rank(ranks_), of_gate(gates_), of_meeting(meetings_);
  Time last;
  for (auto moment = order_.rbegin(); moment != order_.rend(); ++moment) {
    const uint32_t index = *moment / 2;
    const Step& step = steps_[index];
    if (*moment % 2 == 1) {
      Time& start = starts[index];
      start = of_rank[step.rank];
      if (step.waits_for != kNone) start = std::max(start, of_gate[step.waits_for]);
      start += step.lag;
      if (step.meeting != kNone) of_meeting[step.meeting] = std::max(of_meeting[step.meeting], start);
      continue;
    }
    Time release = starts[index];
    for (const uint32_t other : std::span(others_).subspan(step.first_other, step.last_other - step.first_other))
      release = std::max(release, starts[other]);
    if (step.waits_for_all) release = std::max(release, of_meeting[step.meeting]);
    const Duration own = std::max(Duration(), step.own - less[index]);
    const Time end = step.sender == kNone ? release + own : std::max(release, starts[step.sender] + own) + step.behind;
    of_rank[step.rank] = std::max(of_rank[step.rank], end);
    if (step.iteration != kNone) of_gate[step.iteration] = std::max(of_gate[step.iteration], end);
    if (step.job != kNone) of_gate[step.job] = std::max(of_gate[step.job], end);
    last = std::max(last, end);
  }
  return last - Time();
}

}  // namespace rankwire
