#include "emulator/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/background.h"
#include "emulator/report/band.h"
#include "emulator/report/bandwidth.h"
#include "emulator/report/blame.h"
#include "emulator/report/certification.h"
#include "emulator/report/collective_sizes.h"
#include "emulator/report/collective_table.h"
#include "emulator/report/compute.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/device_counters.h"
#include "emulator/report/dilation.h"
#include "emulator/report/findings.h"
#include "emulator/report/format.h"
#include "emulator/report/hardware.h"
#include "emulator/report/html_details.h"
#include "emulator/report/html_matrix.h"
#include "emulator/report/html_page.h"
#include "emulator/report/html_ranks.h"
#include "emulator/report/html_table.h"
#include "emulator/report/html_times.h"
#include "emulator/report/html_transport.h"
#include "emulator/report/hybrid.h"
#include "emulator/report/impairments.h"
#include "emulator/report/jobs.h"
#include "emulator/report/limits.h"
#include "emulator/report/losses.h"
#include "emulator/report/metric_texts.h"
#include "emulator/report/models.h"
#include "emulator/report/operation_gaps.h"
#include "emulator/report/page_files.h"
#include "emulator/report/page_timeline.h"
#include "emulator/report/picture.h"
#include "emulator/report/queues.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/rates.h"
#include "emulator/report/repetitions.h"
#include "emulator/report/requests.h"
#include "emulator/report/slack.h"
#include "emulator/report/slow_operations.h"
#include "emulator/report/stall.h"
#include "emulator/report/storms.h"
#include "emulator/report/traffic_paths.h"
#include "emulator/report/what_if.h"

namespace rankwire {
namespace {

constexpr size_t kMostOperations = 50, kShownAtOnce = 8;
using HtmlColumn::kText;

/// Texts of the result carry this class: how a reader should feel about it.
const char* tone_of(std::string_view word) {
  if (word == "ok") return "good";
  const bool is_doubtful = word == "generator_limited" || word == "degraded" || word == "interrupted" ||
                           word == "unknown" || word == "inconclusive";
  return is_doubtful ? "doubtful" : "bad";
}

constexpr auto section = html_section;

std::string card(const char* title, const std::string& value, const std::string& beneath = {},
                 const char* tone = "plain") {
  return html_card("result", title, value, beneath, tone);
}

std::string completion_card(const RunReader& record, const char* title, const RecordedRun* run) {
  if (run == nullptr || !run->ended) return card(title, "-");
  const bool ok = run->end.verdict == "ok";
  return card(title, readable(time_reached(record, *run)),
              ok ? run->start.clock + " time" : "until it " + run->end.verdict);
}

std::string ratio_card(const RunReader& record) {
  const auto ratio = predicted_ratio(record);
  if (!ratio) return card("Emulated / reference", "-");
  return card("Emulated / reference", readable_ratio(ratio),
              fmt::format("{:+.2f} %{}", (*ratio - 1) * 100, reference_band(record) ? ", of the band's median" : ""));
}

std::string transport_cards(const RunEnd& end) {
  const TransportCounters& c = end.counters;
  std::string html = card("Retransmitted", fmt::format("{} packets", c.retransmitted),
                          counted(c.naks, "NAK") + ", " + counted(c.timeouts, "time-out"),
                          c.retransmitted == 0 ? "plain" : "doubtful");
  html += card("Congestion", fmt::format("{} CE marks", c.ecn_ce_rx),
               fmt::format("{} CNPs, {} pause frames", c.cnp_rx, c.pause_rx));
  const uint64_t wrong = end.messages_lost + end.messages_duplicated + c.payload_errors;
  html +=
      card("Messages delivered", fmt::format("{} of {}", c.messages_delivered, end.messages),
           fmt::format("{} lost, {} twice, {} altered", end.messages_lost, end.messages_duplicated, c.payload_errors),
           wrong == 0 ? "plain" : "bad");
  return html;
}

std::string cards(const RunReader& record) {
  const RecordVerdict verdict = verdict_of(record);
  const std::string fidelity = assess_fidelity(record).fidelity;
  std::string html = "<div class=\"cards\">\n";
  html += card("Verdict", verdict.verdict, {}, tone_of(verdict.verdict));
  if (const RecordedRun* run = record.emulated()) {
    html += completion_card(record, run->start.fidelity == Fidelity::kTwin ? "Emulated (twin)" : "Emulated", run);
  }
  html += completion_card(record, "Reference", record.reference());
  if (record.emulated() != nullptr) {
    html += ratio_card(record);
    html += card("Fidelity", fidelity, {}, tone_of(fidelity));
  }
  if (const RecordedRun* run = principal_run(record)) {
    html += card("Planned traffic", readable(run->end.bytes_wire) + " on the wire",
                 fmt::format("{} local, {} ranks", readable(run->end.bytes_local), run->start.ranks));
  }
  if (const RecordedRun* run = record.emulated(); run != nullptr && run->ended) html += transport_cards(run->end);
  return html + "</div>\n";
}

std::string sentence_of(const std::string& text) {
  return text.empty() ? text : "<p>" + html_escaped(text) + ".</p>\n";
}

std::string list(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string html = "<ul>\n";
  for (const std::string& line : lines) html += "<li>" + html_escaped(line) + "</li>\n";
  return html + "</ul>\n";
}

/// A line "rank 3 in 'x' waits for rank 4 to acknowledge: source QP ..." with what follows the first ": " subdued.
std::string waiting_line(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return "<li>" + html_escaped(line) + "</li>\n";
  return fmt::format("<li>{}<br><span class=\"note\">{}</span></li>\n", html_escaped(line.substr(0, colon)),
                     html_escaped(line.substr(colon + 2)));
}

/// The first line says what happened, each other one who waits for whom.
std::string reason(const RecordVerdict& verdict) {
  if (verdict.reason.empty()) return {};
  std::string_view rest = verdict.reason;
  const auto next_line = [&] {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  std::string html = fmt::format("<div class=\"reason {}\"><p><b>{}</b>: {}</p>\n", tone_of(verdict.verdict),
                                 html_escaped(verdict.verdict), html_escaped(next_line()));
  if (!rest.empty()) {
    html += "<ul>\n";
    while (!rest.empty()) html += waiting_line(next_line());
    html += "</ul>\n";
  }
  return html + "</div>\n";
}

std::string result(const RunReader& record) {
  const FidelityAssessment fidelity = assess_fidelity(record);
  std::string sentence = explain_fidelity(record);
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return reason(verdict_of(record)) +
         fmt::format("<p class=\"blame\">{}{}</p>\n", html_escaped(sentence), fidelity.reasons.empty() ? "." : ":") +
         list(fidelity.reasons);
}

std::string html_limits(const RunReader& record) {
  std::vector<std::string> lines;
  for (const LimitResult& limit : limit_results(record)) lines.push_back(limit.text);
  return list(lines);
}

std::string deviation_rows(std::span<const OperationRow> rows, Duration most, const RankNames& names,
                           const TrafficPaths& paths) {
  HtmlTable table("deviations", {{"Extra time"},
                                 {"Emulated"},
                                 {"Reference"},
                                 {"Ratio"},
                                 {"Worst rank"},
                                 {"Iteration"},
                                 {"Operation", kText},
                                 {"Kind", kText},
                                 {"Group", kText},
                                 {"Node"},
                                 {"Size"},
                                 {"busbw Gbit/s"},
                                 {"Path", kText}});
  for (const OperationRow& row : rows) {
    const Duration emulated = row.emulated->duration(), reference = row.reference->duration();
    const Duration extra = emulated - reference;
    const auto bandwidth = operation_bandwidth(row.node, emulated);
    table.add({HtmlCell::bar("+" + readable(extra), static_cast<double>(extra.ps) / static_cast<double>(most.ps)),
               emulated, reference, readable_ratio(ratio_of(emulated, reference)), names(row.node.rank), row.iteration,
               row.node.name, row.node.kind, row.node.group, row.node.id, row.node.bytes,
               bandwidth ? readable_gbps(bandwidth->bus) : "-", paths.of(row.node)},
              html_operation(row));
  }
  return std::move(table).finish();
}

std::string longest_rows(std::span<const OperationRow> rows, const RankNames& names, const TrafficPaths& paths) {
  HtmlTable table("longest", {{"Duration"},
                              {"Worst rank"},
                              {"Iteration"},
                              {"Operation", kText},
                              {"Kind", kText},
                              {"Group", kText},
                              {"Node"},
                              {"Size"},
                              {"busbw Gbit/s"},
                              {"Path", kText}});
  for (const OperationRow& row : rows) {
    const Duration duration = row.emulated ? row.emulated->duration() : row.reference->duration();
    const auto bandwidth = operation_bandwidth(row.node, duration);
    table.add({duration, names(row.node.rank), row.iteration, row.node.name, row.node.kind, row.node.group, row.node.id,
               row.node.bytes, bandwidth ? readable_gbps(bandwidth->bus) : "-", paths.of(row.node)},
              html_operation(row));
  }
  return std::move(table).finish();
}

/// The first rows at once, the others on demand.
template <class Draw>
std::string folded(std::vector<OperationRow> rows, Draw draw) {
  rows.resize(std::min(rows.size(), kMostOperations));
  const std::span<const OperationRow> all(rows);
  if (all.size() <= kShownAtOnce) return draw(all);
  return "<div class=\"folded\">" + draw(all.first(kShownAtOnce)) +
         fmt::format("<details><summary>{} more</summary>\n", all.size() - kShownAtOnce) +
         draw(all.subspan(kShownAtOnce)) + "</details></div>\n";
}

std::string operations_section(const RunReader& record, const OperationStatistics& operations) {
  const RankNames names(record);
  const TrafficPaths paths(record);
  if (record.emulated() == nullptr || record.reference() == nullptr) {
    const auto longest = operations.longest();
    return longest.empty() ? ""
                           : section("Longest communication, worst rank of each",
                                     folded(longest, [&](auto rows) { return longest_rows(rows, names, paths); }));
  }
  if (operations.compared() == 0) return {};
  const char* title = "Communication that took longer than in the reference, worst rank of each";
  const auto deviations = operations.deviations();
  if (deviations.empty())
    return section(title, "<p>None of those that ended on both sides took 1 % or 10 us longer.</p>\n");
  const Duration most = *extra_time(deviations.front());
  return section(title, folded(deviations, [&](auto rows) { return deviation_rows(rows, most, names, paths); }));
}

std::string dut_table(const RunReader& record) {
  if (record.dut().empty()) return {};
  HtmlTable table("device", {{"Property", kText}, {"Value", kText}});
  for (const auto& [key, value] : record.dut()) table.add({key, value});
  return std::move(table).finish();
}

nlohmann::ordered_json parsed_config(const RunReader& record) {
  return nlohmann::ordered_json::parse(record.config(), nullptr, false);
}

std::string configuration(const RunReader& record) {
  if (record.config().empty()) return {};
  const auto json = parsed_config(record);
  const std::string text = json.is_discarded() ? record.config() : json.dump(2);
  return "<details><summary>Resolved configuration</summary><pre>" + html_escaped(text) + "</pre></details>\n";
}

std::string name_of(const RunReader& record) {
  const auto json = parsed_config(record);
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return "run";
  return json["name"].get<std::string>();
}

std::string head(const RunReader& record) {
  const std::string name = name_of(record);
  return html_head(name + " - rankwire report") +
         fmt::format("<h1>{}</h1>\n<p class=\"note\">rankwire report &middot; {} &middot; version {}</p>\n",
                     html_escaped(name), html_escaped(record.created()), html_escaped(record.version()));
}

}  // namespace

std::string report_html(const RunReader& record, const RecordFigures& figures, std::span<const FlowStatistics> flows,
                        const RecordActivity& activity, const PageOperations& page_operations) {
  const OperationStatistics& operations = figures.operations;
  const FlowStatistics no_flows(0);
  const RecordedRun* principal = principal_run(record);
  const FlowStatistics& queue_pairs =
      principal == nullptr ? no_flows : flows[static_cast<size_t>(principal - record.runs().data())];
  std::string html = head(record);
  html += cards(record);
  html += result(record);
  html += section("Who waits for whom", html_stall(record));
  html += section("What the generator resolves", sentence_of(certification_text(record)));
  html += section("Repetitions", html_repetitions(record));
  html += section("Who is to blame", html_blame(record, figures.diagnosis));
  html += section("What was found", list(findings(record, figures.diagnosis)));
  html += section("Requests", html_requests(figures.requests));
  html += section("The collective by size", html_collective(figures.collective, figures.cluster));
  html += section("Limits", html_limits(record));
  html += section("Warnings", list(all_warnings(record)));
  html += section("Where the time went along the critical path", html_critical_path(record, figures.diagnosis));
  html += section("What else is nearly critical", html_slack(record, figures.diagnosis));
  html += section("Losses", html_losses(record, figures.diagnosis.losses));
  html += section("Failed connections", html_failures(record));
  html += section("Jobs", html_jobs(record, figures.diagnosis.shares));
  html += section("Background", html_background(record));
  html += section("Pause storms", html_storms(record));
  html += operations_section(record, operations);
  html += section("What it took longer for", html_operation_gaps(record, operations, figures.diagnosis));
  html += section("Who held the slowest communication up", html_slow_operations(record, operations));
  html += section("The reference with small differences", sentence_of(band_text(record)));
  html += section("What would save time", html_what_if(record));
  html += section("Models side by side", html_models(record));
  html += section("Stretched time", sentence_of(dilation_text(record)));
  html += section("Who is on wires", sentence_of(hybrid_text(record)));
  html += section("Ranks", html_ranks(record, activity));
  html += section("Compute", html_compute(record));
  html += section("Timeline", html_timeline(record, activity, page_operations));
  html += section("Latency", html_latency(record));
  html += section("Operations", html_groups(record, operations));
  html += section("Times of messages", html_message_times(record));
  html += section("Who sent to whom", html_traffic_matrix(record));
  html += section("Sizes of collectives by rank", html_collective_sizes(record));
  html += section("Slowest messages", html_messages(record));
  html += section("Transport", html_counters(record));
  html += section("Traffic of the ranks", html_rank_traffic(record, queue_pairs));
  html += section("Slowest queue pairs", html_flows(record, queue_pairs));
  html += section("Ports", html_ports(record, queue_pairs));
  html += section("Queues", html_queues(record));
  html += section("Rates and windows over time", html_rates(record));
  html += section("Counters of the devices", html_device_counters(record));
  html += section("Impairments", html_impairments(record));
  html += section("Hardware of the ports", html_hardware(record));
  html += section("Device under test", dut_table(record));
  html += section("Configuration", configuration(record));
  return html + fmt::format("<script type=\"module\">\n{}</script>\n</body></html>\n", page_script());
}

}  // namespace rankwire
