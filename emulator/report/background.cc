#include "emulator/report/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

using BackgroundJson = nlohmann::ordered_json;

/// An entry as one run had it; null where the run did not carry the background, has not ended or was not carried out.
const BackgroundRow* row_of(const RecordedRun* run, size_t entry) {
  if (run == nullptr || entry >= run->end.background.size() || !did_anything(*run)) return nullptr;
  return &run->end.background[entry];
}

template <class Value>
BackgroundJson ps_json(const std::optional<Value>& value) {
  return value ? BackgroundJson(value->ps) : BackgroundJson(nullptr);
}

BackgroundJson row_json(const BackgroundInfo& entry, const RecordedRun* run, size_t i) {
  const BackgroundRow* row = row_of(run, i);
  if (row == nullptr) return nullptr;
  const auto rate = delivered_rate(entry, *row, run->end.completion);
  const MessageLatency& l = row->completion;
  return {{"messages_offered", row->offered},
          {"messages_posted", row->posted},
          {"messages_acknowledged", row->acknowledged},
          {"messages_delivered", row->delivered},
          {"messages_failed", row->failed},
          {"messages_under_way", row->under_way()},
          {"bytes_offered", row->bytes_offered.count},
          {"bytes_posted", row->bytes_posted.count},
          {"bytes_delivered", row->bytes_delivered.count},
          {"payload_errors", row->payload_errors},
          {"flows_failed", row->failed_flows},
          {"delivered_bps", rate ? BackgroundJson(rate->bits_per_second) : BackgroundJson(nullptr)},
          {"first_arrival_ps", ps_json(row->first_arrival)},
          {"last_delivery_ps", ps_json(row->last_delivery)},
          {"completion_time",
           {{"count", l.count},
            {"p50_ps", l.p50.ps},
            {"p95_ps", l.p95.ps},
            {"p99_ps", l.p99.ps},
            {"p999_ps", l.p999.ps},
            {"max_ps", l.max.ps}}}};
}

std::string rate_text(const std::optional<Bandwidth>& rate) {
  return rate ? readable_gbps(static_cast<double>(rate->bits_per_second) / 1e9) : "-";
}

std::string loop_text(const BackgroundInfo& entry) {
  return entry.rate ? rate_text(entry.rate) + " Gbit/s" : fmt::format("{} outstanding", entry.limit);
}

std::string times_text(const BackgroundInfo& entry) {
  const std::string start = readable(entry.start - Time());
  return entry.stop ? fmt::format("{} to {}", start, readable(*entry.stop - Time())) : "from " + start;
}

/// Runs of the record with all of its background, with what they are called.
std::vector<std::pair<const char*, const RecordedRun*>> sides(const RunReader& record) {
  std::vector<std::pair<const char*, const RecordedRun*>> list;
  if (record.background().empty()) return list;
  for (const RecordedRun* run : {record.emulated(), record.reference()})
    if (row_of(run, record.background().size() - 1) != nullptr) list.emplace_back(to_string(run->start.fidelity), run);
  return list;
}

/// What a connection has under way before it waits for an acknowledgement; nothing where the record does not say.
std::optional<Bytes> largest_window(const RunReader& record) {
  const auto config = BackgroundJson::parse(record.config(), nullptr, false);
  const auto transport = config.is_object() ? config.find("transport") : config.end();
  if (transport == config.end() || !transport->is_object()) return std::nullopt;
  int64_t bytes = 1;
  for (const char* key : {"window", "queue_pairs", "mtu"}) {
    const auto value = transport->find(key);
    if (value == transport->end()) return std::nullopt;
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    int64_t factor = 0;
    // The path MTU has its unit, B, behind it.
    if (std::from_chars(text.data(), text.data() + text.size(), factor).ec != std::errc()) return std::nullopt;
    bytes *= factor;
  }
  return Bytes(bytes);
}

}  // namespace

std::optional<Bandwidth> delivered_rate(const BackgroundInfo& entry, const BackgroundRow& row, Duration completion) {
  const Time last = row.last_delivery.value_or(Time());
  const Time end = std::max(last, entry.stop ? std::min(*entry.stop, Time() + completion) : Time() + completion);
  if (end <= entry.start) return std::nullopt;
  const double seconds = static_cast<double>((end - entry.start).ps) / 1e12;
  return Bandwidth(static_cast<int64_t>(static_cast<double>(row.bytes_delivered.count) * 8 / seconds));
}

namespace {

/// Whether packets may give the entry less than the reference does: the emulated side, where there is one, shows it.
bool may_get_less(const RunReader& record, size_t i) {
  constexpr double kNoticed = 0.95;
  const BackgroundInfo& entry = record.background()[i];
  const auto rate = [&](const RecordedRun& run) {
    return delivered_rate(entry, *row_of(&run, i), run.end.completion).value_or(Bandwidth()).bits_per_second;
  };
  if (row_of(record.emulated(), i) == nullptr) return true;
  return static_cast<double>(rate(*record.emulated())) < kNoticed * static_cast<double>(rate(*record.reference()));
}

/// A line for each closed loop that has less under way than the jobs: where packets queue their shares go by that.
std::vector<std::string> favoured_loops(const RunReader& record) {
  std::vector<std::string> lines;
  const RecordedRun* reference = record.reference();
  const std::optional<Bytes> window = largest_window(record);
  if (reference == nullptr || reference->start.fidelity != Fidelity::kReference || !window) return lines;
  for (size_t i = 0; i < record.background().size(); ++i) {
    const BackgroundInfo& entry = record.background()[i];
    const Bytes under_way(entry.mean.count * entry.limit);
    if (row_of(reference, i) == nullptr || entry.rate || under_way >= *window || !may_get_less(record, i)) continue;
    lines.push_back(fmt::format(
        "a flow of {} has {} under way, and one of a job up to {}: where they queue in a switch {} gets less than in "
        "the reference, which shares lines evenly",
        entry.name, readable(under_way), readable(*window), entry.name));
  }
  return lines;
}

}  // namespace

nlohmann::ordered_json background_json(const RunReader& record) {
  BackgroundJson list = BackgroundJson::array();
  for (size_t i = 0; i < record.background().size(); ++i) {
    const BackgroundInfo& entry = record.background()[i];
    list.push_back({{"job", entry.job.value},
                    {"name", entry.name},
                    {"pattern", entry.pattern},
                    {"flows", entry.flows},
                    {"mean_bytes", entry.mean.count},
                    {"rate_bps", entry.rate ? BackgroundJson(entry.rate->bits_per_second) : BackgroundJson(nullptr)},
                    {"limit", entry.limit},
                    {"start_ps", entry.start.ps},
                    {"stop_ps", ps_json(entry.stop)},
                    {"emulated", row_json(entry, record.emulated(), i)},
                    {"reference", row_json(entry, record.reference(), i)}});
  }
  return list;
}

std::string background_text(const RunReader& record) {
  const auto runs = sides(record);
  if (record.background().empty() || runs.empty()) return {};
  std::string text =
      fmt::format("background, which counts apart\n  {:<14} {:<10} {:>6} {:>10} {:>10} {:>8} {:>10} {:>10}\n", "entry",
                  "run", "flows", "offered", "delivered", "Gbit/s", "p50", "p99");
  for (size_t i = 0; i < record.background().size(); ++i) {
    const BackgroundInfo& entry = record.background()[i];
    for (const auto& [side, run] : runs) {
      const BackgroundRow& row = *row_of(run, i);
      text += fmt::format("  {:<14} {:<10} {:>6} {:>10} {:>10} {:>8} {:>10} {:>10}\n", entry.name, side, entry.flows,
                          readable(row.bytes_offered), readable(row.bytes_delivered),
                          rate_text(delivered_rate(entry, row, run->end.completion)), readable(row.completion.p50),
                          readable(row.completion.p99));
      if (row.failed_flows > 0) text += fmt::format("    {} of its flows failed\n", row.failed_flows);
    }
  }
  for (const std::string& line : favoured_loops(record)) text += "  " + line + "\n";
  return text;
}

std::string html_background(const RunReader& record) {
  const auto runs = sides(record);
  if (record.background().empty() || runs.empty()) return {};
  using HtmlColumn::kText;
  HtmlTable table("background", {{"Entry", kText},
                                 {"Pattern", kText},
                                 {"Flows"},
                                 {"Each flow", kText},
                                 {"When", kText},
                                 {"Run", kText},
                                 {"Messages offered"},
                                 {"Not posted"},
                                 {"Delivered"},
                                 {"Failed"},
                                 {"Bytes delivered"},
                                 {"Gbit/s"},
                                 {"P50"},
                                 {"P99"},
                                 {"Slowest"}});
  for (size_t i = 0; i < record.background().size(); ++i) {
    const BackgroundInfo& entry = record.background()[i];
    for (const auto& [side, run] : runs) {
      const BackgroundRow& row = *row_of(run, i);
      table.add({entry.name, entry.pattern, entry.flows, loop_text(entry), times_text(entry), side, row.offered,
                 row.offered - row.posted, row.delivered, row.failed, row.bytes_delivered,
                 rate_text(delivered_rate(entry, row, run->end.completion)), row.completion.p50, row.completion.p99,
                 row.completion.max});
    }
  }
  std::string html =
      "<p class=\"note\">Traffic without a trace beside the jobs. It is in no figure of jobs and operations, but in "
      "those of ports and queue pairs. Times are from the post of a message to its acknowledgement.</p>\n" +
      std::move(table).finish();
  for (const std::string& line : favoured_loops(record)) html += "<p>" + html_escaped(line) + "</p>\n";
  return html;
}

std::string background_csv(const RunReader& record) {
  std::string csv =
      "fidelity,model,job,name,pattern,flows,mean_bytes,rate_bps,limit,start_ps,stop_ps,messages_offered,"
      "messages_posted,messages_acknowledged,messages_delivered,messages_failed,bytes_offered,bytes_posted,"
      "bytes_delivered,payload_errors,flows_failed,delivered_bps,last_delivery_ps,p50_ps,p95_ps,p99_ps,p999_ps,"
      "max_ps\n";
  for (const RecordedRun& run : record.runs()) {
    for (size_t i = 0; i < record.background().size(); ++i) {
      const BackgroundRow* row = row_of(&run, i);
      if (row == nullptr) continue;
      const BackgroundInfo& e = record.background()[i];
      const auto rate = delivered_rate(e, *row, run.end.completion);
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},", to_string(run.start.fidelity), csv_field(run.start.model),
                         e.job.value, csv_field(e.name), e.pattern, e.flows, e.mean.count,
                         e.rate ? fmt::to_string(e.rate->bits_per_second) : "", e.limit, e.start.ps,
                         e.stop ? fmt::to_string(e.stop->ps) : "");
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},", row->offered, row->posted, row->acknowledged, row->delivered,
                         row->failed, row->bytes_offered.count, row->bytes_posted.count, row->bytes_delivered.count,
                         row->payload_errors, row->failed_flows);
      const MessageLatency& l = row->completion;
      csv += fmt::format("{},{},{},{},{},{},{}\n", rate ? fmt::to_string(rate->bits_per_second) : "",
                         row->last_delivery ? fmt::to_string(row->last_delivery->ps) : "", l.p50.ps, l.p95.ps, l.p99.ps,
                         l.p999.ps, l.max.ps);
    }
  }
  return csv;
}

}  // namespace rankwire
