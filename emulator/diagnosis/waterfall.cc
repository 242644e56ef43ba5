#include "emulator/diagnosis/waterfall.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "emulator/diagnosis/slower_step.h"

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
  std::vector<size_t> places;  // of slower steps
  std::vector<SlowerStep> slower;
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
      places.push_back(i), slower.push_back({&step, extra});
    } else {
      add(i, GapCause::kFaster, extra);
    }
  }
  if (!path.steps.empty()) add(path.steps.size() - 1, GapCause::kOtherChain, at - reference_end);
  const std::vector<GapParts> parts = parts_of_slower(record, run, emulated, slower);
  for (size_t i = 0; i < slower.size(); ++i)
    for (size_t cause = 0; cause < kGapCauses; ++cause) add(places[i], static_cast<GapCause>(cause), parts[i][cause]);
  return result;
}

void attribute_lateness(Waterfall& waterfall, Duration late) {
  Duration left = std::min(late, waterfall.gap);
  const auto generator = static_cast<size_t>(GapCause::kGenerator);
  for (const GapCause lengthened : kLengthenedByLateness) {
    const auto cause = static_cast<size_t>(lengthened);
    // Where steps were shortened as well, only what is left in all can have been brought about.
    Duration of_cause = std::min(left, waterfall.parts[cause]);
    if (of_cause <= Duration()) continue;
    left = left - of_cause;
    waterfall.parts[cause] = waterfall.parts[cause] - of_cause, waterfall.parts[generator] += of_cause;
    std::vector<GapParts*> steps;
    for (GapParts& step : waterfall.by_step) steps.push_back(&step);
    std::ranges::stable_sort(steps, std::ranges::greater(), [&](const GapParts* step) { return (*step)[cause]; });
    for (GapParts* step : steps) {
      const Duration taken = std::min(of_cause, (*step)[cause]);
      if (taken <= Duration()) break;
      of_cause = of_cause - taken;
      (*step)[cause] = (*step)[cause] - taken, (*step)[generator] += taken;
    }
  }
}

}  // namespace rankwire
