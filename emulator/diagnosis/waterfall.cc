#include "emulator/diagnosis/waterfall.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "emulator/diagnosis/network_waits.h"

namespace rankwire {
namespace {

/// What became of an execution of the path in the reference.
struct Counterpart {
  Time from, to;  ///< from when the last of what it waited for had begun, to its end
};

/// Of each step; absent where the reference has none.
std::vector<std::optional<Counterpart>> counterparts(const Executions& reference,
                                                     const std::vector<CriticalStep>& steps) {
  std::map<std::tuple<RankId, uint32_t, uint32_t>, size_t> places;
  for (size_t i = 0; i < steps.size(); ++i)
    places.emplace(std::tuple(steps[i].node.rank, steps[i].iteration, steps[i].node.node), i);
  std::vector<std::optional<Counterpart>> found(steps.size());
  for (uint32_t i = 0; i < reference.count(); ++i) {
    const Executions::Execution& execution = reference.at(i);
    const auto place = places.find({execution.rank, execution.iteration, execution.node});
    if (place != places.end()) found[place->second] = Counterpart{reference.release(i).at, execution.end};
  }
  return found;
}

/// What may have held up a step, and on which connections acknowledgements were waited for meanwhile.
struct Held {
  TimeByCause causes;
  std::vector<NetworkWaits::Wait> waits;
};

Duration held_up(const TimeByCause& causes) {
  return causes.total() - causes[Cause::kTransmitting];
}

/// Where what a step waited for stands in the record: of a RECV at its SEND.
OperationRow row_of(const CriticalStep& step, const Executions& emulated) {
  OperationRow row{.node = step.node, .iteration = step.iteration, .emulated = {}, .reference = {}, .causes = {}};
  if (step.node.kind != "receive") return row;
  for (const uint32_t other : emulated.together_with(step.execution))
    if (emulated.at(other).rank == step.node.peer) row.node = {.rank = step.node.peer, .node = emulated.at(other).node};
  return row;
}

/// Of each step what may have held it up; zeros where the record has nothing.
std::vector<Held> causes_of(const RunReader& record, const RecordedRun& run,
                            const std::vector<const CriticalStep*>& steps, const Executions& emulated) {
  std::vector<OperationRow> rows;
  for (const CriticalStep* step : steps) rows.push_back(row_of(*step, emulated));
  std::vector<Held> held(steps.size());
  const auto flows = record.flows_of(run, rows);
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool is_chain = steps[i]->node.kind == "broadcast" || steps[i]->node.kind == "reduce";
    const bool is_alone = steps[i]->node.kind == "send" || steps[i]->node.kind == "receive";
    std::map<RankId, const Executions::Execution*> members;
    for (const uint32_t other : emulated.together_with(steps[i]->execution))
      members[emulated.at(other).rank] = &emulated.at(other);
    for (const OperationFlow& flow : flows[i]) {
      TimeByCause within = flow.causes;
      if (const auto source = members.find(flow.connection.source); source != members.end()) {
        Time begin = source->second->start;
        // What is accounted to a SEND is all the time up to its end since the one before it on the connection ended.
        if (is_alone) begin = std::max(begin, source->second->end - within.total());
        const Duration early = std::max(Duration(), steps[i]->from - begin);
        for (Duration& spent : within.spent) spent = std::max(Duration(), spent - early);
      }
      if (is_chain) {
        held[i].causes += within;
      } else if (held_up(within) > held_up(held[i].causes)) {
        held[i] = {.causes = within, .waits = {}};
      } else {
        continue;
      }
      held[i].waits.push_back({flow.connection, within[Cause::kAcknowledgement] + within[Cause::kWindow]});
    }
  }
  return held;
}

/// Gives the network what of the acknowledgements and windows of the steps is its doing.
void split_waits(const RunReader& record, const RecordedRun& run, const Executions& emulated, const CriticalPath& path,
                 const std::vector<size_t>& slower, const std::vector<Held>& held, Waterfall& result) {
  std::set<ConnectionId> waiting;
  for (const Held& step : held)
    for (const NetworkWaits::Wait& wait : step.waits) waiting.insert(wait.connection.id);
  if (waiting.empty()) return;
  const NetworkWaits network(record, run, emulated, waiting);
  for (size_t i = 0; i < slower.size(); ++i) {
    GapParts& parts = result.by_step[slower[i]];
    const CriticalStep& step = path.steps[slower[i]];
    const auto move = [&](GapCause from, GapCause to, Duration time) {
      for (GapParts* of : {&parts, &result.parts}) {
        (*of)[static_cast<size_t>(from)] = (*of)[static_cast<size_t>(from)] - time;
        (*of)[static_cast<size_t>(to)] += time;
      }
    };
    const Duration acknowledgement = parts[static_cast<size_t>(GapCause::kAcknowledgement)];
    const Duration waited = acknowledgement + parts[static_cast<size_t>(GapCause::kWindow)];
    const NetworkWaits::Share share = network.of(held[i].waits, step.from, step.to, waited);
    Duration left = acknowledgement;
    for (const auto& [to, time] :
         {std::pair(GapCause::kPathLatency, share.path_latency), std::pair(GapCause::kQueueingOwnJob, share.own_job),
          std::pair(GapCause::kQueueingOthers, share.others)}) {
      const Duration first = std::min(time, left);
      move(GapCause::kAcknowledgement, to, first);
      move(GapCause::kWindow, to, time - first);
      left = left - first;
    }
  }
}

}  // namespace

Waterfall waterfall(const RunReader& record, const RecordedRun& run, const CriticalPath& path,
                    const Executions& emulated, const Executions& reference, std::optional<uint32_t> reference_last) {
  Waterfall result;
  result.by_step.resize(path.steps.size());
  const auto add = [&](size_t step, GapCause cause, Duration extra) {
    result.parts[static_cast<size_t>(cause)] += extra;
    result.by_step[step][static_cast<size_t>(cause)] += extra;
  };
  const Time reference_end = reference.at(reference_last.value_or(reference.last())).end;
  result.gap = path.completion - (reference_end - Time());
  const auto found = counterparts(reference, path.steps);
  std::vector<size_t> slower;  // steps
  std::vector<Duration> extras;
  Time at;  // in the reference, along the same steps
  for (size_t i = 0; i < path.steps.size(); ++i) {
    const CriticalStep& step = path.steps[i];
    const Counterpart other = found[i].value_or(Counterpart{at, at});
    const Duration length = other.to - other.from, extra = step.length() - length, before = other.from - at;
    result.reference.push_back(length);
    at = other.to;
    // As long as both waited it was for the same, such as the start of a job.
    const Duration both = std::clamp(before, Duration(), step.before);
    add(i, GapCause::kBetween, step.before - both);
    add(i, GapCause::kOtherChain, both - before);
    if (!step.communicates()) {
      add(i, GapCause::kCompute, extra);
    } else if (extra > Duration()) {
      slower.push_back(i), extras.push_back(extra);
    } else {
      add(i, GapCause::kFaster, extra);
    }
  }
  if (!path.steps.empty()) add(path.steps.size() - 1, GapCause::kOtherChain, at - reference_end);
  std::vector<const CriticalStep*> steps;
  for (const size_t step : slower) steps.push_back(&path.steps[step]);
  const std::vector<Held> held = causes_of(record, run, steps, emulated);
  for (size_t i = 0; i < slower.size(); ++i) {
    for (const auto& [source, cause] : kHeldUp) {
      const Duration share = std::min(extras[i], held[i].causes[source]);
      add(slower[i], cause, share);
      extras[i] = extras[i] - share;
    }
    add(slower[i], GapCause::kUnexplained, extras[i]);
  }
  split_waits(record, run, emulated, path, slower, held, result);
  return result;
}

}  // namespace rankwire
