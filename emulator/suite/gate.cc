#include "emulator/suite/gate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "emulator/suite/metric_path.h"

namespace rankwire {
namespace {

constexpr std::array<std::string_view, 5> kGateFunctions = {"max", "min", "sum", "mean", "count"};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Without its comment, which begins a line or stands behind a space: a name may have a # in it.
std::string_view without_comment(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  return line;
}

/// What a line says where it is an item of a list in YAML.
std::string_view without_yaml(std::string_view line) {
  if (line.starts_with("- ")) line = trimmed(line.substr(2));
  const bool is_quoted =
      line.size() >= 2 && (line.front() == '"' || line.front() == '\'') && line.back() == line.front();
  return is_quoted ? trimmed(line.substr(1, line.size() - 2)) : line;
}

/// Where a list that stands in brackets on one line has its commas: not within quotation marks or brackets of an item.
std::vector<std::string_view> items_in_brackets(std::string_view list) {
  std::vector<std::string_view> items;
  char quote = 0;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && trimmed(list.substr(begin, i - begin)).empty()) {
      quote = c;
    } else if (c == '[' || c == '(') {
      ++depth;
    } else if (c == ']' || c == ')') {
      --depth;
    } else if (c == ',' && depth == 0) {
      items.push_back(trimmed(list.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  items.push_back(trimmed(list.substr(begin)));
  std::erase(items, std::string_view());
  return items;
}

/// What stands behind `gates:` on its line. Throws Error(kInput) where that is no list.
std::vector<std::string_view> gates_behind_key(std::string_view text, const std::string& origin) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    return items_in_brackets(text.substr(1, text.size() - 2));
  fail_input(
      "{}: 'gates: {}' is no list on one line; right is 'gates: [\"ratio <= 2\"]', or 'gates:' and below it a "
      "line '- ratio <= 2' for each",
      origin, text);
}

class GateLine {
 public:
  GateLine(std::string_view text, std::string origin) : gate_{std::string(text), std::move(origin)} {}

  Gate read() && {
    const std::string_view text = gate_.text;
    const size_t sign = text.find_first_of("<>=!");
    if (sign == std::string_view::npos || sign == 0) refuse("needs a figure, a comparison and a bound");
    const size_t length = sign + 1 < text.size() && text[sign + 1] == '=' ? 2 : 1;
    gate_.comparison = text.substr(sign, length);
    if (gate_.comparison == "=" || gate_.comparison == "!") refuse("compares by <=, <, >=, >, == or !=");
    read_figure(trimmed(text.substr(0, sign)));
    read_bound(trimmed(text.substr(sign + length)));
    return std::move(gate_);
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    fail_input("{}: '{}' {}, as in 'completion_time <= 2 ms' or 'max(ports[*].rx_missed) == 0'", gate_.origin,
               gate_.text, why);
  }

  void read_figure(std::string_view figure) {
    if (figure.ends_with(')')) {
      const size_t open = figure.find('(');
      gate_.function = trimmed(figure.substr(0, std::min(open, figure.size())));
      if (open == std::string_view::npos || std::ranges::find(kGateFunctions, gate_.function) == kGateFunctions.end())
        refuse("has a function that is none of max, min, sum, mean and count");
      figure = trimmed(figure.substr(open + 1, figure.size() - open - 2));
    }
    gate_.path = figure;
    try {
      require_metric_path(figure);
    } catch (const Error& error) {
      fail_input("{}: {}", gate_.origin, error.what());
    }
  }

  void read_bound(std::string_view bound) {
    if (bound.empty()) refuse("has no bound");
    double number = 0;
    const auto [end, error] = std::from_chars(bound.data(), bound.data() + bound.size(), number);
    const auto length = static_cast<size_t>(end - bound.data());
    const std::string_view unit = trimmed(bound.substr(error == std::errc() ? length : 0));
    if (error == std::errc() && !std::isfinite(number)) refuse("has a bound that is no number");
    if (error == std::errc()) {
      gate_.bound = bound.substr(0, length);
      gate_.unit = unit;
      return;
    }
    // A word, of which nothing is more or less.
    if (gate_.comparison != "==" && gate_.comparison != "!=") refuse("has a bound that is no number");
    gate_.bound = without_yaml(bound);
    gate_.is_word = true;
  }

  Gate gate_;
};

}  // namespace

std::vector<Gate> parse_gates(std::string_view text, const std::string& name) {
  std::vector<Gate> gates;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    const std::string_view gate = without_yaml(trimmed(without_comment(line)));
    if (gate.empty() || (gates.empty() && (gate == "gates:" || gate == "---"))) continue;
    const std::string origin = name + ":" + std::to_string(number);
    if (gates.empty() && gate.starts_with("gates:")) {
      for (const std::string_view item : gates_behind_key(trimmed(gate.substr(6)), origin))
        gates.push_back(GateLine(without_yaml(item), origin).read());
      continue;
    }
    gates.push_back(GateLine(gate, origin).read());
  }
  if (gates.empty()) fail_input("{}: has no gates", name);
  return gates;
}

std::vector<Gate> read_gates(const std::filesystem::path& file) {
  std::ifstream stream = open_input(file, "a file of gates");
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_gates(text.str(), file.string());
}

}  // namespace rankwire
