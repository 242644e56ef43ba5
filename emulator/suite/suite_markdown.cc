// `suite.md`: the result of a suite for a ticket or a pull request.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "emulator/suite/case_text.h"
#include "emulator/suite/suite_report.h"
#include "emulator/suite/suite_sections.h"

namespace rankwire {
namespace {

/// Text that Markdown takes as it is, on one line of a table or a list.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "<br>";
        break;
      case '\r':
        break;
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '|':
      case '*':
      case '_':
      case '`':
      case '[':
      case ']':
      case '\\':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

/// GitHub makes links of headings; these are our own so that they do not depend on its rules.
std::string anchor(const CaseResult& result) {
  std::string name = "test-";
  for (const char c : result.id) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return name;
}

std::string link_target(const std::string& path) {
  std::string out;
  for (const char c : path) out += c == ' ' ? "%20" : c == ')' ? "%29" : c == '(' ? "%28" : std::string(1, c);
  return out;
}

std::string properties(const SuiteResult& suite) {
  std::string text;
  for (const PropertySection& section : property_sections(suite)) {
    text += fmt::format("\n## {}\n\n| property | value |\n|---|---|\n", plain(section.title));
    for (const auto& [name, value] : section.properties)
      text += fmt::format("| {} | {} |\n", plain(name), plain(value));
  }
  return text;
}

std::string measurements(const CaseResult& result) {
  if (result.outcome.measurements.empty()) return {};
  std::string text = "\n| measured | of | value | expected | verdict |\n|---|---|--:|---|---|\n";
  for (const Measured& m : result.outcome.measurements)
    text +=
        fmt::format("| {} | {} | {} | {} | {} |\n", plain(m.name), plain(m.subject), plain(value_text(m.value, m.unit)),
                    plain(m.low || m.high ? bounds_text(m) : "-"), name_of(shown_verdict(result, m)));
  return text;
}

std::string curves(const CaseResult& result) {
  std::string text;
  for (const MeasuredCurve& curve : result.outcome.curves) {
    const auto axis = [](const std::string& name, const std::string& unit) {
      return plain(unit.empty() ? name : name + ", " + unit);
    };
    text += fmt::format("\n<details><summary>{}</summary>\n\n| {} | {} |\n|--:|--:|\n", plain(curve.name),
                        axis(curve.x_name, curve.x_unit), axis(curve.y_name, curve.y_unit));
    for (const MeasuredCurve::Point& p : curve.points)
      text += fmt::format("| {} | {} |\n", value_text(p.x, ""), value_text(p.y, ""));
    text += "\n</details>\n";
  }
  return text;
}

std::string test_section(const CaseResult& result) {
  std::string text = fmt::format("\n### <a id=\"{}\"></a>{}: {}\n\n**{}**", anchor(result), plain(result.id),
                                 plain(result.title), name_of(result.outcome.verdict));
  if (!result.outcome.reason.empty()) text += ": " + plain(result.outcome.reason);
  text += "\n\n";
  const auto line = [&](const char* what, const std::string& content) {
    if (!content.empty()) text += fmt::format("- {}: {}\n", what, plain(content));
  };
  line("Stimulus", result.stimulus);
  line("Expectation", result.expectation);
  line("Source", result.source);
  line("Took", took_text(result.took));
  for (const Artefact& artefact : result.outcome.artefacts) {
    const std::string path = artefact_path(result, artefact);
    text += fmt::format("- [{}]({}): {}{}\n", plain(path), link_target(path), plain(artefact.what),
                        artefact.frames.empty() ? "" : fmt::format(", frames {}", fmt::join(artefact.frames, ", ")));
  }
  for (const std::string& anomaly : result.outcome.anomalies) line("Anomaly", anomaly);
  return text + measurements(result) + curves(result);
}

std::string anomalies(const SuiteResult& suite) {
  std::string text;
  for (const CaseResult& result : suite.cases)
    for (const std::string& anomaly : result.outcome.anomalies)
      text += fmt::format("- {}: {}\n", plain(result.id), plain(anomaly));
  return "\n## Anomalies\n\n" + (text.empty() ? "None was seen.\n" : text);
}

std::string repeatability(const SuiteResult& suite) {
  std::string rows;
  for (const CaseResult& result : suite.cases) {
    for (const Measured& m : result.outcome.measurements) {
      if (!m.variation) continue;
      rows += fmt::format("| {} | {} | {} | {} | {} | {} |\n", plain(result.id), plain(m.name), plain(m.subject),
                          plain(value_text(m.value, m.unit)), m.repetitions, variation_text(m));
    }
  }
  if (rows.empty()) return {};
  return "\n## Repeatability\n\n| test | measured | of | mean | repetitions | coefficient of variation |\n"
         "|---|---|---|--:|--:|--:|\n" +
         rows;
}

}  // namespace

std::string suite_markdown(const SuiteResult& suite, const std::string& title) {
  std::string text = fmt::format("# {}\n\n**{}**:", plain(title), suite_verdict(suite));
  for (const CaseVerdict verdict : kCaseVerdicts)
    text += fmt::format(" {} {}{}", suite.count(verdict), name_of(verdict), verdict == kCaseVerdicts.back() ? "" : ",");
  text += fmt::format(" of {} tests, rankwire {}\n", suite.cases.size(), plain(suite.version));
  if (suite.interrupted) text += "\nInterrupted: tests that had not begun then are missing.\n";
  text += properties(suite);
  text += "\n## Tests\n\n| test | title | verdict | reason | took |\n|---|---|---|---|--:|\n";
  for (const CaseResult& result : suite.cases)
    text += fmt::format("| [{}](#{}) | {} | {} | {} | {} |\n", plain(result.id), anchor(result), plain(result.title),
                        name_of(result.outcome.verdict), plain(result.outcome.reason), took_text(result.took));
  text += anomalies(suite);
  text += repeatability(suite);
  text += "\n## Results\n";
  for (const CaseResult& result : suite.cases) text += test_section(result);
  return text;
}

}  // namespace rankwire
