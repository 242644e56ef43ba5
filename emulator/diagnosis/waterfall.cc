#include "emulator/diagnosis/waterfall.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rankwire {
namespace {

/// Those that communication may have spent more of, in the order in which it is set off against them: first what an
/// undisturbed run has none of.
constexpr std::pair<Cause, GapCause> kHeldUp[] = {
    {Cause::kRecovering, GapCause::kRecovering},
    {Cause::kReceiverNotReady, GapCause::kReceiverNotReady},
    {Cause::kPaused, GapCause::kPaused},
    {Cause::kCongestionControl, GapCause::kCongestionControl},
    {Cause::kWindow, GapCause::kWindow},
    {Cause::kPort, GapCause::kPort},
    {Cause::kAcknowledgement, GapCause::kAcknowledgement},
};

std::vector<Duration> lengths_in(const Executions& reference, const std::vector<CriticalStep>& steps) {
  std::map<std::tuple<RankId, uint32_t, uint32_t>, size_t> places;
  for (size_t i = 0; i < steps.size(); ++i)
    places.emplace(std::tuple(steps[i].node.rank, steps[i].iteration, steps[i].node.node), i);
  std::vector<Duration> lengths(steps.size());
  for (uint32_t i = 0; i < reference.count(); ++i) {
    const Executions::Execution& execution = reference.at(i);
    const auto place = places.find({execution.rank, execution.iteration, execution.node});
    if (place != places.end()) lengths[place->second] = execution.end - reference.release(i).at;
  }
  return lengths;
}

Duration held_up(const TimeByCause& causes) {
  return causes.total() - causes[Cause::kTransmitting];
}

/// Of each operation the causes of its connection that was held up longest; zeros where the record has none.
std::vector<TimeByCause> causes_of(const RunReader& record, const RecordedRun& run,
                                   const std::vector<const CriticalStep*>& steps) {
  std::vector<OperationRow> rows;
  for (const CriticalStep* step : steps)
    rows.push_back({.node = step->node, .iteration = step->iteration, .emulated = {}, .reference = {}, .causes = {}});
  std::vector<TimeByCause> causes(steps.size());
  const auto flows = record.flows_of(run, rows);
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const OperationFlow& flow : flows[i])
      if (held_up(flow.causes) > held_up(causes[i])) causes[i] = flow.causes;
  }
  return causes;
}

}  // namespace

Waterfall waterfall(const RunReader& record, const RecordedRun& run, const CriticalPath& path,
                    const Executions& reference) {
  Waterfall result;
  const auto add = [&](GapCause cause, Duration extra) { result.parts[static_cast<size_t>(cause)] += extra; };
  const Duration other = reference.at(reference.last()).end - Time();
  result.gap = path.completion - other;
  result.reference = lengths_in(reference, path.steps);
  Duration matched;
  std::vector<const CriticalStep*> slower;
  std::vector<Duration> extras;
  for (size_t i = 0; i < path.steps.size(); ++i) {
    const CriticalStep& step = path.steps[i];
    const Duration extra = step.length() - result.reference[i];
    matched += result.reference[i];
    add(GapCause::kBetween, step.before);
    if (!step.communicates()) {
      add(GapCause::kCompute, extra);
    } else if (extra > Duration()) {
      slower.push_back(&step), extras.push_back(extra);
    } else {
      add(GapCause::kNetwork, extra);
    }
  }
  add(GapCause::kOtherChain, matched - other);
  const std::vector<TimeByCause> causes = causes_of(record, run, slower);
  for (size_t i = 0; i < slower.size(); ++i) {
    for (const auto& [held, cause] : kHeldUp) {
      const Duration share = std::min(extras[i], causes[i][held]);
      add(cause, share);
      extras[i] = extras[i] - share;
    }
    add(GapCause::kNetwork, extras[i]);
  }
  return result;
}

}  // namespace rankwire
