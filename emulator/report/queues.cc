#include "emulator/report/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "emulator/report/column_plots.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/queue_statistics.h"

namespace rankwire {
namespace {

constexpr size_t kDrawn = 8, kListedQueues = 64;

/// The queue's length in each column; above it where it was paused, marked and dropped.
ColumnPlot plot(const QueueStatistics& queue, Bytes scale) {
  ColumnPlot plot{.name = queue.name,
                  .unit = fmt::format("priority {}", queue.priority),
                  .filled = {},
                  .line = {},
                  .bars = {{"rc", {}}, {"ex", {}}, {"lost", {}}}};
  for (const QueueStatistics::Column& column : queue.columns) {
    plot.filled.push_back(static_cast<double>(column.longest.count) / static_cast<double>(scale.count));
    plot.bars[0].columns.push_back(column.paused);
    plot.bars[1].columns.push_back(column.marked);
    plot.bars[2].columns.push_back(column.dropped);
  }
  return plot;
}

std::string picture(const std::vector<QueueStatistics>& queues, Time end) {
  const Bytes scale = std::max(queues.front().longest, Bytes(1));
  std::vector<ColumnPlot> plots;
  for (size_t i = 0; i < std::min(queues.size(), kDrawn); ++i) plots.push_back(plot(queues[i], scale));
  return fmt::format(
             "<p class=\"note\"><span class=\"key ec\"></span>bytes that wait, up to {} <span class=\"key "
             "rc\"></span>paused <span class=\"key ex\"></span>marked CE <span class=\"key lost\"></span>dropped</p>\n",
             readable(scale)) +
         column_plots_svg("Lengths of queues over time", end, plots);
}

std::string table_of(const std::vector<QueueStatistics>& queues) {
  HtmlTable table("queues", {{"Port", HtmlColumn::kText},
                             {"Priority"},
                             {"Longest"},
                             {"Mean"},
                             {"Marked CE"},
                             {"Dropped"},
                             {"XOFF received"},
                             {"XOFF sent"},
                             {"Samples"}});
  const size_t listed = std::min(queues.size(), kListedQueues);
  for (size_t i = 0; i < listed; ++i) {
    const QueueStatistics& q = queues[i];
    table.add({q.name, uint32_t{q.priority}, q.longest, Bytes(std::llround(q.mean)), q.marks, q.drops, q.xoff_rx,
               q.xoff_tx, q.samples});
  }
  return html_shown_of(listed, queues.size(), "queues.csv") + std::move(table).finish();
}

}  // namespace

std::string queues_csv(const RunReader& record) {
  std::string csv = "fidelity,time_ps,name,priority,queue_bytes,paused,marks,drops,xoff_rx,xoff_tx\n";
  for (const RecordedRun& run : record.runs()) {
    const std::optional<QueueSampling> sampling = record.queue_samples(run);
    if (!sampling) continue;
    for (const QueueSampleRow& row : sampling->rows) {
      fmt::format_to(std::back_inserter(csv), "{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity),
                     row.time.ps, csv_field(sampling->ports[row.port]), row.priority, row.length.count, int{row.paused},
                     row.marks, row.drops, row.xoff_rx, row.xoff_tx);
    }
  }
  return csv;
}

nlohmann::ordered_json queues_json(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto sampling = run == nullptr ? std::nullopt : record.queue_samples(*run);
  if (!sampling) return nullptr;
  return {{"interval_ps", sampling->interval.ps}, {"rows", sampling->rows.size()}, {"rows_lost", sampling->lost}};
}

std::string html_queues(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto sampling = run == nullptr ? std::nullopt : record.queue_samples(*run);
  if (!sampling || sampling->rows.empty()) return {};
  const Time end = std::max(Time() + run->end.completion, sampling->rows.back().time);
  if (end <= Time()) return {};
  const std::vector<QueueStatistics> queues = queue_statistics(*sampling, end);
  std::string html = fmt::format(
      "<p class=\"note\">Output queues of the embedded switch every {}, where something happened; the longest "
      "first.</p>\n",
      readable(sampling->interval));
  if (sampling->lost > 0) html += fmt::format("<p class=\"note\">{} samples are missing.</p>\n", sampling->lost);
  return html + picture(queues, end) + table_of(queues);
}

}  // namespace rankwire
