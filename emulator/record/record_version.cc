#include "emulator/record/record_version.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emulator/record/schema.h"

namespace rankwire {
namespace {

using Column = std::pair<std::string, std::string>;  ///< table, column

/// Those that older records do not have, which readers do without.
constexpr std::pair<std::string_view, std::string_view> kDispensable[] = {{"nodes", "timed_by"},
                                                                          {"nodes", "sequence"},
                                                                          {"nodes", "peer"},
                                                                          {"nodes", "tag"},
                                                                          {"allowances", "source"},
                                                                          {"allowances", "destination"},
                                                                          {"jobs_alone", "unharmed_ps"},
                                                                          {"background_traffic", "first_arrival_ps"},
                                                                          {"stalls", "machine"}};

const std::vector<Column>& known_columns() {
  static const std::vector<Column> columns = [] {
    Database schema(":memory:", Database::Access::kCreate);
    schema.execute(kRecordSchema);
    std::vector<Column> list;
    Statement rows =
        schema.prepare("SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type='table'");
    while (rows.step()) list.emplace_back(rows.text(0), rows.text(1));
    return list;
  }();
  return columns;
}

/// Known columns that the record lacks, and (table, "") for each table that it lacks.
std::vector<Column> absent_columns(const Database& database) {
  std::vector<Column> absent;
  Statement has = database.prepare("SELECT count(*), total(name=?) FROM pragma_table_info(?)");
  for (const auto& [table, column] : known_columns()) {
    has.bind(column, table);
    has.step();
    const bool has_table = has.integer(0) > 0, has_column = has.real(1) > 0;
    has.reset();
    if (!has_table && (absent.empty() || absent.back().first != table)) absent.emplace_back(table, "");
    if (has_table && !has_column) absent.emplace_back(table, column);
  }
  return absent;
}

/// " of rankwire 0.1.0", where the record says it.
std::string writer_of(const Database& database) {
  try {
    Statement row = database.prepare("SELECT value FROM record WHERE key='version'");
    if (row.step()) return " of rankwire " + row.text(0);
  } catch (const Error&) {  // there is no such table in this version
  }
  return {};
}

/// What the program that wrote a record drew of it.
std::string drawn_beside(const std::filesystem::path& file) {
  std::string names;
  for (const char* name : {"summary.json", "report.html", "operations.csv"}) {
    if (std::filesystem::exists(file.parent_path() / name)) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names.empty() ? "" : "; what that program drew is still there: " + names;
}

}  // namespace

void require_known_version(const Database& database, const std::filesystem::path& file) {
  const int64_t version = database.integer("PRAGMA user_version");
  if (version != kRecordVersion) {
    fail_input("{}: record version {}{}, but this program reads version {}{}{}", file.string(), version,
               writer_of(database), kRecordVersion, version > kRecordVersion ? ": take a newer one" : "",
               drawn_beside(file));
  }
  // A column may have been added without another version.
  for (const Column& absent : absent_columns(database)) {
    const auto is_it = [&](const auto& known) { return known.first == absent.first && known.second == absent.second; };
    if (!absent.second.empty() && std::ranges::none_of(kDispensable, is_it))
      fail_input("{}: a record{} without the column {}.{}, which this program reads{}", file.string(),
                 writer_of(database), absent.first, absent.second, drawn_beside(file));
  }
}

std::string absence_text(const Database& database) {
  std::vector<std::string> parts;
  for (const auto& [table, column] : absent_columns(database))
    parts.push_back(column.empty() ? table : table + "." + column);
  if (parts.empty()) return {};
  return fmt::format("recorded by an earlier version{}, whose records have no {}: what follows from them is not told",
                     writer_of(database), fmt::join(parts, ", "));
}

std::string column_or(const Database& database, std::string_view table, std::string_view column,
                      std::string_view otherwise) {
  Statement has = database.prepare("SELECT count(*) FROM pragma_table_info(?) WHERE name=?");
  has.bind(table, column);
  has.step();
  return std::string(has.integer(0) > 0 ? column : otherwise);
}

}  // namespace rankwire
