#include "emulator/assembly/joined_stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "emulator/assembly/lost_links.h"
#include "emulator/assembly/stall_rows.h"
#include "emulator/engine/communication.h"
#include "emulator/engine/rank_wait.h"
#include "emulator/engine/stall.h"

namespace rankwire {
namespace {

const MachineStall* stall_of(const ToldMachines& told, uint32_t machine) {
  const std::optional<MachineReport>& report = told.reports[machine];
  return report && report->stall ? &*report->stall : nullptr;
}

/// The machines of its source and its destination, once where they are one.
std::vector<uint32_t> ends_of(const ToldMachines& told, ConnectionId connection) {
  const WorkerRoute& route = told.shares.route(connection);
  if (route.source == route.destination) return {route.source};
  return {route.source, route.destination};
}

const ConnectionView* view_of(const ConnectionViews& views, ConnectionId connection) {
  const auto known = views.find(connection.value);
  return known != views.end() ? &known->second : nullptr;
}

const ConnectionView* view_of(const ToldMachines& told, std::span<const ConnectionViews> answers, uint32_t machine,
                              ConnectionId connection) {
  const MachineStall* const stall = stall_of(told, machine);
  const ConnectionView* const view = stall != nullptr ? view_of(stall->views, connection) : nullptr;
  return view != nullptr ? view : view_of(answers[machine], connection);
}

/// Both ends may say that a connection has failed: what its source says is kept.
void add_broken(const ToldMachines& told, uint32_t machine, StallFacts& all) {
  const StallFacts& facts = stall_of(told, machine)->facts;
  for (size_t i = 0; i < facts.broken.size(); ++i) {
    const ConnectionId connection = facts.broken[i].connection;
    const auto known = std::ranges::find(all.broken, connection, &RankWait::connection);
    if (known == all.broken.end()) {
      all.broken.push_back(facts.broken[i]);
      all.broken_by.push_back(facts.broken_by[i]);
    } else if (told.shares.route(connection).source == machine) {
      all.broken_by[static_cast<size_t>(known - all.broken.begin())] = facts.broken_by[i];
    }
  }
}

/// Of a machine that ended well all ranks have, whatever others say of the run.
std::vector<RankId> ranks_of(const ToldMachines& told, uint32_t machine) {
  std::vector<RankId> ranks;
  const std::vector<bool>& has = told.shares.ranks(machine);
  for (uint32_t rank = 0; rank < has.size(); ++rank)
    if (has[rank]) ranks.emplace_back(rank);
  return ranks;
}

StallFacts joined_facts(const ToldMachines& told) {
  StallFacts all;
  all.ranks = static_cast<uint32_t>(told.setup.workload.ranks.size());
  all.stall_timeout = told.setup.config.run.stall_timeout;
  for (uint32_t machine = 0; machine < told.reports.size(); ++machine) {
    const MachineStall* const stall = stall_of(told, machine);
    if (stall == nullptr) {
      std::ranges::copy(ranks_of(told, machine), std::back_inserter(told.reports[machine] ? all.finished : all.gone));
      continue;
    }
    std::ranges::copy(stall->facts.waits, std::back_inserter(all.waits));
    std::ranges::copy(stall->facts.finished, std::back_inserter(all.finished));
    add_broken(told, machine, all);
  }
  // What was sent to a machine that has gone, or from there, may have been delivered.
  const CommunicationCounters messages = joined_messages(told.reports);
  if (all.gone.empty() && messages.sent > messages.delivered)
    all.messages_undelivered = messages.sent - messages.delivered;
  return all;
}

/// Sets how long a loop stood still, and returns whose.
std::optional<uint32_t> add_longest_turn(const ToldMachines& told, std::span<const ClockCorrection> clocks,
                                         StoppedRun& run) {
  std::optional<uint32_t> whose;
  const Time since = blamed_since(run.end, run.last_progress, run.facts.stall_timeout);
  for (uint32_t machine = 0; machine < told.reports.size(); ++machine) {
    const MachineStall* const stall = stall_of(told, machine);
    if (stall == nullptr) continue;
    for (const Standstill& standstill : stall->standstills)
      if (clocks[machine].corrected(standstill.end) > since && standstill.took > run.facts.longest_turn)
        run.facts.longest_turn = standstill.took, whose = machine;
  }
  return whose;
}

}  // namespace

std::vector<std::vector<ConnectionId>> untold_ends(const ToldMachines& told) {
  std::vector<std::set<ConnectionId>> untold(told.reports.size());
  for (uint32_t machine = 0; machine < told.reports.size(); ++machine) {
    const MachineStall* const stall = stall_of(told, machine);
    if (stall == nullptr) continue;
    for (const std::vector<RankWait>* waits : {&stall->facts.broken, &stall->facts.waits})
      for (const RankWait& wait : *waits) {
        if (!wait.connection.valid()) continue;
        for (const uint32_t end : ends_of(told, wait.connection)) {
          const MachineStall* const of_end = stall_of(told, end);
          if (end != machine && of_end != nullptr && !of_end->views.contains(wait.connection.value))
            untold[end].insert(wait.connection);
        }
      }
  }
  std::vector<std::vector<ConnectionId>> lists;
  for (const std::set<ConnectionId>& of_machine : untold) lists.emplace_back(of_machine.begin(), of_machine.end());
  return lists;
}

ConnectionView joined_view(const ToldMachines& told, std::span<const ConnectionViews> answers,
                           ConnectionId connection) {
  ConnectionView joined;
  for (const uint32_t machine : ends_of(told, connection)) {
    const ConnectionView* const view = view_of(told, answers, machine, connection);
    const std::string text = view != nullptr         ? view->text
                             : told.reports[machine] ? std::string()
                                                     : fmt::format("machine '{}' has gone", told.names[machine]);
    if (!text.empty()) joined.text += (joined.text.empty() ? "" : "; ") + text;
    if (view == nullptr) continue;
    joined.states.resize(std::max(joined.states.size(), view->states.size()));
    for (size_t i = 0; i < view->states.size(); ++i) joined.states[i].add(view->states[i]);
  }
  return joined;
}

std::optional<StallRow> joined_stall(const ToldMachines& told, std::span<const ConnectionViews> answers,
                                     std::span<const ClockCorrection> clocks) {
  const auto view = [&](ConnectionId connection) { return joined_view(told, answers, connection); };
  StoppedRun run{.verdict = joined_result(told.names, told.reports).verdict,
                 .end = Time::long_ago(),
                 .last_progress = Time::long_ago(),
                 .facts = joined_facts(told),
                 .states = [&](ConnectionId connection) { return view(connection).states; },
                 .describe = [&](ConnectionId connection) { return view(connection).text; }};
  for (uint32_t machine = 0; machine < told.reports.size(); ++machine) {
    const MachineStall* const stall = stall_of(told, machine);
    if (stall == nullptr) continue;
    run.end = std::max(run.end, clocks[machine].corrected(stall->end));
    run.last_progress = std::max(run.last_progress, clocks[machine].corrected(stall->last_progress));
  }
  std::optional<uint32_t> whose;
  if (run.verdict == Verdict::kStalled) whose = add_longest_turn(told, clocks, run);
  std::optional<StallRow> row = stall_row(told.setup, std::move(run));
  if (!row) return row;
  if (row->culprit.valid())
    whose = told.shares.of_rank(row->culprit);
  else if (row->kind != to_string(StallClass::kGeneratorStarvation))
    whose.reset();
  if (whose) row->machine = told.names[*whose];
  return row;
}

std::vector<std::string> stall_findings(const ToldMachines& told, std::span<const ConnectionViews> answers) {
  std::vector<std::string> findings;
  const std::vector<std::vector<ConnectionId>> asked = untold_ends(told);
  for (uint32_t machine = 0; machine < told.reports.size(); ++machine) {
    const MachineStall* const stall = stall_of(told, machine);
    if (stall == nullptr) continue;
    // The machine may have been asked for what it had no room for.
    uint64_t views = stall->views_left_out;
    for (const ConnectionId connection : asked[machine])
      if (view_of(answers[machine], connection) == nullptr) ++views;
    if (stall->waits_left_out + views == 0) continue;
    findings.push_back(fmt::format(
        "machine '{}' has told {} of {} waits of its ranks, and not told the states of up to {} connections: whom a "
        "stall is blamed on follows from the others",
        told.names[machine], stall->facts.waits.size(), stall->facts.waits.size() + stall->waits_left_out, views));
  }
  return findings;
}

void tell_lost_links(const ToldMachines& told, RunResult& result, RunEnd& end) {
  std::vector<PortSettingRow> lost;
  for (const std::optional<MachineReport>& report : told.reports)
    if (report) std::ranges::copy(report->lost_links, std::back_inserter(lost));
  const RankId before = end.stall ? end.stall->culprit : RankId();
  tell_lost_links(told.setup, lost, result, end);
  if (end.stall && end.stall->culprit != before && end.stall->culprit.valid())
    end.stall->machine = told.names[told.shares.of_rank(end.stall->culprit)];
}

}  // namespace rankwire
