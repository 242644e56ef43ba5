#include "emulator/diagnosis/executions.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

namespace rankwire {
namespace {

/// Numbers what has the same key.
class Numbers {
 public:
  uint32_t of(std::string key) {
    return numbers_.try_emplace(std::move(key), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t count() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

NodeMeeting meeting_of(const NodeInfo& node, Numbers& numbers) {
  if (!node.group.empty()) {
    const bool from_root = node.peer.valid() && (node.kind == "broadcast" || node.kind == "scatter");
    return {.meeting = numbers.of(fmt::format("{} {} {}", node.job.value, node.sequence, node.group)),
            .from = from_root ? node.peer : RankId::invalid(),
            .for_all = !from_root};
  }
  const bool sends = node.kind == "send";
  if (!node.peer.valid() || !(sends || node.kind == "receive")) return {};
  const RankId source = sends ? node.rank : node.peer, destination = sends ? node.peer : node.rank;
  return {.meeting = numbers.of(
              fmt::format("{} {} {} {} {}", node.job.value, source.value, destination.value, node.tag, node.sequence)),
          .from = sends ? RankId::invalid() : source};
}

}  // namespace

NodeMeetings::NodeMeetings(const RunReader& record) {
  Numbers numbers;
  record.for_each_node([&](const NodeInfo& node) {
    while (first_.size() <= node.rank.value) first_.push_back(static_cast<uint32_t>(nodes_.size()));
    jobs_.resize(first_.size(), node.job);
    nodes_.resize(first_.back() + node.node + 1);
    nodes_.back() = meeting_of(node, numbers);
  });
  first_.push_back(static_cast<uint32_t>(nodes_.size()));
  meetings_ = numbers.count();
}

NodeMeeting NodeMeetings::of(RankId rank, uint32_t node) const {
  if (rank.value + 1 >= first_.size() || node >= first_[rank.value + 1] - first_[rank.value]) return {};
  return nodes_[first_[rank.value] + node];
}

std::optional<Executions> Executions::read(const RunReader& record, const RecordedRun& run,
                                           const NodeMeetings& meetings) {
  const uint64_t count = record.execution_count(run);
  if (count == 0 || count > kMost) return std::nullopt;
  Executions executions(meetings);
  executions.all_.reserve(count);
  record.for_each_execution(run, [&](const OperationRecord& row) {
    executions.all_.push_back({row.rank, row.node, row.iteration, row.start, row.end});
  });
  const auto key = [](const Execution& e) { return std::tuple(e.rank, e.end, e.start, e.iteration, e.node); };
  std::ranges::sort(executions.all_, {}, key);
  for (uint32_t i = 0; i < executions.all_.size(); ++i) {
    const Execution& e = executions.all_[i];
    while (executions.first_.size() <= e.rank.value) executions.first_.push_back(i);
    if (e.end > executions.all_[executions.last_].end) executions.last_ = i;
  }
  executions.index_meetings();
  executions.note_iteration_ends(record.jobs());
  return executions;
}

void Executions::index_meetings() {
  first_of_meeting_.assign(meetings_->meetings() + 1, 0);
  const auto meeting = [&](uint32_t index) { return meetings_->of(all_[index].rank, all_[index].node).meeting; };
  for (uint32_t i = 0; i < all_.size(); ++i)
    if (const uint32_t m = meeting(i); m != NodeMeeting::kNone) ++first_of_meeting_[m + 1];
  for (size_t m = 1; m < first_of_meeting_.size(); ++m) first_of_meeting_[m] += first_of_meeting_[m - 1];
  std::vector<uint32_t> next = first_of_meeting_;
  by_meeting_.resize(first_of_meeting_.back());
  for (uint32_t i = 0; i < all_.size(); ++i)
    if (const uint32_t m = meeting(i); m != NodeMeeting::kNone) by_meeting_[next[m]++] = i;
  for (size_t m = 1; m < first_of_meeting_.size(); ++m) {
    std::ranges::sort(by_meeting_.begin() + first_of_meeting_[m - 1], by_meeting_.begin() + first_of_meeting_[m], {},
                      [&](uint32_t i) { return std::pair(all_[i].iteration, i); });
  }
}

void Executions::note_iteration_ends(const std::vector<JobInfo>& jobs) {
  for (uint32_t i = 0; i < all_.size(); ++i) {
    uint32_t& last =
        last_of_iteration_.try_emplace({meetings_->job_of(all_[i].rank), all_[i].iteration}, i).first->second;
    if (all_[i].end > all_[last].end) last = i;
  }
  for (const JobInfo& job : jobs)
    if (job.after.valid()) after_[job.job] = job.after;
}

std::span<const uint32_t> Executions::members(uint32_t meeting, uint32_t iteration) const {
  const std::span all(by_meeting_.begin() + first_of_meeting_[meeting],
                      by_meeting_.begin() + first_of_meeting_[meeting + 1]);
  const auto iteration_of = [&](uint32_t i) { return all_[i].iteration; };
  return {std::ranges::lower_bound(all, iteration, {}, iteration_of),
          std::ranges::upper_bound(all, iteration, {}, iteration_of)};
}

Executions::Release Executions::release(uint32_t index) const {
  const Execution& own = all_[index];
  Release release{index, own.start};
  const NodeMeeting meeting = meetings_->of(own.rank, own.node);
  if (meeting.meeting == NodeMeeting::kNone || (!meeting.for_all && !meeting.from.valid())) return release;
  for (const uint32_t i : members(meeting.meeting, own.iteration)) {
    const Execution& member = all_[i];
    if (!meeting.for_all && member.rank != meeting.from) continue;
    if (member.start > release.at && member.start < own.end) release = {i, member.start};
  }
  return release;
}

std::vector<uint32_t> Executions::together_with(uint32_t index) const {
  const Execution& own = all_[index];
  const uint32_t meeting = meetings_->of(own.rank, own.node).meeting;
  if (meeting == NodeMeeting::kNone) return {index};
  const std::span<const uint32_t> all = members(meeting, own.iteration);
  return {all.begin(), all.end()};
}

std::optional<uint32_t> Executions::before_on_rank(uint32_t index) const {
  const Execution& own = all_[index];
  const auto first = all_.begin() + first_[own.rank.value], self = all_.begin() + index;
  const auto behind = std::upper_bound(first, self, own.start, [](Time t, const Execution& e) { return t < e.end; });
  if (behind == first) return std::nullopt;
  return static_cast<uint32_t>(behind - all_.begin()) - 1;
}

std::optional<uint32_t> Executions::last_of_job(JobId job) const {
  const auto behind = last_of_iteration_.lower_bound({JobId(job.value + 1), 0});
  std::optional<uint32_t> last;
  for (auto it = last_of_iteration_.lower_bound({job, 0}); it != behind; ++it)
    if (!last || all_[it->second].end > all_[*last].end) last = it->second;
  return last;
}

std::optional<uint32_t> Executions::last_of(const Gate& gate) const {
  if (!gate.iteration) return last_of_job(gate.job);
  const auto last = last_of_iteration_.find({gate.job, *gate.iteration});
  return last == last_of_iteration_.end() ? std::nullopt : std::optional(last->second);
}

std::optional<Executions::Gate> Executions::gate(uint32_t index, std::optional<uint32_t> on_rank) const {
  const Execution& own = all_[index];
  if (on_rank && all_[*on_rank].iteration >= own.iteration) return std::nullopt;
  std::optional<Gate> found;
  if (own.iteration >= 2) {
    found = Gate{job(index), own.iteration - 2};
  } else if (const auto after = after_.find(job(index)); own.iteration == 0 && after != after_.end()) {
    found = Gate{after->second, {}};
  }
  if (!found) return std::nullopt;
  const std::optional<uint32_t> last = last_of(*found);
  return last && all_[*last].end <= own.start ? found : std::nullopt;
}

std::optional<uint32_t> Executions::before(uint32_t index) const {
  const std::optional<uint32_t> on_rank = before_on_rank(index);
  const std::optional<Gate> waits = gate(index, on_rank);
  if (!waits) return on_rank;
  const std::optional<uint32_t> last = last_of(*waits);
  return !on_rank || all_[*last].end > all_[*on_rank].end ? last : on_rank;
}

std::vector<uint32_t> Executions::numbered_meetings() const {
  std::vector<uint32_t> numbers(all_.size(), NodeMeeting::kNone);
  uint32_t number = 0;
  for (size_t m = 1; m < first_of_meeting_.size(); ++m) {
    for (uint32_t place = first_of_meeting_[m - 1]; place < first_of_meeting_[m]; ++place) {
      const uint32_t index = by_meeting_[place];
      if (place > first_of_meeting_[m - 1] && all_[by_meeting_[place - 1]].iteration != all_[index].iteration) ++number;
      numbers[index] = number;
    }
    ++number;
  }
  return numbers;
}

}  // namespace rankwire
