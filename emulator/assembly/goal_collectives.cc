#include "emulator/assembly/goal_collectives.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/collective/schedule.h"
#include "emulator/engine/plan.h"
#include "emulator/workload/workload.h"

namespace rankwire {
namespace {

/// As large as a schedule may have them.
constexpr Bytes kLargestMessage = Bytes(INT32_MAX);

class Expander {
 public:
  Expander(const std::vector<std::string>& traces, const std::string& groups, const TellWarning& warn) {
    Warnings warnings;
    workload_ = load_workload({.traces = traces, .groups_file = groups}, warnings);
    for (const std::string& warning : warnings) warn(warning);
    number_tags();
    for (uint32_t rank = 0; rank < workload_.ranks.size(); ++rank) {
      for (const Node& node : workload_.ranks[rank].nodes) {
        if (node.kind == NodeKind::kCollective) id_of_[{rank, node.group.value, node.run_order}] = node.id;
      }
    }
  }

  std::optional<GoalCollective> expand(uint32_t rank, uint32_t place) const {
    const Node& node = workload_.ranks.at(rank).nodes.at(place);
    if (node.kind != NodeKind::kCollective) return std::nullopt;
    const std::vector<RankId>& members = workload_.groups[node.group.value].members;
    const auto position_of = [&](RankId member) {
      return static_cast<uint32_t>(std::ranges::find(members, member) - members.begin());
    };
    ScheduleRequest request{.operation = operation_of(node),
                            .members = static_cast<uint32_t>(members.size()),
                            .position = position_of(RankId(rank)),
                            .root = node.peer.valid() ? position_of(node.peer) : 0,
                            .bytes = node.bytes,
                            .element = workload_.element};
    if (const auto blocks = workload_.blocks_of(node); !blocks.empty()) request = with_blocks(request, blocks);
    const Schedule schedule = make_schedule(request, {.channels = 1, .chunk = kLargestMessage});
    GoalCollective made{.operations = operations(schedule, members, first_tag_[node.group.value])};
    if (node.run_order > 0) made.after.push_back(id_of_.at({rank, node.group.value, node.run_order - 1}));
    return made;
  }

 private:
  /// The messages of a group's collectives have tags of their own: the k-th to a member is the k-th that it receives.
  /// Of one collective a member sends another less than 4 for each member, times the parts of what is too large for
  /// one.
  void number_tags() {
    int64_t next = 0;
    for (const RankTrace& trace : workload_.ranks) {
      for (const Node& node : trace.nodes) {
        if (node.kind == NodeKind::kSend) next = std::max(next, node.tag + 1);
      }
    }
    std::vector<int64_t> largest(workload_.groups.size());
    for (const RankTrace& trace : workload_.ranks) {
      for (const Node& node : trace.nodes) {
        if (node.kind == NodeKind::kCollective)
          largest[node.group.value] = std::max(largest[node.group.value], node.bytes.count);
      }
    }
    for (size_t g = 0; g < largest.size(); ++g) {
      first_tag_.push_back(next);
      next += 4 * static_cast<int64_t>(workload_.groups[g].members.size()) * (1 + largest[g] / kLargestMessage.count);
    }
    if (next > INT32_MAX) fail_input("the messages of collectives need tags up to {}, the most is {}", next, INT32_MAX);
  }

  static std::vector<GoalOperation> operations(const Schedule& schedule, const std::vector<RankId>& members,
                                               int64_t first_tag) {
    std::map<std::pair<uint32_t, StepKind>, uint32_t> count;  // of messages so far, by peer
    std::vector<GoalOperation> made;
    for (const Step& step : schedule.steps) {
      GoalOperation& operation = made.emplace_back();
      if (step.kind == StepKind::kReduce) continue;
      operation.kind = step.kind == StepKind::kSend ? GoalOperation::Kind::kSend : GoalOperation::Kind::kReceive;
      // LogGOPSim's own barriers send a byte, too.
      operation.amount = static_cast<uint64_t>(std::max<int64_t>(step.bytes.count, 1));
      operation.peer = members[step.peer].value;
      operation.tag = static_cast<uint32_t>(first_tag) + count[{step.peer, step.kind}]++;
    }
    for (uint32_t step = 0; step < made.size(); ++step) {
      for (const uint32_t later : schedule.successors_of(step)) made[later].after.push_back(step);
    }
    return made;
  }

  Workload workload_;
  std::vector<int64_t> first_tag_;                                      ///< by group
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> id_of_;  ///< by rank, group and run order
};

}  // namespace

ExpandCollective make_goal_collectives(std::vector<std::string> traces, std::string groups, TellWarning warn) {
  auto expander = std::make_shared<std::optional<Expander>>();
  return [expander, traces = std::move(traces), groups = std::move(groups), warn = std::move(warn)](uint32_t rank,
                                                                                                    uint32_t place) {
    if (!*expander) expander->emplace(traces, groups, warn);
    return (*expander)->expand(rank, place);
  };
}

}  // namespace rankwire
