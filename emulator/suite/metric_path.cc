#include "emulator/suite/metric_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "emulator/input/nearest_key.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kUnitSuffixes = {"_ps", "_ns", "_us", "_ms", "_s", "_gbps", "_bps", "_bytes", "_ppm"};

struct PathStep {
  std::string name;             ///< "*": all elements
  std::optional<size_t> index;  ///< of an array
};

[[noreturn]] void fail_path(std::string_view path) {
  fail_input("'{}' is no path of a metric; one is 'transport.retransmitted' or 'ports[*].rx_missed'", path);
}

PathStep bracketed(std::string_view inside, std::string_view path) {
  if (inside.empty()) fail_path(path);
  PathStep step{std::string(inside), {}};
  size_t index = 0;
  const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
  if (error == std::errc() && end == inside.data() + inside.size()) step.index = index;
  return step;
}

std::vector<PathStep> steps_of(std::string_view path) {
  std::vector<PathStep> steps;
  for (std::string_view rest = path; !rest.empty();) {
    if (rest.front() == '[') {
      const size_t end = rest.find(']');
      if (end == std::string_view::npos || steps.empty()) fail_path(path);
      steps.push_back(bracketed(rest.substr(1, end - 1), path));
      rest.remove_prefix(end + 1);
    } else {
      if (!steps.empty()) {
        if (rest.front() != '.') fail_path(path);
        rest.remove_prefix(1);
      }
      const size_t end = std::min(rest.find_first_of(".["), rest.size());
      if (end == 0) fail_path(path);
      steps.push_back({std::string(rest.substr(0, end)), {}});
      rest.remove_prefix(end);
    }
  }
  if (steps.empty() || path.ends_with('.')) fail_path(path);
  return steps;
}

class Selection {
 public:
  Selection(std::string_view path, std::string_view what) : path_(path), what_(what), steps_(steps_of(path)) {}

  std::vector<MetricValue> from(const Json& document) {
    descend(document, 0, "");
    return std::move(found_);
  }

 private:
  void descend(const Json& json, size_t depth, const std::string& where) {
    if (depth == steps_.size() || json.is_null()) {
      found_.push_back({where, &json});
    } else if (json.is_object()) {
      into_object(json, depth, where);
    } else if (json.is_array()) {
      into_array(json, depth, where);
    } else {
      fail_input("'{}': {} is a value, which has no {}", path_, where, steps_[depth].name);
    }
  }

  void into_object(const Json& json, size_t depth, const std::string& where) {
    const std::string& name = steps_[depth].name;
    const auto deeper = [&](const std::string& key, const Json& value) {
      descend(value, depth + 1, where.empty() ? key : where + "." + key);
    };
    if (name == "*") {
      for (const auto& [key, value] : json.items()) deeper(key, value);
      return;
    }
    if (const auto member = json.find(name); member != json.end()) return deeper(name, *member);
    for (const char* suffix : kUnitSuffixes)
      if (const auto member = json.find(name + suffix); member != json.end()) return deeper(name + suffix, *member);
    std::vector<std::string> known;
    for (const auto& [key, value] : json.items()) known.push_back(key);
    fail_unknown(name, where, std::move(known));
  }

  void into_array(const Json& json, size_t depth, const std::string& where) {
    const PathStep& step = steps_[depth];
    const size_t before = found_.size();
    std::vector<std::string> known;
    for (size_t i = 0; i < json.size(); ++i) {
      const bool is_meant = step.index ? i == *step.index : step.name == "*" || is_called(json[i], step.name, known);
      if (is_meant) descend(json[i], depth + 1, fmt::format("{}[{}]", where, i));
    }
    if (step.name == "*" || found_.size() > before) return;
    if (step.index) fail_input("'{}': {} has {} elements, from 0", path_, where, json.size());
    fail_unknown(step.name, where, std::move(known));
  }

  static bool is_called(const Json& element, const std::string& name, std::vector<std::string>& known) {
    if (!element.is_object()) return false;
    for (const auto& [key, value] : element.items()) {
      if (!value.is_string()) continue;
      if (value.get_ref<const std::string&>() == name) return true;
      known.push_back(value);
    }
    return false;
  }

  [[noreturn]] void fail_unknown(const std::string& name, const std::string& where,
                                 std::vector<std::string> known) const {
    const std::string nearest = nearest_name(name, known);
    const std::string place = where.empty() ? std::string(what_) : where;
    if (!nearest.empty()) fail_input("'{}': {} has no '{}'; did you mean '{}'?", path_, place, name, nearest);
    // Those that are meant by the first letters rather than by a slip.
    std::ranges::stable_sort(known, {}, [&](const std::string& key) { return edit_distance(name, key); });
    known.erase(std::unique(known.begin(), known.end()), known.end());
    constexpr size_t kMostNames = 3;
    if (known.empty()) fail_input("'{}': {} has no '{}'; it is empty", path_, place, name);
    if (known.size() <= kMostNames)
      fail_input("'{}': {} has no '{}'; it has {}", path_, place, name, fmt::join(known, ", "));
    fail_input("'{}': {} has no '{}'; nearest of its {} names are {}", path_, place, name, known.size(),
               fmt::join(known.begin(), known.begin() + kMostNames, ", "));
  }

  std::string_view path_, what_;
  std::vector<PathStep> steps_;
  std::vector<MetricValue> found_;
};

}  // namespace

std::vector<MetricValue> select_metric(const Json& document, std::string_view path, std::string_view what) {
  return Selection(path, what).from(document);
}

void require_metric_path(std::string_view path) {
  steps_of(path);
}

}  // namespace rankwire
