#include "emulator/suite/case_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace rankwire {
namespace {

std::string behind_space(const std::string& unit) {
  return unit.empty() ? "" : " " + unit;
}

}  // namespace

std::string value_text(double value, const std::string& unit) {
  if (std::isnan(value)) return "none";
  return fmt::format("{:.6g}{}", value, behind_space(unit));
}

std::string bounds_text(const Measured& m) {
  const std::string unit = behind_space(m.unit);
  if (m.low && m.high && *m.low == *m.high) return fmt::format("{:.6g}{}", *m.low, unit);
  if (m.low && m.high) return fmt::format("{:.6g} to {:.6g}{}", *m.low, *m.high, unit);
  if (m.low) return fmt::format("{} {:.6g}{}", m.is_open ? "more than" : "at least", *m.low, unit);
  if (m.high) return fmt::format("{} {:.6g}{}", m.is_open ? "less than" : "at most", *m.high, unit);
  return "no bound";
}

std::string measurement_text(const Measured& m) {
  const std::string value = value_text(m.value, m.unit);
  return m.low || m.high ? fmt::format("{}, expected {}", value, bounds_text(m)) : value;
}

CaseVerdict shown_verdict(const CaseResult& result, const Measured& m) {
  const bool is_doubted = result.outcome.verdict == CaseVerdict::kInconclusive && m.verdict == CaseVerdict::kPass;
  return is_doubted ? CaseVerdict::kInconclusive : m.verdict;
}

std::string artefact_path(const CaseResult& result, const Artefact& artefact) {
  return result.folder.empty() ? artefact.file : result.folder + "/" + artefact.file;
}

std::string case_text(const CaseResult& result) {
  std::string text;
  const auto line = [&](std::string_view what, const std::string& content) {
    if (!content.empty()) text += fmt::format("{}: {}\n", what, content);
  };
  line("title", result.title);
  line("reason", result.outcome.reason);
  line("stimulus", result.stimulus);
  line("expectation", result.expectation);
  line("source", result.source);
  for (const Measured& m : result.outcome.measurements)
    line(name_of(m.verdict),
         fmt::format("{}{}: {}", m.name, m.subject.empty() ? "" : " of " + m.subject, measurement_text(m)));
  for (const std::string& anomaly : result.outcome.anomalies) line("anomaly", anomaly);
  for (const Artefact& artefact : result.outcome.artefacts)
    line("artefact",
         fmt::format("{}: {}{}", artefact_path(result, artefact), artefact.what,
                     artefact.frames.empty() ? "" : fmt::format(", frames {}", fmt::join(artefact.frames, ", "))));
  return text;
}

}  // namespace rankwire
