#include "emulator/cli/asked_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "emulator/input/nearest_key.h"
#include "emulator/report/summary.h"

namespace rankwire {
namespace {

/// "there is no 'transport.ecn' in summary.json; did you mean 'transport.ecn_ce_rx'?"
std::string unknown_text(const SweepColumn& column, const FoundValue& found) {
  const std::string begin =
      fmt::format("--columns {}: there is no '{}{}' in summary.json", column.title, found.known, found.wrong);
  if (found.beside.empty())
    return fmt::format("{}: '{}' has no parts of that name", begin, found.known.substr(0, found.known.rfind('.')));
  std::vector<std::string> names = found.beside;
  if (found.known.empty()) {
    const std::vector<std::string> shorts = short_column_names();
    names.insert(names.begin(), shorts.begin(), shorts.end());
  }
  if (const std::string nearest = nearest_name(found.wrong, names); !nearest.empty())
    return fmt::format("{}; did you mean '{}{}'?", begin, found.known, nearest);
  return fmt::format("{}; the names there are {}", begin, fmt::join(names, ", "));
}

bool has_values(std::span<const SweepPoint> points, size_t column) {
  return std::ranges::any_of(points, [&](const SweepPoint& point) {
    return column < point.columns.size() && !point.columns[column].is_null();
  });
}

}  // namespace

std::vector<SweepColumn> asked_columns(const std::string& option) {
  if (option.empty()) return {};
  std::vector<SweepColumn> columns = parse_sweep_columns(option);
  const nlohmann::ordered_json shape = summary_shape();
  for (const SweepColumn& column : columns) {
    const FoundValue found = find_value(shape, column.path);
    if (found.is_unknown) fail_input("{}", unknown_text(column, found));
    if (found.value != nullptr && found.value->is_object()) {
      fail_input("--columns {}: these are several values, such as {}.{}", column.title, column.path,
                 found.value->items().begin().key());
    }
  }
  return columns;
}

void warn_of_unknown_columns(const std::vector<SweepColumn>& columns, std::span<const SweepPoint> points,
                             const std::filesystem::path& folder) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (has_values(points, i)) continue;
    std::string unknown;
    for (const SweepPoint& point : points) {
      if (point.columns.empty()) continue;
      const nlohmann::ordered_json summary = read_summary(folder / point.folder);
      const FoundValue found = find_value(summary, columns[i].path);
      unknown = found.is_unknown ? unknown_text(columns[i], found) : "";
      if (unknown.empty()) break;
    }
    if (!unknown.empty()) log_warning(unknown);
  }
}

}  // namespace rankwire
