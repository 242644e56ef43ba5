// RunReader's view of what gave computations their times.
#include "emulator/record/columns.h"
#include "emulator/record/reader.h"

namespace rankwire {

std::vector<ComputeTimeRow> RunReader::compute_times(const RecordedRun& run) const {
  std::vector<ComputeTimeRow> times;
  if (!has_table("compute_times")) return times;
  Statement rows =
      database_.prepare("SELECT rank, model, nodes, time_ps FROM compute_times WHERE run=? ORDER BY rank, model");
  rows.bind(run.run);
  while (rows.step()) times.push_back({RankId(small(rows, 0)), rows.text(1), count(rows, 2), duration(rows, 3)});
  return times;
}

std::vector<ComputeVariationRow> RunReader::compute_variation(const RecordedRun& run) const {
  std::vector<ComputeVariationRow> variation;
  if (!has_table("compute_variation")) return variation;
  Statement rows =
      database_.prepare("SELECT rank, jitter_ps, noise_ps, slowed_ps FROM compute_variation WHERE run=? ORDER BY rank");
  rows.bind(run.run);
  while (rows.step())
    variation.push_back({RankId(small(rows, 0)), duration(rows, 1), duration(rows, 2), duration(rows, 3)});
  return variation;
}

std::vector<StragglerRow> RunReader::stragglers(const RecordedRun& run) const {
  std::vector<StragglerRow> stragglers;
  if (!has_table("stragglers")) return stragglers;
  Statement rows =
      database_.prepare("SELECT rank, from_ps, until_ps, factor_ppm FROM stragglers WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  while (rows.step()) {
    StragglerRow& row = stragglers.emplace_back();
    row.rank = RankId(small(rows, 0));
    row.from = Time(rows.integer(1));
    if (const auto until = rows.optional_integer(2)) row.until = Time(*until);
    if (const auto factor = rows.optional_integer(3)) row.factor_ppm = static_cast<uint64_t>(*factor);
  }
  return stragglers;
}

}  // namespace rankwire
