#include "emulator/report/html_ranks.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/band.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

constexpr size_t kMostRanks = 16;

/// Times of one rank on one side; absent where the side or the rank is.
struct RankTimes {
  std::optional<Duration> completion, compute, exposed;

  RankTimes(const RecordedRun* run, const SideActivity& activity, size_t rank) {
    if (run != nullptr && rank < run->end.per_rank.size()) completion = run->end.per_rank[rank];
    if (rank >= activity.ranks.size()) return;
    compute = activity.ranks[rank].compute.covered();
    exposed = activity.ranks[rank].exposed_communication();
  }
};

struct RankRow {
  uint64_t rank;
  RankTimes emulated, reference;
  std::optional<Duration> extra;      ///< where the runs can be compared
  std::optional<ReferenceBand> band;  ///< where the record has bands
};

std::vector<RankRow> rank_rows(const RunReader& record, const RecordActivity& activity) {
  const auto& [emulated, reference] = activity.sides;
  const size_t ranks = std::max(emulated.ranks.size(), reference.ranks.size());
  const bool comparable = completion_ratio(record).has_value();
  const std::vector<ReferenceBand> bands = rank_bands(record);
  std::vector<RankRow> rows;
  for (size_t rank = 0; rank < ranks; ++rank) {
    RankRow row{rank, {record.emulated(), emulated, rank}, {record.reference(), reference, rank}, {}, {}};
    const auto &e = row.emulated.completion, &r = row.reference.completion;
    if (comparable && e && r) row.extra = *e - *r;
    if (rank < bands.size()) row.band = bands[rank];
    rows.push_back(row);
  }
  return rows;
}

HtmlCell band_cell(const RankRow& row) {
  if (!row.band) return "-";
  return HtmlCell::valued(fmt::format("{} .. {}", readable(row.band->low), readable(row.band->high)),
                          row.band->median.ps);
}

std::optional<Duration> beyond_band(const RankRow& row) {
  if (!row.band || !row.extra) return std::nullopt;
  return beyond(*row.band, *row.emulated.completion);
}

std::string reference_ranks(std::span<const RankRow> rows, const RankNames& names) {
  HtmlTable table("ranks", {{"Rank"}, {"Reference"}, {"Band"}, {"Compute"}, {"Exposed communication"}});
  for (const RankRow& row : rows) {
    table.add(
        {names(row.rank), row.reference.completion, band_cell(row), row.reference.compute, row.reference.exposed});
  }
  return std::move(table).finish();
}

std::string compared_ranks(std::span<const RankRow> rows, const RankNames& names) {
  HtmlTable table("ranks", {{"Rank"},
                            {"Emulated"},
                            {"Reference"},
                            {"Extra time"},
                            {"Band"},
                            {"Beyond the band"},
                            {"Compute, emulated"},
                            {"Compute, reference"},
                            {"Exposed communication, emulated"},
                            {"Exposed communication, reference"}});
  for (const RankRow& row : rows) {
    table.add({names(row.rank), row.emulated.completion, row.reference.completion, row.extra, band_cell(row),
               beyond_band(row), row.emulated.compute, row.reference.compute, row.emulated.exposed,
               row.reference.exposed});
  }
  return std::move(table).finish();
}

}  // namespace

std::string html_ranks(const RunReader& record, const RecordActivity& activity) {
  std::vector<RankRow> rows = rank_rows(record, activity);
  if (rows.empty()) return {};
  // Absent ones are equal, so ranks that cannot be compared keep their order.
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.extra > b.extra; });
  const size_t all = rows.size();
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(std::min(all, kMostRanks)), rows.end());
  const RankNames names(record);
  const std::string table = record.emulated() == nullptr ? reference_ranks(rows, names) : compared_ranks(rows, names);
  return "<p class=\"note\">Completion time; time with compute at work; time with communication (waiting for other "
         "ranks included) that no compute hides.</p>\n" +
         html_shown_of(rows.size(), all, "summary.json") + table;
}

}  // namespace rankwire
