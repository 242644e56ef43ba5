#include "emulator/diagnosis/slower_step.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "emulator/diagnosis/acknowledgement_load.h"
#include "emulator/diagnosis/network_waits.h"
#include "emulator/diagnosis/send_times.h"

namespace rankwire {
namespace {

constexpr uint32_t kNoSend = UINT32_MAX;

/// What may have held up a step.
struct Held {
  std::vector<OperationFlow> connections;  ///< what was held up longest first
  bool is_chain = false;                   ///< they follow one another
  bool is_alone = false;                   ///< a message, which none but the first has to do with
};

Duration held_up(const TimeByCause& causes) {
  return causes.total() - causes[Cause::kTransmitting];
}

/// The SEND that a step is, or waits for; kNoSend for collectives, and where it did not run.
uint32_t send_of(const CriticalStep& step, const Executions& emulated) {
  if (step.node.kind == "send") return step.execution;
  if (step.node.kind != "receive") return kNoSend;
  const std::vector<uint32_t> both = emulated.together_with(step.execution);
  const auto send = std::ranges::find_if(
      both, [&](uint32_t other) { return other != step.execution && emulated.at(other).rank == step.node.peer; });
  return send == both.end() ? kNoSend : *send;
}

/// Where an execution stands in the record.
OperationRow row_of(const Executions::Execution& execution) {
  OperationRow row;
  row.node.rank = execution.rank, row.node.node = execution.node, row.iteration = execution.iteration;
  return row;
}

/// Of a collective what its connections spent that cannot have passed before the step began, while their sources waited
/// for others.
void cut(std::vector<OperationFlow>& flows, const CriticalStep& step, const Executions& emulated) {
  std::map<RankId, const Executions::Execution*> members;
  for (const uint32_t other : emulated.together_with(step.execution))
    members[emulated.at(other).rank] = &emulated.at(other);
  for (OperationFlow& flow : flows) {
    const auto source = members.find(flow.connection.source);
    if (source == members.end()) continue;
    const Duration early = std::max(Duration(), step.from - source->second->start);
    for (Duration& spent : flow.causes.spent) spent = std::max(Duration(), spent - early);
  }
}

/// Of each step what may have held it up; nothing where the record has nothing.
std::vector<Held> causes_of(const RunReader& record, const RecordedRun& run, std::span<const SlowerStep> steps,
                            const Executions& emulated) {
  SendTimes times(emulated);
  std::vector<uint32_t> sends;
  std::vector<OperationRow> rows;
  for (const SlowerStep& slower : steps) {
    const CriticalStep& step = *slower.step;
    const uint32_t send = sends.emplace_back(send_of(step, emulated));
    if (send == kNoSend) {
      rows.push_back({.node = step.node, .iteration = step.iteration, .emulated = {}, .reference = {}, .causes = {}});
    } else {
      rows.push_back(row_of(emulated.at(send)));
      times.want(send, step.from);
    }
  }
  for (const uint32_t other : times.others()) sends.push_back(other), rows.push_back(row_of(emulated.at(other)));
  auto flows = record.flows_of(run, rows);
  for (size_t i = 0; i < flows.size(); ++i)
    for (const OperationFlow& flow : flows[i])
      if (sends[i] != kNoSend) times.add(flow.connection.id, sends[i], flow.causes);
  times.finish();
  std::vector<Held> held(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const CriticalStep& step = *steps[i].step;
    held[i].connections = std::move(flows[i]);
    held[i].is_chain = step.node.kind == "broadcast" || step.node.kind == "reduce";
    held[i].is_alone = step.node.kind == "send" || step.node.kind == "receive";
    if (held[i].is_alone && sends[i] != kNoSend) {
      for (OperationFlow& flow : held[i].connections) flow.causes = times.of(flow.connection.id, sends[i], step.from);
    } else {
      cut(held[i].connections, step, emulated);
    }
    std::ranges::stable_sort(held[i].connections, std::ranges::greater(),
                             [](const OperationFlow& flow) { return held_up(flow.causes); });
  }
  return held;
}

/// Splits the extra time of a step by what held it up. Returns on which connections acknowledgements were waited for
/// meanwhile.
std::vector<NetworkWaits::Wait> split(const Held& held, Duration extra, GapParts& parts) {
  std::vector<NetworkWaits::Wait> waits;
  Duration left = extra;
  const auto part = [&](GapCause cause) -> Duration& { return parts[static_cast<size_t>(cause)]; };
  const auto take = [&](const TimeByCause& causes) {
    for (const auto& [source, cause] : kHeldUp) {
      const Duration share = std::min(left, causes[source]);
      part(cause) += share, left = left - share;
    }
  };
  const auto waited = [&] { return part(GapCause::kAcknowledgement) + part(GapCause::kWindow); };
  if (held.is_chain) {
    TimeByCause all;
    for (const OperationFlow& flow : held.connections) {
      all += flow.causes;
      waits.push_back({flow.connection, flow.causes[Cause::kAcknowledgement] + flow.causes[Cause::kWindow]});
    }
    take(all);
  }
  for (const OperationFlow& flow : held.connections) {
    if (held.is_chain || left <= Duration()) break;
    const Duration before = waited();
    take(flow.causes);
    if (waited() > before) waits.push_back({flow.connection, waited() - before});
    if (held.is_alone) break;
  }
  // What is missing then was the line's: the reference had put so much on it before the step began.
  if (held.is_alone && !held.connections.empty()) {
    const Duration share = std::min(left, held.connections.front().causes[Cause::kTransmitting]);
    part(GapCause::kOtherChain) += share, left = left - share;
  }
  part(GapCause::kUnexplained) = left;
  return waits;
}

/// Gives the network what of the acknowledgements and windows of the steps is its doing.
void split_waits(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                 std::span<const SlowerStep> steps, const std::vector<std::vector<NetworkWaits::Wait>>& waits,
                 std::vector<GapParts>& all) {
  std::set<ConnectionId> waiting;
  for (const std::vector<NetworkWaits::Wait>& of_step : waits)
    for (const NetworkWaits::Wait& wait : of_step) waiting.insert(wait.connection.id);
  if (waiting.empty()) return;
  const NetworkWaits network(record, run, emulated, waiting);
  for (size_t i = 0; i < steps.size(); ++i) {
    const CriticalStep& step = *steps[i].step;
    const auto part = [&](GapCause cause) -> Duration& { return all[i][static_cast<size_t>(cause)]; };
    const Duration acknowledgement = part(GapCause::kAcknowledgement);
    const Duration waited = acknowledgement + part(GapCause::kWindow);
    const NetworkWaits::Share share = network.of(waits[i], step.from, step.to, waited);
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
    if (held[i].connections.empty()) continue;
    const Duration behind =
        load.of(held[i].connections.front().connection, steps[i].step->to - steps[i].step->from, all[i][port]);
    all[i][port] = all[i][port] - behind;
    all[i][static_cast<size_t>(GapCause::kAcknowledgementFrames)] += behind;
  }
}

}  // namespace

std::vector<GapParts> parts_of_slower(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                                      std::span<const SlowerStep> steps) {
  const std::vector<Held> held = causes_of(record, run, steps, emulated);
  std::vector<GapParts> all(steps.size());
  std::vector<std::vector<NetworkWaits::Wait>> waits;
  for (size_t i = 0; i < steps.size(); ++i) waits.push_back(split(held[i], steps[i].extra, all[i]));
  split_waits(record, run, emulated, steps, waits, all);
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
    if (held[i].connections.empty() || held_up(held[i].connections.front().causes) <= Duration()) continue;
    path.steps[places[i]].connection = held[i].connections.front().connection;
  }
}

}  // namespace rankwire
