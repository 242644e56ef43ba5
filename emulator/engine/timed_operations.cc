#include "emulator/engine/timed_operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/workload/jobs.h"

namespace rankwire {

TimedOperations::TimedOperations(const Workload& workload, const CommunicationTimes& times, TimerQueue& timers)
    : workload_(workload),
      times_(times),
      timers_(timers),
      meetings_(workload.groups.size()),
      exchanges_(2 * times.transfers.size()) {
  for (size_t g = 0; g < meetings_.size(); ++g) meetings_[g].reserve(workload.groups[g].members.size());
}

void TimedOperations::start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept {
  const Node& what = workload_.ranks[rank.value].nodes[node];
  const Begun begun{rank, node, now, now};
  if (workload_.ranks[rank.value].aggregates) return end(begun, now);  // a part of what the members take
  if (what.kind == NodeKind::kCollective) {
    start_collective(begun, what, now);
  } else {
    start_transfer(begun, what, iteration, now);
  }
}

void TimedOperations::start_collective(const Begun& begun, const Node& node, Time now) noexcept {
  std::vector<Begun>& meeting = meetings_[node.group.value];
  meeting.push_back(begun);
  if (meeting.size() < workload_.groups[node.group.value].members.size()) return;
  const Duration takes = times_.collectives[node.group.value][node.run_order];
  timers_.push({now + takes, TimerQueue::Kind::kCollective, node.group.value, 0});
}

void TimedOperations::start_transfer(const Begun& begun, const Node& node, uint32_t iteration, Time now) noexcept {
  const uint32_t number = times_.transfer_of[begun.rank.value][begun.node], parity = iteration & 1;
  const CommunicationTimes::Transfer& transfer = times_.transfers[number];
  Exchange& both = exchange(number, parity);
  const bool sends = node.kind == NodeKind::kSend;
  (sends ? both.sender : both.receiver) = begun;
  (sends ? both.sending : both.receiving) = true;
  if (transfer.rendezvous ? both.sending && both.receiving : sends) {
    timers_.push({now + transfer.delivered, TimerQueue::Kind::kTransfer, number, item_of(Moment::kDelivered, parity)});
    timers_.push({now + transfer.sent, TimerQueue::Kind::kTransfer, number, item_of(Moment::kSent, parity)});
  }
  end_receive(both, now);
}

void TimedOperations::expire(const TimerQueue::Timer& timer) noexcept {
  if (timer.kind == TimerQueue::Kind::kCollective) {
    std::vector<Begun>& meeting = meetings_[timer.owner];
    for (const Begun& begun : meeting) end(begun, timer.at);
    meeting.clear();
    return;
  }
  const uint32_t parity = timer.item & 1;
  Exchange& both = exchange(timer.owner, parity);
  if (timer.item == item_of(Moment::kSent, parity)) {
    both.sending = false;
    end(both.sender, timer.at);
  } else {
    both.delivered = true;
    end_receive(both, timer.at);
  }
}

void TimedOperations::end_receive(Exchange& both, Time now) noexcept {
  if (!both.delivered || !both.receiving) return;
  both.delivered = both.receiving = false;
  end(both.receiver, now);
}

void TimedOperations::end(const Begun& begun, Time now) noexcept {
  finished_.push_back(begun);
  finished_.back().end = now;
}

std::vector<std::string> TimedOperations::waiting(size_t most) const {
  std::vector<std::string> lines;
  for (size_t g = 0; g < meetings_.size() && lines.size() < most; ++g) {
    if (meetings_[g].empty() || meetings_[g].size() == workload_.groups[g].members.size()) continue;
    std::vector<RankId> absent = workload_.groups[g].members;
    for (const Begun& begun : meetings_[g]) std::erase(absent, begun.rank);
    const Begun& first = meetings_[g].front();
    lines.push_back(fmt::format("{} in '{}' of group '{}' waits for {} of its {} members to begin it, {} among them",
                                rank_text(workload_, first.rank),
                                workload_.ranks[first.rank.value].nodes[first.node].name, workload_.groups[g].name,
                                absent.size(), workload_.groups[g].members.size(),
                                rank_text(workload_, absent.front())));
  }
  for (const Exchange& both : exchanges_) {
    if (lines.size() == most) break;
    if (both.sending == both.receiving) continue;
    const Begun& begun = both.sending ? both.sender : both.receiver;
    const Node& node = workload_.ranks[begun.rank.value].nodes[begun.node];
    lines.push_back(fmt::format("{} in '{}' waits for {}", rank_text(workload_, begun.rank), node.name,
                                rank_text(workload_, node.peer)));
  }
  return lines;
}

}  // namespace rankwire
