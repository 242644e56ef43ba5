// What ranks executed in one run, in memory, with what the beginning of each execution may have waited for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// What of a node says with whom its executions meet. Executions of one meeting and iteration are those of the members
/// of a collective, or of a SEND and its RECV.
struct NodeMeeting {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t meeting = kNone;  ///< kNone: computes, or meets nobody that the record knows
  RankId from;               ///< who alone must have begun: source of a RECV, root of a BROADCAST or SCATTER
  bool for_all = false;      ///< all members must have begun
};

/// Meetings of the nodes of all traces of a record. Immutable after construction.
class NodeMeetings {
 public:
  /// Reads every node that communicates once.
  explicit NodeMeetings(const RunReader& record);
  NodeMeeting of(RankId rank, uint32_t node) const;
  uint32_t meetings() const { return meetings_; }
  /// By rank: the job that its nodes belong to.
  JobId job_of(RankId rank) const { return rank.value < jobs_.size() ? jobs_[rank.value] : JobId(0); }

 private:
  std::vector<std::vector<NodeMeeting>> nodes_;  // by rank
  std::vector<JobId> jobs_;
  uint32_t meetings_ = 0;
};

/// The recorded executions of one run. Immutable after construction; 36 bytes each.
class Executions {
 public:
  using Execution = OperationRecord;

  /// More are not held in memory.
  static constexpr uint64_t kMost = 12'000'000;
  /// Absent where there are none, or more than `kMost`. `meetings` outlives what is returned.
  static std::optional<Executions> read(const RunReader& record, const RecordedRun& run, const NodeMeetings& meetings);
  /// Of `rows`, of which there are some, by rank (RunExecutions). `meetings` outlives what is made.
  Executions(std::vector<OperationRecord> rows, const std::vector<JobInfo>& jobs, const NodeMeetings& meetings);

  uint32_t count() const { return static_cast<uint32_t>(all_.size()); }
  const Execution& at(uint32_t index) const { return all_[index]; }
  /// The one that ended last.
  uint32_t last() const { return last_; }
  /// From when on nothing but the execution itself kept it from its end: its start, or that of the member it waited for
  /// longest, whichever is later.
  struct Release {
    uint32_t by = 0;  ///< whose start that is: the execution itself, or one of another rank
    Time at;
  };
  /// Members that began after the execution had ended were not waited for.
  Release release(uint32_t index) const;
  /// Those of the same meeting and iteration, itself among them; itself alone where it meets nobody.
  std::vector<uint32_t> together_with(uint32_t index) const;
  /// What ended last before the execution could start: of its own rank, or, when its iteration was the first to wait
  /// for it, of all ranks of its job two iterations ago, or of the job that its own follows. Absent: nothing did.
  std::optional<uint32_t> before(uint32_t index) const;
  /// What else than its own rank the first execution of an iteration waits for: all of an iteration of a job, or of all
  /// of them.
  struct Gate {
    JobId job;
    std::optional<uint32_t> iteration;
  };
  /// Absent, too, where that had not ended before the execution started. `on_rank`: what ended last on its rank before.
  std::optional<Gate> gate(uint32_t index, std::optional<uint32_t> on_rank) const;
  /// What of it ended last.
  std::optional<uint32_t> last_of(const Gate& gate) const;
  /// What of the job ended last; absent where nothing did.
  std::optional<uint32_t> last_of_job(JobId job) const;
  std::optional<uint32_t> before_on_rank(uint32_t index) const;
  /// Those of its rank that ended later than `after`, and no later than itself, stand from there to `index`, in the
  /// order of their ends.
  uint32_t first_ended_after(uint32_t index, Time after) const;
  NodeMeeting meeting(uint32_t index) const { return meetings_->of(all_[index].rank, all_[index].node); }
  JobId job(uint32_t index) const { return meetings_->job_of(all_[index].rank); }
  /// By execution: a number, from 0, of those of the same meeting and iteration; NodeMeeting::kNone where it meets
  /// nobody.
  std::vector<uint32_t> numbered_meetings() const;

 private:
  void sort_ranks();
  void index_meetings();
  void note_iteration_ends(const std::vector<JobInfo>& jobs);
  std::span<const uint32_t> members(uint32_t meeting, uint32_t iteration) const;

  const NodeMeetings* meetings_;
  std::vector<Execution> all_;        // by rank, end, start, iteration, node
  std::vector<uint32_t> first_;       // by rank: where in all_
  std::vector<uint32_t> by_meeting_;  // indices of all_, by meeting and iteration
  std::vector<uint32_t> first_of_meeting_;
  std::map<std::pair<JobId, uint32_t>, uint32_t> last_of_iteration_;
  std::map<JobId, JobId> after_;  // by job: the one that it follows
  uint32_t last_ = 0;
};

}  // namespace rankwire
