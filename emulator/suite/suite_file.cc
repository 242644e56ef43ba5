// `suite.json`, written and read.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "emulator/report/json_problem.h"
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
  return json.is_null() ? std::nan("") : json.get<double>();
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
  Measured m{json.at("name"), number_of(json.at("value")), json.at("unit"), json.at("subject")};
  if (json.contains("low")) m.low = json["low"].get<double>();
  if (json.contains("high")) m.high = json["high"].get<double>();
  m.verdict = verdict_of(json.at("verdict").get<std::string>());
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
  MeasuredCurve curve{json.at("name"), json.at("x_name"), json.at("x_unit"), json.at("y_name"), json.at("y_unit"), {}};
  for (const Json& point : json.at("points")) curve.points.push_back({number_of(point.at(0)), number_of(point.at(1))});
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
  CaseResult result{json.at("id"), json.at("title"), json.at("stimulus"), json.at("expectation"), json.at("source")};
  result.outcome.verdict = verdict_of(json.at("verdict").get<std::string>());
  result.outcome.reason = json.at("reason");
  result.began_unix_ms = json.at("began_unix_ms");
  result.took = std::chrono::milliseconds(json.at("took_ms").get<int64_t>());
  result.folder = json.at("folder");
  for (const Json& m : json.at("measurements")) result.outcome.measurements.push_back(measured_of(m));
  for (const Json& curve : json.at("curves")) result.outcome.curves.push_back(curve_of(curve));
  for (const Json& artefact : json.at("artefacts"))
    result.outcome.artefacts.push_back(
        {artefact.at("file"), artefact.at("what"), artefact.at("frames").get<std::vector<uint64_t>>()});
  result.outcome.anomalies = json.at("anomalies").get<std::vector<std::string>>();
  return result;
}

}  // namespace

void write_suite(const SuiteResult& suite, const std::filesystem::path& file) {
  Json cases = Json::array(), verdicts = Json::object();
  for (const CaseResult& result : suite.cases) cases.push_back(json_of(result));
  for (const CaseVerdict verdict : kCaseVerdicts) verdicts[std::string(name_of(verdict))] = suite.count(verdict);
  const Json json = {{"rankwire", {{"version", suite.version}}}, {"suite", suite.name},
                     {"properties", suite.properties},           {"interrupted", suite.interrupted},
                     {"verdicts", std::move(verdicts)},          {"cases", std::move(cases)}};
  // Names of devices and what hooks print may hold bytes that are no UTF-8.
  write_file(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

SuiteResult read_suite(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail_input("{}: cannot be read", file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  const Json json = parse_json(text.str(), file.string(), "is not the result of a suite");
  std::string place;
  try {
    SuiteResult suite{json.at("suite"), json.at("rankwire").at("version"),
                      json.at("properties").get<std::map<std::string, std::string>>()};
    suite.interrupted = json.at("interrupted");
    const Json& cases = json.at("cases");
    for (size_t i = 0; i < cases.size(); ++i) {
      place = fmt::format("cases[{}]: ", i);
      suite.cases.push_back(result_of(cases.at(i)));
    }
    return suite;
  } catch (const Json::exception& error) {
    fail_input("{}: is not the result of a suite: {}{}", file.string(), place, json_problem(error));
  } catch (const Error& error) {
    fail_input("{}: {}{}", file.string(), place, error.what());
  }
}

}  // namespace rankwire
