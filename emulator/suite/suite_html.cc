// `suite.html`: the result of a suite as a page that opens offline.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/page_files.h"
#include "emulator/suite/case_text.h"
#include "emulator/suite/curve_chart.h"
#include "emulator/suite/suite_report.h"
#include "emulator/suite/suite_sections.h"

namespace rankwire {
namespace {

/// How a reader should feel about a verdict.
const char* verdict_tone(std::string_view verdict) {
  if (verdict == "pass") return "good";
  if (verdict == "fail" || verdict == "error") return "bad";
  return verdict == "skipped" ? "plain" : "doubtful";
}

std::string verdict_html(std::string_view verdict) {
  return fmt::format("<b class=\"verdict-{}\">{}</b>", verdict_tone(verdict), verdict);
}

/// Text whose lines stay.
std::string lines_html(std::string_view text) {
  std::string html = html_escaped(text);
  for (size_t at = html.find('\n'); at != std::string::npos; at = html.find('\n', at + 4)) html.replace(at, 1, "<br>");
  return html;
}

std::string part(const std::string& title, const std::string& body) {
  return body.empty() ? std::string() : fmt::format("<section><h2>{}</h2>\n{}</section>\n", html_escaped(title), body);
}

/// Columns of numbers are marked by a '#' before their heading; cells are HTML. Empty without rows.
std::string table_html(const std::vector<std::string_view>& headings,
                       const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return {};
  const auto css = [&](size_t column) { return headings[column].starts_with('#') ? " class=\"n\"" : ""; };
  std::string html = "<div class=\"wide\"><table>\n<thead><tr>";
  for (size_t i = 0; i < headings.size(); ++i)
    html +=
        fmt::format("<th scope=\"col\"{}>{}</th>", css(i), headings[i].substr(headings[i].starts_with('#') ? 1 : 0));
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) html += fmt::format("<td{}>{}</td>", css(i), row[i]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string anchor_of(const CaseResult& result) {
  return "test-" + html_escaped(result.id);
}

std::string verdict_card(std::string_view title, std::string_view value, std::string_view tone) {
  return fmt::format("<div class=\"card {}\"><span>{}</span><strong>{}</strong></div>\n", tone, title, value);
}

std::string verdict_cards(const SuiteResult& suite) {
  const std::string verdict = suite_verdict(suite);
  std::string html = "<div class=\"cards\">\n" + verdict_card("Verdict", verdict, verdict_tone(verdict));
  std::chrono::milliseconds took{0};
  for (const CaseResult& result : suite.cases) took += result.took;
  for (const CaseVerdict each : kCaseVerdicts)
    html += verdict_card(name_of(each), fmt::to_string(suite.count(each)),
                         suite.count(each) == 0 ? "plain" : verdict_tone(name_of(each)));
  return html + verdict_card("took", took_text(took), "plain") + "</div>\n";
}

std::string tests_table(const SuiteResult& suite) {
  std::vector<std::vector<std::string>> rows;
  for (const CaseResult& result : suite.cases)
    rows.push_back({fmt::format("<a href=\"#{}\">{}</a>", anchor_of(result), html_escaped(result.id)),
                    html_escaped(result.title), verdict_html(name_of(result.outcome.verdict)),
                    lines_html(result.outcome.reason), took_text(result.took)});
  return table_html({"test", "title", "verdict", "reason", "#took"}, rows);
}

std::string measurements_html(const CaseResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const Measured& m : result.outcome.measurements)
    rows.push_back({html_escaped(m.name), html_escaped(m.subject), html_escaped(value_text(m.value, m.unit)),
                    m.low || m.high ? html_escaped(bounds_text(m)) : "-",
                    verdict_html(name_of(shown_verdict(result, m))), variation_text(m)});
  return table_html({"measured", "of", "#value", "expected", "verdict", "#variation"}, rows);
}

std::string artefacts_html(const CaseResult& result) {
  std::string items;
  for (const Artefact& artefact : result.outcome.artefacts) {
    const std::string path = html_escaped(artefact_path(result, artefact));
    items += fmt::format("<li><a href=\"{0}\">{0}</a>: {1}{2}</li>\n", path, html_escaped(artefact.what),
                         artefact.frames.empty() ? "" : fmt::format(", frames {}", fmt::join(artefact.frames, ", ")));
  }
  return items.empty() ? "" : "<ul>\n" + items + "</ul>\n";
}

std::string test_html(const CaseResult& result) {
  const std::string_view verdict = name_of(result.outcome.verdict);
  std::string html = fmt::format(
      "<section id=\"{}\"><h2>{}: {}</h2>\n<div class=\"reason {}\"><p><b>{}</b>{}{}</p></div>\n<dl class=\"facts\">\n",
      anchor_of(result), html_escaped(result.id), html_escaped(result.title), verdict_tone(verdict), verdict,
      result.outcome.reason.empty() ? "" : ": ", lines_html(result.outcome.reason));
  const auto fact = [&](const char* what, const std::string& content) {
    if (!content.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", what, lines_html(content));
  };
  fact("Stimulus", result.stimulus);
  fact("Expectation", result.expectation);
  fact("Source", result.source);
  for (const std::string& anomaly : result.outcome.anomalies) fact("Anomaly", anomaly);
  html += "</dl>\n" + measurements_html(result);
  for (const std::vector<MeasuredCurve>& graph : graphs_of(result)) html += curve_chart_svg(graph);
  return html + artefacts_html(result) + "</section>\n";
}

std::string anomalies_html(const SuiteResult& suite) {
  std::string items;
  for (const CaseResult& result : suite.cases)
    for (const std::string& anomaly : result.outcome.anomalies)
      items += fmt::format("<li><a href=\"#{}\">{}</a>: {}</li>\n", anchor_of(result), html_escaped(result.id),
                           lines_html(anomaly));
  return items.empty() ? "<p>None was seen.</p>\n" : "<ul>\n" + items + "</ul>\n";
}

std::string repeatability_html(const SuiteResult& suite) {
  std::vector<std::vector<std::string>> rows;
  for (const CaseResult& result : suite.cases) {
    for (const Measured& m : result.outcome.measurements) {
      if (m.variation)
        rows.push_back({fmt::format("<a href=\"#{}\">{}</a>", anchor_of(result), html_escaped(result.id)),
                        html_escaped(m.name), html_escaped(m.subject), html_escaped(value_text(m.value, m.unit)),
                        fmt::to_string(m.repetitions), variation_text(m)});
    }
  }
  return table_html({"test", "measured", "of", "#mean", "#repetitions", "#coefficient of variation"}, rows);
}

constexpr std::string_view kSuiteStyle =
    ".verdict-good{color:var(--good)}.verdict-bad{color:var(--bad)}.verdict-doubtful{color:var(--doubtful)}\n"
    "a{color:inherit}td:first-child{overflow-wrap:anywhere;min-width:6rem}\n"
    ".facts{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;font-size:.9rem}\n"
    ".facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}\n"
    "@media (max-width:30rem){.facts{grid-template-columns:1fr}.facts dd{margin-bottom:.4rem}}\n";

std::string page_head(const SuiteResult& suite, const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0} - rankwire</title>\n<style>{1}{2}</style>"
      "</head>\n<body>\n<h1>{0}</h1>\n<p class=\"note\">rankwire {3} &middot; {4} tests</p>\n",
      html_escaped(title), page_style(), kSuiteStyle, html_escaped(suite.version), suite.cases.size());
}

}  // namespace

std::string suite_html(const SuiteResult& suite, const std::string& title) {
  std::string html = page_head(suite, title) + verdict_cards(suite);
  if (suite.interrupted) html += "<p>Interrupted: tests that had not begun then are missing.</p>\n";
  for (const PropertySection& section : property_sections(suite)) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, value] : section.properties) rows.push_back({html_escaped(name), lines_html(value)});
    html += part(section.title, table_html({"property", "value"}, rows));
  }
  html += part("Tests", tests_table(suite));
  html += part("Anomalies", anomalies_html(suite));
  html += part("Repeatability", repeatability_html(suite));
  for (const CaseResult& result : suite.cases) html += test_html(result);
  return html + "</body></html>\n";
}

}  // namespace rankwire
