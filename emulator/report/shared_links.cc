#include "emulator/report/shared_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

constexpr size_t kMostSharedInJson = 16, kMostSharedLines = 3, kMostSharedRows = 50;

const std::string& name_of_job(const RunReader& record, JobId job) {
  return record.jobs()[job.value].name;
}

}  // namespace

std::vector<SharedLinkRow> longest_shared_links(const RunReader& record) {
  for (const RecordedRun& run : record.runs()) {
    std::vector<SharedLinkRow> rows = record.shared_links(run);
    if (rows.empty()) continue;
    std::ranges::stable_sort(rows, std::ranges::greater(), &SharedLinkRow::shared);
    return rows;
  }
  return {};
}

nlohmann::ordered_json shared_links_json(const RunReader& record, std::span<const SharedLinkRow> longest, JobId job) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SharedLinkRow& row : longest) {
    if (list.size() == kMostSharedInJson) break;
    if (row.job != job) continue;
    list.push_back({{"link", row.link},
                    {"other", name_of_job(record, row.other)},
                    {"time_ps", row.time.ps},
                    {"shared_ps", row.shared.ps},
                    {"bytes", row.bytes.count},
                    {"shared_bytes", row.shared_bytes.count}});
  }
  return list;
}

std::string shared_links_text(const RunReader& record) {
  const std::vector<SharedLinkRow> rows = longest_shared_links(record);
  std::string text;
  size_t lines = 0;
  for (const JobInfo& job : record.jobs()) {
    if (lines == kMostSharedLines) break;
    const auto row = std::ranges::find(rows, job.job, &SharedLinkRow::job);
    if (row == rows.end()) continue;
    ++lines;
    text += fmt::format("  {} shares {} with {} for {} of {}, {} of its {} there\n", job.name, row->link,
                        name_of_job(record, row->other), readable(row->shared), readable(row->time),
                        readable(row->shared_bytes), readable(row->bytes));
  }
  return text.empty() ? text : "predicted links that jobs share longest\n" + text;
}

std::string html_shared_links(const RunReader& record) {
  const std::vector<SharedLinkRow> rows = longest_shared_links(record);
  if (rows.empty()) return {};
  using HtmlColumn::kText;
  HtmlTable table("shared links", {{"Link", kText},
                                   {"Job", kText},
                                   {"Shares it with", kText},
                                   {"For"},
                                   {"Of the time it sends there"},
                                   {"Sends then"},
                                   {"Of all it sends there"}});
  const size_t shown = std::min(rows.size(), kMostSharedRows);
  for (size_t i = 0; i < shown; ++i) {
    const SharedLinkRow& row = rows[i];
    table.add({row.link, name_of_job(record, row.job), name_of_job(record, row.other), row.shared, row.time,
               row.shared_bytes, row.bytes});
  }
  return "<p class=\"note\">Links that jobs use at the same time, as the model flow predicts, what is shared longest "
         "first. Bytes of the line, headers included.</p>\n" +
         html_shown_of(shown, rows.size(), "shared.csv") + std::move(table).finish();
}

std::string shared_links_csv(const RunReader& record) {
  std::string csv = "fidelity,model,link,job,other,time_ps,shared_ps,bytes,shared_bytes\n";
  for (const RecordedRun& run : record.runs()) {
    for (const SharedLinkRow& row : record.shared_links(run)) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity), csv_field(run.start.model),
                         csv_field(row.link), csv_field(name_of_job(record, row.job)),
                         csv_field(name_of_job(record, row.other)), row.time.ps, row.shared.ps, row.bytes.count,
                         row.shared_bytes.count);
    }
  }
  return csv;
}

}  // namespace rankwire
