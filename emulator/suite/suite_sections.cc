#include "emulator/suite/suite_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace rankwire {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPropertyTitles{{
    {"dut", "Device under test"},
    {"topology", "Topology"},
    {"test", "Test configuration"},
    {"host", "Host configuration"},
}};

std::string title_of(std::string_view prefix) {
  if (prefix.empty()) return "Properties";
  const auto known = std::ranges::find(kPropertyTitles, prefix, &std::pair<std::string_view, std::string_view>::first);
  return std::string(known != kPropertyTitles.end() ? known->second : prefix);
}

size_t place_of(std::string_view prefix) {
  if (prefix.empty()) return kPropertyTitles.size() + 1;
  const auto known = std::ranges::find(kPropertyTitles, prefix, &std::pair<std::string_view, std::string_view>::first);
  return static_cast<size_t>(known - kPropertyTitles.begin());
}

}  // namespace

std::vector<PropertySection> property_sections(const SuiteResult& suite) {
  struct Part {
    std::string prefix;
    PropertySection section;
  };
  std::vector<Part> parts;
  for (const auto& [name, value] : suite.properties) {
    const size_t dot = name.find('.');
    const std::string prefix = dot == std::string::npos ? "" : name.substr(0, dot);
    auto part = std::ranges::find(parts, prefix, &Part::prefix);
    if (part == parts.end()) part = parts.insert(part, {prefix, {title_of(prefix), {}}});
    part->section.properties.emplace_back(dot == std::string::npos ? name : name.substr(dot + 1), value);
  }
  std::ranges::stable_sort(parts, {}, [](const Part& part) { return place_of(part.prefix); });
  std::vector<PropertySection> sections;
  for (Part& part : parts) sections.push_back(std::move(part.section));
  return sections;
}

std::string suite_verdict(const SuiteResult& suite) {
  if (suite.count(CaseVerdict::kFail) + suite.count(CaseVerdict::kError) > 0) return "fail";
  if (suite.interrupted) return "interrupted";
  if (suite.count(CaseVerdict::kSkipped) == suite.cases.size()) return "nothing tested";
  return exit_status(suite) == 3 ? "inconclusive" : "pass";
}

std::vector<std::vector<MeasuredCurve>> graphs_of(const CaseResult& result) {
  std::vector<std::vector<MeasuredCurve>> graphs;
  const auto axes = [](const MeasuredCurve& c) { return std::tie(c.x_name, c.x_unit, c.y_name, c.y_unit); };
  for (const MeasuredCurve& curve : result.outcome.curves) {
    auto graph = std::ranges::find_if(graphs, [&](const auto& g) { return axes(g.front()) == axes(curve); });
    if (graph == graphs.end()) graph = graphs.insert(graph, std::vector<MeasuredCurve>());
    graph->push_back(curve);
  }
  return graphs;
}

std::string took_text(std::chrono::milliseconds took) {
  const auto ms = took.count();
  if (ms < 60'000) return fmt::format("{:.4g} s", static_cast<double>(ms) / 1000);
  return fmt::format("{} min {} s", ms / 60'000, ms / 1000 % 60);
}

std::string variation_text(const Measured& m) {
  return m.variation ? fmt::format("{:.3g} %", *m.variation * 100) : "-";
}

}  // namespace rankwire
