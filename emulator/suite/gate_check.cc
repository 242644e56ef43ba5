// Whether figures keep gates, and what is said of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/error.h"
#include "emulator/report/assessment.h"
#include "emulator/suite/gate.h"
#include "emulator/suite/metric_path.h"
#include "emulator/suite/metric_unit.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// How a comparison reads where it is kept and where it is not; the words are those of `limits`.
struct GateWords {
  std::string_view sign, kept, broken;
};
constexpr std::array kGateWords = {
    GateWords{"<=", ", at most", " is above"},  GateWords{">=", ", at least", " is below"},
    GateWords{"<", ", below", " is not below"}, GateWords{">", ", above", " is not above"},
    GateWords{"==", ", equal to", " is not"},   GateWords{"!=", ", which is not", " is"},
};

bool holds(double value, std::string_view sign, double bound) {
  if (sign == "<=") return value <= bound;
  if (sign == ">=") return value >= bound;
  if (sign == "<") return value < bound;
  if (sign == ">") return value > bound;
  return (value == bound) == (sign == "==");
}

/// How the run ended; of a comparison, how the worse of the two did.
std::string verdict_word(const Json& document) {
  const Json verdict = document.value("verdict", Json());
  if (verdict.is_string()) return verdict;
  std::string worst = "ok";
  if (verdict.is_object()) {
    for (const auto& [side, word] : verdict.items())
      if (word.is_string() && exit_status(worst) != 1 && exit_status(word.get<std::string>()) != 0) worst = word;
  }
  return worst;
}

/// The part of a time or a rate within which the generator cannot tell.
double resolvable_part(const Json& document, const std::string& path) {
  const std::string name = path.substr(path.rfind('.') + 1);
  const bool is_of_time = name.starts_with("ratio") || name.starts_with("completion") ||
                          name.starts_with("jct_ratio_") || name.find("busbw") != std::string::npos ||
                          path.starts_with("ratio");
  const Json certification = document.value("certification", Json());
  if (!is_of_time || !certification.is_object()) return 0;
  const Json part = certification.value("resolvable", Json());
  return part.is_number() ? part.get<double>() : 0;
}

/// Of the ratio to a band, what it is over the band's ends.
std::optional<std::pair<double, double>> ends_of_ratio(const Json& document, const std::string& path) {
  if (path != "ratio") return std::nullopt;
  const Json::json_pointer band("/reference/band");
  if (!document.contains(band) || !document[band].is_object()) return std::nullopt;
  const Json low = document[band].value("ratio_low", Json()), high = document[band].value("ratio_high", Json());
  if (!low.is_number() || !high.is_number()) return std::nullopt;
  return std::pair(low.get<double>(), high.get<double>());
}

/// Of a ratio that is above its bound what lateness of the generator explains, as it is said of limits.
std::string explanation_of_ratio(const Json& document, const std::string& path, double ratio, double bound) {
  if (path != "ratio" || ratio <= bound) return {};
  const Json::json_pointer late("/diagnosis/gap/generator_ps"), time("/emulated/completion_time_ps");
  for (const Json::json_pointer& figure : {late, time})
    if (!document.contains(figure) || !document[figure].is_number()) return {};
  const auto part = [&](double of) { return Duration(static_cast<int64_t>(document[time].get<double>() * of)); };
  return explained_by_lateness(part((ratio - bound) / ratio), part((ratio - 1) / ratio),
                               Duration(document[late].get<int64_t>()));
}

/// Whether the figure comes of single operations.
bool is_of_operations(std::string_view path) {
  constexpr std::array<std::string_view, 7> kOfOperations = {"operations", "critical_path", "waterfall",      "slack",
                                                             "collective", "requests",      "slow_operations"};
  return std::ranges::find(kOfOperations, path.substr(0, path.find_first_of(".["))) != kOfOperations.end();
}

/// Of measurements of a suite, what a row is of and its value; else null.
const Json* value_of_row(const Json& json) {
  const bool is_row = json.is_object() && json.contains("of") && json.contains("value");
  return is_row ? &json["value"] : nullptr;
}

/// "LIST[1].variation" of a row with what the row is of, as its value is called, instead of the number.
std::string path_by_row(const std::string& path, const Json& document) {
  const size_t close = path.rfind("]."), open = path.rfind('[', close);
  if (close == std::string::npos || open == std::string::npos) return path;
  const std::vector<MetricValue> rows = select_metric(document, path.substr(0, close + 1), "the suite");
  if (rows.size() != 1 || value_of_row(*rows.front().json) == nullptr) return path;
  const std::string of = (*rows.front().json)["of"];
  return path.substr(0, open) + (of.empty() ? "" : fmt::format("[{}]", of)) + path.substr(close + 1);
}

/// Rows of measurements stand for their values, and a list of rows for all of them.
std::vector<MetricValue> values_of_rows(const std::vector<MetricValue>& found, const Json& document) {
  std::vector<MetricValue> values;
  const auto add = [&](const std::string& list, const Json& row) {
    const std::string of = row["of"];
    values.push_back({of.empty() ? list : fmt::format("{}[{}]", list, of), value_of_row(row)});
  };
  for (const MetricValue& value : found) {
    const Json& json = *value.json;
    if (value_of_row(json) != nullptr) {
      add(value.path.substr(0, value.path.rfind('[')), json);
    } else if (json.is_array() && !json.empty() && value_of_row(json.front()) != nullptr) {
      for (const Json& row : json) add(value.path, row);
    } else {
      values.push_back({path_by_row(value.path, document), value.json});
    }
  }
  return values;
}

class GateCheck {
 public:
  GateCheck(const Gate& gate, const Json& document)
      : gate_(gate), document_(document), verdict_(verdict_word(document)), words_(words_of(gate)) {}
  GateCheck(const Gate& gate, const Json& figures, std::string_view kind, const DoubtedFigures& doubted,
            const std::vector<std::string>& paths)
      : gate_(gate), document_(figures), verdict_("ok"), words_(words_of(gate)), kind_(kind), doubted_(doubted) {
    if (!paths.empty()) paths_ = paths;
  }

  GateResult result() const {
    // Without repetitions it is that of iterations, which single operations tell.
    const bool is_of_iterations =
        gate_.path.starts_with("jct_ratio_") && document_.value("jct_ratio_of", Json()) == "iterations";
    if ((is_of_iterations || is_of_operations(gate_.path)) && lacks_operations(document_.value("config", Json())))
      fail_input("{}: '{}' needs 'record.operations: all', without which nothing is known of single operations",
                 gate_.origin, gate_.path);
    try {
      std::vector<MetricValue> found;
      for (const std::string& path : paths_)
        std::ranges::move(select_metric(document_, path, kind_ == "run" ? "the summary" : "the " + kind_),
                          std::back_inserter(found));
      return weighed(values_of_rows(found, document_));
    } catch (const Error& error) {
      // A run that ended early has not come to all of its figures.
      if (exit_status(verdict_) == 1) return absent();
      fail_input("{}: {}", gate_.origin, error.what());
    }
  }

 private:
  static GateWords words_of(const Gate& gate) {
    return *std::ranges::find(kGateWords, std::string_view(gate.comparison), &GateWords::sign);
  }

  GateResult absent() const {
    const bool is_unclear = verdict_ == "inconclusive";
    return {gate_, nullptr, is_unclear ? CaseVerdict::kInconclusive : CaseVerdict::kFail,
            fmt::format("{}: the {} has no such figure", gate_.path,
                        exit_status(verdict_) == 0 ? kind_ : kind_ + ", which is " + verdict_ + ",")};
  }

  /// What is in doubt breaks nothing and keeps nothing.
  GateResult weighed(const std::vector<MetricValue>& found) const {
    GateResult result = judged(found);
    const bool is_true_of_unclear = gate_.is_word && (gate_.comparison == "!=" || gate_.bound == "inconclusive");
    if (gate_.function == "count" || is_true_of_unclear) return result;
    std::vector<MetricValue> certain = found;
    std::string why;
    std::erase_if(certain, [&](const MetricValue& value) {
      const auto doubt = doubted_.find(value.json);
      if (doubt != doubted_.end()) why = doubt->second;
      return doubt != doubted_.end();
    });
    if (why.empty()) return result;
    if (is_broken_by_one() && !certain.empty())
      if (GateResult decided = judged(certain); decided.verdict == CaseVerdict::kFail) return decided;
    result.verdict = CaseVerdict::kInconclusive;
    result.text += ", but " + why;
    return result;
  }

  /// Whether one value beyond the bound is enough, whatever the others are.
  bool is_broken_by_one() const {
    const char sign = gate_.comparison.front();
    return gate_.is_word || gate_.function.empty() || (gate_.function == "max" && sign == '<') ||
           (gate_.function == "min" && sign == '>');
  }

  GateResult judged(const std::vector<MetricValue>& found) const {
    if (gate_.function == "count") return of_count(found);
    std::vector<std::pair<double, std::string>> numbers;
    double unit = 1;
    for (const MetricValue& value : found) {
      if (value.json->is_null()) return absent();
      if (gate_.is_word && value.json->is_number())
        fail_input("'{}' is {}, and '{}' a word", value.path, value.json->dump(), gate_.bound);
      if (gate_.is_word) continue;
      if (!value.json->is_number())
        fail_input("'{}' is {}, not a number", value.path,
                   value.json->is_structured() ? "a group of figures" : value.json->dump());
      unit = units_in(value.path, gate_.unit);
      numbers.emplace_back(value.json->get<double>(), value.path);
    }
    if (gate_.is_word) return of_words(found);
    if (gate_.function == "sum") return of_number(sum(numbers), whole(), unit);
    if (numbers.empty()) return absent();
    if (gate_.function == "mean") return of_number(sum(numbers) / static_cast<double>(numbers.size()), whole(), unit);
    const auto& [value, path] = worst(numbers, unit);
    return of_number(value, path, unit);
  }

  /// A list counts as its elements: `ports` are as many as `ports[*]`.
  GateResult of_count(const std::vector<MetricValue>& found) const {
    size_t count = 0;
    for (const MetricValue& value : found) {
      if (value.json->is_null()) return absent();
      count += value.json->is_array() ? value.json->size() : 1;
    }
    return of_number(static_cast<double>(count), whole(), 1);
  }

  /// What stands for all that the path selects.
  std::string whole() const { return fmt::format("{}({})", gate_.function, gate_.path); }

  static double sum(const std::vector<std::pair<double, std::string>>& numbers) {
    double total = 0;
    for (const auto& [value, path] : numbers) total += value;
    return total;
  }

  /// Of several the one that stands for all.
  const std::pair<double, std::string>& worst(const std::vector<std::pair<double, std::string>>& numbers,
                                              double unit) const {
    const auto [least, most] = std::ranges::minmax_element(numbers);
    if (gate_.function == "min") return *least;
    if (gate_.function == "max") return *most;
    if (gate_.comparison.front() == '<') return *most;
    if (gate_.comparison.front() == '>') return *least;
    for (const auto& number : numbers)
      if (!holds(number.first, gate_.comparison, bound() * unit)) return number;
    return numbers.front();
  }

  double bound() const { return std::strtod(gate_.bound.c_str(), nullptr); }

  GateResult of_number(double own, const std::string& path, double unit) const {
    // Not by dividing first: a bound that is the very value is to be met.
    const bool is_kept = holds(own, gate_.comparison, bound() * unit);
    const std::string behind = gate_.unit.empty() ? "" : " " + gate_.unit;
    GateResult result{gate_, own / unit, is_kept ? CaseVerdict::kPass : CaseVerdict::kFail, {}};
    result.text = fmt::format("{}: {:.7g}{}{} {}{}", path, own / unit, behind, is_kept ? words_.kept : words_.broken,
                              gate_.bound, behind);
    if (const auto ends = ends_of_ratio(document_, path);
        ends && holds(ends->first, gate_.comparison, bound()) != holds(ends->second, gate_.comparison, bound())) {
      result.verdict = CaseVerdict::kInconclusive;
      result.text += fmt::format(", but {:.4g} .. {:.4g} over the reference's band", ends->first, ends->second);
    }
    const double part = resolvable_part(document_, path);
    if (std::abs(own - bound() * unit) < part * std::abs(bound() * unit)) {
      result.verdict = CaseVerdict::kInconclusive;
      result.text += fmt::format(", closer to the limit than the {:.2g} % that may be the generator's", part * 100);
    }
    if (result.verdict != CaseVerdict::kFail) return result;
    if (const std::string explanation = explanation_of_ratio(document_, path, own, bound() * unit);
        !explanation.empty()) {
      result.verdict = CaseVerdict::kInconclusive;
      result.text += explanation;
    }
    return result;
  }

  GateResult of_words(const std::vector<MetricValue>& found) const {
    if (found.empty()) return absent();
    const MetricValue* shown = &found.front();
    bool is_kept = true;
    for (const MetricValue& value : found) {
      if ((text_of(value) == gate_.bound) == (gate_.comparison == "==")) continue;
      shown = &value;
      is_kept = false;
      break;
    }
    return {
        gate_, *shown->json, is_kept ? CaseVerdict::kPass : CaseVerdict::kFail,
        fmt::format("{}: {}{} {}", shown->path, text_of(*shown), is_kept ? words_.kept : words_.broken, gate_.bound)};
  }

  static std::string text_of(const MetricValue& value) {
    return value.json->is_string() ? value.json->get<std::string>() : value.json->dump();
  }

  const Gate& gate_;
  const Json& document_;
  std::string verdict_;
  GateWords words_;
  std::vector<std::string> paths_ = {gate_.path};
  std::string kind_ = "run";  ///< whose figures they are
  DoubtedFigures doubted_ = {};
};

std::string_view word_of(CaseVerdict verdict) {
  return verdict == CaseVerdict::kPass ? "kept" : verdict == CaseVerdict::kFail ? "BROKEN" : "unclear";
}

CaseVerdict case_verdict(const std::string& word) {
  const int status = exit_status(word);
  return status == 0 ? CaseVerdict::kPass : status == 3 ? CaseVerdict::kInconclusive : CaseVerdict::kFail;
}

}  // namespace

bool lacks_operations(const Json& config) {
  const Json::json_pointer key("/record/operations");
  return config.is_object() && config.contains(key) && config.at(key) == "none";
}

std::vector<GateResult> check_gates(const std::vector<Gate>& gates, const Json& document) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) results.push_back(GateCheck(gate, document).result());
  return results;
}

GateResult check_figure(const Gate& gate, const Json& figures, std::string_view kind, const DoubtedFigures& doubted,
                        const std::vector<std::string>& paths) {
  return GateCheck(gate, figures, kind, doubted, paths).result();
}

CaseResult gate_case(const GateResult& result) {
  const Gate& gate = result.gate;
  CaseResult test{gate.text, gate.text, "", gate.text, gate.origin};
  test.outcome = {result.verdict, result.text};
  if (result.value.is_number() && !gate.is_word) {
    Measured m{gate.path, result.value.get<double>(), gate.unit};
    const double bound = std::strtod(gate.bound.c_str(), nullptr);
    if (gate.comparison.front() == '<' || gate.comparison == "==") m.high = bound;
    if (gate.comparison.front() == '>' || gate.comparison == "==") m.low = bound;
    m.is_open = gate.comparison == "<" || gate.comparison == ">";
    m.verdict = result.verdict;
    test.outcome.measurements.push_back(std::move(m));
  }
  return test;
}

int exit_status(const std::vector<GateResult>& results) {
  const auto any = [&](CaseVerdict verdict) { return std::ranges::count(results, verdict, &GateResult::verdict) > 0; };
  return any(CaseVerdict::kFail) ? 1 : any(CaseVerdict::kInconclusive) ? 3 : 0;
}

std::string gates_table(const std::vector<GateResult>& results) {
  std::string text;
  for (const GateResult& result : results)
    text += fmt::format("{:<14}{:<8} {}\n", text.empty() ? "gates" : "", word_of(result.verdict), result.text);
  return text;
}

Json gates_json(const std::vector<GateResult>& results) {
  Json list = Json::array();
  for (const GateResult& result : results) {
    list.push_back({{"gate", result.gate.text},
                    {"origin", result.gate.origin},
                    {"value", result.value},
                    {"unit", result.gate.unit},
                    {"verdict", name_of(result.verdict)},
                    {"text", result.text}});
  }
  return list;
}

SuiteResult gates_suite(const std::string& name, const Json& document, const std::vector<GateResult>& results) {
  SuiteResult suite{.name = name};
  if (const auto program = document.find("rankwire"); program != document.end())
    suite.version = program->value("version", "");
  const std::string word = verdict_word(document);
  CaseResult run{"verdict", "the run ends well and keeps its limits"};
  run.outcome.verdict = case_verdict(word);
  const Json reason = document.value("reason", Json());
  run.outcome.reason =
      word + (reason.is_string() && !reason.get<std::string>().empty() ? ": " + reason.get<std::string>() : "");
  suite.cases.push_back(std::move(run));
  for (const Json& limit : document.value("limits", Json::array())) {
    CaseResult test{"limits." + limit.value("name", ""), limit.value("text", "")};
    // One that is broken by less than the generator can tell makes the run inconclusive, not failed.
    const CaseVerdict broken = word == "inconclusive" ? CaseVerdict::kInconclusive : CaseVerdict::kFail;
    test.outcome = {limit.value("is_kept", false) ? CaseVerdict::kPass : broken, limit.value("text", "")};
    suite.cases.push_back(std::move(test));
  }
  for (const GateResult& result : results) suite.cases.push_back(gate_case(result));
  return suite;
}

}  // namespace rankwire
