#include "emulator/report/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/queue_statistics.h"
#include "emulator/report/time_axis.h"

namespace rankwire {
namespace {

constexpr size_t kDrawn = 8, kListedQueues = 64;
constexpr int kNameWidth = 120, kColumnWidth = 2, kPlotHeight = 60, kPlotGap = 12;
constexpr int kSeriesWidth = static_cast<int>(QueueStatistics::kColumns) * kColumnWidth;

/// Columns `from` .. `to` - 1 for which `holds`, as bars of the height that `top` leaves.
template <class Holds>
std::string bars(const QueueStatistics& queue, const char* css, int top, int height, Holds holds) {
  std::string svg;
  const auto& columns = queue.columns;
  for (size_t c = 0; c < columns.size();) {
    size_t stop = c;
    while (stop < columns.size() && holds(columns[stop])) ++stop;
    if (stop > c)
      svg += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", css,
                         kNameWidth + static_cast<int>(c) * kColumnWidth, top,
                         static_cast<int>(stop - c) * kColumnWidth, height);
    c = stop + 1;
  }
  return svg;
}

/// The queue's length in each column; above it where it was paused, marked and dropped.
std::string plot(const QueueStatistics& queue, Bytes scale, int top) {
  std::string svg =
      fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n<text class=\"unit\" x=\"0\" y=\"{}\">priority {}</text>\n",
                  top + 20, html_escaped(queue.name), top + 34, queue.priority);
  const auto height_of = [&](Bytes length) {
    return static_cast<int>(
        std::lround(static_cast<double>(length.count) / static_cast<double>(scale.count) * (kPlotHeight - 12)));
  };
  for (size_t c = 0; c < queue.columns.size(); ++c) {
    const int height = height_of(queue.columns[c].longest);
    if (height == 0) continue;
    svg +=
        fmt::format("<rect class=\"ec\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                    kNameWidth + static_cast<int>(c) * kColumnWidth, top + kPlotHeight - height, kColumnWidth, height);
  }
  using Column = QueueStatistics::Column;
  svg += bars(queue, "rc", top, 3, [](const Column& column) { return column.paused; });
  svg += bars(queue, "ex", top + 4, 3, [](const Column& column) { return column.marked; });
  svg += bars(queue, "lost", top + 8, 3, [](const Column& column) { return column.dropped; });
  return svg;
}

std::string picture(const std::vector<QueueStatistics>& queues, Time end) {
  const size_t drawn = std::min(queues.size(), kDrawn);
  const Bytes scale = std::max(queues.front().longest, Bytes(1));
  std::string plots;
  for (size_t i = 0; i < drawn; ++i) plots += plot(queues[i], scale, static_cast<int>(i) * (kPlotHeight + kPlotGap));
  const int height = static_cast<int>(drawn) * (kPlotHeight + kPlotGap);
  return fmt::format(
             "<p class=\"note\"><span class=\"key ec\"></span>bytes that wait, up to {} <span class=\"key "
             "rc\"></span>paused <span class=\"key ex\"></span>marked CE <span class=\"key lost\"></span>dropped</p>\n"
             "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>Lengths of queues over "
             "time</title>\n",
             readable(scale), kNameWidth + kSeriesWidth + 40, height + 20) +
         time_axis_svg(end, {.left = kNameWidth, .width = kSeriesWidth, .height = height}) + plots + "</svg></div>\n";
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
