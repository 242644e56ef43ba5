// `suite.json`, written and read.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/input_file.h"
#include "base/json_problem.h"
#include "emulator/report/output_file.h"
#include "emulator/suite/suite.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no number for what is not finite.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
double number_of(const Json& json) {
  if (json.is_null()) return std::nan("");
  if (!json.is_number()) fail_input("a number is expected, not {}", json.type_name());
  return json.get<double>();
}

/// Throws Error(kInput) where it is none, or has no such member.
const Json& suite_member(const Json& json, const char* key) {
  if (!json.is_object()) fail_input("an object is expected, not {}", json.is_null() ? "null" : json.type_name());
  const auto found = json.find(key);
  if (found == json.end()) fail_input("the key '{}' is missing", key);
  return *found;
}

/// The member as a `T`. Throws Error(kInput) naming it where it is of another kind.
template <class T>
T suite_value(const Json& json, const char* key) {
  const Json& found = suite_member(json, key);
  try {
    return found.get<T>();
  } catch (const Json::exception&) {
    fail_input("'{}' is of the wrong kind: {}", key, found.type_name());
  }
}

const Json& suite_list(const Json& json, const char* key) {
  const Json& found = suite_member(json, key);
  if (!found.is_array()) fail_input("'{}': a list is expected, not {}", key, found.type_name());
  return found;
}

Json json_of(const Measured& m) {
  Json json = {{"name", m.name}, {"subject", m.subject}, {"value", number(m.value)}, {"unit", m.unit}};
  if (m.low) json["low"] = *m.low;
  if (m.high) json["high"] = *m.high;
  json["verdict"] = name_of(m.verdict);
  if (m.repetitions != 1) json["repetitions"] = m.repetitions;
  if (m.variation) json["variation"] = number(*m.variation);
  return json;
}

Measured measured_of(const Json& json) {
  Measured m{suite_value<std::string>(json, "name"), number_of(suite_member(json, "value")),
             suite_value<std::string>(json, "unit"), suite_value<std::string>(json, "subject")};
  if (json.contains("low")) m.low = suite_value<double>(json, "low");
  if (json.contains("high")) m.high = suite_value<double>(json, "high");
  m.verdict = verdict_of(suite_value<std::string>(json, "verdict"));
  m.repetitions = json.value("repetitions", uint64_t{1});
  if (json.contains("variation")) m.variation = number_of(json["variation"]);
  return m;
}

Json json_of(const MeasuredCurve& curve) {
  Json points = Json::array();
  for (const MeasuredCurve::Point& point : curve.points) points.push_back({number(point.x), number(point.y)});
  return {{"name", curve.name},     {"x_name", curve.x_name}, {"x_unit", curve.x_unit},
          {"y_name", curve.y_name}, {"y_unit", curve.y_unit}, {"points", std::move(points)}};
}

MeasuredCurve curve_of(const Json& json) {
  MeasuredCurve curve{suite_value<std::string>(json, "name"),   suite_value<std::string>(json, "x_name"),
                      suite_value<std::string>(json, "x_unit"), suite_value<std::string>(json, "y_name"),
                      suite_value<std::string>(json, "y_unit"), {}};
  for (const Json& point : suite_list(json, "points")) {
    if (!point.is_array() || point.size() != 2) fail_input("'points': [x, y] is expected, not {}", point.dump());
    curve.points.push_back({number_of(point[0]), number_of(point[1])});
  }
  return curve;
}

Json json_of(const CaseResult& result) {
  const CaseOutcome& outcome = result.outcome;
  Json measurements = Json::array(), curves = Json::array(), artefacts = Json::array();
  for (const Measured& m : outcome.measurements) measurements.push_back(json_of(m));
  for (const MeasuredCurve& curve : outcome.curves) curves.push_back(json_of(curve));
  for (const Artefact& artefact : outcome.artefacts)
    artefacts.push_back({{"file", artefact.file}, {"what", artefact.what}, {"frames", artefact.frames}});
  return {{"id", result.id},
          {"title", result.title},
          {"stimulus", result.stimulus},
          {"expectation", result.expectation},
          {"source", result.source},
          {"verdict", name_of(outcome.verdict)},
          {"reason", outcome.reason},
          {"began_unix_ms", result.began_unix_ms},
          {"took_ms", result.took.count()},
          {"folder", result.folder},
          {"measurements", std::move(measurements)},
          {"curves", std::move(curves)},
          {"artefacts", std::move(artefacts)},
          {"anomalies", outcome.anomalies}};
}

CaseResult result_of(const Json& json) {
  CaseResult result{suite_value<std::string>(json, "id"), suite_value<std::string>(json, "title"),
                    suite_value<std::string>(json, "stimulus"), suite_value<std::string>(json, "expectation"),
                    suite_value<std::string>(json, "source")};
  result.outcome.verdict = verdict_of(suite_value<std::string>(json, "verdict"));
  result.outcome.reason = suite_value<std::string>(json, "reason");
  result.began_unix_ms = suite_value<int64_t>(json, "began_unix_ms");
  result.took = std::chrono::milliseconds(suite_value<int64_t>(json, "took_ms"));
  result.folder = suite_value<std::string>(json, "folder");
  for (const Json& m : suite_list(json, "measurements")) result.outcome.measurements.push_back(measured_of(m));
  for (const Json& curve : suite_list(json, "curves")) result.outcome.curves.push_back(curve_of(curve));
  for (const Json& artefact : suite_list(json, "artefacts"))
    result.outcome.artefacts.push_back({suite_value<std::string>(artefact, "file"),
                                        suite_value<std::string>(artefact, "what"),
                                        suite_value<std::vector<uint64_t>>(artefact, "frames")});
  result.outcome.anomalies = suite_value<std::vector<std::string>>(json, "anomalies");
  return result;
}

}  // namespace

void write_suite(const SuiteResult& suite, const std::filesystem::path& file) {
  Json cases = Json::array(), verdicts = Json::object();
  for (const CaseResult& result : suite.cases) cases.push_back(json_of(result));
  for (const CaseVerdict verdict : kCaseVerdicts) verdicts[std::string(name_of(verdict))] = suite.count(verdict);
  Json json = {{"rankwire", {{"version", suite.version}}}, {"suite", suite.name}};
  if (!suite.title.empty()) json["title"] = suite.title;
  json.update({{"properties", suite.properties},
               {"interrupted", suite.interrupted},
               {"verdicts", std::move(verdicts)},
               {"cases", std::move(cases)}});
  // Names of devices and what hooks print may hold bytes that are no UTF-8.
  write_file(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

SuiteResult read_suite(const std::filesystem::path& file) {
  std::ifstream stream = open_input(file, "the result of a suite");
  std::ostringstream text;
  text << stream.rdbuf();
  const Json json = parse_json(text.str(), file.string(), "is not the result of a suite");
  std::string place;
  try {
    SuiteResult suite{suite_value<std::string>(json, "suite"),
                      suite_value<std::string>(suite_member(json, "rankwire"), "version"),
                      suite_value<std::map<std::string, std::string>>(json, "properties")};
    if (json.contains("title")) suite.title = suite_value<std::string>(json, "title");
    suite.interrupted = suite_value<bool>(json, "interrupted");
    const Json& cases = suite_list(json, "cases");
    for (size_t i = 0; i < cases.size(); ++i) {
      place = fmt::format("cases[{}]: ", i);
      suite.cases.push_back(result_of(cases.at(i)));
    }
    return suite;
  } catch (const Json::exception& error) {
    fail_input("{}: is not the result of a suite: {}{}", file.string(), place, json_problem(error));
  } catch (const Error& error) {
    fail_input("{}: is not the result of a suite: {}{}", file.string(), place, error.what());
  }
}

}  // namespace rankwire
