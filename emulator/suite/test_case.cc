#include "emulator/suite/test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "emulator/suite/case_text.h"

namespace rankwire {
namespace {

constexpr std::array<std::pair<CaseVerdict, std::string_view>, 5> kVerdicts{{
    {CaseVerdict::kPass, "pass"},
    {CaseVerdict::kFail, "fail"},
    {CaseVerdict::kInconclusive, "inconclusive"},
    {CaseVerdict::kSkipped, "skipped"},
    {CaseVerdict::kError, "error"},
}};

std::string reason_of(const Measured& m) {
  return fmt::format("{}{}{}: {}", m.name, m.subject.empty() ? "" : " of ", m.subject, measurement_text(m));
}

}  // namespace

std::string_view name_of(CaseVerdict verdict) {
  return kVerdicts[static_cast<size_t>(verdict)].second;
}

CaseVerdict verdict_of(std::string_view name) {
  for (const auto& [verdict, word] : kVerdicts)
    if (word == name) return verdict;
  fail_input("verdict '{}' is none of pass, fail, inconclusive, skipped and error", name);
}

Measured measured(std::string name, double value, std::string unit, std::optional<double> low,
                  std::optional<double> high, std::string subject) {
  // Written so that NaN is within no bound.
  const bool within = (!low || value >= *low) && (!high || value <= *high);
  return {std::move(name),
          value,
          std::move(unit),
          std::move(subject),
          low,
          high,
          within ? CaseVerdict::kPass : CaseVerdict::kFail};
}

CaseOutcome CaseOutcome::of(std::vector<Measured> measurements) {
  CaseOutcome outcome;
  for (const CaseVerdict verdict : {CaseVerdict::kFail, CaseVerdict::kInconclusive}) {
    const auto worst = std::ranges::find_if(measurements, [&](const Measured& m) { return m.verdict == verdict; });
    if (worst == measurements.end()) continue;
    outcome.verdict = verdict;
    outcome.reason = reason_of(*worst);
    break;
  }
  outcome.measurements = std::move(measurements);
  return outcome;
}

}  // namespace rankwire
