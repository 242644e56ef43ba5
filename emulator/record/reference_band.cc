#include "emulator/record/reference_band.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankwire {
namespace {

Duration nearest_rank(const std::vector<Duration>& ascending, double quantile) {
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(ascending.size())));
  return ascending[std::clamp<size_t>(rank, 1, ascending.size()) - 1];
}

/// That of the model that the band is of, where it ended well; else null.
const RecordedRun* symmetric_run(const RunReader& record) {
  for (const RecordedRun* run : record.models())
    if (run->start.model == kFlowModel && run->end.verdict == "ok") return run;
  return nullptr;
}

/// As much as members' times differ by from the configured ones (emulator/assembly/ensemble.h), of the median.
Duration differences(const ReferenceBand& band) {
  return Duration(band.median.ps / 1000);
}

ReferenceBand with_symmetric(ReferenceBand band, Duration symmetric) {
  const Duration most = differences(band);
  if (symmetric < band.low && symmetric + most >= band.low) band.low = symmetric;
  if (symmetric > band.high && symmetric <= band.high + most) band.high = symmetric;
  return band;
}

/// Whether another model than the band's is what all else is compared with.
bool has_other_reference(const RunReader& record) {
  const RecordedRun* const run = record.reference();
  return run != nullptr && !run->start.model.empty() && !is_of_flow(*run);
}

}  // namespace

bool ReferenceBand::is_far(Duration completion) const {
  const Duration slack(median.ps / 100);
  return completion + slack < low || completion > high + slack;
}

bool is_of_flow(const RecordedRun& run) {
  return run.start.model == kFlowModel || run.start.model == kMedianOfFlow;
}

bool is_of(const RecordedRun& run, std::string_view model) {
  return run.start.model == model || (model == kFlowModel && is_of_flow(run));
}

const RecordedRun* run_of_flow(const RunReader& record) {
  const RecordedRun* found = nullptr;
  for (const RecordedRun* run : record.models()) {
    if (!run->ended || run->end.verdict != "ok" || !is_of_flow(*run)) continue;
    if (found == nullptr || run->start.model == kMedianOfFlow) found = run;
  }
  return found;
}

bool is_replaced(const RunReader& record, const RecordedRun& run) {
  const RecordedRun* const reference = record.reference();
  return run.start.model == kFlowModel && reference != nullptr && reference->start.model == kMedianOfFlow;
}

std::optional<Duration> symmetric_completion(const RunReader& record) {
  const RecordedRun* const run = symmetric_run(record);
  return run == nullptr || !run->ended ? std::nullopt : std::optional(run->end.completion);
}

ReferenceBand band_of(std::vector<Duration> times) {
  std::ranges::sort(times);
  return {.runs = times.size(),
          .low = nearest_rank(times, 0.05),
          .median = nearest_rank(times, 0.5),
          .high = nearest_rank(times, 0.95)};
}

std::optional<ReferenceBand> reference_band(const RunReader& record) {
  std::vector<Duration> completions = record.ensemble();
  if (completions.empty() || has_other_reference(record)) return std::nullopt;
  const ReferenceBand band = band_of(std::move(completions));
  const auto symmetric = symmetric_completion(record);
  return symmetric ? with_symmetric(band, *symmetric) : band;
}

std::vector<ReferenceBand> rank_bands(const RunReader& record) {
  std::vector<ReferenceBand> bands;
  if (has_other_reference(record)) return bands;
  const RecordedRun* const run = symmetric_run(record);
  for (std::vector<Duration>& times : record.ensemble_ranks()) {
    if (times.empty()) return {};
    const size_t rank = bands.size();
    bands.push_back(band_of(std::move(times)));
    if (run != nullptr && rank < run->end.per_rank.size())
      bands.back() = with_symmetric(bands.back(), run->end.per_rank[rank]);
  }
  return bands;
}

Duration beyond(const ReferenceBand& band, Duration completion) {
  if (completion < band.low) return completion - band.low;
  return std::max(Duration(), completion - band.high);
}

}  // namespace rankwire
