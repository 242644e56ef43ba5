#include "emulator/diagnosis/slack.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/name_pattern.h"
#include "emulator/diagnosis/execution_moments.h"

namespace rankwire {
namespace {

/// Those that meet in one iteration.
struct Meeting {
  Time last_start;                         ///< of all
  Time late_release = Time::never();       ///< the earliest that those which wait must be released, of those seen
  RankId from;                             ///< for whose start alone they wait; invalid: for all
  std::optional<Time> start_of_from = {};  ///< absent: of a RECV, or not there
};

/// Walks back from the end. All that follows from a moment is known when it is reached.
class BackwardPass {
 public:
  explicit BackwardPass(const Executions& executions)
      : executions_(executions),
        numbers_(executions.numbered_meetings()),
        late_ends_(executions.count()),
        end_(executions.at(executions.last()).end) {
    uint32_t meetings = 0, ranks = 0;
    for (uint32_t i = 0; i < executions.count(); ++i) {
      if (numbers_[i] != NodeMeeting::kNone) meetings = std::max(meetings, numbers_[i] + 1);
      ranks = std::max(ranks, executions.at(i).rank.value + 1);
    }
    meetings_.resize(meetings);
    of_rank_.assign(ranks, Time::never());
    first_.resize(ranks), behind_.resize(ranks);
    for (uint32_t i = executions.count(); i-- > 0;) {
      const uint32_t rank = executions.at(i).rank.value;
      first_[rank] = i;
      if (behind_[rank] == 0) behind_[rank] = i + 1;
    }
    for (uint32_t i = 0; i < executions.count(); ++i) {
      if (numbers_[i] == NodeMeeting::kNone) continue;
      const Executions::Execution& execution = executions.at(i);
      const NodeMeeting meeting = executions.meeting(i);
      Meeting& all = meetings_[numbers_[i]];
      all.last_start = std::max(all.last_start, execution.start);
      if (meeting.from.valid()) all.from = meeting.from;
      if (meeting.from == execution.rank) all.start_of_from = execution.start;
    }
  }

  std::vector<Duration> run() {
    for (const ExecutionMoment& moment : moments_from_the_end(executions_)) {
      if (moment.is_start()) {
        start(moment.index());
      } else {
        end(moment.index());
      }
    }
    std::vector<Duration> slacks(executions_.count());
    // Below 0 only where nodes meet that do not belong together: in an old record, without their sequence.
    for (uint32_t i = 0; i < executions_.count(); ++i)
      slacks[i] = std::max(Duration(), late_ends_[i] - executions_.at(i).end);
    return slacks;
  }

 private:
  /// As Executions::before_on_rank, of starts that come latest first.
  std::optional<uint32_t> before_on_rank(uint32_t index) {
    const Executions::Execution& own = executions_.at(index);
    uint32_t& behind = behind_[own.rank.value];
    const uint32_t first = first_[own.rank.value];
    while (behind > first && executions_.at(behind - 1).end > own.start) --behind;
    const uint32_t end = std::min(behind, index);
    return end == first ? std::nullopt : std::optional(end - 1);
  }

  /// As Executions::release, without a look at all members.
  Time release(uint32_t index) const {
    const Executions::Execution& own = executions_.at(index);
    const NodeMeeting meeting = executions_.meeting(index);
    if (meeting.meeting == NodeMeeting::kNone) return own.start;
    const Meeting& all = meetings_[numbers_[index]];
    if (meeting.for_all && all.last_start < own.end) return std::max(own.start, all.last_start);
    if (!meeting.for_all && meeting.from.valid() && all.start_of_from)
      return *all.start_of_from < own.end ? std::max(own.start, *all.start_of_from) : own.start;
    return executions_.release(index).at;
  }

  /// The latest that everything it waits for may have started.
  Time late_release(uint32_t index) const { return late_ends_[index] - (executions_.at(index).end - release(index)); }

  void end(uint32_t index) {
    const Executions::Execution& execution = executions_.at(index);
    Time& late = late_ends_[index];
    late = std::min(end_, of_rank_[execution.rank.value]);
    if (!of_gates_.empty()) {
      const JobId job = executions_.job(index);
      for (const std::optional<uint32_t>& iteration : {std::optional(execution.iteration), std::optional<uint32_t>()})
        if (const auto gate = of_gates_.find({job, iteration}); gate != of_gates_.end())
          late = std::min(late, gate->second);
    }
    if (const NodeMeeting meeting = executions_.meeting(index); meeting.for_all || meeting.from.valid()) {
      Time& released = meetings_[numbers_[index]].late_release;
      released = std::min(released, late_release(index));
    }
  }

  void start(uint32_t index) {
    const Executions::Execution& execution = executions_.at(index);
    Time late = late_release(index);
    if (numbers_[index] != NodeMeeting::kNone) {
      const Meeting& all = meetings_[numbers_[index]];
      if (!all.from.valid() || all.from == execution.rank) late = std::min(late, all.late_release);
    }
    const std::optional<uint32_t> on_rank = before_on_rank(index);
    const auto gate = executions_.gate(index, on_rank);
    if (!on_rank && !gate) return;
    Time begin;  // the last end that it waited for
    if (on_rank) begin = executions_.at(*on_rank).end;
    if (gate) begin = std::max(begin, executions_.at(*executions_.last_of(*gate)).end);
    const Time ready = late - (execution.start - begin);
    Time& of_rank = of_rank_[execution.rank.value];
    of_rank = std::min(of_rank, ready);
    if (gate) {
      Time& of_gate = of_gates_.try_emplace({gate->job, gate->iteration}, Time::never()).first->second;
      of_gate = std::min(of_gate, ready);
    }
  }

  const Executions& executions_;
  const std::vector<uint32_t> numbers_;
  std::vector<Time> late_ends_;
  const Time end_;
  std::vector<Meeting> meetings_;
  std::vector<uint32_t> first_, behind_;  // by rank: its first, and the one behind those that ended by the present
  std::vector<Time> of_rank_;  // the latest that what is seen of the rank must find all that went before ended
  std::map<std::pair<JobId, std::optional<uint32_t>>, Time> of_gates_;  // the same of gates
};

SlackRow row_of(NodeInfo node, std::vector<Duration>& values) {
  SlackRow row{.node = std::move(node), .executions = values.size(), .least = {}, .median = {}};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  row.median = *middle;
  row.least = *std::min_element(values.begin(), middle + 1);
  return row;
}

/// Operations of the nodes of all ranks.
class Patterns {
 public:
  explicit Patterns(const RunReader& record) {
    std::map<std::tuple<JobId, std::string, std::string, std::string>, uint32_t> known;
    record.for_each_node([&](const NodeInfo& node) {
      NodeInfo pattern{.rank = {}, .kind = node.kind, .group_size = node.group_size, .bytes = {}, .job = node.job};
      append_pattern(pattern.name, node.name);
      append_pattern(pattern.group, node.group);
      const auto [place, is_new] =
          known.try_emplace({node.job, pattern.kind, pattern.group, pattern.name}, static_cast<uint32_t>(all.size()));
      if (is_new) all.push_back(std::move(pattern));
      if (of_node_.size() <= node.rank.value) of_node_.resize(node.rank.value + 1);
      std::vector<uint32_t>& of_rank = of_node_[node.rank.value];
      of_rank.resize(node.node + 1, NodeMeeting::kNone);
      of_rank[node.node] = place->second;
    });
  }
  /// NodeMeeting::kNone where the record does not have the node.
  uint32_t of(RankId rank, uint32_t node) const {
    if (rank.value >= of_node_.size() || node >= of_node_[rank.value].size()) return NodeMeeting::kNone;
    return of_node_[rank.value][node];
  }

  std::vector<NodeInfo> all;

 private:
  std::vector<std::vector<uint32_t>> of_node_;
};

}  // namespace

std::vector<Duration> slacks(const Executions& executions) {
  return BackwardPass(executions).run();
}

SlackTable slack_table(const RunReader& record, const Executions& executions) {
  const std::vector<Duration> all = slacks(executions);
  const Patterns patterns(record);
  std::map<RankId, std::vector<Duration>> of_ranks;
  std::vector<std::vector<Duration>> of_patterns(patterns.all.size());
  std::map<RankId, JobId> jobs;
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const Executions::Execution& execution = executions.at(i);
    of_ranks[execution.rank].push_back(all[i]);
    jobs[execution.rank] = executions.job(i);
    const uint32_t pattern = patterns.of(execution.rank, execution.node);
    if (pattern != NodeMeeting::kNone) of_patterns[pattern].push_back(all[i]);
  }
  SlackTable table;
  for (auto& [rank, values] : of_ranks)
    table.ranks.push_back(row_of({.rank = rank, .bytes = {}, .job = jobs[rank]}, values));
  for (size_t p = 0; p < of_patterns.size(); ++p)
    if (!of_patterns[p].empty()) table.operations.push_back(row_of(patterns.all[p], of_patterns[p]));
  std::ranges::stable_sort(table.operations, {}, [](const SlackRow& row) { return std::pair(row.median, row.least); });
  return table;
}

}  // namespace rankwire
