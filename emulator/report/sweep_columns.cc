#include "emulator/report/sweep_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/error.h"
#include "base/units.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

struct ShortColumn {
  const char* title;
  const char* name;
  const char* path;
};

constexpr ShortColumn kShortColumns[] = {
    {"marks", "marks", "transport.ecn_ce_rx"},           {"cnps", "cnps", "transport.cnp_rx"},
    {"p50", "p50_ps", "message_completion_time.p50_ps"}, {"p99", "p99_ps", "message_completion_time.p99_ps"},
    {"drops", "drops", "diagnosis.losses.lost"},         {"retransmitted", "retransmitted", "transport.retransmitted"},
    {"pauses", "pauses", "transport.pause_rx"},          {"fidelity", "fidelity", "fidelity"}};

/// The number in the brackets that `text` begins with, and what stands behind them; false where there are none.
bool take_place(std::string_view& text, size_t& place) {
  if (!text.starts_with('[')) return false;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data() + 1, end, place);
  if (error != std::errc() || behind == end || *behind != ']') return false;
  text.remove_prefix(static_cast<size_t>(behind + 1 - text.data()));
  return true;
}

std::string_view take_name(std::string_view& text) {
  const std::string_view name = text.substr(0, text.find_first_of(".[]"));
  text.remove_prefix(name.size());
  return name;
}

bool is_path(std::string_view text) {
  while (true) {
    if (take_name(text).empty()) return false;
    for (size_t place = 0; take_place(text, place);) {
    }
    if (text.empty()) return true;
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
}

SweepColumn column_of(const std::string& title) {
  for (const ShortColumn& known : kShortColumns) {
    if (title == known.title) return {title, known.name, known.path};
  }
  if (!is_path(title))
    fail_input("--columns: '{}' is no path into summary.json, such as transport.retransmitted or jobs[0].ratio", title);
  return {title, title, title};
}

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

std::vector<SweepColumn> parse_sweep_columns(std::string_view text) {
  std::vector<SweepColumn> columns;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    SweepColumn column = column_of(std::string(text.substr(begin, end - begin)));
    if (std::ranges::find(columns, column.path, &SweepColumn::path) != columns.end())
      fail_input("--columns: {} is there twice", column.title);
    columns.push_back(std::move(column));
    begin = end + 1;
  }
  return columns;
}

std::vector<std::string> short_column_names() {
  std::vector<std::string> names;
  for (const ShortColumn& known : kShortColumns) names.push_back(known.title);
  return names;
}

FoundValue find_value(const Json& summary, std::string_view path) {
  const Json* at = &summary;
  std::string_view rest = path;
  while (!at->is_null()) {
    if (rest.empty()) return {.value = at};
    const std::string known(path.substr(0, path.size() - rest.size()));
    if (size_t place = 0; take_place(rest, place)) {
      if (!at->is_array()) return {.is_unknown = true, .known = known, .wrong = fmt::format("[{}]", place)};
      if (place >= at->size()) break;
      at = &(*at)[place];
    } else {
      if (rest.starts_with('.')) rest.remove_prefix(1);
      const std::string before(path.substr(0, path.size() - rest.size()));
      if (!at->is_object()) return {.is_unknown = true, .known = before, .wrong = std::string(rest)};
      const std::string whole(rest);
      const std::string name = at->contains(whole) ? whole : std::string(take_name(rest));
      if (name == whole) rest = {};
      if (!at->contains(name)) return {.is_unknown = true, .known = before, .wrong = name, .beside = names_of(*at)};
      at = &(*at)[name];
    }
  }
  return {};
}

Json read_summary(const std::filesystem::path& folder) {
  std::ifstream file(folder / "summary.json");
  Json summary = Json::parse(file, nullptr, false);
  return summary.is_discarded() ? Json() : summary;
}

std::vector<Json> read_columns(const std::vector<SweepColumn>& columns, const std::filesystem::path& folder) {
  std::vector<Json> values(columns.size());
  if (columns.empty()) return values;
  const Json summary = read_summary(folder);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (const Json* value = find_value(summary, columns[i].path).value) values[i] = *value;
  }
  return values;
}

std::string column_text(const SweepColumn& column, const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_number_integer() && column.path.ends_with("_ps")) return readable(Duration(value.get<int64_t>()));
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return column_field(value);
}

std::string column_field(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace rankwire
