#include "emulator/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"
#include "emulator/report/html_style.h"
#include "emulator/report/picture.h"

namespace rankwire {
namespace {

constexpr size_t kMostGroups = 500, kMostFlows = 500;
constexpr uint32_t kMostMessages = 100;

/// A table whose cells are escaped here, so that no caller can forget it.
class Table {
 public:
  explicit Table(std::initializer_list<const char*> columns) {
    html_ = "<div class=\"wide\"><table>\n<thead><tr>";
    for (const char* column : columns) html_ += fmt::format("<th scope=\"col\">{}</th>", html_escaped(column));
    html_ += "</tr></thead>\n<tbody>\n";
  }
  void add(const std::vector<std::string>& cells) {
    html_ += "<tr>";
    for (const std::string& cell : cells) html_ += "<td>" + html_escaped(cell) + "</td>";
    html_ += "</tr>\n";
  }
  std::string finish() && { return std::move(html_) + "</tbody></table></div>\n"; }

 private:
  std::string html_;
};

std::string number(uint64_t value) {
  return fmt::to_string(value);
}

std::string readable_or_dash(std::optional<Duration> duration) {
  return duration ? readable(*duration) : "-";
}

std::optional<Duration> duration_of(const std::optional<OperationTimes>& times) {
  return times ? std::optional<Duration>(times->duration()) : std::nullopt;
}

std::string section(const char* title, const std::string& body) {
  return body.empty() ? std::string() : fmt::format("<section><h2>{}</h2>\n{}</section>\n", title, body);
}

std::string shown_of(size_t shown, size_t all, const char* file) {
  if (shown >= all) return {};
  return fmt::format("<p class=\"note\">{} of {}; all are in {}.</p>\n", shown, all, file);
}

std::string card(const char* title, const std::string& value) {
  return fmt::format("<div class=\"card\"><span>{}</span><strong>{}</strong></div>\n", title, html_escaped(value));
}

std::string cards(const RunReader& record) {
  std::string html = "<div class=\"cards\">\n";
  html += card("Verdict", verdict_of(record).verdict);
  html += card("Fidelity", assess_fidelity(record).fidelity);
  html += card("Emulated completion", readable_or_dash(completion_of(record.emulated())));
  html += card("Reference completion", readable_or_dash(completion_of(record.reference())));
  html += card("Emulated / reference", readable_ratio(completion_ratio(record)));
  if (const RecordedRun* run = principal_run(record)) {
    html += card("Ranks", number(run->start.ranks));
    html += card("Messages", number(run->end.messages));
    html += card("On the wire", readable(run->end.bytes_wire));
    html += card("Local", readable(run->end.bytes_local));
  }
  if (const RecordedRun* run = record.emulated(); run != nullptr && run->ended) {
    html += card("Retransmitted packets", number(run->end.counters.retransmitted));
    html += card("Messages lost", number(run->end.messages_lost));
  }
  return html + "</div>\n";
}

std::string list(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string html = "<ul>\n";
  for (const std::string& line : lines) html += "<li>" + html_escaped(line) + "</li>\n";
  return html + "</ul>\n";
}

std::string explanation(const RunReader& record) {
  const Verdict verdict = verdict_of(record);
  const FidelityAssessment fidelity = assess_fidelity(record);
  std::string html = "<p>Verdict <b>" + html_escaped(verdict.verdict) + "</b>";
  if (!verdict.reason.empty()) html += ": " + html_escaped(verdict.reason);
  html += ".</p>\n";
  if (record.emulated() == nullptr) {
    return html + "<p>Nothing was emulated: all times are those of the reference model.</p>\n";
  }
  if (record.emulated()->start.fidelity == Fidelity::kTwin) {
    html += "<p>The emulated columns are those of the packet-level twin, in virtual time: no device took part.</p>\n";
  }
  if (fidelity.reasons.empty()) {
    return html +
           "<p>Fidelity <b>ok</b>: the generator kept its schedule, so the times are those of the network.</p>\n";
  }
  return html +
         "<p>Fidelity <b>generator_limited</b>: the result stands, but the device under test is not to be blamed "
         "for it, because</p>\n" +
         list(fidelity.reasons);
}

std::string dut_table(const RunReader& record) {
  if (record.dut().empty()) return {};
  Table table({"Property", "Value"});
  for (const auto& [key, value] : record.dut()) table.add({key, value});
  return std::move(table).finish();
}

std::string groups_table(const OperationStatistics& operations) {
  const auto groups = operations.groups(kMostGroups);
  if (groups.empty()) return {};
  Table table({"Name", "Kind", "Group", "Count", "Bytes", "Emulated mean", "Reference mean", "Recorded mean", "Ratio",
               "Worst"});
  for (const OperationGroup* g : groups) {
    table.add({g->name, g->kind, g->group, number(g->count), readable(g->bytes), readable_or_dash(g->emulated.mean()),
               readable_or_dash(g->reference.mean()), readable_or_dash(g->recorded.mean()), readable_ratio(g->ratio()),
               readable(g->worst)});
  }
  return shown_of(groups.size(), operations.group_count(), "operations.csv") + std::move(table).finish();
}

std::string worst_table(const OperationStatistics& operations) {
  const auto worst = operations.worst();
  if (worst.empty()) return {};
  Table table({"Excess", "Name", "Kind", "Rank", "Iteration", "Node", "Bytes", "Emulated", "Reference", "Ratio",
               "busbw Gbit/s"});
  for (const OperationRow& row : worst) {
    const auto emulated = duration_of(row.emulated), reference = duration_of(row.reference);
    const auto ratio = emulated && reference ? ratio_of(*emulated, *reference) : std::nullopt;
    const auto bandwidth = operation_bandwidth(row.node, emulated ? *emulated : *reference);
    table.add({readable(excess(row)), row.node.name, row.node.kind, number(row.node.rank.value), number(row.iteration),
               number(row.node.id), readable(row.node.bytes), readable_or_dash(emulated), readable_or_dash(reference),
               readable_ratio(ratio), bandwidth ? fmt::format("{:.2f}", bandwidth->bus) : "-"});
  }
  return shown_of(worst.size(), operations.count(), "operations.csv") + std::move(table).finish();
}

/// Flows of the emulated side, else of the reference, those with the slowest message first.
std::string flows_table(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  if (run == nullptr) return {};
  auto flows = record.flows(*run);
  if (flows.empty()) return {};
  const auto slowest = [](const RecordedFlow& f) { return f.latency ? f.latency->max : Duration(0); };
  std::stable_sort(flows.begin(), flows.end(), [&](const auto& a, const auto& b) { return slowest(a) > slowest(b); });
  const size_t all = flows.size();
  flows.resize(std::min(all, kMostFlows));
  Table table({"Connection", "Group", "From", "To", "Channel", "Path", "Messages", "Bytes", "Packets", "Retransmitted",
               "NAKs", "Time-outs", "CE marks", "P50", "P99", "Max"});
  for (const RecordedFlow& row : flows) {
    const Connection& c = row.flow.connection;
    const FlowCounters& n = row.flow.counters;
    const auto at = [&](Duration MessageLatency::*field) {
      return row.latency ? readable((*row.latency).*field) : std::string("-");
    };
    table.add({number(c.id.value), row.flow.group.empty() ? "point-to-point" : row.flow.group, number(c.source.value),
               number(c.destination.value), number(c.channel), c.path == Path::kWire ? "wire" : "local",
               number(n.messages), readable(Bytes(static_cast<int64_t>(n.bytes))), number(n.packets),
               number(n.retransmitted), number(n.naks), number(n.timeouts), number(n.marks), at(&MessageLatency::p50),
               at(&MessageLatency::p99), at(&MessageLatency::max)});
  }
  return shown_of(flows.size(), all, "flows.csv") + std::move(table).finish();
}

std::string ports_table(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  const auto ports = run == nullptr ? std::vector<PortCounters>() : record.ports(*run);
  if (ports.empty()) return {};
  Table table({"Port", "Frames sent", "Bytes sent", "Frames received", "Bytes received", "Refused", "Missed", "Dropped",
               "Marked CE"});
  for (const PortCounters& p : ports) {
    table.add({p.name, number(p.tx_frames), number(p.tx_bytes), number(p.rx_frames), number(p.rx_bytes),
               number(p.tx_refused), number(p.rx_missed), number(p.dropped), number(p.marked)});
  }
  return std::move(table).finish();
}

std::string messages_table(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  const auto messages = run == nullptr ? std::vector<JoinedMessage>() : record.slowest_messages(*run, kMostMessages);
  if (messages.empty()) return {};
  Table table({"Completion", "Message", "Bytes", "Posted", "Delivered", "Retransmissions", "CE marks"});
  for (const JoinedMessage& m : messages) {
    table.add({readable(m.completion()), to_string(m.id), readable(m.bytes), readable(m.posted - Time(0)),
               readable(m.delivered - Time(0)), number(m.retransmissions), number(m.marks)});
  }
  return std::move(table).finish();
}

std::string configuration(const RunReader& record) {
  if (record.config().empty()) return {};
  const auto json = nlohmann::ordered_json::parse(record.config(), nullptr, false);
  const std::string text = json.is_discarded() ? record.config() : json.dump(2);
  return "<details><summary>Resolved configuration</summary><pre>" + html_escaped(text) + "</pre></details>\n";
}

std::string timeline(const RunReader& record) {
  const std::string svg = timeline_svg(record);
  if (svg.empty()) return {};
  return "<p class=\"note\">Upper band of a row: compute. Lower band: communication. The first 32 ranks; "
         "timeline.json has every operation.</p>\n<div class=\"wide\">" +
         svg + "</div>\n";
}

}  // namespace

std::string report_html(const RunReader& record, const OperationStatistics& operations) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>rankwire report</title>\n<style>";
  html += kReportStyle;
  html += "</style></head>\n<body>\n<h1>rankwire report</h1>\n";
  html += fmt::format("<p class=\"note\">{} &middot; version {}</p>\n", html_escaped(record.created()),
                      html_escaped(record.version()));
  html += cards(record);
  html += section("Result", explanation(record));
  html += section("Warnings", list(all_warnings(record)));
  html += section("Device under test", dut_table(record));
  html += section("Timeline", timeline(record));
  html += section("Operations by name", groups_table(operations));
  html += section("Operations with the largest excess over the reference", worst_table(operations));
  html += section("Slowest messages", messages_table(record));
  html += section("Flows", flows_table(record));
  html += section("Ports", ports_table(record));
  html += section("Configuration", configuration(record));
  return html + "</body></html>\n";
}

}  // namespace rankwire
