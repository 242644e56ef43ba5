#include "emulator/suite/gate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <system_error>

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
    gates.push_back(GateLine(gate, name + ":" + std::to_string(number)).read());
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
