#include "emulator/suite/suite_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "emulator/input/nearest_key.h"
#include "emulator/suite/gate_words.h"
#include "emulator/suite/metric_path.h"
#include "emulator/suite/suite_sections.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// A unit of measurements as the ending of a figure's name, and how many of that one of them is.
struct UnitEnding {
  std::string_view unit, ending;
  double factor = 1;
};
constexpr std::array kEndings = {
    UnitEnding{"s", "_s"},           UnitEnding{"ms", "_ms"},       UnitEnding{"us", "_us"},
    UnitEnding{"ns", "_ns"},         UnitEnding{"bit/s", "_bps"},   UnitEnding{"Gbit/s", "_gbps"},
    UnitEnding{"B", "_bytes"},       UnitEnding{"bytes", "_bytes"}, UnitEnding{"kB", "_bytes", 1e3},
    UnitEnding{"MB", "_bytes", 1e6}, UnitEnding{"ppm", "_ppm"},     UnitEnding{"%", "", 0.01},
};

UnitEnding ending_of(const Measured& m) {
  const auto found = std::ranges::find(kEndings, std::string_view(m.unit), &UnitEnding::unit);
  return found == kEndings.end() ? UnitEnding{} : *found;
}

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

void add_row(Json& figures, const Measured& m, std::string of) {
  const UnitEnding ending = ending_of(m);
  Json& rows = figures[gate_name(m.name) + std::string(ending.ending)];
  if (!rows.is_array()) rows = Json::array();
  rows.push_back({{"of", std::move(of)},
                  {"value", finite(m.value * ending.factor)},
                  {"repetitions", m.repetitions},
                  {"variation", m.variation ? finite(*m.variation) : Json(nullptr)}});
}

/// The member that the parts of an id lead to, made where it is not there.
Json& place_of(Json& figures, const std::string& id) {
  Json* at = &figures;
  for (size_t begin = 0; begin <= id.size();) {
    const size_t dot = std::min(id.find('.', begin), id.size());
    at = &(*at)[id.substr(begin, dot - begin)];
    if (!at->is_object()) *at = Json::object();
    begin = dot + 1;
  }
  return *at;
}

/// Whether it is a figure of the test itself, not of another whose id begins like this one's.
bool is_figure_of(std::string_view path, std::string_view id) {
  if (!path.starts_with(id) || path.size() <= id.size() + 1 || path[id.size()] != '.') return false;
  const std::string_view figure = path.substr(id.size() + 1);
  return figure.substr(0, figure.find('[')).find('.') == std::string_view::npos;
}

void doubt_row(const Json& row, const std::string& why, DoubtedFigures& doubted) {
  for (const char* figure : {"value", "variation"}) doubted.emplace(&row.at(figure), why);
}

/// What inconclusive tests have measured and that they have passed or not, at the test and beside the tests.
DoubtedFigures figures_in_doubt(const Json& figures, const SuiteResult& suite) {
  DoubtedFigures doubted;
  if (figures.at("verdict") == "inconclusive") doubted.emplace(&figures.at("verdict"), "tests of it are inconclusive");
  for (const CaseResult& result : suite.cases) {
    if (result.outcome.verdict != CaseVerdict::kInconclusive) continue;
    const std::string why = result.id + " is inconclusive";
    std::string place = "/" + result.id;
    std::ranges::replace(place, '.', '/');
    const Json& test = figures.at(Json::json_pointer(place));
    doubted.emplace(&test.at("verdict"), why);
    for (const auto& [name, rows] : test.items())
      if (rows.is_array())
        for (const Json& row : rows) doubt_row(row, why, doubted);
    for (const auto& [name, rows] : figures.items()) {
      if (!rows.is_array()) continue;
      for (const Json& row : rows) {
        const std::string of = row.at("of");
        if (of == result.id || of.starts_with(result.id + ": ")) doubt_row(row, why, doubted);
      }
    }
  }
  return doubted;
}

/// How bad it is for a gate that a test has not measured something. Absent: the test passed, so that it never does.
std::optional<CaseVerdict> without_measurement(const CaseResult& result) {
  switch (result.outcome.verdict) {
    case CaseVerdict::kSkipped:
    case CaseVerdict::kInconclusive:
      return CaseVerdict::kInconclusive;
    case CaseVerdict::kFail:
    case CaseVerdict::kError:
      return CaseVerdict::kFail;
    case CaseVerdict::kPass:
      break;
  }
  return std::nullopt;
}

GateResult of_missing(const Gate& gate, const std::string& path, const CaseResult& result, CaseVerdict verdict) {
  const std::string& reason = result.outcome.reason;
  return {gate, nullptr, verdict,
          fmt::format("{}: {} is {}{}{}", path, result.id, name_of(result.outcome.verdict), reason.empty() ? "" : ": ",
                      reason)};
}

/// What is missing because of what became of its test; absent: nothing tells why it is missing.
std::optional<GateResult> excused(const Gate& gate, const SuiteResult& suite, const Json& figures,
                                  const SuiteKpis& kpis) {
  if (suite.interrupted)
    return GateResult{gate, nullptr, CaseVerdict::kFail, gate.path + ": not measured before the suite was interrupted"};
  const std::string name = gate.path.substr(0, gate.path.find_first_of(".["));
  bool is_measured = false;
  for (const auto& [key, value] : figures.items()) is_measured |= key.starts_with(name);
  for (const CaseResult& result : suite.cases) {
    const auto known = kpis.find(result.id);
    const bool is_its_kpi = !is_measured && known != kpis.end() &&
                            std::ranges::any_of(known->second, [&](const auto& kpi) { return name.starts_with(kpi); });
    if (!is_its_kpi && !is_figure_of(gate.path, result.id)) continue;
    const std::optional<CaseVerdict> verdict = without_measurement(result);
    if (!verdict) continue;
    return of_missing(gate, gate.path, result, *verdict);
  }
  return std::nullopt;
}

/// A gate on all tests whose ids a pattern selects: "T*" and "verdict" of "T*.verdict".
struct GatedFamily {
  std::string tests, figure;
};

/// Absent: the path names its test in full, or is of all tests.
std::optional<GatedFamily> family_of(std::string_view path) {
  const size_t dot = path.substr(0, path.find('[')).rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view tests = path.substr(0, dot);
  if (tests.find_first_of("*?") == std::string_view::npos) return std::nullopt;
  return GatedFamily{std::string(tests), std::string(path.substr(dot + 1))};
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

bool has_figure(const Json& figures, const std::string& path) {
  try {
    select_metric(figures, path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Refuses a figure that no test has and that is next to one that some has, whatever became of those that are selected:
/// else a slip looks like what a failed test did not come to. P99 is no slip of P95.
void require_meant_measurement(const Gate& gate, const GatedFamily& family, const SuiteResult& suite,
                               const Json& figures, const SuiteKpis& kpis) {
  for (const CaseResult& result : suite.cases)
    if (has_figure(figures, result.id + "." + family.figure)) return;
  const std::string name = family.figure.substr(0, family.figure.find_first_of(".["));
  std::vector<std::string> known = {"verdict", "took_ms"};
  for (const auto& [key, rows] : figures.items())
    if (rows.is_array()) known.push_back(key);
  for (const auto& [test, own] : kpis) {
    if (std::ranges::any_of(own, [&](const std::string& kpi) { return name.starts_with(kpi); })) return;
    known.insert(known.end(), own.begin(), own.end());
  }
  const std::string nearest = nearest_name(name, known);
  if (nearest.empty() || without_digits(nearest) == without_digits(name)) return;
  fail_input("{}: '{}': no test of the suite has '{}'; did you mean '{}'?", gate.origin, gate.path, name, nearest);
}

/// Whether a test that has not measured a figure of its family might have.
bool might_measure(const CaseResult& result, const std::string& figure, const SuiteKpis& kpis) {
  const auto known = kpis.find(result.id);
  if (known != kpis.end())
    return std::ranges::any_of(known->second, [&](const auto& kpi) { return figure.starts_with(kpi); });
  return without_measurement(result) == CaseVerdict::kFail;
}

/// A family's gate, which all of its tests have to keep that measure the figure, one at least.
GateResult check_family(const Gate& gate, const GatedFamily& family, const SuiteResult& suite, const Json& figures,
                        const DoubtedFigures& doubted, const SuiteKpis& kpis) {
  std::vector<std::string> paths, unknown;
  std::optional<GateResult> missing, unlikely;
  for (const CaseResult& result : suite.cases) {
    if (!selects(family.tests, result.id)) continue;
    const std::string path = result.id + "." + family.figure;
    if (has_figure(figures, path)) {
      paths.push_back(path);
      continue;
    }
    unknown.push_back(path);
    const std::optional<CaseVerdict> verdict = without_measurement(result);
    if (!verdict) continue;
    std::optional<GateResult>& kept = might_measure(result, family.figure, kpis) ? missing : unlikely;
    if (!kept || kept->verdict == CaseVerdict::kInconclusive) kept = of_missing(gate, path, result, *verdict);
  }
  if (paths.empty() && unknown.empty())
    fail_input("{}: '{}': no test of the suite is called '{}'", gate.origin, gate.path, family.tests);
  if (paths.empty() && missing) return *std::move(missing);
  if (paths.empty() && unlikely) return *std::move(unlikely);
  GateResult result = check_figure(gate, figures, "suite", doubted, paths.empty() ? unknown : paths);
  if (!missing || result.verdict == CaseVerdict::kFail) return result;
  return missing->verdict == CaseVerdict::kFail || result.verdict == CaseVerdict::kPass ? *std::move(missing) : result;
}

}  // namespace

std::string gate_name(std::string_view measured) {
  std::string name;
  for (const char c : measured) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

Json suite_figures(const SuiteResult& suite) {
  Json figures = {{"verdict", suite_verdict(suite)}, {"verdicts", Json::object()}, {"interrupted", suite.interrupted}};
  for (const CaseVerdict verdict : kCaseVerdicts)
    figures["verdicts"][std::string(name_of(verdict))] = suite.count(verdict);
  Json tests = Json::object();
  for (const CaseResult& result : suite.cases) {
    Json& test = place_of(tests, result.id);
    test["verdict"] = name_of(result.outcome.verdict);
    test["took_ms"] = result.took.count();
    for (const Measured& m : result.outcome.measurements) {
      add_row(test, m, m.subject);
      add_row(figures, m, result.id + (m.subject.empty() ? "" : ": " + m.subject));
    }
  }
  figures.update(tests);
  return figures;
}

std::vector<GateResult> check_suite_gates(const std::vector<Gate>& gates, const SuiteResult& suite,
                                          const SuiteKpis& kpis) {
  const Json figures = suite_figures(suite);
  const DoubtedFigures doubted = figures_in_doubt(figures, suite);
  std::vector<GateResult> results;
  for (const Gate& gate : gates) {
    require_suite_word(gate);
    const std::optional<GatedFamily> family = family_of(gate.path);
    if (family) require_meant_measurement(gate, *family, suite, figures, kpis);
    try {
      if (family) {
        results.push_back(check_family(gate, *family, suite, figures, doubted, kpis));
        continue;
      }
      results.push_back(check_figure(gate, figures, "suite", doubted));
    } catch (const Error&) {
      std::optional<GateResult> missing = excused(gate, suite, figures, kpis);
      if (!missing) throw;
      results.push_back(*std::move(missing));
    }
  }
  return results;
}

void require_tests_of_gates(const std::vector<Gate>& gates, std::span<const TestCase> cases) {
  SuiteResult none;
  for (const TestCase& test : cases) none.cases.push_back({.id = test.id, .outcome = CaseOutcome::skipped("")});
  for (const Gate& gate : gates) {
    require_suite_word(gate);
    // What has one part only is a measurement of all tests.
    if (gate.path.find('.') != std::string::npos) check_suite_gates({gate}, none);
  }
}

SuiteResult with_gates(SuiteResult suite, const std::vector<GateResult>& results) {
  for (const GateResult& result : results) suite.cases.push_back(gate_case(result));
  return suite;
}

}  // namespace rankwire
