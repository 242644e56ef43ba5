#include "emulator/diagnosis/send_times.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace rankwire {
namespace {

/// Whom a SEND is for; absent for what is none, and where its RECV did not run.
std::optional<RankId> destination_of(const Executions& executions, uint32_t index) {
  const NodeMeeting meeting = executions.meeting(index);
  if (meeting.meeting == NodeMeeting::kNone || meeting.for_all || meeting.from.valid()) return std::nullopt;
  for (const uint32_t other : executions.together_with(index))
    if (other != index) return executions.at(other).rank;
  return std::nullopt;
}

}  // namespace

void SendTimes::want(uint32_t send, Time after) {
  wanted_.push_back({.first = executions_->first_ended_after(send, after), .send = send});
}

std::vector<uint32_t> SendTimes::others() const {
  std::set<std::pair<RankId, RankId>> ways;
  std::vector<uint32_t> sends;
  for (const Wanted& wanted : wanted_) {
    sends.push_back(wanted.send);
    if (const auto to = destination_of(*executions_, wanted.send)) ways.emplace(executions_->at(wanted.send).rank, *to);
  }
  std::ranges::sort(sends);
  std::vector<Wanted> spans = wanted_;
  std::ranges::sort(spans, {}, &Wanted::first);
  std::vector<uint32_t> others;
  uint32_t next = 0;  // of the executions: what is before has been looked at
  for (const Wanted& span : spans) {
    for (next = std::max(next, span.first); next < span.send; ++next) {
      if (std::ranges::binary_search(sends, next)) continue;
      const auto to = destination_of(*executions_, next);
      if (to && ways.contains({executions_->at(next).rank, *to})) others.push_back(next);
    }
  }
  return others;
}

void SendTimes::add(ConnectionId connection, uint32_t send, const TimeByCause& causes) {
  rows_[connection].push_back({.send = send, .causes = causes});
}

void SendTimes::finish() {
  for (auto& [connection, rows] : rows_) {
    std::ranges::sort(rows, {}, &Row::send);
    const auto is_same = [](const Row& a, const Row& b) { return a.send == b.send; };
    rows.erase(std::unique(rows.begin(), rows.end(), is_same), rows.end());
    for (size_t i = 1; i < rows.size(); ++i) rows[i].causes += rows[i - 1].causes;
  }
}

TimeByCause SendTimes::of(ConnectionId connection, uint32_t send, Time after) const {
  const auto found = rows_.find(connection);
  if (found == rows_.end()) return {};
  const std::vector<Row>& rows = found->second;
  const auto last = std::ranges::lower_bound(rows, send, {}, &Row::send);
  if (last == rows.end() || last->send != send) return {};
  const auto first =
      std::ranges::lower_bound(rows.begin(), last, executions_->first_ended_after(send, after), {}, &Row::send);
  return first == rows.begin() ? last->causes : last->causes - std::prev(first)->causes;
}

}  // namespace rankwire
