#include "emulator/diagnosis/slower_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "emulator/diagnosis/acknowledgement_load.h"
#include "emulator/diagnosis/network_waits.h"

namespace rankwire {
namespace {

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
std::vector<Held> causes_of(const RunReader& record, const RecordedRun& run, std::span<const SlowerStep> steps,
                            const Executions& emulated) {
  std::vector<OperationRow> rows;
  for (const SlowerStep& slower : steps) rows.push_back(row_of(*slower.step, emulated));
  std::vector<Held> held(steps.size());
  const auto flows = record.flows_of(run, rows);
  for (size_t i = 0; i < steps.size(); ++i) {
    const CriticalStep& step = *steps[i].step;
    const bool is_chain = step.node.kind == "broadcast" || step.node.kind == "reduce";
    const bool is_alone = step.node.kind == "send" || step.node.kind == "receive";
    std::map<RankId, const Executions::Execution*> members;
    for (const uint32_t other : emulated.together_with(step.execution))
      members[emulated.at(other).rank] = &emulated.at(other);
    for (const OperationFlow& flow : flows[i]) {
      TimeByCause within = flow.causes;
      if (const auto source = members.find(flow.connection.source); source != members.end()) {
        Time begin = source->second->start;
        // What is accounted to a SEND is all the time up to its end since the one before it on the connection ended.
        if (is_alone) begin = std::max(begin, source->second->end - within.total());
        const Duration early = std::max(Duration(), step.from - begin);
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
void split_waits(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                 std::span<const SlowerStep> steps, const std::vector<Held>& held, std::vector<GapParts>& all) {
  std::set<ConnectionId> waiting;
  for (const Held& step : held)
    for (const NetworkWaits::Wait& wait : step.waits) waiting.insert(wait.connection.id);
  if (waiting.empty()) return;
  const NetworkWaits network(record, run, emulated, waiting);
  for (size_t i = 0; i < steps.size(); ++i) {
    const CriticalStep& step = *steps[i].step;
    const auto part = [&](GapCause cause) -> Duration& { return all[i][static_cast<size_t>(cause)]; };
    const Duration acknowledgement = part(GapCause::kAcknowledgement);
    const Duration waited = acknowledgement + part(GapCause::kWindow);
    const NetworkWaits::Share share = network.of(held[i].waits, step.from, step.to, waited);
    for (const auto& [to, time] :
         {std::pair(GapCause::kPathLatency, share.path_latency), std::pair(GapCause::kQueueingOwnJob, share.own_job),
          std::pair(GapCause::kQueueingOthers, share.others)}) {
      const Duration first = std::min(time, part(GapCause::kAcknowledgement));
      part(GapCause::kAcknowledgement) = part(GapCause::kAcknowledgement) - first;
      part(GapCause::kWindow) = part(GapCause::kWindow) - (time - first);
      part(to) += time;
    }
  }
}

/// Of what waited behind others at its own port, the part that waited behind acknowledgements.
void split_port(const RunReader& record, const RecordedRun& run, std::span<const SlowerStep> steps,
                const std::vector<Held>& held, std::vector<GapParts>& all) {
  const auto port = static_cast<size_t>(GapCause::kPort);
  if (std::ranges::none_of(all, [&](const GapParts& parts) { return parts[port] > Duration(); })) return;
  const AcknowledgementLoad load(record, run);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (held[i].waits.empty()) continue;
    const Duration behind =
        load.of(held[i].waits.back().connection, steps[i].step->to - steps[i].step->from, all[i][port]);
    all[i][port] = all[i][port] - behind;
    all[i][static_cast<size_t>(GapCause::kAcknowledgementFrames)] += behind;
  }
}

}  // namespace

std::vector<GapParts> parts_of_slower(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                                      std::span<const SlowerStep> steps) {
  const std::vector<Held> held = causes_of(record, run, steps, emulated);
  std::vector<GapParts> all(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    Duration left = steps[i].extra;
    for (const auto& [source, cause] : kHeldUp) {
      const Duration share = std::min(left, held[i].causes[source]);
      all[i][static_cast<size_t>(cause)] = share;
      left = left - share;
    }
    all[i][static_cast<size_t>(GapCause::kUnexplained)] = left;
  }
  split_waits(record, run, emulated, steps, held, all);
  split_port(record, run, steps, held, all);
  return all;
}

void find_connections(const RunReader& record, const RecordedRun& run, const Executions& emulated, CriticalPath& path) {
  if (record.causes_of_groups(run).empty()) return;
  std::vector<SlowerStep> steps;
  std::vector<size_t> places;
  for (size_t i = 0; i < path.steps.size(); ++i)
    if (path.steps[i].communicates()) places.push_back(i), steps.push_back({.step = &path.steps[i], .extra = {}});
  const std::vector<Held> held = causes_of(record, run, steps, emulated);
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto longest = std::ranges::max_element(held[i].waits, {}, &NetworkWaits::Wait::time);
    if (longest != held[i].waits.end()) path.steps[places[i]].connection = longest->connection;
  }
}

}  // namespace rankwire
