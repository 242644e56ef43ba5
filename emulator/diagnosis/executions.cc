#include "emulator/diagnosis/executions.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "emulator/record/bulk_reader.h"

namespace rankwire {
namespace {

/// What a SEND and its RECV have in common.
struct MessageKey {
  uint32_t job, source, destination, tag, sequence;
  bool operator==(const MessageKey&) const = default;
};

struct MessageHash {
  size_t operator()(const MessageKey& key) const {
    uint64_t hash = 0;
    for (const uint32_t part : {key.job, key.source, key.destination, key.tag, key.sequence})
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return hash;
  }
};

/// Numbers meetings as they are met. Collectives of a group are numbered without gaps.
class Meetings {
 public:
  NodeMeeting of(const CommunicatingNode& node) {
    if (!node.group.empty()) {
      const bool from_root = node.peer.valid() && (node.kind == "broadcast" || node.kind == "scatter");
      return {.meeting = collective(node), .from = from_root ? node.peer : RankId::invalid(), .for_all = !from_root};
    }
    const bool sends = node.kind == "send";
    if (!node.peer.valid() || !(sends || node.kind == "receive")) return {};
    const RankId source = sends ? node.rank : node.peer, destination = sends ? node.peer : node.rank;
    return {.meeting = number({node.job.value, source.value, destination.value, node.tag, node.sequence}),
            .from = sends ? RankId::invalid() : source};
  }
  uint32_t count() const { return count_; }

 private:
  uint32_t collective(const CommunicatingNode& node) {
    name_ = node.group;
    std::vector<uint32_t>& of_group = groups_[node.job][name_];
    if (of_group.size() <= node.sequence) of_group.resize(node.sequence + size_t{1}, NodeMeeting::kNone);
    uint32_t& meeting = of_group[node.sequence];
    if (meeting == NodeMeeting::kNone) meeting = count_++;
    return meeting;
  }
  uint32_t number(const MessageKey& key) {
    const auto [place, is_new] = messages_.try_emplace(key, count_);
    if (is_new) ++count_;
    return place->second;
  }

  std::unordered_map<MessageKey, uint32_t, MessageHash> messages_;
  std::map<JobId, std::unordered_map<std::string, std::vector<uint32_t>>> groups_;  // by job, name and sequence
  std::string name_;                                                                // keeps its memory
  uint32_t count_ = 0;
};

}  // namespace

NodeMeetings::NodeMeetings(const RunReader& record) {
  const BulkReader reader(record.folder());
  jobs_ = reader.jobs_of_ranks();
  Meetings meetings;
  reader.for_each_communicating_node([&](const CommunicatingNode& node) {
    if (nodes_.size() <= node.rank.value) {
      const size_t of_last = nodes_.empty() ? 0 : nodes_.back().size();
      nodes_.resize(node.rank.value + 1);
      nodes_.back().reserve(of_last);  // ranks are mostly alike
    }
    std::vector<NodeMeeting>& of_rank = nodes_.back();
    of_rank.resize(node.node + 1);
    of_rank.back() = meetings.of(node);
  });
  meetings_ = meetings.count();
}

NodeMeeting NodeMeetings::of(RankId rank, uint32_t node) const {
  if (rank.value >= nodes_.size() || node >= nodes_[rank.value].size()) return {};
  return nodes_[rank.value][node];
}

std::optional<Executions> Executions::read(const RunReader& record, const RecordedRun& run,
                                           const NodeMeetings& meetings) {
  RunExecutions read = std::move(read_executions(record.folder(), std::array{run.run}, kMost).front());
  if (read.rows.empty()) return std::nullopt;
  return Executions(std::move(read.rows), record.jobs(), meetings);
}

Executions::Executions(std::vector<OperationRecord> rows, const std::vector<JobInfo>& jobs,
                       const NodeMeetings& meetings)
    : meetings_(&meetings), all_(std::move(rows)) {
  sort_ranks();
  for (uint32_t i = 0; i < all_.size(); ++i)
    if (all_[i].end > all_[last_].end) last_ = i;
  index_meetings();
  note_iteration_ends(jobs);
}

/// Ranks write what has ended in the order of time, so that what each has is mostly sorted.
void Executions::sort_ranks() {
  first_.push_back(0);
  const auto key = [](const Execution& e) { return std::tuple(e.end, e.start, e.iteration, e.node); };
  for (uint32_t begin = 0; begin < all_.size();) {
    const RankId rank = all_[begin].rank;
    first_.resize(rank.value + size_t{1}, begin);
    const auto end = std::find_if(all_.begin() + begin, all_.end(), [&](const Execution& e) { return e.rank != rank; });
    const std::span of_rank(all_.begin() + begin, end);
    if (!std::ranges::is_sorted(of_rank, {}, key)) std::ranges::sort(of_rank, {}, key);
    begin = static_cast<uint32_t>(end - all_.begin());
    first_.push_back(begin);
  }
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
    const std::span of_meeting(by_meeting_.begin() + first_of_meeting_[m - 1],
                               by_meeting_.begin() + first_of_meeting_[m]);
    const auto key = [&](uint32_t i) { return std::pair(all_[i].iteration, i); };
    if (!std::ranges::is_sorted(of_meeting, {}, key)) std::ranges::sort(of_meeting, {}, key);
  }
}

void Executions::note_iteration_ends(const std::vector<JobInfo>& jobs) {
  uint32_t* last = nullptr;  // of the iteration of the one before, which mostly is the same
  for (uint32_t i = 0; i < all_.size(); ++i) {
    if (last == nullptr || all_[i].rank != all_[i - 1].rank || all_[i].iteration != all_[i - 1].iteration)
      last = &last_of_iteration_.try_emplace({meetings_->job_of(all_[i].rank), all_[i].iteration}, i).first->second;
    if (all_[i].end > all_[*last].end) *last = i;
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

uint32_t Executions::first_ended_after(uint32_t index, Time after) const {
  const auto first = all_.begin() + first_[all_[index].rank.value], self = all_.begin() + index;
  const auto later = std::upper_bound(first, self, after, [](Time t, const Execution& e) { return t < e.end; });
  return static_cast<uint32_t>(later - all_.begin());
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
