#include "emulator/suite/junit.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "emulator/suite/case_text.h"
#include "emulator/suite/xml_text.h"

namespace rankwire {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

/// When the first test began, or now where none says: "2026-01-31T12:00:00", where the schema allows no zone.
std::string began(const SuiteResult& suite) {
  int64_t first = 0;
  for (const CaseResult& result : suite.cases)
    if (result.began_unix_ms != 0 && (first == 0 || result.began_unix_ms < first)) first = result.began_unix_ms;
  if (first == 0) return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(std::time(nullptr)));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(static_cast<time_t>(first / 1000)));
}

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

std::string property(std::string_view name, std::string_view value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml_escaped(name), xml_escaped(value));
}

std::string properties_of(const CaseResult& result) {
  std::string text = property(result.id + ".verdict", name_of(result.outcome.verdict));
  if (!result.source.empty()) text += property(result.id + ".source", result.source);
  for (const Measured& m : result.outcome.measurements)
    text += property(fmt::format("{}.{}{}", result.id, m.name, m.subject.empty() ? "" : " of " + m.subject),
                     measurement_text(m));
  for (const Artefact& artefact : result.outcome.artefacts)
    text += property(result.id + ".artefact", artefact_path(result, artefact));
  return text;
}

std::string outcome_of(const CaseResult& result) {
  const CaseOutcome& outcome = result.outcome;
  const std::string message = xml_escaped(outcome.reason.empty() ? name_of(outcome.verdict) : outcome.reason);
  const std::string content = xml_content(case_text(result));
  switch (outcome.verdict) {
    case CaseVerdict::kFail:
      return fmt::format("      <failure message=\"{}\" type=\"fail\">{}</failure>\n", message, content);
    case CaseVerdict::kError:
      return fmt::format("      <error message=\"{}\" type=\"error\">{}</error>\n", message, content);
    case CaseVerdict::kSkipped:
      return fmt::format("      <skipped message=\"{}\">{}</skipped>\n", message, content);
    case CaseVerdict::kInconclusive:
      return fmt::format("      <skipped message=\"inconclusive: {}\">{}</skipped>\n", message, content);
    case CaseVerdict::kPass:
      break;
  }
  return {};
}

std::string testcase(const SuiteResult& suite, const CaseResult& result) {
  // A gate has bounds and brackets behind its name, in which a dot divides nothing.
  const size_t dot = result.id.substr(0, result.id.find_first_of(" [(")).rfind('.');
  const std::string general = dot == std::string::npos ? "" : "." + result.id.substr(0, dot);
  const std::string name = dot == std::string::npos ? result.id : result.id.substr(dot + 1);
  return fmt::format("    <testcase name=\"{}\" classname=\"{}\" time=\"{}\">\n{}    </testcase>\n", xml_escaped(name),
                     xml_escaped(suite.name + general), seconds(result.took), outcome_of(result));
}

}  // namespace

std::string junit_xml(const SuiteResult& suite) {
  std::chrono::milliseconds took{0};
  std::string properties = property("rankwire.version", suite.version);
  std::string cases, output;
  for (const auto& [name, value] : suite.properties) properties += property(name, value);
  if (suite.interrupted) properties += property("interrupted", "true");
  for (const CaseResult& result : suite.cases) {
    took += result.took;
    properties += properties_of(result);
    cases += testcase(suite, result);
    output += fmt::format("{}: {}\n{}\n", result.id, name_of(result.outcome.verdict), case_text(result));
  }
  const std::string name = xml_escaped(suite.name);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" package=\"rankwire\" id=\"0\" timestamp=\"{}\" hostname=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">\n"
      "    <properties>\n{}    </properties>\n{}    <system-out>{}</system-out>\n    <system-err>{}</system-err>\n"
      "  </testsuite>\n</testsuites>\n",
      name, began(suite), xml_escaped(host_name()), suite.cases.size(), suite.count(CaseVerdict::kFail),
      suite.count(CaseVerdict::kError), suite.count(CaseVerdict::kSkipped) + suite.count(CaseVerdict::kInconclusive),
      seconds(took), properties, cases, xml_content(output), suite.interrupted ? "interrupted before the end" : "");
}

}  // namespace rankwire
